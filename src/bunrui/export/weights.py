"""The weights of a model, as a page reads them, and a part of them where all would be too many.

    counting models, twcnb   score[c] = bias[c] + scale[c] · (slope[c] · length + Σ_f shared[f] + weight[f, c])
    nbsvm, arow              score[c] = bias[c] + Σ_f x[f] · weight[f, c]      x[f] = log(1 + n[f]) · factor[f] / norm

Pruning leaves features out, and rounds the weights of heads; it changes no prior and no calibration.  Those stay that
tell labels apart in many documents:

    importance[f] = documents of f · variance of its weights over the labels

With a tenth of the features, binary-complement loses 1.9 points on 20 Newsgroups and 1.3 on livedoor, and wins .4 on
IMDB; by mutual information 2.4, 1.3 and wins .3; by documents alone 3.1, 2.1 and wins .2 (docs/decisions/042).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis.analyzer import distinct, documents_of
from bunrui.classifier import AnyClassifier
from bunrui.counts import Counts, Label
from bunrui.errors import OptionError, Step
from bunrui.kernel import score as scoring
from bunrui.models.heads import HeadForm
from bunrui.models.linear import Reader
from bunrui.models.model import Form
from bunrui.models.scorer import Scorer
from bunrui.models.trained import Fitted, TrainedModel
from bunrui.models.twcnb import StepsForm
from bunrui.models.view import CountView
from bunrui.sparse import Floats, Integers

T = TypeVar("T")

_BLOCK = 1 << 17  # features that are weighed at a time

# Heads that do not fit have rounded weights.  On 20 Newsgroups nbsvm is as accurate with 8 bits as with 53 (.8816), and
# a weight takes 1.1 bytes in place of 5.4; with 4 bits it has .8813 (docs/decisions/042).
_BITS = 8


class Weights(NamedTuple):
    """The weights of some features, those of one after those of the other.

    Attributes
    ----------
    lengths : (n_features,), optional
        How many weights each has; None where each has one for every label.
    classes : (n_weights,), optional
        The label of each weight.
    values : (n_weights,)
    shared, factors : (n_features,), optional
    """

    lengths: npt.NDArray[Any] | None
    classes: npt.NDArray[Any] | None
    values: Floats
    shared: Floats | None
    factors: Floats | None


@dataclass(frozen=True)
class CountingSource:
    """A model that is a linear form of counts.

    Attributes
    ----------
    classes : list of labels
        Sorted.
    columns : (n_classes,)
        The ids of these labels.
    ids : (n_features,)
        The features, as the counts number them.
    keys : (n_features,)
        The features, as the view numbers them.
    scores : callable
        Scores of texts from some of the features alone, by their places in `ids`: (n_docs, n_classes).
    """

    classes: list[Label]
    columns: Integers
    ids: Integers
    keys: Integers
    view: CountView
    scorer: Scorer
    smooth: bool
    scores: Callable[[Any, Integers], Floats]

    @classmethod
    def of_reader(cls, reader: Reader, analyzer: Analyzer) -> CountingSource:
        """A counting model."""
        ids = reader.view.feature_ids().astype(np.int64)
        smooth = bool(reader.linear.reading[scoring.SMOOTH])

        def score(texts: Any, places: Integers) -> Floats:
            keep = np.zeros(reader.view.counts.n_ids, np.uint8)
            keep[ids[places]] = 1
            part = Reader(reader.view._replace(keep=keep), reader.scorer, smooth_unseen=smooth)
            return _score(part, analyzer, texts)

        return cls(reader.classes, reader.columns, ids, ids, reader.view, reader.scorer, smooth, score)

    @classmethod
    def of_steps(cls, fitted: Fitted, form: StepsForm) -> CountingSource:
        """`twcnb`: the same form, of counts that went through its steps."""
        ids, columns = fitted.feature_ids, np.arange(len(fitted.classes))
        table, keys = form.table, np.arange(len(ids))
        score = partial(_score_rows, fitted, form)
        return cls(fitted.classes, columns, ids, keys, table.view, table.scorer, False, score)

    @property
    def facts(self) -> dict[str, Any]:
        """All that scores need beside the weights, in the types of JSON."""
        names = ("bias", "scale", "slope", "unseen")
        by_class = {name: getattr(self.scorer, name)[self.columns].tolist() for name in names}
        return by_class | {"presence": self.scorer.presence, "smooth": self.smooth}

    def _cells(self, places: Integers) -> tuple[Any, npt.NDArray[Any], Integers, Floats]:
        """Cells of features, the feature and the label of each as places, and their weights."""
        cells = self.scorer.gather(self.view, self.keys[places].astype(np.uint32))
        rank = np.full(len(self.scorer.bias), -1)
        rank[self.columns] = np.arange(len(self.columns))
        classes, values = rank[cells.classes], self.scorer.weights(cells)
        live = classes >= 0  # a label may have lost all its documents
        features = cells.spread(np.arange(len(places)))
        return cells, features[live], classes[live], values[live]

    def weigh(self, places: Integers) -> Weights:
        """The weights of some of the features, by their places in `ids`."""
        cells, features, classes, values = self._cells(places)
        lengths = np.bincount(features, minlength=len(places))
        shared = None if self.scorer.share is None else self.scorer.share(cells)
        return Weights(lengths, classes, values, shared, None)

    def variances(self, places: Integers) -> Floats:
        """How much the weights of some of the features differ between labels."""
        _, features, classes, values = self._cells(places)
        scaled = values * self.scorer.scale[self.columns][classes]
        n = len(self.columns)
        mean, square = (np.bincount(features, power, len(places)) / n for power in (scaled, scaled**2))
        return np.maximum(square - mean**2, 0.0)

    def coarse(self) -> CountingSource:
        """The same with weights that take less room: these are formulas of counts, of which many are equal."""
        return self


class HeadSource:
    """`nbsvm` and `arow`; its members are those of `CountingSource`."""

    def __init__(self, fitted: Fitted, form: HeadForm) -> None:
        self._fitted, self._form, self._head = fitted, form, form.head
        self._columns = np.flatnonzero(form.head.place_of >= 0)
        self.classes, self.ids = fitted.classes, fitted.feature_ids[self._columns]

    @property
    def facts(self) -> dict[str, Any]:
        head = self._head
        how = {"presence": head.presence, "log": head.log, "norm": head.norm, "smooth": False}
        return how | {"bias": head.intercept.tolist(), "width": len(head.intercept)}

    def weigh(self, places: Integers) -> Weights:
        columns = self._columns[places]
        values = self._head.weights_of(columns)
        return Weights(None, None, values.reshape(-1), None, self._head.factor[columns])

    def variances(self, places: Integers) -> Floats:
        columns = self._columns[places]
        weights = self._head.weights_of(columns)
        # Two labels share one column of weights, w for one and -w for the other: their mean is 0.
        spread = weights[:, 0] ** 2 if weights.shape[1] == 1 else weights.var(axis=1)
        return np.asarray(spread * self._head.factor[columns] ** 2)

    def scores(self, texts: Any, places: Integers) -> Floats:
        return _score_rows(self._fitted, self._form, texts, self._columns[places])

    def coarse(self) -> HeadSource:
        """Weights of eight bits, and their powers of two: a fifth of the room."""
        head = copy(self._head)
        mantissas, exponents = np.frexp(head.weights)
        head.weights = np.ldexp(np.round(np.ldexp(mantissas, _BITS)), exponents - _BITS)
        return HeadSource(self._fitted, HeadForm(head))


Source = CountingSource | HeadSource


def _score_rows(fitted: Fitted, form: Form, texts: Any, columns: Integers) -> Floats:
    rows = fitted.rows(texts)
    keep = np.zeros(rows.shape[1], rows.data.dtype)
    keep[columns] = 1
    return form.scores(rows.with_data(rows.data * keep[rows.indices]).without_zeros())


def _score(reader: Reader, analyzer: Analyzer, texts: Any) -> Floats:
    if reader.scorer.presence and reader.linear.reading[scoring.SMOOTH]:
        texts = distinct(analyzer, texts)  # a word that was never learned counts once, too
    return reader.scores(*documents_of(analyzer, texts))[:, reader.columns]


def with_weights(classifier: AnyClassifier, make: Callable[[Source], T]) -> T:
    """What `make` makes of the weights of a classifier, while nothing is learned.

    Raises
    ------
    OptionError
        For a model that has no weights of words.
    """
    model = classifier.current_model
    if isinstance(model, TrainedModel):
        # Not `export`: that wants all that training gives, and a slim copy has no more than answers need.
        with model.fitted() as fitted:
            file = str(getattr(classifier, "path", ""))
            return make(_of_fitted(fitted, classifier.effective_options["model"], file))
    return model.export(lambda reader: make(CountingSource.of_reader(reader, classifier.text_analyzer)))


def _of_fitted(fitted: Fitted, model: str, file: str) -> Source:
    if isinstance(fitted.form, HeadForm):
        return HeadSource(fitted, fitted.form)
    if isinstance(fitted.form, StepsForm):
        return CountingSource.of_steps(fitted, fitted.form)
    if model in ("aode", "columns"):
        raise OptionError(
            f"a page cannot answer as {model}, which weighs words or cells together",
            hint=(Step("other-model", file),),
        )
    raise OptionError("there is nothing to tell apart yet: learn documents of two labels first")


def rank(source: Source, counts: Counts) -> Integers:
    """Places of all features, the most important first; ties in their order."""
    places = np.arange(len(source.ids))
    blocks = np.split(places, np.arange(_BLOCK, len(places), _BLOCK))
    variances = np.concatenate([source.variances(block) for block in blocks])
    importance = counts.postings.doc_total[source.ids] * variances
    return np.argsort(-importance, kind="stable")
