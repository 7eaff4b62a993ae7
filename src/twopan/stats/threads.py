"""One thread for small matrices.

Linear algebra libraries share even a small matrix out among all cores. On a machine that is busy
the parts then wait for one another, which costs a thousand times what is saved: 0.1 s instead of
0.1 ms for the inverse of a hundred by a hundred.
"""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """The function, its linear algebra done in one thread."""

    @functools.wraps(function)
    def calmly(*args: P.args, **kwargs: P.kwargs) -> T:
        with _pools().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return calmly


@functools.cache
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
