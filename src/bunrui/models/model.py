"""`Model`: the questions of a classifier, for formulas of counts and for models that are trained from documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from bunrui.counts import Label
from bunrui.errors import DataError, LabelError, Option, OptionError, is_whole
from bunrui.labels import TYPES, check_types, is_known
from bunrui.memory import Parameters
from bunrui.phrases import some
from bunrui.sparse import Floats

if TYPE_CHECKING:
    from bunrui.models.explain import Word
    from bunrui.models.loo import CountedCorpus
    from bunrui.views.explanation import Explanation

T = TypeVar("T")
Options = Mapping[str, Any]
"""The options of a classifier by name."""
Lengths = tuple[int | None, ...]
"""The lengths of the axes of an array, None for any."""


class Best(NamedTuple):
    """The best classes of documents."""

    classes: list[Label]
    dtype: str  # of an array of labels: as wide as the longest of all, so that arrays of two calls can be joined
    places: npt.NDArray[np.int64]  # (n_docs, k) in `classes`, best first; ties by place
    scores: Floats  # (n_docs, k)

    @property
    def labels(self) -> npt.NDArray[Any]:
        """The labels themselves, (n_docs, k)."""
        if len(self.classes) <= self.places.size:
            return np.asarray(np.array(self.classes, self.dtype)[self.places])
        found = [self.classes[place] for place in self.places.reshape(-1).tolist()]
        return np.array(found, self.dtype).reshape(self.places.shape)


class WordQuestion(NamedTuple):
    """A question for words: the words of a label, or of one label against another, or one word; all, or the first.

    Attributes
    ----------
    label : label, optional
    positive, negative : label, optional
        Both, in place of `label`.
    word : str, optional
        Only this word.
    top : int, optional
        How many, of each end where there are two; all by default.
    """

    label: Label | None = None
    positive: Label | None = None
    negative: Label | None = None
    word: str | None = None
    top: int | None = None

    def check(self, classes: Sequence[Label]) -> None:
        """Refuse a question that makes no sense."""
        label, positive, negative, word, top = self
        for name in (label, positive, negative):
            if name is not None:
                check_label(classes, name)
        if label is not None and positive is not None:
            raise OptionError(("give a label, or ", Option("positive"), " and ", Option("negative"), ", not both"))
        if (positive is None) != (negative is None):
            raise OptionError((Option("negative"), " goes with ", Option("positive"), ": give both"))
        if positive is not None and positive == negative:
            hint = "name the other label with ", Option("negative")
            raise LabelError(f"{positive!r} cannot be held against itself", option="negative", hint=hint)
        if label is None and positive is None and word is None:
            raise OptionError("no label is named", hint=("name one, for example ", Option("label", classes[0])))
        if top is not None and not (is_whole(top) and top >= 1):
            raise OptionError(option="top", value=top, expected="a whole number, at least 1, or None for all")


class Model(Protocol):
    """The answers of one model with its options, always from the memory as it is now.

    Answers come with the classes of their columns: another thread may learn a class at any time.
    """

    def scores(self, texts: Any) -> tuple[list[Label], Floats]:
        """Classes, and scores (n_docs, n_classes)."""

    def best(self, texts: Any, k: int) -> Best:
        """The k best classes of every text, or all where there are fewer."""

    def label_odds(self, texts: Any) -> tuple[list[Label], Floats]:
        """Labels, and the log-odds of each against the rest, (n_docs, n_classes)."""

    def explain(self, text: Any, label: Label | None, against: Label | None) -> Explanation:
        """Explain a label against another: the share of every feature of a text in the difference of their scores."""

    def words(self, question: WordQuestion) -> list[Word]:
        """The words that speak for a label."""

    @property
    def one_pass(self) -> bool:
        """Whether `leave_one_out` takes one pass over the documents; else it fits a model for each of them."""

    def leave_one_out(self, corpus: CountedCorpus, *, odds: bool = False) -> Floats:
        """Score every document of a corpus by the model of all the others, (n_docs, n_classes).

        With `odds`, the log-odds of each label against the rest.  -inf for a class that has no other document.
        """

    def export(self, make: Callable[[Any], T]) -> T:
        """Call `make` with the weights or the trained parts of the model, while nothing is learned."""


class Parts(NamedTuple):
    """The scores of a row, taken apart: bias + the sum of values."""

    columns: npt.NDArray[np.int64]  # (n_columns,)
    values: Floats  # (n_columns, n_classes)
    bias: Floats  # (n_classes,)


class Form(Protocol):
    """The numbers of a trained model: rows in, scores out."""

    def scores(self, X: Any) -> Floats:
        """The scores of rows, (n_rows, n_classes)."""

    def parts(self, row: Any) -> Parts:
        """The scores of a row, taken apart by columns."""


class WordForm(Form, Protocol):
    """The same where columns are words."""

    def weights(self, columns: npt.NDArray[np.int64]) -> Floats:
        """The weights of some words: one occurrence adds them to the scores, (n_columns, n_classes)."""


class KeptForm(Form, Protocol):
    """The same where a file keeps the numbers; `from_arrays` of its class takes them back."""

    def arrays(self, to_learn: bool) -> Parameters:
        """All numbers that answers need, and those that only learning more needs."""


def best_of(scores: Floats, k: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Places of the k highest scores of every row, highest first, ties by place, (n_rows, k); the scores."""
    if k == 1:
        places = scores.argmax(axis=1)[:, None]
    else:
        places = (-scores).argsort(axis=1, kind="stable")[:, :k]
    return places, scores[np.arange(len(scores))[:, None], places]


def check_label(classes: Sequence[Label], label: Any) -> None:
    """Refuse a label that is not there."""
    if not is_known(label, classes):
        check_types([label], classes)
        known = f"the labels are {some(classes)}" if classes else "nothing has been learned"
        raise LabelError(f"there is no label {label!r}: {known}")


# Weights that a file keeps, checked before a kernel reads them: kernels check no bounds
#
# A form gives its numbers by `arrays`, and takes them back by `from_arrays`.  A file may come from anywhere: whatever
# `from_arrays` takes has gone through one of these functions.


def take(
    weights: Parameters, name: str, dtype: Any, shape: Lengths, least: float = -np.inf, most: float = np.inf
) -> npt.NDArray[Any]:
    """An array of this type and shape (None is any length), whose numbers are finite and within bounds.

    Raises
    ------
    DataError
        If it is another one.
    """
    try:
        array = weights.arrays[name]
    except KeyError:
        raise DataError(f"the weights lack {name!r}") from None
    lengths = len(array.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype != np.dtype(dtype) or not lengths:
        raise DataError(f"the weights have {name!r} in another shape than their model has it")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DataError(f"the weights have numbers in {name!r} that are not finite")
    if array.size and not (least <= array.min() and array.max() <= most):
        raise DataError(f"the weights have numbers in {name!r} beyond their bounds")
    return array


def take_ids(weights: Parameters, name: str, n: int) -> npt.NDArray[np.int64]:
    """Ids below n, which ascend."""
    ids = take(weights, name, np.int64, (None,), 0, n - 1)
    if (np.diff(ids) <= 0).any():
        raise DataError(f"the weights have ids in {name!r} that do not ascend")
    return ids


def take_fact(weights: Parameters, name: str, *types: type[T]) -> T:
    """A fact of one of these types; a number is finite and not negative.

    >>> take_fact(Parameters({"n_docs": 3.0, "norm": None}, {}), "n_docs", float)
    3.0
    """
    fact = weights.facts.get(name)
    if type(fact) not in types or (isinstance(fact, (int, float)) and not 0 <= fact < np.inf):
        raise DataError(f"the weights have something else where {name!r} should be")
    return fact  # type: ignore[return-value]


def take_labels(weights: Parameters, name: str) -> list[Any]:
    """Labels of one type, each once."""
    labels = take_fact(weights, name, list)
    if not any(all(type(label) is kind for label in labels) for kind in TYPES.values()) or len(set(labels)) < len(
        labels
    ):
        raise DataError(f"the weights have no list of labels where {name!r} should be")
    return labels
