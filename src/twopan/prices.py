"""What a call cost. A model without a price is *unpriced*: ``None``, never free."""

from dataclasses import dataclass

from twopan.errors import ConfigError
from twopan.providers import Usage


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens.

    >>> price = Price(input=3.0, cached_input=0.3, output=15.0)
    >>> round(price.cost(Usage(input=10_000, cached_input=9_000, output=100)), 6)
    0.0072
    """

    input: float
    output: float
    cached_input: float | None = None
    """For input the provider had kept from before; None charges it as any other input."""

    def __post_init__(self) -> None:
        for price in (self.input, self.output, self.cached_input or 0.0):
            if not 0 <= price < float("inf"):
                raise ConfigError(f"a price per million tokens must be 0 or more, not {price}")

    def cost(self, usage: Usage) -> float:
        """US dollars. Cached tokens are part of ``usage.input`` and are charged once."""
        cached = self.input if self.cached_input is None else self.cached_input
        fresh = usage.input - usage.cached_input
        return (fresh * self.input + usage.cached_input * cached + usage.output * self.output) / 1e6
