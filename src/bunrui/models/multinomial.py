"""Multinomial naive Bayes: a document is drawn word by word from its class.

    P(f | c) = (n[f, c] + λ[f]) / (N[c] + Λ)          score[c] = log P(c) + sum over words of log P(f | c)

    n[f, c]   occurrences of feature f in class c, N[c] their sum
    Λ         sum of λ over the V live features (λV where they share it)

As a sparse scorer:  log P(f | c) = log(1 + n[f, c] / λ[f])  +  log λ[f]  -  log(N[c] + Λ)
                                    weight                      shared      slope

McCallum and Nigam (1998); Manning, Raghavan, Schütze (2008), section 13.2.  Golden values: tests/golden/test_iir.py

With `class_norm` the counts of every class are first brought to one common size, so that λ weighs the same in small
classes as in large ones; the sum of a class that has words is 1:

    n'[f, c] = s · n[f, c] / N[c]        s = 1

Frank and Bouckaert (2006), Naive Bayes for text classification with unbalanced classes.  Another s is no more than
another λ: s with λ gives the same as 1 with λ / s.  Golden values: tests/models/test_options.py

With `against_rest` a class is scored against all that is not of it: models/rest.py has the formula.

`binary` clips the counts of every document to 1, in training and in prediction: n[f, c] counts documents.  `mixed`
trains on occurrences and reads presence: a repeated word counts once in a document, fully in the corpus.
"""

from __future__ import annotations

import numpy as np

from bunrui.kernel.arithmetic import log, log1p
from bunrui.models.rest import against, log_odds, rest_of_words
from bunrui.models.scorer import Scorer, Smoothing, by_count_and_class, positive
from bunrui.models.view import CountView, FeatureCounts
from bunrui.sparse import Floats


def multinomial(
    view: CountView,
    smoothing: Smoothing,
    prior: Floats,
    *,
    by_docs: bool = False,
    presence: bool = False,
    class_norm: bool = False,
    against_rest: bool = False,
) -> Scorer:
    """Occurrences in training and in prediction."""
    if against_rest:
        own = multinomial(view, smoothing, log_odds(prior), by_docs=by_docs, presence=presence, class_norm=class_norm)
        return against(own, rest_of_words(view, smoothing, by_docs=by_docs, class_norm=class_norm))
    words = view.class_sum(by_docs)
    size = np.where(words > 0, words, 1)
    per_word = -log(positive((words > 0 if class_norm else words) + smoothing.total(view), smoothing))
    unseen = per_word + log(smoothing.value)

    def weigh(cells: FeatureCounts) -> Floats:
        if not smoothing.is_single:
            counts = cells.counts / size[cells.classes] if class_norm else cells.counts
            return log1p(counts / smoothing.by_cell(view, cells))
        if class_norm:
            return by_count_and_class(lambda n, c: log1p(n / size[c] / smoothing.value), cells.counts, cells.classes)
        return by_count_and_class(lambda n, _: log1p(n / smoothing.value), cells.counts)

    def share(cells: FeatureCounts) -> Floats:
        return log(smoothing.of(view, cells.ids))

    return Scorer(
        bias=prior,
        scale=np.ones_like(prior),
        # With one λ for all words, log λ goes into the slope.
        slope=unseen if smoothing.is_single else per_word,
        unseen=unseen,
        weigh=weigh,
        share=None if smoothing.is_single else share,
        by_docs=by_docs,
        presence=presence,
        by_count=not class_norm,
        by_word=not smoothing.is_single,
        local=True,
    )


def binary(view: CountView, smoothing: Smoothing, prior: Floats, **options: bool) -> Scorer:
    """Presence in training and in prediction."""
    return multinomial(view, smoothing, prior, by_docs=True, presence=True, **options)


def mixed(view: CountView, smoothing: Smoothing, prior: Floats, **options: bool) -> Scorer:
    """Occurrences in training, presence in prediction."""
    return multinomial(view, smoothing, prior, presence=True, **options)
