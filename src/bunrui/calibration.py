"""Probabilities that mean what they say: of the answers with probability .8, about 80 % are right.

    T(d)   = exp(level + slope · log(1 + length(d)))        length: bytes of the text
    p(d)   = softmax(scores(d) / T(d))
    P(d)   = p(d) with its largest value replaced by a rising function of it, and the others rescaled to sum to 1

Naive Bayes treats words as independent.  So its scores grow with the length of a document, and its probabilities are
near 0 or 1, right or wrong.  The temperature T corrects this (Guo, Pleiss, Sun, Weinberger 2017, with a length); the
rising function, "the map", corrects the rest (Zadrozny, Elkan 2002).  Labels do not change: the largest stays largest.

`fit_calibration` fits a calibration on documents that were left out, so that no others are needed:

    level, slope   least Σ -log p(d, own label)  +  Σ -log p(d, any label) / n  +  priors
                   the second term is one document whose label says nothing: without it, documents that are all right
                   would make the temperature 0.  The priors are wide: slope 1 ± .5, and a level at which the usual lead
                   of the best score is worth 3 ± a factor of 20 either way.  They matter for tens of documents
    the map        the share of right answers by confidence, in bins of as many documents, forced to rise by pooling
                   adjacent violators (Ayer, Brunk, Ewing, Reid, Silverman 1955), each block as if SHRINK more documents
                   had come out as the temperature says; and CHANCE documents more that chance gets right.  It is the
                   mean of four maps, with n^.35 to n^.5 bins: where their borders lie is chance (docs/decisions/033)

On 20 Newsgroups the expected calibration error on the test set goes from .119 to .016 and the log loss from 2.04 to
.57, by the training documents alone; benchmarks/calibration.py has this and other corpora.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.errors import DataError
from bunrui.models.linear import probabilities
from bunrui.reliability import calibration_error, log_loss, reliability
from bunrui.sparse import Booleans, Floats

MOST_KNOTS = 101
_MOST_LEVEL, _MOST_SLOPE = 100.0, 10.0
_CURVES = ("confidences", "accuracies", "thresholds", "errors")

# The lead of the largest over the next where the map would make them equal.
_AHEAD = 1e-9


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How the scores of one model become probabilities.

    Attributes
    ----------
    level, slope : float
        The two numbers of the temperature.
    confidences, accuracies : tuple of float
        The map of the largest probability, linear between these points.
    thresholds, errors : tuple of float
        For each threshold of the probability, the expected share of wrong answers above it.  It was measured on
        documents that were left out, with a calibration fitted on the other half of them.
    model, options : str
        The name of the model that it was fitted for, and a digest of all settings (`digest_of`).
    n_docs : int
        The number of documents that it was fitted on.
    ece_before, ece_after, log_loss_before, log_loss_after : float
        Measured on these documents, each left out.  "After" is measured with a calibration fitted on the other half of
        them; from 400 documents on, with the temperature of all and the map of the other half.  Below 20 documents
        there are no halves: "after" is then measured on the fitted documents, and flatters.
    tx : int
        The last transaction of the file that it knows; 0 without a file.
    by_choice : bool
        Whether it came with the choice of a model, and goes with it; else somebody asked for it.

    Examples
    --------
    >>> sure = Calibration(level=0.0, slope=1.0, confidences=(0.5, 1.0), accuracies=(0.5, 0.9),
    ...     thresholds=(0.5, 0.8), errors=(0.2, 0.05), model="multinomial", options="", n_docs=9,
    ...     ece_before=0.1, ece_after=0.0, log_loss_before=1.0, log_loss_after=0.5)
    >>> sure.apply(np.array([[0.0, -9.0], [0.0, -9.0]]), np.array([0.0, 8.0])).round(3).tolist()
    [[0.9, 0.1], [0.685, 0.315]]
    >>> sure.threshold(0.1), sure.threshold(0.01)
    (0.8, inf)
    >>> sure.error_above(0.8)
    0.05
    """

    level: float
    slope: float
    confidences: tuple[float, ...]
    accuracies: tuple[float, ...]
    thresholds: tuple[float, ...]
    errors: tuple[float, ...]
    model: str
    options: str
    n_docs: int
    ece_before: float
    ece_after: float
    log_loss_before: float
    log_loss_after: float
    tx: int = 0
    by_choice: bool = False

    def apply(self, scores: Floats, lengths: Floats) -> Floats:
        """P(class | document) from scores (n_docs, n_classes) and `lengths_of` the documents (n_docs,)."""
        shares = temper(scores, lengths, self.level, self.slope)
        return map_largest(shares, scores.argmax(axis=1), np.array(self.confidences), np.array(self.accuracies))

    def threshold(self, error: float) -> float:
        """The probability above which at most a share `error` of the answers is wrong; inf if there is none."""
        enough = np.flatnonzero(np.array(self.errors) <= error)
        return self.thresholds[enough[0]] if len(enough) else math.inf

    def error_above(self, threshold: float) -> float:
        """The expected share of wrong answers above a `threshold` of this calibration."""
        known = np.searchsorted(self.thresholds, threshold, side="right")
        return self.errors[max(int(known) - 1, 0)]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, known: Any) -> Calibration:
        """Make a calibration from a result of `to_dict`; all of it is checked.

        Raises
        ------
        DataError
            If it is anything else.
        """
        if not isinstance(known, Mapping):
            raise DataError("a calibration has other fields")
        values = {"by_choice": False} | dict(known)  # which older files do not have
        if set(values) != {field.name for field in fields(cls)} or type(values["by_choice"]) is not bool:
            raise DataError("a calibration has other fields")
        for name in _CURVES:
            values[name] = _curve(name, known[name], falls=name == "errors")
        for one, other in (_CURVES[:2], _CURVES[2:]):
            if len(values[one]) != len(values[other]):
                raise DataError(f"a calibration has another number of {one} than of {other}")
        for name, most in (("level", _MOST_LEVEL), ("slope", _MOST_SLOPE)):
            values[name] = _number(name, known[name], -most, most)
        for name in ("ece_before", "ece_after", "log_loss_before", "log_loss_after"):
            values[name] = _number(name, known[name], 0, 1 if name.startswith("ece") else 1e6)
        for name in ("n_docs", "tx"):
            if type(known[name]) is not int or not 0 <= known[name] < 1 << 62:
                raise DataError(f"{name} of a calibration is no whole number: {known[name]!r:.40}")
        if not all(isinstance(known[name], str) and len(known[name]) <= 100 for name in ("model", "options")):
            raise DataError("a calibration does not name its model and options")
        return cls(**values)


def _number(name: str, value: Any, least: float, most: float) -> float:
    if type(value) not in (int, float) or not least <= value <= most:  # NaN is in no range
        raise DataError(f"{name} of a calibration is no number from {least:g} to {most:g}: {value!r:.40}")
    return float(value)


def _curve(name: str, values: Any, *, falls: bool) -> tuple[float, ...]:
    if not isinstance(values, (list, tuple)) or not 1 <= len(values) <= MOST_KNOTS:
        raise DataError(f"{name} of a calibration are no list of 1 to {MOST_KNOTS} numbers")
    found = tuple(_number(name, value, 0, 1) for value in values)
    steps = np.diff(found)
    if (steps > 0).any() if falls else (steps < 0).any():
        raise DataError(f"{name} of a calibration do not {'fall' if falls else 'rise'}")
    return found


def temper(scores: Floats, lengths: Floats, level: float, slope: float) -> Floats:
    """The softmax of scores over a temperature that grows with the length."""
    return probabilities(scores / np.exp(level + slope * np.log1p(lengths))[:, None])


def map_largest(shares: Floats, top: npt.NDArray[np.int64], confidences: Floats, accuracies: Floats) -> Floats:
    """Replace the share in column `top` by its value in a map, and rescale the others: (n_docs, n_classes).

    It stays the largest: if the map would put it below the next one, it gets a value just above that.
    """
    n_docs, n_classes = shares.shape
    if n_classes == 1:
        return np.ones_like(shares)
    rows = np.arange(n_docs)
    sure = np.interp(shares[rows, top], confidences, accuracies)
    others = shares.copy()
    others[rows, top] = 0
    rest = others.sum(axis=1)
    lost = rest == 0  # all others are too small for a float
    others[lost] = 1
    others[rows, top] = 0
    rest[lost] = n_classes - 1
    second = others.max(axis=1)
    level = second / (rest + second)  # where the two are equal
    sure = np.maximum(sure, level + _AHEAD * (1 - level))
    out = others / rest[:, None] * (1 - sure)[:, None]  # in this order: 1 / rest may be too large for a float
    out[rows, top] = sure
    return np.asarray(out)


def lengths_of(texts: Any) -> Floats:
    """Bytes of every document, (n_docs,): of its text, or of its tokens with a byte between them.

    The number of features would do as well, and no better (benchmarks/calibration.py), but has to be counted.

    >>> lengths_of(["pills", "無料"]).tolist(), lengths_of([["cheap", "pills"], {"noon": 2}]).tolist()
    ([5.0, 6.0], [12.0, 10.0])
    """
    if inputs.is_given(texts):
        return np.array([_length_of(document) for document in texts], np.float64)
    offsets = inputs.buffers(inputs.strings(texts)).offsets
    return np.diff(np.asarray(offsets)).astype(np.float64)


def _length_of(document: Any) -> int:
    pairs = document.items() if isinstance(document, Mapping) else ((word, 1) for word in document)
    return sum((len(word.encode()) + 1) * count for word, count in pairs)


# Options that are younger than calibrations: at their default, those in files from before still apply.
_LATER = {"m": 1}
# Models whose formula has changed since, and its version: those in files from before no longer apply.
_FORMULAS = {"nbsvm": 2, "arow": 2}


def digest_of(settings: Mapping[str, Any]) -> str:
    """A digest of the settings of a model: equal settings have equal digests.

    >>> digest_of({"alpha": 1, "prior": {"a": 0.5}}) == digest_of({"prior": {"a": 0.5}, "alpha": 1.0})
    True
    >>> digest_of({"alpha": 1}) == digest_of({"alpha": 1, "m": 1}) != digest_of({"alpha": 1, "m": 30})
    True
    """
    told = {name: value for name, value in settings.items() if name not in _LATER or value != _LATER[name]}
    if settings.get("model") in _FORMULAS:
        told["formula"] = _FORMULAS[settings["model"]]
    text = json.dumps(_canonical(told), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _canonical(value: Any) -> Any:
    """A value in the form that a file gives back: tuples as lists, numbers as floats."""
    if isinstance(value, Mapping):
        return {str(key): _canonical(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(one) for one in value]
    return value if value is None or isinstance(value, (str, bool)) else float(value)


# Fitting

# Without bins, the lowest block has the few that came out wrong, and the highest those that came out right.
_POWERS = 0.35, 0.4, 0.45, 0.5

# Without it, the map is too sure of itself with few documents; with more, it keeps the errors of the temperature.
SHRINK = 5

# Among the few that are surest, none may be wrong by chance, or one.
EXPECTED = 50

# Where all documents are right, a word that was never seen would be as sure as they are.
CHANCE = 2

_MOST_ROWS, _MOST_SCORES = 20_000, 4_000_000  # that two numbers are fitted on
_SLOPE, _SLOPE_SPREAD, _LEVEL_SPREAD = 1.0, 0.5, 3.0
_USUAL_LEAD = 3.0
_FAR, _STEEP = 20.0, 2.0  # no scores that a document has are so large or so small
_FEWEST_HALVED = 20

# Documents of a half that has the temperature of all, to save time.  Two numbers of 400 documents fit little noise: the
# log loss of .417 is measured .004 lower, on the mean of 18 corpora, the ECE of .031 by .001.
_SETTLED = 200
_MOST_STEPS, _FLAT, _STILL = 200, 1e-9, 1e-10  # of the search: by then it stands still


def fit_calibration(scores: Floats, lengths: Floats, own: Booleans) -> Calibration:
    """Fit a calibration.

    Parameters
    ----------
    scores : (n_docs, n_classes)
        The scores of documents that the model has not seen; -inf where a class could not be predicted.
    lengths : (n_docs,)
        `lengths_of` the documents.
    own : (n_docs, n_classes) bool
        Which classes each has; any of several is right.

    Examples
    --------
    >>> scores = np.array([[90.0, 0.0], [0.0, 90.0], [60.0, 0.0], [60.0, 0.0]] * 200)
    >>> own = np.array([[True, False], [False, True], [True, False], [False, True]] * 200)
    >>> fitted = fit_calibration(scores, np.full(800, 20.0), own)
    >>> fitted.apply(scores[1:3], np.full(2, 20.0)).round(1).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    n_docs, chance = len(scores), 1 / scores.shape[1]
    rows, top = np.arange(n_docs), scores.argmax(axis=1)
    right = own[rows, top]
    level, slope = _temperature(scores, lengths, own)
    shares = temper(scores, lengths, level, slope)
    confidences, accuracies = _map(shares[rows, top], right, chance)
    after, order = map_largest(shares, top, confidences, accuracies), np.random.default_rng(0).permutation(n_docs)
    halves = order[::2], order[1::2]
    for mine, other in (halves, halves[::-1]) if n_docs >= _FEWEST_HALVED else ():
        others = shares
        if len(other) < _SETTLED:
            near = level, slope
            others = temper(scores, lengths, *_temperature(scores[other], lengths[other], own[other], near))
        known = _map(others[other, top[other]], right[other], chance)
        after[mine] = map_largest(others[mine], top[mine], *known)
    before = probabilities(scores)
    thresholds, errors = _risk(after.max(axis=1), right)
    return Calibration(
        level=level,
        slope=slope,
        confidences=tuple(confidences.tolist()),
        accuracies=tuple(accuracies.tolist()),
        thresholds=thresholds,
        errors=errors,
        model="",
        options="",
        n_docs=n_docs,
        ece_before=calibration_error(reliability(right, before.max(axis=1))),
        ece_after=calibration_error(reliability(right, after.max(axis=1))),
        log_loss_before=log_loss(own, before),
        log_loss_after=log_loss(own, after),
    )


class Unfitted(NamedTuple):
    """A calibration that comes with a choice, and is not fitted yet.

    Fitting takes as long as a third of the choice, and a classifier that is asked for labels alone needs none.
    """

    left_out: tuple[Floats, Floats, Booleans]  # the arguments of `fit_calibration`
    named: dict[str, Any]

    def fit(self) -> Calibration:
        """Fit it."""
        return replace(fit_calibration(*self.left_out), **self.named, by_choice=True)


def _map(sure: Floats, right: Booleans, chance: float) -> tuple[Floats, Floats]:
    """Confidence → accuracy: places and values of the map, the mean of several."""
    given, shares = np.append(sure, chance), np.append(right.astype(np.float64), chance)
    single, n = _distinct(given, shares, np.append(np.ones(len(sure)), CHANCE)), len(sure)
    maps = [_map_of(single.at_most(max(int(n**power), 1)), n) for power in _POWERS]
    places = np.unique(np.concatenate([each[0] for each in maps]))
    values = np.mean([np.interp(places, *each) for each in maps], axis=0)
    if len(places) > MOST_KNOTS:
        last = values[-1]
        fewer = Blocks(places[:-1], values[:-1], np.ones(len(places) - 1)).at_most(MOST_KNOTS - 1)
        places, values = np.append(fewer.places, 1.0), np.append(fewer.values, last)
    return places, np.maximum.accumulate(values)  # which rounding may have made fall


def _map_of(bins: Blocks, n_docs: int) -> tuple[Floats, Floats]:
    blocks = fit_rising(*bins)
    values = (blocks.values * blocks.weights + SHRINK * blocks.places) / (blocks.weights + SHRINK)
    # So few documents cannot tell a higher share.
    values = np.minimum(values, 1 - 1 / (blocks.weights + 2))
    blocks = fit_rising(blocks.places, values, blocks.weights)
    places, values = np.minimum(blocks.places, 1), blocks.values
    if places[-1] < 1:
        places, values = np.append(places, 1.0), np.append(values, max(values[-1], 1 - 1 / (n_docs + 2)))
    return places, values


def _risk(sure: Floats, right: Booleans) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Thresholds, and the share of answers above each that is expected to be wrong; the first is for all answers.

    The share counts the wrong answers, and EXPECTED documents more that come out as `sure` says: the surest are few.
    """
    order = np.argsort(sure, kind="stable")
    ranked, n_above = sure[order], np.arange(len(sure), 0, -1)
    n_wrong: Any = np.cumsum(~right[order][::-1])[::-1]
    n_expected: Any = np.cumsum((1 - ranked)[::-1])[::-1]
    wrong = (n_wrong + EXPECTED * n_expected / n_above) / (n_above + EXPECTED)
    places = np.unique(np.linspace(0, len(ranked) - 1, MOST_KNOTS).astype(np.int64))
    places = np.unique(np.searchsorted(ranked, ranked[places]))  # of equal ones the first: they go together
    # Answers that are surer are no worse.
    errors = np.clip(np.minimum.accumulate(wrong[places]), 0, 1)
    return (0.0, *ranked[places[1:]].tolist()), tuple(errors.tolist())


def _temperature(
    scores: Floats, lengths: Floats, own: Booleans, near: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Level and slope; they are quicker to find near those of similar documents."""
    possible = np.isfinite(np.where(own, scores, -np.inf).max(axis=1, initial=-np.inf))
    rows = np.flatnonzero(possible)
    most = min(_MOST_ROWS, max(_MOST_SCORES // scores.shape[1], 1000))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    if not len(rows):
        return 0.0, _SLOPE
    x = np.log1p(lengths[rows])
    middle = float(x.mean())
    problem = _Problem(scores[rows], own[rows], x - middle)
    start = problem.usual_level
    bounds = np.array([(start - _FAR, start + _FAR), (-_STEEP, _STEEP)])
    begin = np.array((start, _SLOPE) if near is None else (near[0] + near[1] * middle, near[1]))
    level, slope = minimise(problem.loss, begin, bounds, problem.curvature(begin)).tolist()
    return level - slope * middle, slope


def minimise(
    loss: Callable[[Floats], tuple[float, Floats]], start: Floats, bounds: Floats, curvature: Floats | None = None
) -> Floats:
    """Where a smooth function of a few numbers is smallest, by BFGS within bounds, (n, 2), from a start.

    `loss` gives the value and the gradient; `curvature` is the matrix of second derivatives at the start, or near it.

    Examples
    --------
    >>> bowl = lambda x: (float((x[0] - 3) ** 2 + (x[0] - x[1]) ** 2), 2 * np.array([2 * x[0] - x[1] - 3, x[1] - x[0]]))
    >>> minimise(bowl, np.zeros(2), np.array([(-9.0, 9.0), (-9.0, 2.0)])).round(6).tolist()
    [2.5, 2.0]
    """
    low, high = bounds.T
    x = np.clip(start, low, high)
    inverse = np.eye(len(start)) if curvature is None else np.linalg.inv(curvature)
    value, gradient = loss(x)
    for _ in range(_MOST_STEPS):
        # A number on its bound stays there while the function falls beyond it.
        free = ~(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))
        step = np.where(free, -(inverse * np.outer(free, free)) @ gradient, 0.0)
        if np.abs(gradient[free]).max(initial=0.0) < _FLAT:
            break
        if step @ gradient >= 0:
            inverse = np.eye(len(x))
            step = np.where(free, -gradient, 0.0)
        if -float(step @ gradient) < _STILL * abs(value):
            break
        step /= max(1.0, float(np.abs(step).max()))
        length = 1.0
        while True:
            there = np.minimum(np.maximum(x + length * step, low), high)
            lower, slope = loss(there)
            if lower <= value + 1e-4 * float(gradient @ (there - x)) or length < 1e-10:
                break
            length /= 2
        moved, bent = there - x, slope - gradient
        if lower > value or not moved.any():
            break
        curve = float(moved @ bent)
        if curve > 1e-300:
            turn = np.eye(len(x)) - np.outer(moved, bent) / curve
            inverse = turn @ inverse @ turn.T + np.outer(moved, moved) / curve
        x, value, gradient = there, lower, slope
    return x


class _Problem:
    """The loss of a temperature, and its gradient."""

    def __init__(self, scores: Floats, own: Booleans, x: Floats) -> None:
        self._x = x
        rows, top = np.arange(len(x)), scores.argmax(axis=1)
        lead = scores[rows, top][:, None] - scores  # of the best score before this one
        there = np.isfinite(lead)
        self._there = None if there.all() else there
        seconds = np.where(there, lead, np.inf)
        if self._there is not None:
            lead, own = np.where(there, lead, 0.0), own & there
        self._lead, self._own, self._room = lead, own, np.empty_like(lead)
        self._any_lead = _sums(lead) / _sums(there)
        self._is_single = bool((_sums(own) == 1).all())  # then half of the work is none
        if self._is_single:
            self._best = lead[rows, own.argmax(axis=1)]  # of its own
        else:
            self._best = np.where(own, lead, np.inf).min(axis=1)
            self._behind = np.where(own, lead - self._best[:, None], 0.0)
        seconds[rows, top] = np.inf
        gaps = seconds[rows, seconds.argmin(axis=1)]
        gaps = gaps[np.isfinite(gaps) & (gaps / _USUAL_LEAD > 0)]
        usual = float(np.log(np.median(gaps) / _USUAL_LEAD)) if len(gaps) else 0.0
        self.usual_level = min(max(usual, -_FAR), _FAR)

    def _weights(self, cold: Floats) -> tuple[Floats, Floats, Floats]:
        """The shares of classes, (n_docs, n_classes), before they are divided by their sum; that sum; the mean lead.

        The next call writes its shares into the same array.
        """
        weights = np.multiply(self._lead, -cold[:, None], out=self._room)
        np.exp(weights, out=weights)
        if self._there is not None:
            weights *= self._there
        total = _sums(weights)
        return weights, total, _sums(weights, self._lead) / total

    def curvature(self, parameters: Any) -> Floats:
        """The second derivatives of the loss, as far as they are never negative: the variance of the leads, (2, 2)."""
        cold = np.exp(-(parameters[0] + parameters[1] * self._x))
        weights, total, mean_lead = self._weights(cold)
        by_document = cold**2 * (_sums(weights, self._lead**2) / total - mean_lead**2)
        both = np.stack([np.ones_like(self._x), self._x])
        found = (both * by_document) @ both.T + np.diag([_LEVEL_SPREAD**-2, _SLOPE_SPREAD**-2])
        return np.asarray(found / len(self._x))

    def loss(self, parameters: Any) -> tuple[float, Floats]:
        """The mean loss of a document, and its gradient."""
        level, slope = float(parameters[0]), float(parameters[1])
        n, any_lead = len(self._x), self._any_lead
        cold = np.exp(-(level + slope * self._x))
        _, total, mean_lead = self._weights(cold)
        log_total = np.log(total)
        losses, own_lead = log_total + cold * self._best, self._best
        if not self._is_single:
            own_weights = np.where(self._own, np.exp(-cold[:, None] * self._behind), 0.0)
            own_total = _sums(own_weights)
            own_lead = _sums(own_weights, self._lead) / own_total
            losses -= np.log(own_total)
        nothing = log_total + cold * any_lead
        value = losses.sum() + nothing.sum() / n
        by_cold = (own_lead - mean_lead) + (any_lead - mean_lead) / n
        by_level = -cold * by_cold
        gradient = np.array([by_level.sum(), (by_level * self._x).sum()])
        off = np.array([(level - self.usual_level) / _LEVEL_SPREAD, (slope - _SLOPE) / _SLOPE_SPREAD])
        value += (off**2).sum() / 2
        gradient += off / np.array([_LEVEL_SPREAD, _SLOPE_SPREAD])
        return value / n, gradient / n


def _sums(rows: npt.NDArray[Any], others: Any = None) -> Floats:
    """The sum of every row, or of its products with another: several times as quick as `sum`."""
    if others is None:
        return np.asarray(np.einsum("ij->i", rows, dtype=np.float64))
    return np.asarray(np.einsum("ij,ij->i", rows, others))


class Blocks(NamedTuple):
    """Neighbours that share a value: where they stand on the average, the value and their weight, (n_blocks,) each."""

    places: Floats
    values: Floats
    weights: Floats

    def at_most(self, n: int) -> Blocks:
        """The same in at most `n` blocks of about equal weight."""
        if len(self.values) <= n:
            return self
        middles = np.cumsum(self.weights) - self.weights / 2
        bins = np.minimum((middles * n / self.weights.sum()).astype(np.int64), n - 1)
        weights = np.asarray(np.bincount(bins, self.weights), np.float64)
        filled = np.flatnonzero(weights)
        places, values = (
            np.bincount(bins, part * self.weights)[filled] / weights[filled] for part in (self.places, self.values)
        )
        return Blocks(places, values, weights[filled])


def fit_rising(places: Floats, values: Floats, weights: Floats) -> Blocks:
    """The blocks of the rising values that are nearest, by weighted squares; equal places are one.

    Examples
    --------
    >>> blocks = fit_rising(np.array([1.0, 2, 3, 4]), np.array([0.0, 1, 0, 1]), np.ones(4))
    >>> blocks.places.tolist(), blocks.values.tolist(), blocks.weights.tolist()
    ([1.0, 2.5, 4.0], [0.0, 0.5, 1.0], [1.0, 2.0, 1.0])
    """
    found: list[tuple[float, float, float]] = []  # sums of places, of values, of weights
    blocks = _distinct(places, values, weights)
    sums = blocks.places * blocks.weights, blocks.values * blocks.weights, blocks.weights
    for place, total, weight in zip(*(each.tolist() for each in sums), strict=True):
        while found and found[-1][1] * weight >= total * found[-1][2]:
            before = found.pop()
            place, total, weight = place + before[0], total + before[1], weight + before[2]
        found.append((place, total, weight))
    by_place, by_value, by_weight = np.array(found).T
    return Blocks(by_place / by_weight, by_value / by_weight, by_weight)


def _distinct(places: Floats, values: Floats, weights: Floats) -> Blocks:
    """A block for every place."""
    if (places[1:] > places[:-1]).all():  # as they mostly are: `unique` takes several times as long
        return Blocks(places, values * weights / weights, weights)
    distinct, group = np.unique(places, return_inverse=True)
    totals: Floats = np.bincount(group, weights).astype(np.float64)
    return Blocks(distinct, np.bincount(group, values * weights) / totals, totals)
