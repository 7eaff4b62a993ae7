"""From the files that were named to the pairs to judge."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from twopan.cli.options import Options
from twopan.datasets import Pairs, read_pairs, read_pairs_file
from twopan.errors import ConfigError
from twopan.formats import load
from twopan.names import nearest
from twopan.pipelines.meta_evaluate import labelled_only
from twopan.rows import shown
from twopan.verdict import Choice


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
    return found if options.seed is None else limited(found, options)


def read_labelled(
    path: Path,
    options: Options,
    *,
    form: str,
    meanings: Sequence[str],
    categories: Sequence[str],
) -> Pairs:
    """Pairs with what people preferred, of any format, of these categories.

    Raises DataError where no pair is of a category, ConfigError where none is labelled.
    """
    if form == "pairs":
        known = [meaning.partition("=") for meaning in meanings]
        for value, equals, side in known:
            if not equals or side not in list(Choice):
                raise ConfigError(f"--label {value}{equals}{side}: write --label VALUE=a, b or tie")
        found = read_pairs_file(
            path,
            mapping=options.mapping,
            meanings={value: side for value, _, side in known} or None,
            on_bad=options.on_bad,
        )
    elif options.map or meanings or options.skip_bad_rows:
        raise ConfigError(f"--map, --label and --skip-bad-rows are not for --format {form}")
    else:
        found = load(form, path)
    there = list(dict.fromkeys(p.item.category for p in found.pairs if p.item.category))
    for name in categories:
        if not any(below(one, name) for one in there):
            raise ConfigError(
                f"--category {name}: no pair is of it{nearest(name, there)};"
                f" there are {', '.join(map(shown, there[:20])) or 'none'}"
            )
    if categories:
        of = [p for p in found.pairs if any(below(p.item.category, c) for c in categories)]
        found = replace(found, pairs=of)
    labelled = labelled_only(found.pairs)
    found = replace(found, pairs=labelled, unlabelled=len(found.pairs) - len(labelled))
    return limited(found, options)


def below(category: str | None, name: str) -> bool:
    """
    >>> below("LLMBar/Natural", "LLMBar"), below("LLMBar", "LLM"), below(None, "LLM")
    (True, False, False)
    """
    return category is not None and f"{category}/".startswith(f"{name.rstrip('/')}/")


def limited(found: Pairs, options: Options) -> Pairs:
    """As many pairs as were asked for."""
    pairs = chosen(found.pairs, options, lambda pair: pair.item.id)
    return replace(found, pairs=pairs, left=found.left + len(found.pairs) - len(pairs))


T = TypeVar("T")


def chosen(rows: Sequence[T], options: Options, id: Callable[[T], str]) -> list[T]:
    """With --limit the first, or with --seed those whose hashed ids come first; in their order.

    A hash of the id and the seed draws the same rows whatever else is in the file. Of rows with
    one id, as votes are, each is drawn for itself. Raises ConfigError for a seed without a limit.
    """
    if options.limit is None and options.seed is not None:
        raise ConfigError("--seed draws some of the pairs at random: say with --limit how many")
    if options.seed is None:
        return list(rows[: options.limit])
    often: Counter[str] = Counter()
    ranks: list[tuple[bytes, int]] = []
    for index, row in enumerate(rows):
        before = f"\0{often[id(row)]}" if often[id(row)] else ""
        often[id(row)] += 1
        told = f"{options.seed}\0{id(row)}{before}"
        ranks.append((hashlib.sha256(told.encode()).digest(), index))
    return [rows[i] for i in sorted(index for _, index in sorted(ranks)[: options.limit])]
