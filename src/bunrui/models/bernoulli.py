"""Bernoulli naive Bayes: a document says of every word whether it has it; absent words count.

    P(f | c) = (d[f, c] + λ) / (D[c] + 2λ)
    score[c] = log P(c) + sum over words present of log P(f | c) + sum over words absent of log(1 - P(f | c))

    d[f, c]   documents of class c that contain f, D[c] all documents of class c

As a sparse scorer every word is first taken to be absent (a constant of the class), then the words that are present
are corrected.  The correction of a word that the class never had is the slope, log λ - log(D[c] + λ).

Manning, Raghavan, Schütze (2008), section 13.3.  Golden values: tests/golden/test_iir.py

With `against_rest` the same of all documents outside the class is taken off (models/rest.py): d[f, ~c] = d[f] - d[f, c]
of D[~c] = D - D[c] documents.  Outside a class that never had it, a word is absent with probability
(D[~c] - d[f] + λ) / (D[~c] + 2λ), which is no product of a part of the word and a part of the class: there is no sparse
form, and the scorer weighs every class of a word.  The constants of the rests come from a histogram of d[f].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bunrui.kernel.arithmetic import exact_sums, log
from bunrui.models.rest import against, check_filled, log_odds
from bunrui.models.scorer import Scorer, Smoothing
from bunrui.models.view import CountView, FeatureCounts, distinct_docs, sum_cells
from bunrui.sparse import Floats


def bernoulli(view: CountView, smoothing: Smoothing, prior: Floats, *, against_rest: bool = False) -> Scorer:
    """Presence and absence of every word."""
    # log(λ[f] / (D[c] + λ[f])) has no part that is of the word alone: the scorer would not be sparse.
    lam = smoothing.single("bernoulli")
    if against_rest:
        return against(bernoulli(view, smoothing, log_odds(prior)), _rest(view, lam))
    docs = view.doc_count.astype(np.float64)
    absent = _absence(docs, lam)
    absences = sum_cells(view, lambda cells: absent(cells.counts, cells.classes), by_docs=True)
    own = _scorer(view, docs, lam, absences, lambda cells: cells.counts)
    return replace(own, bias=prior + own.bias, local=True)


def _rest(view: CountView, lam: float) -> Scorer:
    """The same of the documents outside each class."""
    # Where counts are fractions, differences may fall below 0 by rounding.
    docs = np.maximum(distinct_docs(view) - view.doc_count, 0.0)
    absent = _absence(docs, lam)

    def present(cells: FeatureCounts) -> Floats:
        check_filled(cells, len(docs))
        return np.asarray(np.maximum(cells.spread(cells.totals) - cells.counts, 0.0))

    # Each word as if the class never had it, by how many documents have it; then the cells are put right.
    cells = view.gather(view.feature_ids(), by_docs=True)
    everywhere = np.zeros(len(docs))
    for n_docs, n_words in zip(*np.unique(cells.totals, return_counts=True), strict=True):
        everywhere += n_words * absent(n_docs, slice(None))
    totals = cells.spread(cells.totals)
    mended = absent(np.maximum(totals - cells.counts, 0.0), cells.classes) - absent(totals, cells.classes)
    absences = everywhere + exact_sums(mended, cells.classes, len(docs))
    return replace(_scorer(view, docs, lam, absences, present), everywhere=True)


def _scorer(
    view: CountView, docs: Floats, lam: float, absences: Floats, present: Callable[[FeatureCounts], Any]
) -> Scorer:
    """Every word is absent, then those that are present are corrected.

    `absences` are the sums of `_absence` over all words, `present` gives d[f, c] of cells.
    """
    log_docs, absent = log(docs + lam), _absence(docs, lam)

    def weigh(cells: FeatureCounts) -> Floats:
        there = present(cells)
        return log(there + lam) - log(lam) - absent(there, cells.classes)

    return Scorer(
        bias=view.n_features * (log_docs - log(docs + 2 * lam)) + absences,
        scale=np.ones(len(docs)),
        slope=log(lam) - log_docs,
        unseen=log(lam) - log(docs + 2 * lam),
        weigh=weigh,
        by_docs=True,
        presence=True,
    )


def _absence(docs: Floats, lam: float) -> Callable[[Any, Any], Floats]:
    """log(1 - P) of a word that some documents of a class have, less that of a word that none has."""
    log_docs = log(docs + lam)

    def absent(present: Any, classes: Any) -> Floats:
        return np.asarray(log(np.maximum(docs[classes] - present, 0.0) + lam) - log_docs[classes])

    return absent


def log_present(present: Floats, docs: Floats, smoothing: Smoothing) -> Floats:
    """log P(f | c) from d[f, c] and D[c], (n_features, n_classes)."""
    return log(present + smoothing.value) - log(docs + 2 * smoothing.value)
