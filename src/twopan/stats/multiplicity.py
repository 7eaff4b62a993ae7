"""Several questions asked of one data set: p-values that may be read together.

Holm's adjusted p-values keep the chance of *any* false alarm; Benjamini and Hochberg's keep the
share of false ones among the alarms. Both are as large as what they adjust, or larger.

References
----------
Holm (1979), A simple sequentially rejective multiple test procedure. Scand. J. Statistics 6.
Benjamini and Hochberg (1995), Controlling the false discovery rate. JRSS B 57.
"""

import numpy as np
from numpy.typing import ArrayLike

from twopan.stats.columns import Floats


def holm(p: ArrayLike) -> Floats:
    """Adjusted p-values that control the family-wise error rate, whatever depends on what.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _checked(p)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _back(np.minimum(adjusted, 1.0), order)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Adjusted p-values that control the false discovery rate, where tests are independent.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    p = _checked(p)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    return _back(np.minimum(adjusted, 1.0), order)


def _checked(p: ArrayLike) -> Floats:
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p-values are numbers between 0 and 1, in one column")
    return p


def _back(adjusted: Floats, order: np.ndarray) -> Floats:
    found = np.empty_like(adjusted)
    found[order] = adjusted
    return found
