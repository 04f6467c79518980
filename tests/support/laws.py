"""Laws that all that counts keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def check_merging(fitted: Callable[..., Any], bits: Callable[[Any], Any], a: Any, b: Any, c: Any) -> None:
    """Merging is associative and commutative, to the bit: the estimator of all parts is that of the parts merged."""
    expected = bits(fitted(a, b, c))
    assert bits(fitted(a).merge(fitted(b)).merge(fitted(c))) == expected
    assert bits(fitted(c).merge(fitted(b).merge(fitted(a)))) == expected
