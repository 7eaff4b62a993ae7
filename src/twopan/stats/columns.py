"""What statistics are given: columns of equal length, in which nothing is missing in silence."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twopan.stats.win_rate import NoData

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def numbers(**columns: ArrayLike) -> list[Floats]:
    """The columns as floats of shape (m,), or an error that names the one that is wrong."""
    arrays = []
    for name, values in columns.items():
        try:
            arrays.append(np.asarray(values, dtype=np.float64))
        except (TypeError, ValueError):
            raise ValueError(f"{name} holds something that is not a number") from None
    require_equal_lengths(columns, arrays)
    for name, array in zip(columns, arrays, strict=True):
        if not np.isfinite(array).all():
            at = int(np.argmin(np.isfinite(array)))
            raise ValueError(f"{name}[{at}] is {array[at]}: leave the row out, and count it")
    return arrays


def labels(**columns: ArrayLike) -> tuple[list[Ints], list[Any]]:
    """The columns as numbers of categories, shape (m,), and the categories in their order."""
    arrays = [np.asarray(values, dtype=object) for values in columns.values()]
    require_equal_lengths(columns, arrays)
    codes, categories = encode(np.stack(arrays))
    for name, row in zip(columns, codes, strict=True):
        if (row < 0).any():
            at = int(np.argmax(row < 0))
            raise ValueError(f"{name}[{at}] is missing: leave the row out, and count it")
    return list(codes), categories


def encode(values: NDArray[Any]) -> tuple[Ints, list[Any]]:
    """Number the categories of an array of any shape in their order; -1 is a missing value.

    None and NaN are missing. Text is kept apart from numbers: "1" and 1 are not silently one.
    """
    missing = [
        value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
        for value in values.flat
    ]
    present = {value for value, absent in zip(values.flat, missing, strict=True) if not absent}
    if len({isinstance(value, str) for value in present}) > 1:
        raise ValueError("the labels mix text and numbers: say them all in one way")
    categories = sorted(present)
    number = {category: code for code, category in enumerate(categories)}
    codes = [
        -1 if absent else number[value] for value, absent in zip(values.flat, missing, strict=True)
    ]
    return np.array(codes, dtype=np.int64).reshape(values.shape), categories


def groups(cluster: ArrayLike | None, m: int, name: str = "cluster") -> tuple[Ints, int]:
    """The number of the cluster of each of m rows, and how many there are; by default m."""
    if cluster is None:
        return np.arange(m), m
    plain = np.asarray(cluster)
    if plain.dtype.kind in "iuU" and plain.ndim == 1 and len(plain) == m:
        known, numbered = np.unique(plain, return_inverse=True)
        return numbered, len(known)
    (codes,), names = labels(**{name: cluster})
    if len(codes) != m:
        raise ValueError(f"{name} has {len(codes)} values for {m} rows")
    return codes, len(names)


def sum_by(group: Ints, n: int, rows: Floats) -> Floats:
    """Add up the rows of each of n groups: shape (m,) or (m, d) becomes (n,) or (n, d)."""
    total = np.zeros((n, *rows.shape[1:]))
    np.add.at(total, group, rows)
    return total


def require_equal_lengths(columns: dict[str, ArrayLike], arrays: list[NDArray[Any]]) -> None:
    if any(array.ndim != 1 for array in arrays):
        raise ValueError(f"{' and '.join(columns)} must be plain columns, one value a row")
    if len({len(array) for array in arrays}) > 1:
        sizes = " and ".join(f"{len(a)} of {c}" for c, a in zip(columns, arrays, strict=True))
        raise ValueError(f"columns of unequal length: {sizes}")
    if not len(arrays[0]):
        raise NoData("no rows, so there is nothing to estimate")
