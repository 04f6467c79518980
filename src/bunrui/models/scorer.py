"""The parts that all text models share: smoothing, priors, and the linear scorer that a model becomes.

    score[c](d) = bias[c] + scale[c] * ( slope[c] * length(d) + sum over f of x[f] * (shared[f] + weight[f, c]) )

`weight[f, c]` is not zero only where feature f occurs in class c, so a score touches only the cells of a document.
Two readings against the rest have no such form (models/rest.py): they say so by `everywhere`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts, Label
from bunrui.errors import Option, OptionError
from bunrui.kernel.arithmetic import log
from bunrui.labels import check_types
from bunrui.models.view import CountView, FeatureCounts, WordView, sum_cells, sum_features
from bunrui.sparse import Floats, Integers

# Cells that are weighed one by one.
_FEW_CELLS = 1 << 10

# Maximum likelihood is the limit of vanishing smoothing: scores stay finite, and a word that a class never had costs it
# 230 nats, more than any document makes up for.
MLE_LAMBDA = 1e-100

# Where scikit-learn stops with `force_alpha=False`.
_LEAST = 1e-10


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

    def single(self, model: str) -> float:
        """λ, for a model that takes one for all words."""
        if not self.is_single:
            raise OptionError((f"the model {model!r} takes one ", Option("alpha"), " for all words, not one for each"))
        return self.value

    def of(self, view: CountView, ids: npt.NDArray[np.uint32]) -> Floats | float:
        """λ of some features; a float where all share it."""
        if self.is_single:
            return self.value
        distinct, places = np.unique(ids, return_inverse=True)
        words = cast(WordView, view).words_of(distinct)
        return np.array([self.by_word.get(word, self.value) for word in words])[places]

    def by_cell(self, view: CountView, cells: FeatureCounts) -> Floats | float:
        """λ of every cell; a float where all share it."""
        value = self.of(view, cells.ids)
        return value if self.is_single else cells.spread(value)

    def total(self, view: CountView) -> float:
        """The sum of λ over the features of a view, in an order that does not matter."""
        if self.is_single:
            return self.value * view.n_features
        there = cast(WordView, view).has_words(list(self.by_word))
        named = sorted(zip(self.by_word.values(), there, strict=True), key=lambda pair: pair[0])
        n_named = sum(known for _, known in named)
        return self.value * (view.n_features - n_named) + sum(lam * known for lam, known in named)


@dataclass(frozen=True)
class ColumnSmoothing(Smoothing):
    """λ of every column of a matrix, (n_features,)."""

    by_column: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def is_single(self) -> bool:
        """Never."""
        return False

    def of(self, view: CountView, ids: npt.NDArray[np.uint32]) -> Floats:
        """λ of some columns."""
        return self.by_column[ids]

    def total(self, view: CountView) -> float:
        """The sum of λ over all columns."""
        return math.fsum(self.by_column)


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
            mle, eap = Option("smoothing", "mle"), Option("smoothing", "eap")
            raise OptionError((mle, " takes no ", Option("alpha"), ": leave it out, or choose ", eap))
        return Smoothing(MLE_LAMBDA, vanishing=True)
    if estimator not in ("eap", "map"):
        raise OptionError(option="smoothing", value=estimator, choices=("eap", "map", "mle"))
    if alpha is None:
        alpha = 1.0001 if estimator == "map" else default
    less = 1.0 if estimator == "map" else 0.0
    by_word = dict(alpha) if isinstance(alpha, Mapping) else {}
    value = default + less if isinstance(alpha, Mapping) else alpha
    for each in (value, *by_word.values()):
        if isinstance(each, bool) or not isinstance(each, (int, float, np.number)):
            raise OptionError(option="alpha", value=each, expected="a number, or a mapping from word to number")
        if not less < float(each):
            if estimator == "map":
                mode = Option("alpha"), " of ", Option("smoothing", "map")
                raise OptionError(mode, option="alpha", value=each, expected="above 1")
            hint = "for no smoothing use ", Option("smoothing", "mle")
            raise OptionError(option="alpha", value=each, expected="above 0", hint=hint)
        if not MLE_LAMBDA <= float(each) - less <= 1 / MLE_LAMBDA:
            expected = f"between {less + MLE_LAMBDA:g} and {1 / MLE_LAMBDA:g}"
            raise OptionError(option="alpha", value=each, expected=expected)
    return Smoothing(float(value) - less, {word: float(each) - less for word, each in by_word.items()})


def smoothing_on(
    n_features: int,
    names: Sequence[str] | None,
    smoothing: str,
    alpha: Any,
    force_alpha: bool = True,
    warn: bool = False,
) -> Smoothing:
    """λ for the columns of a matrix, which may have names.

    As in scikit-learn `alpha` may be 0: no smoothing, as `smoothing="mle"` has it; and as there, with `warn` a user is
    told where `force_alpha=False` raises it.

    Examples
    --------
    >>> smoothing_on(2, None, "eap", None).value, smoothing_on(2, None, "eap", 0).value
    (1.0, 1e-100)
    """
    if alpha is None or isinstance(alpha, (Mapping, str, bool)) or smoothing not in ("eap", "map"):
        return _by_column(n_features, names, smoothing_of(smoothing, alpha, default=1.0))
    try:
        values = np.asarray(alpha, np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(option="alpha", value=alpha, expected="a number, or one for each column") from error
    values = values - 1.0 if smoothing == "map" else values
    if not ((values > 0) if smoothing == "map" else (values >= 0)).all() or not np.isfinite(values).all():
        rule = "above 1 with smoothing='map'" if smoothing == "map" else "0 or more"
        raise OptionError(option="alpha", value=alpha, expected=rule)
    if warn and not force_alpha and (values < _LEAST).any():
        warnings.warn(
            f"alpha too small will result in numeric errors, setting alpha = {_LEAST:.1e}. Use `force_alpha=True` to "
            "keep alpha unchanged.",
            stacklevel=2,
        )
    values = np.maximum(values, MLE_LAMBDA if force_alpha else _LEAST)
    vanishing = bool((values == MLE_LAMBDA).all())
    if values.ndim == 0:
        return Smoothing(float(values), vanishing=vanishing)
    if values.shape != (n_features,):
        raise OptionError(f"alpha should have one number for each of {n_features} columns, not {values.shape}")
    return ColumnSmoothing(float(values.min()), vanishing=vanishing, by_column=values)


def _by_column(n_features: int, names: Sequence[str] | None, smoothing: Smoothing) -> Smoothing:
    """λ of columns by their places, where it names some of them."""
    if smoothing.is_single:
        return smoothing
    places = {name: k for k, name in enumerate(column_names(n_features) if names is None else names)}
    values = np.full(n_features, smoothing.value)
    for name, value in smoothing.by_word.items():
        if name not in places:
            raise OptionError(f"alpha names the column {name!r}, which X does not have")
        values[places[name]] = value
    return ColumnSmoothing(smoothing.value, by_column=values)


def column_names(n_features: int) -> list[str]:
    """Names for columns that have none, as scikit-learn has them."""
    return [f"x{f}" for f in range(n_features)]


class Docs(NamedTuple):
    """Documents by class: all that priors read of counts."""

    labels: Sequence[Label]
    doc_count: npt.NDArray[Any]  # fractions where some are expected
    n_docs: int


def log_prior(counts: Counts | Docs, prior: Any) -> Floats:
    """log P(c) for every class id; 0 for classes without documents.

    `prior` is "empirical" (D_c / D), "uniform", ("smoothed", λ) ((D_c + λ) / (D + λC)), "smoothed" where λ is 1, or a
    mapping from label to P(c).
    """
    alive = counts.doc_count > 0
    if alive.ndim == 2:
        assert prior == "empirical"
        logs = np.zeros(alive.shape)
        logs[alive] = log((counts.doc_count / counts.doc_count.sum(axis=1, keepdims=True))[alive])
        return logs
    # Names are for priors that are given; of 100,000 classes the list would take longer than all else here.
    names = not isinstance(prior, str) and isinstance(prior, Mapping)
    labels = [counts.labels[c] for c in np.flatnonzero(alive).tolist()] if names else ()
    for label in prior if names else ():
        check_types([label], labels)
    if alive.all():
        return log(prior_shares(counts.doc_count, labels, prior))
    out = np.zeros(len(alive))
    out[alive] = log(prior_shares(counts.doc_count[alive], labels, prior))
    return out


def prior_shares(docs: npt.NDArray[Any], labels: Sequence[Any], prior: Any) -> Floats:
    """P(c) of some classes, (n_classes,).

    >>> prior_shares(np.array([3, 1]), (), ("smoothed", 0.5)).tolist()  # 3.5 / 5 and 1.5 / 5
    [0.7, 0.3]
    """
    if isinstance(prior, str) and prior == "empirical":
        return np.asarray(docs / docs.sum(), np.float64)
    if isinstance(prior, Mapping):
        return np.array([given_share(label, prior) for label in labels])
    if prior == "uniform":
        return np.full(len(docs), 1.0 / max(len(docs), 1))
    name, lam = prior if isinstance(prior, tuple) and len(prior) == 2 else (prior, 1.0)
    if name != "smoothed":
        raise OptionError(
            f"there is no prior {prior!r}",
            option="prior",
            value=prior,
            hint="choose 'empirical', 'uniform', 'smoothed', ('smoothed', λ) or a mapping from label to probability",
        )
    if isinstance(lam, bool) or not isinstance(lam, (int, float, np.number)) or not 0 < float(lam) < np.inf:
        raise OptionError("λ of a smoothed prior", option="prior", value=lam, expected="above 0")
    return np.asarray((docs + float(lam)) / (docs.sum() + float(lam) * len(docs)), np.float64)


def given_share(label: Any, prior: Mapping[Any, float], *, alone: bool = False) -> float:
    """P(c) that a user gives; of a label `alone`, which is there or not, it is below 1."""
    value, most = prior.get(label), 1 if alone else np.inf
    if not isinstance(value, (int, float, np.number)) or not 0 < float(value) < most:
        what, expected = f"the prior of {label!r}", "above 0"
        if alone:
            what, expected = f"the prior of the label {label!r} by itself", "above 0 and below 1"
        raise OptionError(what, option="prior", value=value, expected=expected)
    return float(value)


def positive(totals: npt.NDArray[Any], smoothing: Smoothing) -> Floats:
    """Denominators that a logarithm can take.

    Without smoothing, a class without a word would have the uniform distribution and win: with a denominator of 1 it
    loses.  Where no document has a word, there is nothing to divide.
    """
    # 1e-100 for each feature is far below this, and any count of a class is above it, be it a fraction.
    is_above = totals > (1e-50 if smoothing.vanishing else 0.0)
    return np.asarray(totals, np.float64) if is_above.all() else np.where(is_above, totals, 1.0)


@dataclass(frozen=True)
class Scorer:
    """A model of some counts.

    Attributes
    ----------
    bias, scale, slope : (n_classes,) float64
        By class id.
    weigh : function of FeatureCounts
        weight[f, c] of every cell.
    share : function of FeatureCounts, optional
        shared[f] of every feature; 0 where there is none.
    unseen : (n_classes,) float64
        In place of slope + shared + weight, for a word that was never learned.
    by_docs : bool
        Whether the model counts documents in place of occurrences.
    presence : bool
        Whether a word counts once in a document, however often it occurs.
    by_count : bool
        Whether a weight is a function of the feature and of the count in the cell, whatever the class.
    by_word : bool
        Whether features with the same counts may have different weights, as words have that have a λ of their own.
    everywhere : bool
        Whether weights are not zero in classes that never had the feature too: `gather` has cells of all classes.
    local : bool
        Whether a weight depends on its cell, its feature and its class alone, not on V or N or on other classes.  Then
        leave-one-out takes one pass over the documents; else the model is fitted for each of them.
    """

    bias: Floats
    scale: Floats
    slope: Floats
    unseen: Floats
    weigh: Callable[[FeatureCounts], Floats]
    share: Callable[[FeatureCounts], Floats] | None = None
    by_docs: bool = False
    presence: bool = False
    by_count: bool = False
    by_word: bool = False
    everywhere: bool = False
    local: bool = False

    def gather(self, view: CountView, ids: npt.NDArray[np.uint32]) -> FeatureCounts:
        """The cells of some features that this scorer weighs: of all classes where its weights are `everywhere`."""
        cells = view.gather(ids, self.by_docs)
        return cells.filled(len(self.slope)) if self.everywhere else cells

    def weights(self, cells: FeatureCounts, once: Once | None = None) -> Floats:
        """The same as `weigh`; where many cells of a feature have the same count, of each count once.

        `once` is what `once_each` gives for these cells, where several models weigh them.
        """
        if not self.by_count:
            return self.weigh(cells)
        known, places = once or once_each(cells)
        weights = self.weigh(known)
        return weights if places is None else np.asarray(weights[places])


Once = tuple[FeatureCounts, Integers | None]
"""Cells with each count of a feature once, and where the weights of other cells stand among theirs; None: in place."""


def once_each(cells: FeatureCounts) -> Once:
    """Cells with every count of a feature once, if these are much fewer; else the cells as they are."""
    if len(cells.counts) <= _FEW_CELLS or cells.counts.dtype.kind != "i":
        return cells, None
    most = cells.largest()
    # Without a document, a feature that only it had has a cell of count 0.
    if int(most.sum(dtype=np.float64)) > len(cells.counts) // 2 or cells.counts.min() < 1:
        return cells, None
    once = cells.up_to(most)
    return once, np.asarray(np.repeat(once.starts - 1, cells.lengths) + cells.counts)


def by_count_and_class(value: Callable[[Any, Any], Floats], counts: npt.NDArray[Any], classes: Any = 0) -> Floats:
    """A value of the count of every cell, and of its class where these are given: where many are alike, of each once.

    `once_each` is for values that depend on the feature, too.

    >>> by_count_and_class(lambda n, c: n / (c + 2), np.array([3, 1, 3]), np.array([0, 1, 0])).round(2).tolist()
    [1.5, 0.33, 1.5]
    """
    if len(counts) > _FEW_CELLS and counts.dtype.kind == "i":
        size = int(counts.max()) + 1
        n_classes = int(np.max(classes)) + 1
        if 2 * n_classes * size <= len(counts):
            table = value(np.tile(np.arange(size), n_classes), np.repeat(np.arange(n_classes), size))
            return table.take(counts if n_classes == 1 else classes * size + counts)
    return value(counts, classes)


def normalised(view: CountView, scorer: Scorer) -> Scorer:
    """The same, with the weights of every class divided by the sum of their sizes over all features.

    All of them are logarithms of probabilities, so that the sum of sizes is minus the sum.
    """
    by_docs, by_word, share = scorer.by_docs, scorer.by_word, scorer.share
    everywhere = np.zeros(1) if share is None else sum_features(view, share, by_docs, by_word=by_word)
    cells = sum_cells(view, scorer.weights, by_docs, by_class=not scorer.by_count, by_word=by_word)
    parts = (view.n_features * scorer.slope, everywhere, cells)
    size = -(parts[0] + parts[1] + parts[2])
    # With one feature every weight is 0, and so is their sum but for rounding.
    noise = 1e-12 * (np.abs(parts[0]) + np.abs(parts[1]) + np.abs(parts[2]))
    return replace(scorer, scale=scorer.scale / np.where(size > noise, size, 1.0))


def check_rows(m: Any) -> None:
    """Refuse an m that is no number of rows."""
    if isinstance(m, bool) or not isinstance(m, (int, float, np.number)) or not 0 < m < np.inf:
        raise OptionError(option="m", value=m, expected="a number of rows, above 0")
