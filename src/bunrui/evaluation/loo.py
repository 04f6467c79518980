"""Exact leave-one-out: every document is scored by the model of all the others.

Fitting n models would do the same; this takes one pass.  The formula of the model reads the counts without the document
(`models/loo.py`): its occurrences are subtracted, and words that occur only there are unseen, so the vocabulary
shrinks.  A class without another document gets -inf and is never predicted.  A document with several labels is taken
out of all its classes at once.  The scores have the same bits as those of `unlearn` and `scores`.

    min_df         a word of exactly min_df documents is left out when one of them is
    max_features   every document changes the choice of words: the model is fitted again for each document
                   (n selections, from counts that are subtracted).  `cross_validate` does it once a fold
    against_rest   the same together with class_norm, and for Bernoulli: every document changes all weights, as it does
                   in every model whose scorer is not `local`

If a corpus has the same text twice, or replies that quote each other, leave-one-out is too optimistic: the twin stays
in.  `find_duplicates` finds them, `folds(kind="grouped")` keeps them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import alike
from bunrui.choice import Choice, choose
from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.counts import Counts, Label
from bunrui.engines.count import release
from bunrui.engines.labelgroups import LabelSets, label_sets
from bunrui.errors import DataError, OptionError
from bunrui.evaluation.metrics import membership
from bunrui.evaluation.result import Evaluation, explain_against
from bunrui.kernel.slices import Mutex
from bunrui.memory import Memory
from bunrui.models import AUTO, MODELS
from bunrui.models.loo import CountedCorpus
from bunrui.models.rest import best_cut
from bunrui.sample import LowestDigests
from bunrui.sparse import Booleans, Floats, Integers

if TYPE_CHECKING:
    from bunrui.store.lifecycle import Document
    from bunrui.views.explanation import Explanation


_TWO = 2  # the fewest documents of a label, as one is left out; the fewest labels


def check_classifier(clf: Any) -> None:
    """Refuse anything but a classifier, such as the path of one.

    >>> check_classifier("mail.bunrui")
    Traceback (most recent call last):
    bunrui.errors.OptionError: 'mail.bunrui' is no classifier: give one, such as TextClassifier() or bunrui.open(path)
    """
    if not isinstance(clf, AnyClassifier):
        raise OptionError(f"{clf!r:.40} is no classifier: give one, such as TextClassifier() or bunrui.open(path)")


class Labelled:
    """Labelled documents.

    Parameters
    ----------
    texts, labels
        As for `TextClassifier.learn`.

    Attributes
    ----------
    texts : list or Arrow array
    sets : LabelSets
    classes : list of labels
        Sorted.
    true : list
        The label of every document, or the set of its labels where some have several.

    Examples
    --------
    >>> Labelled(["a", "b", "c"], ["x", ["x", "y"], "y"]).pick(np.array([0, 2]))
    (['a', 'c'], [{'x'}, {'y'}])
    """

    def __init__(self, texts: Any, labels: Any) -> None:
        self.texts = list(texts) if inputs.is_given(texts) else inputs.strings(texts)
        self.sets = label_sets(labels, len(self.texts), {})
        self.classes = self.sets.labels

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def true(self) -> list[Any]:
        names = self.sets.names
        single = all(len(group) == 1 for group in names)
        values: list[Any] = [group[0] if single else set(group) for group in names]
        return [values[group] for group in self.sets.groups.tolist()]

    @cached_property
    def own(self) -> Booleans:
        """Which classes each document has, (n_docs, n_classes)."""
        return membership(self.sets, self.classes)

    def align(self, classes: Sequence[Label], scores: Floats) -> Floats:
        """Scores by some classes → scores by all of them, -inf for the others, (n_rows, n_classes)."""
        out = np.full((len(scores), len(self.classes)), -np.inf)
        places = {label: k for k, label in enumerate(self.classes)}
        out[:, [places[label] for label in classes]] = scores
        return out

    def check_two(self) -> None:
        """Refuse documents that cannot predict each other.

        >>> Labelled(["a"], ["x"]).check_two()
        Traceback (most recent call last):
        bunrui.errors.DataError: one document cannot be predicted by others: give at least two
        """
        if len(self) < 2:
            found = "one document cannot be predicted by others" if len(self) else "there are no documents"
            raise DataError(f"{found}: give at least two", cause="few-documents")

    def pick(self, rows: Integers) -> tuple[Any, list[Any]]:
        """Some of the texts, with their labels."""
        texts = [self.texts[row] for row in rows.tolist()] if isinstance(self.texts, list) else self.texts.take(rows)
        return texts, self.labels_of(rows)

    def labels_of(self, rows: Integers) -> list[Any]:
        """The labels of some documents."""
        return [self.true[row] for row in rows.tolist()]


class Corpus:
    """Labelled documents, read once; any model can score each of them by all the others.

    Parameters
    ----------
    clf : TextClassifier
        Its options are used, its counts are not.
    texts, labels
        As for `TextClassifier.learn`.

    Attributes
    ----------
    classes : (n_classes,) array of labels
        Sorted; the columns of all scores.
    true : list
        The label of every document, or the set of its labels where some have several.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "meeting at noon", "lunch at noon"]
    >>> corpus = Corpus(TextClassifier("multinomial"), texts, ["spam", "spam", "ham", "ham"])
    >>> corpus.evaluate().metrics.accuracy
    1.0
    >>> corpus.scores("binary", alpha=0.5).round(2).tolist()
    [[-3.81, -2.77], [-3.81, -2.77], [-6.79, -9.68], [-6.79, -9.68]]
    """

    def __init__(self, clf: AnyClassifier, texts: Any, labels: Any) -> None:
        self.documents = Labelled(texts, labels)
        self.documents.check_two()
        self._counted = CountedCorpus(analyzer_of(clf.analyzer), self.documents.texts, self.documents.sets)
        self._classifier = TextClassifier(**clf.get_params()).attach(self._counted.memory, choice=self._choice_of(clf))

    def _choice_of(self, clf: AnyClassifier) -> Choice | None:
        """The choice of a classifier; where it is to choose a model, and has not, the one for these documents."""
        if clf.model != AUTO or clf.choice is not None:
            return clf.choice
        sample, n_classes = LowestDigests(), len(self.counts.labels)
        sample.add(self.documents.texts, self.documents.sets, n_classes)
        choice, _ = choose(self.counts, clf.text_analyzer, sample.draw(n_classes), clf.get_params())
        return choice

    def __repr__(self) -> str:
        return f"Corpus{repr(self.counts).removeprefix('Counts')}"

    @property
    def counts(self) -> Counts:
        """The counts of all documents."""
        return self._counted.counts

    @cached_property
    def classes(self) -> npt.NDArray[Any]:
        return np.array(self.counts.labels)

    @property
    def true(self) -> list[Any]:
        return self.documents.true

    @property
    def takes_label_sets(self) -> bool:
        """Whether `log_odds` has an answer: the model can hold each label against the rest."""
        return MODELS[self._classifier.effective_options["model"]].takes_label_sets

    def scores(self, model: str | None = None, **options: Any) -> Floats:
        """The scores of every document by the model of all the others, (n_docs, n_classes).

        `model` and `options` are those of `TextClassifier`, by default those that the corpus was made with.
        """
        return self.classifier(model, **options).current_model.leave_one_out(self._counted)

    def log_odds(self, model: str | None = None, **options: Any) -> Floats:
        """log P(label | document) / P(not label | document) by the model of all the others, (n_docs, n_classes).

        `TextClassifier.label_odds` of a classifier that never saw the document gives the same.
        """
        return self.classifier(model, **options).current_model.leave_one_out(self._counted, odds=True)

    def evaluate(self, model: str | None = None, **options: Any) -> Evaluation:
        """Evaluate the prediction of every document by the model of all the others."""
        return Evaluation.of_scores(self.true, self.classes, self.scores(model, **options))

    def classifier(self, model: str | None = None, **options: Any) -> TextClassifier:
        """A classifier with these options that has learned all documents; it reads the same counts."""
        if "analyzer" in options:
            raise OptionError("another analyzer has other features: make a new corpus of the texts")
        return self._classifier.with_model(model, **options)


def leave_one_out(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> Evaluation:
    """Predict every document by the model of all the others.

    Parameters
    ----------
    clf : TextClassifier
        Its options are used; it does not change.
    texts, labels
        As for `TextClassifier.learn`; a new classifier learns them.  Without them, the documents of a classifier file
        that keeps texts.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "meeting at noon", "lunch at noon"]
    >>> leave_one_out(TextClassifier(), texts, ["spam", "spam", "ham", "ham"]).predictions.tolist()
    ['spam', 'spam', 'ham', 'ham']
    """
    return corpus_of(clf, texts, labels).evaluate()


def corpus_of(clf: AnyClassifier, texts: Any, labels: Any) -> Corpus:
    """The corpus of some documents, or of those that a classifier keeps."""
    return Corpus(clf, *given_or_kept(clf, texts, labels))


def given_or_kept(clf: AnyClassifier, texts: Any, labels: Any) -> tuple[Any, Any]:
    """The given texts and labels, or those that a classifier keeps."""
    check_classifier(clf)
    if texts is None:
        return own_documents(clf)
    if labels is None:
        raise OptionError("the texts came without labels: give both")
    return texts, labels


def own_documents(clf: AnyClassifier) -> tuple[list[Any], list[list[str]]]:
    """The texts that a classifier has kept, and their labels."""
    documents = kept_documents(clf)
    return [document.text for document in documents], [document.labels for document in documents]


def kept_documents(clf: AnyClassifier) -> list[Document]:
    """The documents that a classifier has kept: all of them texts, or all of them tokens or counts."""
    from bunrui.store import StoredClassifier

    if not isinstance(clf, StoredClassifier) or clf.keep != "text":
        raise OptionError("this classifier keeps no texts: give the texts and their labels")
    documents = list(clf.documents())
    texts = alike(clf.text_analyzer, [document.text for document in documents])
    return [document._replace(text=text) for document, text in zip(documents, texts, strict=True)]


def loo_scores(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> tuple[npt.NDArray[Any], Floats]:
    """The classes, and the scores of `leave_one_out`, (n_docs, n_classes); -inf for a class without other documents."""
    corpus = corpus_of(clf, texts, labels)
    return corpus.classes, corpus.scores()


def loo_log_odds(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> tuple[npt.NDArray[Any], Floats]:
    """The labels, and the odds of each against the rest, (n_docs, n_labels): see `Corpus.log_odds`."""
    corpus = corpus_of(clf, texts, labels)
    return corpus.classes, corpus.log_odds()


def predict_without(clf: AnyClassifier, texts: Any, labels: Any) -> npt.NDArray[Any]:
    """The labels of documents that a classifier has learned, each predicted by all others that it has learned, (n,).

    None for a document that has the only label, or labels that no other document has: nobody else could predict it.
    The model must be one that reads counts.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "meeting at noon", "lunch at noon"]
    >>> clf = TextClassifier().learn(texts, ["spam", "spam", "ham", "ham"])
    >>> predict_without(clf, ["pills now", "lunch at noon"], ["spam", "ham"]).tolist()
    ['spam', 'ham']
    """
    memory = clf.memory
    found: npt.NDArray[Any] = np.full(len(texts), None, object)
    with memory.lock.read():
        counts = memory.readable_counts()
        sets = label_sets(labels, len(texts), counts.label_ids)
        ids = np.array([counts.label_ids[label] for label in sets.labels], np.int64)[sets.indices]
        is_alone = np.logical_and.reduceat(counts.doc_count[ids] < _TWO, sets.members[:-1])
        rows = np.flatnonzero(~is_alone[sets.groups])
        live = np.flatnonzero(counts.doc_count)
        if not len(rows) or len(live) < _TWO:
            return found
        known = LabelSets(counts.labels, sets.groups[rows], sets.members, ids)
        # A memory of its own, whose lock is free: this thread holds the other.
        alone = Memory(counts)
        chosen = [texts[row] for row in rows.tolist()]
        corpus = CountedCorpus(clf.text_analyzer, alike(clf.text_analyzer, chosen), known, memory=alone)
        model = TextClassifier(**clf.effective_options).attach(alone).current_model
        scores = model.leave_one_out(corpus)[:, live]
    found[rows] = np.array([counts.labels[k] for k in live], object)[scores.argmax(axis=1)]
    return found


class LeftOutExplainer:
    """Explains learned documents by leave-one-out: each by the model without it.

    It subtracts the document from a copy of the counts, so the classifier does not change.  The model must be one that
    reads counts; texts without a label have no part in it.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "meeting at noon", "pills at noon"]
    >>> clf = TextClassifier("multinomial", analyzer="words").learn(texts, ["spam", "spam", "ham", "ham"])
    >>> found = LeftOutExplainer(clf).explain("pills at noon", "spam", ["ham"])
    >>> [(word.feature, round(word.value, 2)) for word in found.contributions]
    [('pills', 2.8), ('at', -2.64), ('noon', -2.64)]
    """

    def __init__(self, clf: AnyClassifier) -> None:
        with clf.memory.lock.read():
            self._counts = clf.memory.readable_counts().copy()
        self._classifier = TextClassifier(**clf.effective_options).attach(Memory(self._counts), clf.calibration)
        self._lock = Mutex()  # one document is out at a time

    def explain(self, document: Any, label: Label, given: Sequence[Label]) -> Explanation:
        """Why a label, and not one of those that the document has."""
        counts = self._counts
        own = self._classifier.count_sets([document], label_sets([list(given)], 1, counts.label_ids))
        with self._lock:
            counts.subtract(own)
            try:
                return explain_against(self._classifier, document, label, given)
            finally:
                counts.add(own)
                release(own)


def best_thresholds(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> dict[str, float]:
    """The threshold of every label with the best F1 on documents that are left out, for `predict_labels`.

    Parameters
    ----------
    clf : TextClassifier
        Its model and options are used.  Without `texts`, it must be a classifier file that keeps texts.
    texts, labels : sequences, optional
        Documents with their labels; a document may have several.

    Notes
    -----
    A threshold goes below 0 only for an F1 of .3 or more: else a label with a handful of documents would often be given
    to all documents.

    Examples
    --------
    >>> texts = ["rice tea", "tea", "rice", "oil", "tea cup", "rice bowl", "oil well"]
    >>> labels = [["grain", "drink"], ["drink"], ["grain"], ["oil"], ["drink"], ["grain"], ["oil"]]
    >>> clf = TextClassifier(analyzer="words").learn(texts, labels)
    >>> thresholds = best_thresholds(clf, texts, labels)
    >>> [sorted(found) for found in clf.predict_labels(["tea and rice", "oil"], threshold=thresholds)]
    [['drink', 'grain'], ['oil']]
    """
    corpus = corpus_of(clf, texts, labels)
    return cut_odds(corpus, corpus.log_odds())


def cut_odds(corpus: Corpus, odds: Floats) -> dict[str, float]:
    """The threshold of every label with the best F1 among the `log_odds` of a corpus; see `best_thresholds`."""
    has, ones = corpus.documents.own, np.ones(len(odds))
    return {label: best_cut(odds[:, k], has[:, k], ones) for k, label in enumerate(corpus.documents.classes)}
