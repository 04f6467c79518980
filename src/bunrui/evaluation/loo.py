"""Exact leave-one-out: every document, scored by the model of all the others.

Refitting n times would do; here it takes one pass.  The formula of the model gets the counts without the document
(`without.py`): less its own occurrences, and less the words that only it had, which are unseen then, so that the
vocabulary shrinks.  A class that has no other document gets -inf and is never predicted.  A document with several
labels is taken out of all its classes at once.  The scores have the very bits that `unlearn` and `scores` would give.

    min_df         a word that is in just so many documents is left out when one of them is
    max_features   which words say most depends on every document: here the model is fitted anew, document by document
                   (n selections, from counts that are subtracted).  `cross_validate` does it once a fold
    against_rest   the same together with class_norm, and for Bernoulli: every document changes all weights

Where a corpus has the same text twice, or replies that quote each other, leave-one-out flatters: the twin stays in.
`find_duplicates` finds them, `folds(kind="grouped")` keeps them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import analyzer_of
from bunrui.analysis.analyzer import alike, documents_of
from bunrui.choice import choose
from bunrui.classifier import AnyClassifier, TextClassifier, complete_options, resolve
from bunrui.counts import Counts, Label, Totals
from bunrui.engines.counting import count
from bunrui.errors import OptionError
from bunrui.evaluation.labelled import Labelled, check_classifier
from bunrui.evaluation.result import Evaluation
from bunrui.kernel.logs import log
from bunrui.kernel.loo import Labels
from bunrui.models import AUTO, MODELS
from bunrui.models.base import Scorer, Smoothing, prior_shares, smoothing_of
from bunrui.models.linear import log_sum_exp
from bunrui.models.multilabel import PairView, best_cut, log_label_prior
from bunrui.models.rest import log_odds
from bunrui.models.view import CountView, View, select, whole
from bunrui.models.without import Ground, ground_of, read_rows, score_without
from bunrui.sample import Sample

if TYPE_CHECKING:
    from bunrui.store.documents import Document

__all__ = [
    "Corpus",
    "best_thresholds",
    "is_exact",
    "kept_documents",
    "leave_one_out",
    "loo_log_odds",
    "loo_scores",
]

Integers = npt.NDArray[np.int64]
Ids = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]

# Options that the pass knows; any other that is on needs a model fitted anew.
_KNOWN = {"model", "analyzer", "smoothing", "alpha", "prior", "unseen", "min_df", "m", "class_norm", "against_rest"}


class Corpus:
    """Labelled documents that are read once, to be scored by many models, each without the document at hand.

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
        analyzer = analyzer_of(clf.analyzer)
        docs, recipe = documents_of(analyzer, self.documents.texts)
        self.counts = count(docs, recipe, self.documents.sets, analyzer.fingerprint)
        self._parts = read_rows(docs, recipe, self.counts.vocabulary)
        self._options = self._options_of(clf)
        self._grounds: dict[tuple[bool, int], Ground] = {}

    def _options_of(self, clf: AnyClassifier) -> dict[str, Any]:
        """The options of a classifier; where it is to choose a model, and has not, the one for these documents."""
        if clf.model != AUTO or clf.choice is not None:
            return clf.effective_options
        sample, n_classes = Sample(), len(self.counts.labels)
        sample.add(self.documents.texts, self.documents.sets, n_classes)
        choice, _ = choose(self.counts, clf.text_analyzer, sample.draw(n_classes), clf.get_params())
        return resolve(clf.get_params(), choice)

    def __repr__(self) -> str:
        return f"Corpus{repr(self.counts).removeprefix('Counts')}"

    @cached_property
    def classes(self) -> npt.NDArray[Any]:
        return np.array(self.counts.labels)

    @property
    def true(self) -> list[Any]:
        return self.documents.true

    def scores(self, model: str | None = None, **options: Any) -> Floats:
        """The scores of every document by the model of all the others, (n_docs, n_classes).

        `model` and `options` are those of `TextClassifier`, by default those that the corpus was made with.
        """
        clf = self._reader(model, options)
        if not is_exact(clf):
            return self._refitted(clf, TextClassifier.scores)
        sets, view = self.documents.sets, select(self.counts, clf.min_df, None)
        labels, options = Labels(sets.groups, sets.members, sets.indices), _formula_options(clf)
        by_docs = _scorer_of_nothing(clf.model, options).by_docs
        if (by_docs, clf.min_df) not in self._grounds:
            # One at a time: each is as large as a table of all weights.
            self._grounds = {(by_docs, clf.min_df): self._ground(view, labels, by_docs, clf.min_df)}

        def priors_of(docs: Integers) -> Floats:
            groups, places = np.unique(labels.groups[docs], return_inverse=True)
            members = [labels.classes[labels.starts[group] : labels.starts[group + 1]] for group in groups.tolist()]
            own = (view.doc_count, self.counts.labels, members, clf.prior)
            return np.asarray(_priors_without(*own, for_odds=bool(clf.against_rest))[places])

        ground = self._grounds[by_docs, clf.min_df]
        return self._without_lonely(self._left_out(clf, clf.model, ground, priors_of, options))

    def log_odds(self, model: str | None = None, **options: Any) -> Floats:
        """log P(label | document) / P(not label | document) by the model of all the others, (n_docs, n_classes).

        `TextClassifier.label_odds` of a classifier that never saw the document gives the same, but for rounding: each
        label and its rest are two classes.
        """
        clf = self._reader(model, options)
        if not is_exact(clf) or clf.class_norm:
            return self._refitted(clf, TextClassifier.label_odds)
        sets, two, name = self.documents.sets, np.arange(3), MODELS[clf.model].twin or clf.model
        priors = _label_priors_without(self.counts, clf.prior)
        by_docs = _scorer_of_nothing(name, {}).by_docs
        pairs = Pairs(select(self.counts, clf.min_df, None), by_docs)
        out = np.empty((len(self.documents), len(self.classes)))
        for label in range(len(self.classes)):
            lacks = np.add.reduceat(sets.indices == label, sets.members[:-1], dtype=np.int64) == 0
            labels = Labels(lacks.astype(np.int64)[sets.groups], two, two[:2])
            own = np.stack([priors[:, label], np.zeros(2)], axis=1)[labels.groups]
            ground = self._ground(pairs.of(label), labels, by_docs, clf.min_df)
            both = self._left_out(clf, name, ground, own.__getitem__, {})
            out[:, label] = both[:, 0] - both[:, 1]
        return self._without_lonely(out)

    def evaluate(self, model: str | None = None, **options: Any) -> Evaluation:
        """Evaluate the prediction of every document by the model of all the others."""
        return Evaluation.of_scores(self.true, self.classes, self.scores(model, **options))

    def _reader(self, model: str | None, options: dict[str, Any]) -> TextClassifier:
        """An empty classifier with some options, which checks them."""
        if "analyzer" in options:
            raise OptionError("another analyzer has other features: make a new corpus of the texts")
        named = {"model": model} if model else {}
        clf = TextClassifier(**(self._options | complete_options(options | named)))
        if clf.model not in MODELS:
            raise OptionError(
                f"{clf.model} is trained from documents, and would be trained {self.counts.n_docs:,} times: use "
                "cross_validate"
            )
        return clf

    def _ground(self, view: CountView, labels: Labels, by_docs: bool, min_df: int) -> Ground:
        doc_total = self.counts.postings.doc_total[: self.counts.n_ids]
        return ground_of(view, doc_total, self._parts, labels, by_docs=by_docs, min_df=min_df)

    def _left_out(
        self,
        clf: AnyClassifier,
        name: str,
        ground: Ground,
        priors_of: Callable[[Integers], Floats],
        options: dict[str, bool],
    ) -> Floats:
        """Scores by the model with a name, and the smoothing of a classifier."""
        model = MODELS[name]
        usual = MODELS[clf.model].default_alpha(class_norm=bool(options.get("class_norm")))
        smoothing = smoothing_of(clf.smoothing, clf.alpha, usual)

        def formula(view: CountView, prior: Floats) -> Scorer:
            return model.scorer(view, smoothing, prior, **options)

        return score_without(ground, formula, priors_of, smooth=clf.unseen == "smooth")

    def _without_lonely(self, scores: Floats) -> Floats:
        """The scores with -inf where no other document has the label."""
        sets = self.documents.sets
        groups = np.repeat(np.arange(len(sets.members) - 1), np.diff(sets.members))
        lonely = self.counts.doc_count[sets.indices] == 1
        document = np.empty(len(sets.members) - 1, np.int64)
        document[sets.groups] = np.arange(len(sets.groups))
        scores[document[groups[lonely]], sets.indices[lonely]] = -np.inf
        return scores

    def _refitted(self, clf: AnyClassifier, score: Callable[[AnyClassifier, Any], Floats]) -> Floats:
        """The same, by a classifier that unlearns every document in turn, and learns it again."""
        clf.learn(self.documents.texts, self.true)
        classes = clf.classes_.tolist()
        out = np.full((len(self.true), len(classes)), -np.inf)
        for row in range(len(self.true)):
            text, label = self.documents.pick(np.array([row]))
            clf.unlearn(text, label)
            columns = [classes.index(name) for name in clf.classes_.tolist()]
            out[row, columns] = score(clf, text)[0]
            clf.learn(text, label)
        return out


def is_exact(clf: AnyClassifier) -> bool:
    """Whether one pass can leave every document out; else a model is fitted for each of them.

    >>> is_exact(TextClassifier("wcnb", min_df=2)), is_exact(TextClassifier(max_features=100))
    (True, False)
    """
    clf = clf.with_model()
    others = (value for name, value in clf.get_params().items() if name not in _KNOWN)
    if clf.model not in MODELS or any(others):
        return False
    options = _formula_options(clf)
    # Without a word that others had too, classes have fewer words, and all of their shares change.
    changes_all = options.get("class_norm", False) and clf.min_df > 1
    return not changes_all and not _scorer_of_nothing(clf.model, options).everywhere


def _formula_options(clf: AnyClassifier) -> dict[str, bool]:
    """The options of the formula that are on."""
    return {name: True for name in ("class_norm", "against_rest") if getattr(clf, name)}


def _scorer_of_nothing(model: str, options: dict[str, bool]) -> Scorer:
    """The scorer of no counts, which tells how the model counts and weighs."""
    return MODELS[model].scorer(whole(Counts()), Smoothing(1.0), np.empty(0), **options)


def _priors_without(
    doc_count: Integers, names: Sequence[Label], groups: list[Integers], prior: Any, *, for_odds: bool
) -> Floats:
    """log P(c) without a document that has some classes, (n_groups, n_classes); any for a class that has no other."""
    out = np.zeros((len(groups), len(doc_count)))
    labels, is_given = np.array(names, object), isinstance(prior, Mapping)
    for group, classes in enumerate(groups):
        left = doc_count.copy()
        left[classes] -= 1
        alive = left > 0
        logs = log(prior_shares(left[alive], labels[alive].tolist() if is_given else (), prior))
        # Shares of any size will do, but for odds.
        out[group, alive] = logs - log_sum_exp(logs[None])[0, 0] if for_odds and is_given else logs
    return out


def _label_priors_without(counts: Counts, prior: Any) -> Floats:
    """log P(label) / P(rest) without a document that has the label, and without one that has not, (2, n_classes)."""
    out = []
    for own in (1, 0):
        left = Counts(labels=counts.labels, totals=Totals.of_docs(counts.doc_count - own, counts.n_docs - 1))
        out.append(log_odds(log_label_prior(left, prior)))
    return np.array(out)


class Pairs:
    """Every label against the rest, from the same counts: the rest is all documents less those of the label."""

    def __init__(self, view: View, by_docs: bool) -> None:
        self.view = view
        self.by_docs = by_docs
        self.cells = view.gather(view.feature_ids(), by_docs)
        self._order = np.argsort(self.cells.classes, kind="stable")
        self._ends = np.searchsorted(self.cells.classes[self._order], np.arange(len(view.doc_count) + 1))
        self._features = self.cells.spread(np.arange(len(self.cells.ids)))

    def of(self, label: int) -> PairView:
        """A label, given by its id, and its rest."""
        mine = self._order[self._ends[label] : self._ends[label + 1]]
        own = np.zeros((len(self.cells.ids), 1), np.int64)
        own[self._features[mine], 0] = self.cells.counts[mine]

        def cells(ids: Ids) -> tuple[Integers, Integers]:
            places = np.searchsorted(self.cells.ids, ids)
            return own[places], self.cells.totals[places]

        return PairView(self.view, self.view.counts.n_docs, slice(label, label + 1), cells)


def leave_one_out(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> Evaluation:
    """Predict every document by the model of all the others.

    Parameters
    ----------
    clf : TextClassifier
        Its options are used; it does not change.
    texts, labels
        As for `TextClassifier.learn`: they are learned afresh.  Without them, the documents of a classifier in a file
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
    """Texts and labels that are given, or those that a classifier keeps."""
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


def best_thresholds(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> dict[str, float]:
    """The threshold of every label: that of the best F1 on documents that were left out, for `predict_labels`.

    Parameters
    ----------
    clf : TextClassifier
        Its model and options are used.  Without texts, a classifier in a file that keeps them.
    texts, labels : sequences, optional
        Documents with their labels, of which a document may have several.

    Notes
    -----
    A threshold goes below 0 only for an F1 of .3 or more: the best threshold of a label with a handful of documents
    would often give it to all.

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
    odds, has = corpus.log_odds(), corpus.documents.own
    ones = np.ones(len(odds))
    return {label: best_cut(odds[:, k], has[:, k], ones) for k, label in enumerate(corpus.documents.classes)}
