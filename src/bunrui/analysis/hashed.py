"""Hashed features: a feature is the bucket of its hash, one of 2 ** bits, so that there are never more than those.

Counts of buckets are integers like others: they add up and are taken back exactly.  What is lost is which of the
features of a bucket was meant.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pyarrow as pa

from bunrui.analysis.analyzer import Analyzer, given_recipe
from bunrui.analysis.token import Token
from bunrui.kernel import reference
from bunrui.kernel.analyze import BUCKETS, Documents, Recipe

__all__ = ["HashedAnalyzer", "Sharing", "sharing"]


class HashedAnalyzer:
    """Another analyzer, whose features go into buckets."""

    def __init__(self, inner: Analyzer, bits: int, fingerprint: str) -> None:
        self._inner = inner
        self._bits = bits
        self.fingerprint = fingerprint
        self.recipe = self._into_buckets(inner.recipe)
        self.given = self._into_buckets(given_recipe())

    def _into_buckets(self, recipe: Recipe) -> Recipe:
        params = recipe.params.copy()
        params[BUCKETS] = self._bits
        return recipe._replace(params=params)

    def describe(self) -> str:
        return f"{self._inner.describe()}, hashed to 2**{self._bits} buckets"

    def documents(self, texts: pa.Array | list[str]) -> Documents:
        return self._inner.documents(texts)

    def features(self, text: str) -> list[Token]:
        return self._inner.features(text)

    def written(self, feature: str) -> str:
        return reference.bucket(feature, self._bits)


class Sharing(NamedTuple):
    """How much the buckets mix up, as far as can be told from how many are in use.

    Attributes
    ----------
    n_buckets, n_used : int
    n_features : int
        About so many features were hashed; where no bucket is free, at least so many.
    share : float
        About this share of them share their bucket with another.
    """

    n_buckets: int
    n_used: int
    n_features: int
    share: float


def sharing(n_used: int, bits: int) -> Sharing:
    """What can be told from how many of the buckets are in use.

    Of n features in B buckets, a share u = 1 - (1 - 1 / B) ** n of the buckets is expected to be in use, so that n is
    about -B log(1 - u).  A feature shares its bucket with probability 1 - (1 - 1 / B) ** (n - 1): about u itself.

    >>> sharing(412_200, 20)
    Sharing(n_buckets=1048576, n_used=412200, n_features=523...
    """
    n_buckets = 1 << bits
    free = max(n_buckets - n_used, 0.5)  # of all in use nothing can be told but that there are many
    return Sharing(n_buckets, n_used, round(-n_buckets * math.log(free / n_buckets)), n_used / n_buckets)
