"""Bernoulli naive Bayes: a document says of every word whether it has it; absent words count.

    P(f | c) = (d[f, c] + λ) / (D[c] + 2λ)
    score[c] = log P(c) + sum over words present of log P(f | c) + sum over words absent of log(1 - P(f | c))

    d[f, c]   documents of class c that contain f, D[c] all documents of class c

As a sparse scorer every word is first taken to be absent (a constant of the class), then the words that are present
are corrected.  The correction of a word that the class never had is the slope, log λ - log(D[c] + λ).

Manning, Raghavan, Schütze (2008), section 13.3.  Golden values: tests/golden/test_iir.py
"""

from __future__ import annotations

import numpy as np

from bunrui.errors import OptionError
from bunrui.kernel.logs import log
from bunrui.kernel.sums import exact_sums
from bunrui.models.base import Floats, Scorer, Smoothing
from bunrui.models.view import Cells, CountView

__all__ = ["bernoulli", "log_present"]


def bernoulli(view: CountView, smoothing: Smoothing, prior: Floats) -> Scorer:
    """Presence and absence of every word."""
    if not smoothing.is_single:
        # log(λ[f] / (D[c] + λ[f])) has no part that is of the word alone: the scorer would not be sparse.
        raise OptionError("the model 'bernoulli' takes one alpha for all words, not one for each")
    lam = smoothing.value
    docs = view.doc_count.astype(np.float64)
    log_docs = log(docs + lam)

    def absent(cells: Cells) -> Floats:
        """log(1 - P) of a cell, less that of a word that the class never had."""
        return log(np.maximum(docs[cells.classes] - cells.counts, 0.0) + lam) - log_docs[cells.classes]

    def weigh(cells: Cells) -> Floats:
        return log(cells.counts + lam) - log(lam) - absent(cells)

    cells = view.gather(view.feature_ids(), by_docs=True)
    all_absent = view.n_features * (log_docs - log(docs + 2 * lam))
    return Scorer(
        bias=prior + (all_absent + exact_sums(absent(cells), cells.classes, len(docs))),
        scale=np.ones_like(prior),
        slope=log(lam) - log_docs,
        unseen=log(lam) - log(docs + 2 * lam),
        weigh=weigh,
        by_docs=True,
        presence=True,
    )


def log_present(present: Floats, docs: Floats, smoothing: Smoothing) -> Floats:
    """log P(f | c) from d[f, c] and D[c], (n_features, n_classes)."""
    return log(present + smoothing.value) - log(docs + 2 * smoothing.value)
