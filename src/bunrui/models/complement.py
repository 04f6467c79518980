"""Complement naive Bayes: score a class by the words of all the *other* classes.

    w[f, c] = log( (n[f, ~c] + λ) / (N[~c] + λV) )        the class with the smallest sum of w wins

    n[f, ~c] = n[f] - n[f, c]   occurrences of feature f outside class c
    N[~c]    = N - N[c]         all occurrences outside class c

As a sparse scorer (scale -1: the smallest sum is the largest score):
    w[f, c] = log(1 - n[f, c] / (n[f] + λ))  +  log(n[f] + λ)  -  log(N[~c] + λV)
              weight                            shared           slope

`wcnb` divides by the sum of |w[f, c]| over the vocabulary, so that classes whose words depend on each other do not
speak louder.  `binary_complement` counts documents in place of occurrences and reads presence.

Rennie, Shih, Teevan, Karger (2003), sections 3.1 and 3.2.  Golden values: tests/golden/test_complement.py
No class prior, as in scikit-learn: it moves no corpus by more than .0012 (docs/decisions/003).
"""

from __future__ import annotations

import numpy as np

from bunrui.kernel.arithmetic import log
from bunrui.models.scorer import Scorer, Smoothing, normalised, positive
from bunrui.models.view import CountView, FeatureCounts
from bunrui.sparse import Floats


def complement(view: CountView, smoothing: Smoothing, prior: Floats, *, by_docs: bool = False) -> Scorer:
    """Occurrences outside the class."""
    # Where counts are fractions, the difference may fall below 0 by rounding, here and below.
    outside = np.maximum(view.total(by_docs) - view.class_sum(by_docs), 0)
    slope = -log(positive(outside + smoothing.total(view), smoothing))

    def weigh(cells: FeatureCounts) -> Floats:
        totals, lam = cells.spread(cells.totals), smoothing.by_cell(view, cells)
        return log((np.maximum(totals - cells.counts, 0) + lam) / (totals + lam))

    def share(cells: FeatureCounts) -> Floats:
        return log(cells.totals + smoothing.of(view, cells.ids))

    return Scorer(
        bias=np.zeros(len(slope)),
        scale=np.full(len(slope), -1.0),
        slope=slope,
        unseen=slope + log(smoothing.value),
        weigh=weigh,
        share=share,
        by_docs=by_docs,
        presence=by_docs,
        by_count=True,
        by_word=not smoothing.is_single,
        local=True,
    )


def wcnb(view: CountView, smoothing: Smoothing, prior: Floats) -> Scorer:
    """Complement with weight normalisation."""
    return normalised(view, complement(view, smoothing, prior))


def binary_complement(view: CountView, smoothing: Smoothing, prior: Floats) -> Scorer:
    """Complement on presence, in training and in prediction."""
    return complement(view, smoothing, prior, by_docs=True)
