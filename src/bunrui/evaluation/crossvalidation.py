"""Folds, cross-validation, scores of documents that were left out, and the learning curve.

A fold has rows to learn from and rows to test; the same seed gives the same folds:

    stratified   labels, or sets of labels, are spread over the folds as evenly as possible
    plain        any row may be in any fold
    grouped      rows of one group (a thread, an author, duplicates: `find_duplicates(texts).keys`) are in one fold
    time         tested rows are later than all learned ones: rows in the order of time are cut into k + 1 parts, and
                 each but the first is tested by those before it

For models of counts, cross-validation does not start again with each fold: it unlearns some rows and learns others,
unless learning all rows is less work.  `unlearn` is exact, so the scores have the same bits as learning from scratch.
Trained models are trained for each fold.

`score_left_out` takes the better way for a classifier.  Models of counts leave each document out exactly
(`bunrui.evaluation.loo`).  Trained models take five folds, and so do options that choose features or weigh counts again
with every document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.engines.labelgroups import label_sets
from bunrui.errors import DataError, Option, OptionError, check_choice, check_whole
from bunrui.evaluation.loo import Corpus, Labelled, check_classifier, given_or_kept
from bunrui.evaluation.result import Evaluation
from bunrui.sparse import Floats, Integers

N_FOLDS = 5

KINDS = ("stratified", "plain", "grouped", "time")


class Fold(NamedTuple):
    """Rows, ascending."""

    train: Integers
    test: Integers


def folds(
    n: int,
    labels: Any = None,
    k: int = 5,
    *,
    kind: str = "stratified",
    groups: Sequence[Any] | None = None,
    times: Sequence[Any] | None = None,
    seed: int = 0,
) -> list[Fold]:
    """Cut `n` rows into `k` folds.

    Parameters
    ----------
    labels : (n,) labels as for `TextClassifier.learn`
        For `kind="stratified"`.
    groups : (n,) sequence
        The group of every row, for `kind="grouped"`.
    times : (n,) sequence
        The time of every row, for `kind="time"`: numbers, dates, or strings that sort like dates.  Rows of the same
        time are in one part.  Without `times`, rows are in the order of time.

    Examples
    --------
    >>> [fold.test.tolist() for fold in folds(6, ["a", "a", "a", "b", "b", "b"], 3)]
    [[2, 3], [0, 5], [1, 4]]
    >>> [(fold.train.tolist(), fold.test.tolist()) for fold in folds(6, k=2, kind="time", times=[3, 1, 2, 9, 8, 3])]
    [([1, 2], [0, 5]), ([0, 1, 2, 5], [3, 4])]
    """
    check_choice("kind", kind, KINDS)
    check_whole("k", k, least=1 if kind == "time" else 2)
    if (groups is not None) != (kind == "grouped"):
        raise OptionError((Option("groups", ...), " and ", Option("kind", "grouped"), " go together: give both"))
    if times is not None and kind != "time":
        raise OptionError((Option("times", ...), " goes with ", Option("kind", "time"), ": give both"))
    for name, given in (("groups", groups), ("times", times)):
        if given is not None and len(given) != n:
            raise DataError(f"there are {n} rows and {len(given)} {name}: give one for each row")
    if kind == "time":
        return _by_time(range(n) if times is None else times, k)
    rng = np.random.default_rng(seed)
    if groups is not None:
        return _of(_grouped(groups, k, rng), k)
    if n < k:
        rows, hint = ("1 row", "give more rows") if n == 1 else (f"{n} rows", "give more rows, or fewer folds")
        raise DataError(f"{rows} cannot be cut into {k} folds", hint=hint, cause="few-documents")
    order = rng.permutation(n)
    if kind == "stratified":
        if labels is None:
            plain = Option("kind", "plain")
            raise OptionError((Option("kind", kind), " needs labels: give them, or choose ", plain))
        order = order[np.argsort(label_sets(labels, n, {}).groups[order], kind="stable")]
    # Dealt out like cards: neighbours, which have the same label, go to different folds.
    dealt = np.empty(n, np.int64)
    dealt[order] = np.arange(n) % k
    return _of(dealt, k)


def _of(numbers: Integers, k: int) -> list[Fold]:
    """Folds from the number of the fold in which each row is tested."""
    return [Fold(np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)) for fold in range(k)]


def _values(given: Any) -> list[Any]:
    return list(given.tolist() if hasattr(given, "tolist") else given)


def _grouped(groups: Sequence[Any], k: int, rng: np.random.Generator) -> Integers:
    """The largest group first, each to the fold that has least; groups of the same size in random order."""
    known: dict[Any, int] = {}
    codes = np.array([known.setdefault(group, len(known)) for group in _values(groups)], np.int64)
    sizes = np.bincount(codes)
    if len(sizes) == 1:
        raise DataError("all rows are in one group, which leaves nothing to learn from: give groups that differ")
    if len(sizes) < k:
        raise DataError(f"{len(sizes)} groups cannot be cut into {k} folds: give at most {len(sizes)} folds")
    shuffled = rng.permutation(len(sizes))
    fold_of, filled = np.empty(len(sizes), np.int64), np.zeros(k, np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")].tolist():
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of[codes]


def _by_time(times: Sequence[Any], k: int) -> list[Fold]:
    listed = _values(times)
    n = len(listed)
    order = np.array(sorted(range(n), key=listed.__getitem__), np.int64)
    # A part may only end where time goes on.
    in_order = [listed[row] for row in order.tolist()]
    ends = np.array([end for end in range(1, n) if in_order[end - 1] < in_order[end]], np.int64)
    if not len(ends):
        raise DataError("all rows have the same time, so that none is later than others: give times that differ")
    if len(ends) < k:
        most = "1 fold" if len(ends) == 1 else f"{len(ends)} folds"
        what = "rows" if isinstance(times, range) else "different times"
        raise DataError(
            f"{len(ends) + 1} {what} cannot be cut into {k + 1} parts, one to begin with and one for each "
            f"fold: give at most {most}"
        )
    cuts: list[int] = []
    first = 0
    for part in range(1, k + 1):
        # The end nearest to equal parts that leaves enough for those to come.
        choice = ends[first : len(ends) - (k - part)]
        first += int(np.abs(choice - part * n / (k + 1)).argmin()) + 1
        cuts.append(int(ends[first - 1]))
    return [Fold(np.sort(order[:a]), np.sort(order[a:b])) for a, b in pairwise([*cuts, n])]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CrossValidation(Evaluation):
    """All predictions, and those of each fold.

    Attributes
    ----------
    rows : (n,) int64
        The row of each prediction, ascending.
    scores : (n, n_classes) float64
        -inf for a class that no training row has.
    per_fold : tuple of Evaluation
    """

    rows: Integers
    scores: Floats
    per_fold: tuple[Evaluation, ...]


def cross_validate(
    clf: AnyClassifier, texts: Any, labels: Any, folds: int | Sequence[tuple[Any, Any]], *, refit: bool = False
) -> CrossValidation:
    """Predict the test rows of every fold by a classifier that has learned its training rows.

    Parameters
    ----------
    clf : TextClassifier
        Its options are used; it does not change.
    texts, labels
        As for `TextClassifier.learn`.
    folds : int or list of (train, test)
        Rows, as `folds` returns them; or a number of stratified folds.
    refit : bool
        Learn every training set from scratch, as trained models always do.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "meeting at noon", "lunch at noon"]
    >>> labels = ["spam", "spam", "ham", "ham"]
    >>> found = cross_validate(TextClassifier(), texts, labels, folds=2)
    >>> found.predictions.tolist(), len(found.per_fold)
    (['spam', 'spam', 'ham', 'ham'], 2)
    """
    check_classifier(clf)
    documents = Labelled(texts, labels)
    checked = folds_of(documents, folds)
    scores = [
        documents.align(learned.classes_.tolist(), learned.scores(documents.pick(fold.test)[0]))
        for learned, fold in _learn_each(clf, documents, checked, refit=refit or clf.needs_documents)
    ]
    rows = np.concatenate([fold.test for fold in checked])
    order = np.argsort(rows, kind="stable")
    parts = tuple(
        Evaluation.of_scores(documents.labels_of(fold.test), documents.classes, own)
        for fold, own in zip(checked, scores, strict=True)
    )
    true, every = documents.labels_of(rows[order]), np.concatenate(scores)[order]
    return CrossValidation.of_scores(true, documents.classes, every, rows=rows[order], per_fold=parts)


def _learn_each(
    clf: AnyClassifier, documents: Labelled, parts: list[Fold], *, refit: bool
) -> Iterator[tuple[TextClassifier, Fold]]:
    """One classifier that goes from one training set to the next, or a new one for each."""
    options = clf.get_params()
    learned, known = TextClassifier(**options), np.empty(0, np.int64)
    for fold in parts:
        leave, come = np.setdiff1d(known, fold.train), np.setdiff1d(fold.train, known)
        if refit or len(leave) + len(come) >= len(fold.train):
            learned, leave, come = TextClassifier(**options), leave[:0], fold.train
        if len(come):
            learned.learn(*documents.pick(come))
        if len(leave):
            learned.unlearn(*documents.pick(leave))
        known = fold.train
        yield learned, fold


def folds_of(documents: Labelled, given: int | Sequence[tuple[Any, Any]]) -> list[Fold]:
    """A number of stratified folds; or the given folds, their rows ascending, each row once."""
    if isinstance(given, int):
        return folds(len(documents), documents.true, given)
    if not given:
        raise DataError("there are no folds: give at least one pair of training and test rows")
    return [_check_fold(fold, len(documents)) for fold in given]


def _check_fold(fold: tuple[Any, Any], n_docs: int) -> Fold:
    train, test = (np.unique(np.asarray(rows, np.int64)) for rows in fold)
    for rows, what in ((train, "learn"), (test, "test")):
        if not len(rows):
            raise DataError(f"a fold has no rows to {what}: leave it out")
        if rows[0] < 0 or rows[-1] >= n_docs:
            raise DataError(f"a fold has row {rows[0] if rows[0] < 0 else rows[-1]}, but there are {n_docs} documents")
    both = np.intersect1d(train, test)
    if len(both):
        raise DataError(f"a fold learns row {both[0]} and tests it: a row is for one of the two")
    return Fold(train, test)


def score_left_out(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> tuple[Labelled, Floats]:
    """Score documents by the model and the options of a classifier, each by the others.

    The documents, and their scores, (n_docs, n_classes): -inf for a class that has no other document.

    Examples
    --------
    >>> texts, labels = ["pills", "pills now", "at noon", "noon"], ["spam", "spam", "ham", "ham"]
    >>> documents, scores = score_left_out(TextClassifier(), texts, labels)
    >>> documents.classes, scores.argmax(axis=1).tolist()
    (['ham', 'spam'], [1, 1, 0, 0])
    """
    texts, labels = given_or_kept(clf, texts, labels)
    if clf.current_model.one_pass:
        corpus = Corpus(clf, texts, labels)
        return corpus.documents, corpus.scores()
    documents = Labelled(texts, labels)
    documents.check_two()
    return documents, cross_validate(clf, documents.texts, documents.true, min(N_FOLDS, len(documents))).scores


# --- the learning curve: accuracy on documents that were not learned, against the number of those that were

_TESTED = 5000  # documents to predict: if there are more, fewer folds are predicted
_SHARES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)
_FEWEST = 2


class CurvePoint(NamedTuple):
    """The mean accuracy of folds after learning `documents` documents; that of the worst and of the best fold."""

    documents: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class LearningCurve:
    """Points from few documents to many; `n_folds` were predicted."""

    points: tuple[CurvePoint, ...]
    n_folds: int

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        return {"points": [point._asdict() for point in self.points], "folds": self.n_folds}


def learning_curve(
    clf: AnyClassifier, texts: Any, labels: Any, *, watch: Callable[[int, int], None] | None = None
) -> LearningCurve:
    """Learn growing parts of four fifths, and predict the last fifth; with few documents, each fifth in turn.

    Learning adds up, so each part is learned on top of the one before.

    Parameters
    ----------
    clf, texts, labels
        As for `cross_validate`.
    watch : function, optional
        Called with the number of learned documents, and the number of all.

    Examples
    --------
    >>> found = learning_curve(TextClassifier(), ["cheap pills", "lunch at noon"] * 10, ["spam", "ham"] * 10)
    >>> found.points[-1], found.n_folds
    (CurvePoint(documents=16, accuracy=1.0, low=1.0, high=1.0), 5)
    """
    documents = Labelled(texts, labels)
    documents.check_two()
    n_docs = len(documents)
    n_folds = min(max(N_FOLDS * _TESTED // n_docs, 1), N_FOLDS, n_docs)
    parts = folds(n_docs, documents.true, min(N_FOLDS, n_docs))[:n_folds]
    most = min(len(part.train) for part in parts)
    sizes = sorted({min(max(_FEWEST, round(share * most)), most) for share in _SHARES})
    accuracies = np.empty((len(parts), len(sizes)))
    done = 0
    for k, part in enumerate(parts):
        rows = np.random.default_rng(k).permutation(part.train)
        learner, known, tested = TextClassifier(**clf.get_params()), 0, documents.pick(part.test)
        for n, size in enumerate(sizes):
            if watch is not None:
                watch(done, len(parts) * sizes[-1])
            learner.learn(*documents.pick(rows[known:size]))
            accuracies[k, n] = learner.score(*tested)
            done, known = done + size - known, size
    columns = (accuracies.mean(axis=0), accuracies.min(axis=0), accuracies.max(axis=0))
    points = map(CurvePoint, sizes, *(column.tolist() for column in columns))
    return LearningCurve(tuple(points), len(parts))
