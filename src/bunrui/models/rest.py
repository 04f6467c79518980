"""Against the rest: how much likelier a document is in a class than in all that is not of the class.

    score[c] = log P(c) / (1 - P(c)) + log P(d | c) / P(d | ~c)

    ~c   the documents without label c, as one class: n[f, ~c] = n[f] - n[f, c], N[~c] = N - N[c], D[~c] = D - D[c];
         totals have every document once, however many labels it has

Of the multinomial models P(f | ~c) is that of the complement, and what a word adds is sparse:

    log P(f | c) / P(f | ~c) = log(1 + n[f, c] / λ[f]) - log(1 - n[f, c] / (n[f] + λ[f]))       weight
                               + log λ[f] - log(n[f] + λ[f])                                    shared
                               + log(N[~c] + Λ) - log(N[c] + Λ)                                 slope

Rennie, Shih, Teevan, Karger (2003), section 3.1, compare it to the complement as "one versus all".  Golden values:
tests/models/test_options.py

With `class_norm` (models/multinomial.py) the rest is brought to the common size too, as one class: n[f, ~c] / N[~c].
Then a word that class c never had takes off log(n[f] / N[~c] + λ[f]), which is no sum of a part of the word and a part
of the class: there is no sparse form, and the scorer weighs every class of a word.

A prior of 1 (a class that has all documents) would have infinite odds: 1 - P(c) is never below 1e-100.
"""

from __future__ import annotations

import numpy as np

from bunrui.kernel.logs import expm1, log
from bunrui.models.complement import complement
from bunrui.models.scorer import MLE_LAMBDA, Floats, Scorer, Smoothing, positive
from bunrui.models.view import CountView, FeatureCounts

__all__ = ["against", "check_filled", "log_odds", "rest_of_words"]


def log_odds(prior: Floats) -> Floats:
    """log P(c) / (1 - P(c)) from log P(c), at most 230.

    Examples
    --------
    >>> log_odds(np.log([0.5, 0.8, 1.0])).round(3).tolist()
    [0.0, 1.386, 230.259]
    """
    return prior - log(np.maximum(-expm1(np.minimum(prior, 0.0)), MLE_LAMBDA))


def against(own: Scorer, rest: Scorer) -> Scorer:
    """log P(d | c) less log P(d | ~c), each as its scorer has it before it is scaled."""
    shares = [share for share in (own.share, rest.share) if share is not None]

    def weigh(cells: FeatureCounts) -> Floats:
        return own.weigh(cells) - rest.weigh(cells)

    def share(cells: FeatureCounts) -> Floats:
        mine = own.share(cells) if own.share else 0.0
        theirs = rest.share(cells) if rest.share else 0.0
        return np.asarray(mine - theirs)

    return Scorer(
        bias=own.bias - rest.bias,
        scale=np.ones_like(own.bias),
        slope=own.slope - rest.slope,
        unseen=own.unseen - rest.unseen,
        weigh=weigh,
        share=share if shares else None,
        by_docs=own.by_docs,
        presence=own.presence,
        by_count=own.by_count and rest.by_count,
        by_word=own.by_word or rest.by_word,
        everywhere=rest.everywhere,
        local=own.local and rest.local,
    )


def rest_of_words(view: CountView, smoothing: Smoothing, *, by_docs: bool, class_norm: bool) -> Scorer:
    """log P(f | ~c) of the multinomial models."""
    words = view.class_sum(by_docs)
    if not class_norm:
        return complement(view, smoothing, np.zeros(len(words)), by_docs=by_docs)
    # Of sums of fractions the difference may fall below 0 by rounding, here and below.
    outside = np.maximum(view.total(by_docs) - words, 0)
    size = np.where(outside > 0, outside, 1)
    slope = -log(positive((outside > 0) + smoothing.total(view), smoothing))

    def weigh(cells: FeatureCounts) -> Floats:
        check_filled(cells, len(words))
        elsewhere = np.maximum(cells.spread(cells.totals) - cells.counts, 0) / size[cells.classes]
        return log(elsewhere + smoothing.by_cell(view, cells))

    return Scorer(
        bias=np.zeros(len(words)),
        scale=np.ones(len(words)),
        slope=slope,
        unseen=slope + log(smoothing.value),
        weigh=weigh,
        by_docs=by_docs,
        by_word=not smoothing.is_single,
        everywhere=True,
    )


def check_filled(cells: FeatureCounts, n_classes: int) -> None:
    """Refuse cells of some classes only, whose weights would pass for all there are."""
    if (cells.lengths != n_classes).any():
        raise ValueError("this scorer weighs every class of a feature: gather the cells from a view that is filled")
