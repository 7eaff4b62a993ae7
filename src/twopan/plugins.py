"""From a name to the thing: ours, an entry point's, or ``module:attribute``."""

import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from twopan.errors import ConfigError
from twopan.names import nearest

GROUP = "twopan"


def find(kind: str, name: str, ours: Mapping[str, str]) -> Any:
    """The object that a name stands for.

    ``ours`` maps built-in names to ``module:attribute``; so does the entry point group ``twopan``
    for packages that add to us, with names such as ``provider.mine``. A name with a colon is taken
    as ``module:attribute`` itself. Raises ConfigError with the nearest name where there is none.
    """
    added = {
        point.name.removeprefix(f"{kind}."): point.value
        for point in entry_points(group=GROUP)
        if point.name.startswith(f"{kind}.")
    }
    known = {**added, **ours}
    target = known.get(name, name if ":" in name else None)
    if target is None:
        raise ConfigError(
            f"no {kind} {name!r}{nearest(name, known)}; there are {', '.join(sorted(known))}, and"
            " module:attribute names one of your own"
        )
    module, _, attribute = target.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        hint = nearest(name.partition(":")[0], known)
        raise ConfigError(f"{kind} {name!r}: {error}{hint}") from None
