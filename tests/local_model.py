"""The smallest model of the catalogue, for tests of the plumbing. Pulled once, into the cache."""

import pytest

from twopan import weights
from twopan.errors import TwopanError

NAME = "smollm2-135m"


@pytest.fixture(scope="session")
def smollm2():
    """Its file. Skips where the runtime is not installed or no source has the weights."""
    pytest.importorskip("xllamacpp", reason='needs the embedded judge: pip install "twopan[local]"')
    try:
        return weights.pull(NAME)
    except TwopanError as error:
        pytest.skip(f"needs the weights of {NAME}: {error}")
