"""What all text models share: smoothing, priors, and the linear scorer that a model becomes.

    score[c](d) = bias[c] + scale[c] * ( slope[c] * length(d) + sum over f of x[f] * (shared[f] + weight[f, c]) )

`weight[f, c]` is not zero only where feature f occurs in class c, so a score touches only the cells of a document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts
from bunrui.errors import OptionError
from bunrui.kernel.logs import log
from bunrui.models.view import Cells, View

__all__ = ["MLE_LAMBDA", "Scorer", "Smoothing", "log_prior", "positive", "smoothing_of"]

Floats = npt.NDArray[np.float64]

# Maximum likelihood is the limit of vanishing smoothing: scores stay finite, and a word that a class never had costs it
# 230 nats, more than any document makes up for.
MLE_LAMBDA = 1e-100


@dataclass(frozen=True)
class Smoothing:
    """λ: one number for all words, or one for each.

    Attributes
    ----------
    value : float
        For words that `by_word` does not name.
    by_word : mapping from word to float
    vanishing : bool
        Whether λ stands for no smoothing at all (`mle`).
    """

    value: float
    by_word: Mapping[str, float] = field(default_factory=dict)
    vanishing: bool = False

    @property
    def is_single(self) -> bool:
        """Whether all words share λ."""
        return not self.by_word

    def of(self, counts: Counts, ids: npt.NDArray[np.uint32]) -> Floats | float:
        """λ of some features; a float where all share it."""
        if self.is_single:
            return self.value
        return np.array([self.by_word.get(text, self.value) for text in counts.texts_of(ids)])

    def total(self, view: View) -> float:
        """The sum of λ over the features of a view, in an order that does not matter."""
        if self.is_single:
            return self.value * view.n_features
        ids = view.counts.ids_of(list(self.by_word))
        named = sorted(lam for lam, f in zip(self.by_word.values(), ids, strict=True) if view.has(f))
        return self.value * (view.n_features - len(named)) + sum(named)


def smoothing_of(estimator: str, alpha: float | Mapping[str, float] | None, default: float) -> Smoothing:
    """λ from the name of an estimator and its parameter.

    `eap` is the mean of the posterior, (n + λ) / (N + λV); `map` its mode, (n + α - 1) / (N + αV - V) for α > 1, that
    is λ = α - 1; `mle` takes no parameter.

    Examples
    --------
    >>> smoothing_of("eap", None, 1.0).value, round(smoothing_of("map", 1.5, 1.0).value, 12)
    (1.0, 0.5)
    """
    if estimator == "mle":
        if alpha is not None:
            raise OptionError("smoothing='mle' takes no alpha: leave it out, or choose smoothing='eap'")
        return Smoothing(MLE_LAMBDA, vanishing=True)
    if estimator not in ("eap", "map"):
        raise OptionError(f"there is no smoothing {estimator!r}: choose 'mle', 'eap' or 'map'")
    if alpha is None:
        alpha = 1.0001 if estimator == "map" else default
    less, rule = 0.0, "alpha should be above 0 (for no smoothing use smoothing='mle')"
    if estimator == "map":
        less, rule = 1.0, "alpha of smoothing='map' should be above 1"
    by_word = dict(alpha) if isinstance(alpha, Mapping) else {}
    value = default + less if isinstance(alpha, Mapping) else alpha
    for each in (value, *by_word.values()):
        if isinstance(each, bool) or not isinstance(each, (int, float, np.number)) or not less < float(each) < np.inf:
            raise OptionError(f"{rule}, not {each!r}")
    return Smoothing(float(value) - less, {word: float(each) - less for word, each in by_word.items()})


def log_prior(counts: Counts, prior: Any, smooth: float = 1.0) -> Floats:
    """log P(c) for every class id; 0 for classes without documents.

    `prior` is "empirical" (D_c / D), "uniform", "smoothed" ((D_c + λ) / (D + λC)), or a mapping from label to P(c).
    """
    if not isinstance(prior, Mapping) and prior not in ("empirical", "uniform", "smoothed"):
        raise OptionError(
            f"there is no prior {prior!r}: choose 'empirical', 'uniform' or 'smoothed', "
            "or give a mapping from label to probability"
        )
    docs = counts.doc_count
    n_alive = np.count_nonzero(docs)
    if not n_alive:
        return np.zeros(len(docs))
    if isinstance(prior, Mapping):
        values = _given(counts, prior)
    elif prior == "empirical":
        values = docs / docs.sum()
    elif prior == "uniform":
        values = np.full(len(docs), 1.0 / n_alive)
    else:
        values = (docs + smooth) / (docs.sum() + smooth * n_alive)
    if n_alive == len(docs):
        return log(values)
    return np.where(docs > 0, log(np.where(docs > 0, values, 1.0)), 0.0)


def _given(counts: Counts, prior: Mapping[str, float]) -> Floats:
    for label in counts.live_labels:
        value = prior.get(label)
        if not isinstance(value, (int, float, np.number)) or not 0 < float(value) < np.inf:
            raise OptionError(f"the prior of {label!r} should be above 0, not {value!r}")
    return np.array([float(prior.get(label, 0)) for label in counts.labels])


def positive(totals: npt.NDArray[Any], smoothing: Smoothing) -> Floats:
    """Denominators that a logarithm can take.

    Without smoothing, a class without a word would have the uniform distribution and win: with a denominator of 1 it
    loses.  Where no document has a word, there is nothing to divide.
    """
    return np.maximum(totals, 1.0) if smoothing.vanishing else np.where(totals > 0, totals, 1.0)


@dataclass(frozen=True)
class Scorer:
    """A model of some counts.

    Attributes
    ----------
    bias, scale, slope : (n_classes,) float64
        By class id.
    weigh : function of Cells
        weight[f, c] of every cell.
    share : function of Cells, optional
        shared[f] of every feature; 0 where there is none.
    unseen : (n_classes,) float64
        In place of slope + shared + weight, for a word that was never learned.
    by_docs : bool
        Whether the model counts documents in place of occurrences.
    presence : bool
        Whether a word counts once in a document, however often it occurs.
    """

    bias: Floats
    scale: Floats
    slope: Floats
    unseen: Floats
    weigh: Callable[[Cells], Floats]
    share: Callable[[Cells], Floats] | None = None
    by_docs: bool = False
    presence: bool = False
