"""From the files that were named to the pairs to judge."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from twopan.cli.options import Options
from twopan.data import Pair
from twopan.datasets import Pairs, read_pairs, read_pairs_file
from twopan.errors import ConfigError


def read(files: Sequence[Path], options: Options) -> Pairs:
    """One file with both responses on each row, or two files of one response each, joined."""
    first = options.limit if options.seed is None else None
    if len(files) == 1:
        found = read_pairs_file(
            files[0], mapping=options.mapping, on_bad=options.on_bad, limit=first
        )
    elif len(files) == 2:
        found = read_pairs(*files, mapping=options.mapping, on_bad=options.on_bad, limit=first)
    else:
        raise ConfigError("name one file of pairs, or two files of responses")
    if options.limit is None or options.seed is None:
        return found
    chosen = sample(found.pairs, options.limit, options.seed)
    return replace(found, pairs=chosen, left=len(found.pairs) - len(chosen))


def sample(pairs: Sequence[Pair], limit: int, seed: int) -> list[Pair]:
    """Those pairs whose hashed ids come first, in the order of the file.

    A hash of the id and the seed draws the same items whatever else is in the file.
    """

    def rank(index: int) -> bytes:
        return hashlib.sha256(f"{seed}\0{pairs[index].item.id}".encode()).digest()

    chosen = sorted(range(len(pairs)), key=rank)[:limit]
    return [pairs[index] for index in sorted(chosen)]
