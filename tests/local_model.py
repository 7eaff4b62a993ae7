"""The smallest model of the catalogue, for tests of the plumbing. Pulled once, into the cache."""

from importlib.util import find_spec

import pytest

from twopan import weights
from twopan.errors import TwopanError

NAME = "smollm2-135m"


@pytest.fixture(scope="session")
def smollm2():
    """Its file. Skips where the runtime is not installed or no source has the weights."""
    # Looked for and not imported: how its threads wait is decided as it is loaded, by the judge.
    if find_spec("xllamacpp") is None:
        pytest.skip('needs the embedded judge: pip install "twopan[local]"')
    try:
        return weights.pull(NAME)
    except TwopanError as error:
        pytest.skip(f"needs the weights of {NAME}: {error}")
