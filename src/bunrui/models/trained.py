"""`TrainedModel`: the answers of a model that is trained from documents, when it first answers after a change."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis.analyzer import check_given
from bunrui.analysis.texts import is_given
from bunrui.classcounts import MOST_PAIRS
from bunrui.counts import Counts, Label
from bunrui.engines.matrix import look_up, look_up_few
from bunrui.errors import DataError, NotLearnedError, OptionError, Step
from bunrui.kernel.slices import Mutex
from bunrui.memory import Batch, Documents, Memory, Parameters
from bunrui.models.aode import train_aode
from bunrui.models.counting import several_labels_error
from bunrui.models.heads import HeadForm, Keys, LinearHead, train_arow, train_nbsvm
from bunrui.models.kinds import MOST_FEATURES, TRAINED, is_kept, reads_table
from bunrui.models.model import Best, Form, KeptForm, Options, Parts, WordForm, WordQuestion, best_of, take, take_ids
from bunrui.models.twcnb import StepsForm, train_twcnb
from bunrui.models.view import FeatureCounts, View, select, whole
from bunrui.sparse import Floats, Integers, Sparse

if TYPE_CHECKING:
    from bunrui.models.explain import DenseWeights, Word
    from bunrui.models.loo import CountedCorpus
    from bunrui.views.explanation import Explanation

T = TypeVar("T")

_SHORT = 1 << 16  # characters: longer texts have so many features that a table of all is quicker


class FittedModel(ABC):
    """The answers of a model that is fitted when it first answers after a change."""

    def __init__(self, analyzer: Analyzer, memory: Memory) -> None:
        self._analyzer = analyzer
        self._memory = memory
        self._fitted: Fitted | None = None
        self._fitting = Mutex()

    @abstractmethod
    def _is_current(self, is_whole: bool) -> bool:
        """Whether the model is fitted to the memory as it is now."""

    @abstractmethod
    def _fit(self, is_whole: bool) -> None:
        """Fit the model; call `at_rest`, without the lock of the memory."""

    @contextmanager
    def fitted(self, *, is_whole: bool = False) -> Iterator[Fitted]:
        """The model of the memory as it is now, fitted if need be, with the lock of the memory held.

        With `is_whole`, it has all that fitting gives; else it may have no more than answers need.
        """
        while True:
            if not self._is_current(is_whole):
                with self._memory.documents.at_rest(), self._fitting:
                    if not self._is_current(is_whole):
                        self._fit(is_whole)
            with self._memory.lock.read():
                # Only here: another thread may fit it anew, in place, and fail.
                fitted = self._fitted
                if fitted is not None:
                    yield fitted
                    return

    def scores(self, texts: Any) -> tuple[list[Label], Floats]:
        """Classes, and scores (n_docs, n_classes)."""
        with self.fitted() as fitted:
            return fitted.classes, fitted.scores(texts)

    def best(self, texts: Any, k: int) -> Best:
        """The k best classes of every text, or all where there are fewer."""
        classes, scores = self.scores(texts)
        return Best(classes, self._memory.counts.live.dtype, *best_of(scores, k))

    def explain(self, text: Any, label: Label | None, against: Label | None) -> Explanation:
        """Explain a label against another: the share of every feature of a text in the difference of their scores."""
        with self.fitted() as fitted:
            return fitted.explain(text, label, against)

    def words(self, question: WordQuestion) -> list[Word]:
        """The words that speak for a label."""
        with self.fitted() as fitted:
            return fitted.words(question)


class TrainedModel(FittedModel):
    """A model with its options, trained from the documents of a memory as they are now."""

    def __init__(self, options: Options, analyzer: Analyzer, memory: Memory) -> None:
        super().__init__(analyzer, memory)
        self._options = options

    def _is_current(self, is_whole: bool) -> bool:
        fitted = self._fitted
        return fitted is not None and fitted.is_of(self._memory.counts) and (fitted.is_whole or not is_whole)

    def _fit(self, is_whole: bool) -> None:
        # `arow` goes on in place, where nobody may look meanwhile; it never goes on from a half-trained head.
        lock = self._memory.lock
        with lock.write() if self._options["model"] == "arow" else lock.read():
            before, self._fitted = self._fitted, None
            self._fitted = self._restore_or_train(before, is_whole)

    def _restore_or_train(self, before: Fitted | None, is_whole: bool) -> Fitted:
        """The model from the weights of a file, where they were trained from all documents; else trained now.

        `arow` goes on from the head of this process, or else from the weights in the file.
        """
        memory, name = self._memory, self._options["model"]
        trainer = Trainer(self._options, self._analyzer, memory.counts)
        before = before if before is not None and before.is_whole and before.mark is not None else None

        def make(weights: Parameters, mark: Any, is_current: bool) -> Fitted | None:
            to_learn = name == "arow" and (is_whole or not is_current)
            lacks = name == "twcnb" or (
                to_learn and "unit" not in weights.facts
            )  # a slim copy has no more than answers
            if (lacks and is_whole) or (not is_current and (before is not None or not to_learn)):
                return None
            return trainer.restore(weights, mark, is_current=is_current, to_learn=to_learn)

        found = memory.documents.restored(self._options, make) if is_kept(name) else None
        if found is not None and found.is_of(memory.counts):
            return found
        memory.documents.check(name)
        fitted = trainer.train(memory.documents, before or found)
        if before is not None or found is None or fitted.is_consistent:
            return fitted
        # Weights that were meant to harm may lack a label.
        return trainer.train(memory.documents, None)

    def label_odds(self, texts: Any) -> tuple[list[Label], Floats]:
        """Nothing: a label is not compared with the rest."""
        raise several_labels_error(self._options["model"])

    @property
    def one_pass(self) -> bool:
        """Never."""
        return False

    def leave_one_out(self, corpus: CountedCorpus, *, odds: bool = False) -> Floats:
        """Nothing: the model would be trained for each document."""
        model, n_docs = self._options["model"], len(corpus)
        if odds:
            raise several_labels_error(model)
        raise OptionError(
            f"{model} is trained from documents, and would be trained {n_docs:,} times: use cross_validate",
            cause="trained-model",
        )

    def export(self, make: Callable[[Fitted], T]) -> T:
        """Call `make` with the fitted model, while nothing is learned."""
        with self.fitted(is_whole=True) as fitted:
            return make(fitted)


class Fitted:
    """The numbers of a trained model, and the words that its columns stand for.

    Attributes
    ----------
    classes : list of labels
        Sorted.
    counts : Counts
        The columns are of their vocabulary; hold their lock while asking.
    version : int
        The version of the counts when it was trained.
    mark : object
        How far the documents had been read.
    is_whole : bool
        Whether it has all that training gives, and not only the numbers that answers need.
    """

    def __init__(
        self,
        counts: Counts,
        analyzer: Analyzer,
        form: Form,
        ids: Integers | None,
        mark: Any,
        in_text_order: bool = False,
    ) -> None:
        """With `in_text_order`, sums do not depend on who learned which word first; so it is for heads."""
        self.counts = counts
        self.version = counts.version
        self.classes = counts.live_labels
        self.mark = mark
        self.form = form
        self.is_whole = True
        self._analyzer = analyzer
        self._in_text_order = in_text_order or isinstance(form, HeadForm)
        self._ids = ids  # the feature of every column; None where column f is feature f
        self._width = counts.n_ids if ids is None else len(ids)
        self._has_answered = False

    def is_of(self, counts: Counts) -> bool:
        """Whether it was trained from the documents of these counts."""
        return self.counts is counts and self.version == counts.version

    @property
    def is_consistent(self) -> bool:
        """Whether a head has learned all labels, and no others."""
        return not isinstance(self.form, HeadForm) or self.form.head.classes.tolist() == self.classes

    def rows(self, texts: Any) -> Any:
        """Texts as rows of counts, (n_docs, n_columns)."""
        few, sort = self.counts.is_folded and self._asks_few(texts), not self._in_text_order
        return rows_of(texts, self._analyzer, self.counts, self._ids, self._width, sort=sort, few=few)

    def _asks_few(self, texts: Any) -> bool:
        """Whether texts need few features of a file: the first one that is short, or one without features.

        Most commands have only one text, and a calibration asks about an empty one.
        """
        if not isinstance(texts, list) or len(texts) != 1 or not isinstance(texts[0], Sized) or len(texts[0]) > _SHORT:
            return False
        is_few = not (len(texts[0]) and self._has_answered)
        self._has_answered |= len(texts[0]) > 0
        return is_few

    def scores(self, texts: Any) -> Floats:
        """(n_docs, n_classes)"""
        return self.form.scores(self.rows(texts))

    def explain(self, document: Any, label: Label | None, against: Label | None) -> Explanation:
        """Explain a label against another: the share of every word in the difference of their scores."""
        from bunrui.models.explain import find, hold, read  # 10 ms, and predicting needs none

        reading = read(self._analyzer, document)
        self.counts.unfold()  # its words are asked for by name, too
        row = self.rows([document])
        duel = hold(self.classes, self.form.scores(row)[0], label, against)
        parts = self.form.parts(row)
        adds, bias = duel.difference(parts)
        by_column = dict(zip(parts.columns.tolist(), adds.tolist(), strict=True))
        columns = self._columns(find(self._view, list(reading.counts))).tolist()
        known = np.array([column in by_column for column in columns], bool)
        values = np.array([by_column.get(column, 0.0) for column in columns], np.float64)
        return duel.explanation(document, bias, reading.contributions(values, known), reading.unknown(known))

    def words(self, question: WordQuestion) -> list[Word]:
        """The words that speak for a label, as `telling_words` has them."""
        from bunrui.models.explain import find_word, telling_words

        question.check(self.classes)
        word = question.word
        ids = self._known_ids() if word is None else find_word(self._view, self._analyzer, word).astype(np.int64)
        known = ids[self._columns(ids) >= 0].astype(np.uint32)
        return telling_words(self._view, known, question, True, self._weigh)

    def _weigh(self, cells: FeatureCounts) -> DenseWeights:
        from bunrui.models.explain import DenseWeights

        # Rows of tables have no words: their model answers by itself.
        form = cast(WordForm, self.form)
        return DenseWeights(form.weights(self._columns(cells.ids.astype(np.int64))), self.classes)

    def arrays(self, to_learn: bool) -> Parameters | None:
        """The numbers of the model, for a file; None where it tells nothing apart yet.

        With `to_learn` also those that only learning more needs.
        """
        if isinstance(self.form, Nothing):
            return None
        facts, arrays = cast(KeptForm, self.form).arrays(to_learn)
        return Parameters(facts, arrays if self._ids is None else {**arrays, "ids": self._ids})

    @property
    def feature_ids(self) -> Integers:
        """The feature of every column."""
        return np.arange(self._width) if self._ids is None else self._ids

    def vocabulary(self) -> list[str]:
        """The words of all columns."""
        return self.counts.texts_of(self.feature_ids)

    @property
    def _view(self) -> View:
        return whole(self.counts)

    def _known_ids(self) -> Integers:
        live = self.counts.live_ids().astype(np.int64)
        return live[live < self._width] if self._ids is None else self._ids

    def _columns(self, ids: Integers) -> Integers:
        """The columns of features, -1 where one has none."""
        if self._ids is None:
            return np.where(ids < self._width, ids, -1)
        places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[places] == ids, places, -1) if len(self._ids) else np.full(len(ids), -1)


def rows_of(
    texts: Any,
    analyzer: Analyzer,
    counts: Counts,
    ids: Integers | None,
    width: int,
    *,
    sort: bool = True,
    few: bool = False,
) -> Sparse:
    """The counts of some features in texts, (n_docs, width); without `sort`, in the order of each text.

    With `few`, most features of the counts are not asked for: folded ones stay as they are.
    """
    if is_given(texts):
        check_given(analyzer)
    if few:
        X = look_up_few(texts, analyzer, counts.places_of, counts.n_ids, sort=sort)
    else:
        X = look_up(texts, analyzer, 1, counts.vocabulary, sort=sort)
    if ids is not None:
        return X.columns(ids)
    # Features that came later, and room that has none yet.
    return X if X.shape[1] == width else X.columns(np.arange(width))


class Nothing:
    """A model that tells nothing apart, for want of a second label, or of words."""

    def __init__(self, n_classes: int, head: LinearHead | None = None) -> None:
        self.head = head
        self._n_classes = n_classes

    def scores(self, X: Sparse) -> Floats:
        return np.zeros((X.shape[0], self._n_classes))

    def parts(self, row: Sparse) -> Parts:
        columns = row.indices.astype(np.int64)
        return Parts(columns, self.weights(columns), np.zeros(self._n_classes))

    def weights(self, columns: Integers) -> Floats:
        return np.zeros((len(columns), self._n_classes))


class Trainer(NamedTuple):
    """The options of a model, and the counts whose documents it is trained from."""

    options: Options
    analyzer: Analyzer
    counts: Counts

    def train(self, source: Documents, previous: Fitted | None) -> Fitted:
        """The model of all documents; `previous` is the last one that was trained, with the same options."""
        options, analyzer, counts = self
        if not counts.n_docs:
            raise NotLearnedError("nothing has been learned yet", hint=(Step("learn"),))
        name, n_classes = options["model"], len(counts.live_labels)
        if reads_table(name, options["analyzer"]):
            from bunrui.models.columns import train_columns

            _, batches, mark = source.batches(None)
            labelled = ((batch, *_label_rows(np.arange(len(batch.texts)), batch)[:2]) for batch in batches)
            return train_columns(options, analyzer, counts, labelled, mark)
        ids = self._choose_features(n_classes)
        # The choice among the words changes with every document.
        goes_on = name == "arow" and ids is None and previous is not None and previous.counts is counts
        goes_on, batches, mark = source.batches(previous.mark if goes_on and previous is not None else None)
        width = counts.n_ids if ids is None else len(ids)
        if not width or (n_classes == 1 and name != "arow"):
            # No mark: there is no head to go on with.
            return Fitted(counts, analyzer, Nothing(n_classes), ids, None)
        # Heads take features in the order of the text; to sort them takes a third as long as to read the texts.
        how = {"sort": name not in ("nbsvm", "arow")}
        tables = (_label_rows(rows_of(batch.texts, analyzer, counts, ids, width, **how), batch) for batch in batches)
        form: Form
        alpha = TRAINED[name].alpha_of(options)
        if name == "arow":
            before = getattr(previous.form, "head", None) if goes_on and previous is not None else None
            by_number = (_stack(list(parts)) for _, parts in groupby(tables, key=lambda table: table.number))
            head = train_arow(alpha, by_number, before)
            form = HeadForm(head) if n_classes > 1 and head is not None else Nothing(1, head)
        elif name == "nbsvm":
            form = train_nbsvm(alpha, *_stack(list(tables)))
        elif name == "twcnb":
            form = train_twcnb(alpha, options["smoothing"], *_stack(list(tables))[:2])
        else:
            form = train_aode(options["m"], *_stack(list(tables))[:2])
        return Fitted(counts, analyzer, form, ids, mark)

    def restore(self, weights: Parameters, mark: Any, *, is_current: bool, to_learn: bool) -> Fitted:
        """The model whose numbers these are; it is asked if it `is_current`, and goes on learning if `to_learn`.

        Raises
        ------
        DataError
            If such a model has other numbers.
        """
        options, analyzer, counts = self
        name = options["model"]
        alpha = TRAINED[name].alpha_of(options)
        ids = take_ids(weights, "ids", counts.n_ids) if "ids" in weights.arrays else None
        width = counts.n_ids if ids is None else len(ids)
        form: Form
        if name == "twcnb":
            form = StepsForm.from_arrays(weights, alpha, options["smoothing"], width, counts.doc_count[counts.live.ids])
        else:
            if not is_current and ids is None:  # features have come since
                width = min(width, len(take(weights, "place_of", np.int64, (None,))))
            form = HeadForm.from_arrays(name, weights, alpha, width, to_learn)
        fitted = Fitted(counts, analyzer, form, ids, mark)
        if is_current and not fitted.is_consistent:
            raise DataError("the weights have other classes than the counts")
        fitted.is_whole = name == "nbsvm" or to_learn
        if not is_current:
            fitted.version -= 1
        return fitted

    def _choose_features(self, n_classes: int) -> Integers | None:
        """The features that a model reads; None for all."""
        name, most, counts = self.options["model"], self.options["max_features"], self.counts
        if name == "aode" and most is None:
            # Pairs of present and absent, as many as its tables may have.
            most = min(MOST_FEATURES, max(1, math.isqrt(MOST_PAIRS // n_classes) // 2))
        view = select(counts, self.options["min_df"], most)
        # The size of the vocabulary is a parameter of twcnb: words that were unlearned must not count.
        if not len(view.keep) and (name != "twcnb" or counts.n_features == counts.n_ids):
            return None
        return view.feature_ids().astype(np.int64)


class _Labelled(NamedTuple):
    """Rows with a label each, their hashes, and the number of the batch that they are of."""

    X: Any
    labels: npt.NDArray[Any]
    keys: Keys
    number: int = 0


def _stack(tables: list[_Labelled]) -> tuple[Any, npt.NDArray[Any], Keys]:
    if len(tables) == 1:
        return tables[0][:3]
    X = Sparse.stack([table.X for table in tables])
    return X, np.concatenate([table.labels for table in tables]), np.concatenate([table.keys for table in tables])


def _label_rows(X: Any, batch: Batch) -> _Labelled:
    """Rows with one label each, and their hashes: a document with several labels is a row for each."""
    sets = batch.sets
    names = np.array(sets.labels)
    keys = batch.digests.view(np.uint64).reshape(-1, 2)
    if sets.is_single:
        return _Labelled(X, names[sets.groups], keys, batch.number)
    sizes = np.diff(sets.members)[sets.groups]
    rows = np.repeat(np.arange(len(sets.groups)), sizes)
    labels = np.concatenate([sets.indices[sets.members[g] : sets.members[g + 1]] for g in sets.groups.tolist()])
    return _Labelled(X.take(rows) if isinstance(X, Sparse) else X[rows], names[labels], keys[rows], batch.number)
