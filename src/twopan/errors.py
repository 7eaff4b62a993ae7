"""Every exception this package raises on purpose.

TwopanError
├── ConfigError          the caller asked for something impossible; nothing was sent
│   └── DataError        a file cannot be judged as it is; says which file, line and field
├── LedgerError          the record could not be read or written
├── BudgetReached        the next call would cost more, or come later, than was allowed
├── Interrupted          somebody asked us to stop
├── ProviderError        no completion came back
│   ├── Unreachable      nobody answered: refused, reset, timed out, overloaded
│   ├── RateLimited      asked to come back later
│   ├── Malformed        something came back, but not a completion
│   ├── Unsupported      the model does not offer what the request asks for
│   ├── Denied           a key, a quota or a model name was refused: every further call would be too
│   ├── Outage           so many calls in a row went unanswered that going on is pointless
│   └── NotRecorded      offline, and the ledger does not hold the answer
└── VerdictError         a completion came back, but not a verdict
    ├── Refused          the judge declined
    ├── Filtered         a content filter took the answer away
    ├── Truncated        the answer ended before the verdict
    ├── Overflow         the judge did not see the whole prompt
    └── Unparsed         no option that was offered, or more than one

The class attribute ``reason`` is the word under which a failure is counted in every result.
"""

from typing import Any


class TwopanError(Exception):
    """The root: ``except TwopanError`` catches what we raise on purpose and nothing else."""

    reason = "error"
    ends_the_run = False
    """Whether it says nothing of the pair at hand: every other pair would fail like it."""


class ConfigError(TwopanError):
    reason = "config"
    ends_the_run = True


class DataError(ConfigError):
    """``str()`` of it is one line a problem: ``file:line: field: what is wrong``."""

    reason = "data"


class LedgerError(TwopanError):
    reason = "ledger"
    ends_the_run = True


class BudgetReached(TwopanError):
    reason = "budget"
    ends_the_run = True


class Interrupted(TwopanError):
    reason = "interrupted"
    ends_the_run = True


class ProviderError(TwopanError):
    """``retry_after``, in seconds, is what the server asked for, where it asked; 0 is at once.

    ``completion`` is the Completion, or None, that came and was charged though it is of no use.
    ``outcome_unknown`` says that the request went out and may have been answered, and charged,
    without our hearing of it. Where neither is given, nothing was charged.
    """

    reason = "provider"
    transient = False
    """Whether the same request may yet be answered."""

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        outcome_unknown: bool = False,
        completion: Any = None,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.outcome_unknown = outcome_unknown
        self.completion = completion


class Unreachable(ProviderError):
    reason = "unreachable"
    transient = True


class RateLimited(ProviderError):
    reason = "rate_limited"
    transient = True


class Malformed(ProviderError):
    reason = "malformed_response"
    transient = True


class Unsupported(ProviderError):
    reason = "unsupported"


class Denied(ProviderError):
    reason = "denied"
    ends_the_run = True


class Outage(ProviderError):
    reason = "outage"
    ends_the_run = True


class NotRecorded(ProviderError):
    reason = "not_recorded"


class VerdictError(TwopanError):
    """The judge was heard and gave no verdict."""

    reason = "no_verdict"


class Refused(VerdictError):
    reason = "refused"


class Filtered(VerdictError):
    reason = "filtered"


class Truncated(VerdictError):
    reason = "truncated"


class Overflow(VerdictError):
    """``completion``, or None, was answered, and charged, to what was seen of the prompt."""

    reason = "overflow"

    def __init__(self, message: str, *, completion: Any = None) -> None:
        super().__init__(message)
        self.completion = completion


class Unparsed(VerdictError):
    """``why`` tells the kinds apart: ambiguous, off_menu, out_of_range, no_verdict, ..."""

    reason = "unparsed"

    def __init__(self, why: str, message: str = "") -> None:
        super().__init__(message or why)
        self.why = why
