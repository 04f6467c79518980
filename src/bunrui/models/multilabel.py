"""Documents with several labels: each label and the rest are two classes, told apart by the same counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts, Label
from bunrui.errors import OptionError
from bunrui.models.scorer import Docs, Floats, prior_shares
from bunrui.models.view import CountView, FeatureCounts

__all__ = ["PairView", "best_cut", "log_label_prior"]

Numbers = npt.NDArray[Any]
Ids = npt.NDArray[np.uint32]

# The best F of a label with a handful of rows may come from giving the label to all rows.  So a threshold goes below 0
# only for this F or more.  On a fifth of the training set of Reuters with 90 topics, held out, micro-F is .647 with
# thresholds of 0, .232 without this floor, and .741 with it; .2 and .4 differ by .01 at most.
# benchmarks/multilabel.py --floors
LEAST_F = 0.3


def log_label_prior(counts: Counts | Docs, prior: Any) -> Floats:
    """log P(label) of every class id by itself; 0 for classes without documents.

    "empirical" is D_c / D with every document once, "uniform" is a half, ("smoothed", λ) (D_c + λ) / (D + 2λ).
    """
    out = np.zeros(len(counts.labels))
    if isinstance(prior, Mapping):
        for c in np.flatnonzero(counts.doc_count).tolist():
            out[c] = math.log(_given(counts.labels[c], prior))
        return out
    # Many labels have as many documents as others.
    distinct, places = np.unique(counts.doc_count, return_inverse=True)
    pairs = [np.array([counts.n_docs - docs, docs]) for docs in distinct.tolist()]
    logs = [math.log(prior_shares(pair, [0, 1], prior)[1]) if pair[1] else 0.0 for pair in pairs]
    return np.array(logs)[places]


def _given(label: Label, prior: Mapping[Label, float]) -> float:
    share = prior.get(label)
    if not isinstance(share, (int, float, np.number)) or not 0 < float(share) < 1:
        raise OptionError(f"the prior of the label {label!r} by itself should be above 0 and below 1, not {share!r}")
    return float(share)


class PairView(NamedTuple):
    """Some labels and the rest of each as classes of a formula: first the labels, then their rests.

    The totals are those of all rows, which both classes of a pair make up; so a formula that counts outside a class
    finds the other of its pair.

    Attributes
    ----------
    view : CountView
        All labels.
    n_docs : int or float
        Documents, each of them once.
    labels : slice
        The ids of the labels.
    cells : function from ids of features to counts (n_ids, n_labels), and totals of all rows (n_ids,)
    """

    view: CountView
    n_docs: Any
    labels: slice
    cells: Callable[[Ids], tuple[Numbers, Numbers]]

    @property
    def n_features(self) -> int:
        """V."""
        return self.view.n_features

    @property
    def doc_count(self) -> Numbers:
        """D[l], then D - D[l]."""
        return _with_rest(self.view.doc_count[self.labels], self.n_docs)

    def class_sum(self, by_docs: bool) -> Numbers:
        """N[l], then N - N[l]."""
        return _with_rest(self.view.class_sum(by_docs)[self.labels], self.total(by_docs))

    def total(self, by_docs: bool) -> Any:
        """N."""
        return self.view.total(by_docs)

    def feature_ids(self) -> Ids:
        """All features."""
        return self.view.feature_ids()

    def gather(self, ids: Ids, by_docs: bool) -> FeatureCounts:
        """The cells of some features, one for each label and each rest, be they 0."""
        own, totals = self.cells(ids)
        counts = _with_rest(own, totals[:, None])
        n, width = counts.shape
        return FeatureCounts(
            ids,
            np.arange(n) * width,
            np.full(n, width, np.int32),
            np.tile(np.arange(width, dtype=np.int32), n),
            counts.reshape(-1),
            totals,
        )

    def words_of(self, ids: Ids) -> Iterable[str]:
        """The names of some features."""
        return self.view.words_of(ids)

    def has_words(self, words: list[str]) -> list[bool]:
        """Whether words are features."""
        return self.view.has_words(words)


def _with_rest(own: Numbers, total: Any) -> Numbers:
    """Numbers of labels, then those of their rests; of fractions a rest may fall below 0 by rounding."""
    return np.concatenate([own, np.maximum(total - own, 0)], axis=-1)


def best_cut(scores: Floats, has: npt.NDArray[np.bool_], weights: Floats) -> float:
    """The threshold above which the F of a label is best, the highest of those that tie.

    0 where no row has the label, and in place of one below 0 whose F is below `LEAST_F`.

    Examples
    --------
    >>> best_cut(np.array([3.0, 1.0, -2.0, -4.0]), np.array([True, False, True, False]), np.ones(4))
    -3.0
    """
    if not (weights * has).any():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    ranked, right, size = scores[order], np.cumsum((weights * has)[order]), np.cumsum(weights[order])
    f = 2 * right / (size + right[-1])
    # Equal scores stand on one side of any threshold.
    f[:-1][ranked[:-1] == ranked[1:]] = -1.0
    k = int(f.argmax())
    below = ranked[k + 1] if k + 1 < len(ranked) else -np.inf
    above = float(ranked[k])
    if not np.isfinite(above):
        return 0.0
    cut = float((above + below) / 2) if np.isfinite(below) else above - 1.0
    return cut if f[k] >= LEAST_F else max(cut, 0.0)
