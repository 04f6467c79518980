"""Against the rest: how much likelier a document is in a class than in all that is not of the class.

    score[c] = log P(c) / (1 - P(c)) + log P(d | c) / P(d | ~c)

    ~c   the documents without label c, as one class: n[f, ~c] = n[f] - n[f, c], N[~c] = N - N[c], D[~c] = D - D[c];
         totals have every document once, however many labels it has

The multinomial models have the P(f | ~c) of the complement, and the share of a word is sparse:

    log P(f | c) / P(f | ~c) = log(1 + n[f, c] / λ[f]) - log(1 - n[f, c] / (n[f] + λ[f]))       weight
                               + log λ[f] - log(n[f] + λ[f])                                    shared
                               + log(N[~c] + Λ) - log(N[c] + Λ)                                 slope

Rennie, Shih, Teevan, Karger (2003), section 3.1, compare it to the complement as "one versus all".  Golden values:
tests/models/test_options.py

With `class_norm` (models/multinomial.py) the rest is brought to the common size too, as one class: n[f, ~c] / N[~c].
Then a word that class c never had takes off log(n[f] / N[~c] + λ[f]), which is no sum of a part of the word and a part
of the class: there is no sparse form, and the scorer weighs every class of a word.

A prior of 1 (a class that has all documents) would have infinite odds: 1 - P(c) is never below 1e-100.

Where documents have several labels, each label and its rest are two classes: a label has a prior of its own
(`log_label_prior`), and is given where its score is above a threshold (`best_cut`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts, Label
from bunrui.kernel.arithmetic import expm1, log
from bunrui.models.complement import complement
from bunrui.models.scorer import MLE_LAMBDA, Docs, Scorer, Smoothing, given_share, positive, prior_shares
from bunrui.models.view import CountView, FeatureCounts
from bunrui.sparse import Floats

# The best F of a label with a handful of rows may come from giving the label to all rows.  So a threshold goes below 0
# only for this F or more.  On a fifth of the training set of Reuters with 90 topics, held out, micro-F is .647 with
# thresholds of 0, .232 without this floor, and .741 with it; .2 and .4 differ by .01 at most.
# benchmarks/multilabel.py --floors
LEAST_F = 0.3


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
        share=share if own.share or rest.share else None,
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
    # Where counts are fractions, the difference may fall below 0 by rounding, here and below.
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


# Documents with several labels


def log_label_prior(counts: Counts | Docs, prior: Any) -> Floats:
    """log P(label) of every class id by itself; 0 for classes without documents.

    "empirical" is D_c / D with every document once, "uniform" is a half, ("smoothed", λ) (D_c + λ) / (D + 2λ).
    """
    out = np.zeros(len(counts.labels))
    if isinstance(prior, Mapping):
        for c in np.flatnonzero(counts.doc_count).tolist():
            out[c] = math.log(given_share(counts.labels[c], prior, alone=True))
        return out
    # Many labels have as many documents as others.
    distinct, places = np.unique(counts.doc_count, return_inverse=True)
    pairs = [np.array([counts.n_docs - docs, docs]) for docs in distinct.tolist()]
    logs = [math.log(prior_shares(pair, [0, 1], prior)[1]) if pair[1] else 0.0 for pair in pairs]
    return np.array(logs)[places]


def labels_above(classes: Sequence[Label], odds: Floats, thresholds: Floats) -> list[set[Label]]:
    """The labels of every row whose log-odds are above their thresholds."""
    return [{classes[k] for k in np.flatnonzero(row).tolist()} for row in odds > thresholds]


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
