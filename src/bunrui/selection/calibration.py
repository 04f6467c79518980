"""Fit a calibration on documents that were left out, so that no others are needed.

    level, slope   least Σ -log p(d, own label)  +  Σ -log p(d, any label) / n  +  priors
                   the second term is one document whose label says nothing: without it, documents that are all right
                   would make the temperature 0.  The priors are wide: slope 1 ± .5, and a level at which the usual lead
                   of the best score is worth 3 ± a factor of 20 either way.  They matter for tens of documents
    the map        the share of right answers by confidence, forced to rise (`isotonic`), each block as if SHRINK more
                   documents had come out as the temperature says; and CHANCE documents more that chance gets right

On 20 Newsgroups the expected calibration error on the test set goes from .119 to .020 and the log loss from 2.04 to
.57, by the training documents alone; benchmarks/calibration.py has this and other corpora.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.calibration import MOST_KNOTS, Calibration, digest_of, lengths_of, mapped, tempered
from bunrui.classifier import AnyClassifier
from bunrui.errors import DataError
from bunrui.evaluation.probabilistic import calibration_error, log_loss, reliability
from bunrui.models.linear import probabilities
from bunrui.selection.isotonic import rising
from bunrui.selection.leftout import left_out

__all__ = ["calibrate", "calibration_for", "fit_calibration"]

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Without it, the map is too sure of itself with few documents; with much more, it keeps what the temperature has wrong.
SHRINK = 10

# Among the few that are surest, none may be wrong by chance, or one.
EXPECTED = 50

# Where all documents are right, a word that was never seen would be as sure as they are.
CHANCE = 5

_MOST_ROWS, _MOST_SCORES = 20_000, 4_000_000  # that two numbers are fitted on
_SLOPE, _SLOPE_SPREAD, _LEVEL_SPREAD = 1.0, 0.5, 3.0
_USUAL_LEAD = 3.0
_FAR, _STEEP = 20.0, 2.0  # no scores that a document has are so large or so small
_FEWEST_HALVED = 20


def calibrate(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> Calibration:
    """Fit the calibration of a classifier, and give it to it: `predict_proba` applies it from then on.

    Parameters
    ----------
    clf : TextClassifier
        One in a file keeps it there; `undo` takes it back.
    texts, labels
        The documents that it has learned.  Without them, those that a classifier in a file keeps.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "meeting at noon", "lunch at noon"] * 5
    >>> clf = TextClassifier().learn(texts, ["spam", "spam", "ham", "ham"] * 5)
    >>> before = clf.predict_proba(["pills at noon"]).max()
    >>> calibration = calibrate(clf, texts, ["spam", "spam", "ham", "ham"] * 5)
    >>> calibration.n_docs, clf.is_calibrated
    (20, True)
    """
    calibration = calibration_for(clf, texts, labels)
    clf.set_calibration(calibration)
    return calibration


def calibration_for(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> Calibration:
    """Fit the calibration of a classifier, which stays as it is; see `calibrate`."""
    tx = getattr(clf, "last_change", 0)
    found = left_out(clf, texts, labels)
    if len(found.classes) < 2:
        raise DataError("all documents have the same label: there is nothing to calibrate")
    fitted = fit_calibration(found.scores, lengths_of(found.texts), found.own)
    return dataclasses.replace(fitted, model=clf.model, options=digest_of(clf.settings), tx=tx)


def fit_calibration(scores: Floats, lengths: Floats, own: Booleans) -> Calibration:
    """Fit a calibration.

    Parameters
    ----------
    scores : (n_docs, n_classes)
        Of documents that the model has not seen; -inf where a class could not be predicted.
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
    n_docs = len(scores)
    fit = _fit(scores, lengths, own)
    top = scores.argmax(axis=1)
    right = own[np.arange(n_docs), top]
    after = fit.apply(scores, lengths) if n_docs < _FEWEST_HALVED else _by_halves(scores, lengths, own)
    before = probabilities(scores)
    thresholds, errors = _risk(after.max(axis=1), right)
    return Calibration(
        level=fit.level,
        slope=fit.slope,
        confidences=tuple(fit.confidences.tolist()),
        accuracies=tuple(fit.accuracies.tolist()),
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


class _Fit(NamedTuple):
    level: float
    slope: float
    confidences: Floats
    accuracies: Floats

    def apply(self, scores: Floats, lengths: Floats) -> Floats:
        shares = tempered(scores, lengths, self.level, self.slope)
        return mapped(shares, scores.argmax(axis=1), self.confidences, self.accuracies)


def _fit(scores: Floats, lengths: Floats, own: Booleans) -> _Fit:
    level, slope = _temperature(scores, lengths, own)
    rows, top = np.arange(len(scores)), scores.argmax(axis=1)
    sure = tempered(scores, lengths, level, slope)[rows, top]
    return _Fit(level, slope, *_map(sure, own[rows, top], 1 / scores.shape[1]))


def _by_halves(scores: Floats, lengths: Floats, own: Booleans) -> Floats:
    """Probabilities by a calibration that was fitted on the other half of the documents."""
    out = np.empty_like(scores)
    order = np.random.default_rng(0).permutation(len(scores))
    halves = order[::2], order[1::2]
    for mine, other in (halves, halves[::-1]):
        out[mine] = _fit(scores[other], lengths[other], own[other]).apply(scores[mine], lengths[mine])
    return out


def _map(sure: Floats, right: Booleans, chance: float) -> tuple[Floats, Floats]:
    """Confidence → accuracy: places and values of the map."""
    weights = np.append(np.ones(len(sure)), CHANCE)
    blocks = rising(np.append(sure, chance), np.append(right.astype(np.float64), chance), weights)
    values = (blocks.values * blocks.weights + SHRINK * blocks.places) / (blocks.weights + SHRINK)
    # No more than so many documents can tell.
    values = np.minimum(values, 1 - 1 / (blocks.weights + 2))
    blocks = rising(blocks.places, values, blocks.weights).at_most(MOST_KNOTS - 1)
    places, values = np.minimum(blocks.places, 1), blocks.values
    if places[-1] < 1:
        places, values = np.append(places, 1.0), np.append(values, max(values[-1], 1 - 1 / (len(sure) + 2)))
    return places, values


def _risk(sure: Floats, right: Booleans) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Thresholds, and the share of answers above each that is expected to be wrong; the first is for all answers.

    As many as are wrong, and EXPECTED documents more that come out as `sure` says: the surest are few.
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


def _temperature(scores: Floats, lengths: Floats, own: Booleans) -> tuple[float, float]:
    """Level and slope."""
    from scipy.optimize import minimize  # takes a quarter of a second to import

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
    bounds = [(start - _FAR, start + _FAR), (-_STEEP, _STEEP)]
    level, slope = minimize(problem.loss, [start, _SLOPE], jac=True, method="L-BFGS-B", bounds=bounds).x.tolist()
    return level - slope * middle, slope


class _Problem:
    """The loss of a temperature, and its gradient."""

    def __init__(self, scores: Floats, own: Booleans, x: Floats) -> None:
        self._x = x
        lead = scores.max(axis=1, keepdims=True) - scores
        self._there = np.isfinite(lead)
        self._lead = np.where(self._there, lead, 0.0)  # of the best score before this one
        self._own = own & self._there
        self._best = np.where(self._own, lead, np.inf).min(axis=1)
        self._behind = np.where(self._own, lead - self._best[:, None], 0.0)  # the best of its own
        seconds = np.where(self._there, lead, np.inf)
        seconds[np.arange(len(x)), scores.argmax(axis=1)] = np.inf
        gaps = seconds.min(axis=1)
        gaps = gaps[np.isfinite(gaps) & (gaps > 0)]
        usual = float(np.log(np.median(gaps) / _USUAL_LEAD)) if len(gaps) else 0.0
        self.usual_level = min(max(usual, -_FAR), _FAR)

    def loss(self, parameters: Any) -> tuple[float, Floats]:
        """Of a document on the average."""
        level, slope = float(parameters[0]), float(parameters[1])
        n, lead = len(self._x), self._lead
        cold = np.exp(-(level + slope * self._x))
        weights = np.where(self._there, np.exp(-cold[:, None] * lead), 0.0)
        total = weights.sum(axis=1)
        mean_lead = (weights * lead).sum(axis=1) / total
        own_weights = np.where(self._own, np.exp(-cold[:, None] * self._behind), 0.0)
        own_total = own_weights.sum(axis=1)
        own_lead = (own_weights * lead).sum(axis=1) / own_total
        log_total = np.log(total)
        losses = log_total + cold * self._best - np.log(own_total)
        any_lead = lead.sum(axis=1) / self._there.sum(axis=1)
        nothing = log_total + cold * any_lead
        value = losses.sum() + nothing.sum() / n
        by_cold = (own_lead - mean_lead) + (any_lead - mean_lead) / n
        by_level = -cold * by_cold
        gradient = np.array([by_level.sum(), (by_level * self._x).sum()])
        off = np.array([(level - self.usual_level) / _LEVEL_SPREAD, (slope - _SLOPE) / _SLOPE_SPREAD])
        value += (off**2).sum() / 2
        gradient += off / np.array([_LEVEL_SPREAD, _SLOPE_SPREAD])
        return value / n, gradient / n
