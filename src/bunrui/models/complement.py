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

from bunrui.kernel.logs import log
from bunrui.kernel.sums import exact_sums
from bunrui.models.base import Floats, Scorer, Smoothing, positive
from bunrui.models.view import Cells, View, gather

__all__ = ["binary_complement", "complement", "wcnb"]


def complement(
    view: View, smoothing: Smoothing, prior: Floats, *, normalise: bool = False, by_docs: bool = False
) -> Scorer:
    """Occurrences; with `normalise`, weights divided by their sum."""
    outside = view.total(by_docs) - view.class_sum(by_docs)
    slope = -log(positive(outside + smoothing.total(view), smoothing))

    def smoothed(cells: Cells) -> Floats:
        """n[f] + λ[f], by feature."""
        return np.asarray(cells.totals + smoothing.of(view.counts, cells.ids), np.float64)

    def weigh(cells: Cells) -> Floats:
        lam = smoothing.of(view.counts, cells.ids)
        elsewhere = cells.spread(cells.totals) - cells.counts + (lam if smoothing.is_single else cells.spread(lam))
        return log(elsewhere / cells.spread(smoothed(cells)))

    def share(cells: Cells) -> Floats:
        return log(smoothed(cells))

    scale = -np.ones(len(slope))
    if normalise:
        cells = gather(view.counts, view.feature_ids(), by_docs)
        everywhere = exact_sums(share(cells), np.zeros(len(cells.ids), np.int32), 1)
        parts = (view.n_features * slope, everywhere, exact_sums(weigh(cells), cells.classes, len(slope)))
        size = -(parts[0] + parts[1] + parts[2])
        # With one feature every weight is 0, and so is their sum but for rounding.
        noise = 1e-12 * (np.abs(parts[0]) + np.abs(parts[1]) + np.abs(parts[2]))
        scale = -1.0 / np.where(size > noise, size, 1.0)
    return Scorer(
        bias=np.zeros(len(slope)),
        scale=scale,
        slope=slope,
        unseen=slope + log(smoothing.value),
        weigh=weigh,
        share=share,
        by_docs=by_docs,
        presence=by_docs,
    )


def wcnb(view: View, smoothing: Smoothing, prior: Floats) -> Scorer:
    """Complement with weight normalisation."""
    return complement(view, smoothing, prior, normalise=True)


def binary_complement(view: View, smoothing: Smoothing, prior: Floats) -> Scorer:
    """Complement on presence, in training and in prediction."""
    return complement(view, smoothing, prior, by_docs=True)
