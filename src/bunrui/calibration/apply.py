"""Scores → calibrated probabilities: of the answers with probability .8, about 80 % are right.

    T(d)   = exp(level + slope · log(1 + length(d)))        length: bytes of the text
    p(d)   = softmax(scores(d) / T(d))
    P(d)   = p(d) with its largest value replaced by a rising function of it, and the others rescaled to sum to 1

Naive Bayes treats words as independent.  So its scores grow with the length of a document, and its probabilities are
near 0 or 1, right or wrong.  The temperature T corrects this (Guo, Pleiss, Sun, Weinberger 2017, with a length); the
rising function, "the map", corrects the rest (Zadrozny, Elkan 2002).  Labels do not change: the largest stays largest.

`bunrui.selection.calibrate` fits a calibration; a classifier file keeps it among its settings.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.errors import DataError
from bunrui.models.linear import probabilities

Floats = npt.NDArray[np.float64]

MOST_KNOTS = 101
_MOST_LEVEL, _MOST_SLOPE = 100.0, 10.0
_CURVES = ("confidences", "accuracies", "thresholds", "errors")

# What the largest is ahead of the next where the map would make them equal.
_AHEAD = 1e-9


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How the scores of one model become probabilities.

    Attributes
    ----------
    level, slope : float
        Of the temperature.
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
            raise DataError("a calibration does not say what it was fitted for")
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
