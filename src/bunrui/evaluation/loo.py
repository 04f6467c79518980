"""Exact leave-one-out: every document, scored by the model of all the others.

Refitting n times would do; here it takes one pass.  What a document changes is found from the counts of all documents
and subtracted where the score is computed (`bunrui.kernel.loo`): its own occurrences; the words that only it had, which
are unseen then, so that the vocabulary shrinks; a class that has no other document, which gets -inf and is never
predicted; the priors.  A document with several labels is taken out of all its classes at once.  The scores have the
very bits that `unlearn` and `scores` would give.

    min_df         a word that is in just so many documents is left out when one of them is
    max_features   which words say most depends on every document: here the model is fitted anew, document by document
                   (n selections, from counts that are subtracted).  `cross_validate` does it once a fold

Where a corpus has the same text twice, or replies that quote each other, leave-one-out flatters: the twin stays in.
`find_duplicates` finds them, `folds(kind="grouped")` keeps them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import analyzer_of
from bunrui.analysis.analyzer import documents_of
from bunrui.classifier import AnyClassifier, TextClassifier, changes
from bunrui.counts import Counts, Label
from bunrui.engines.counting import count
from bunrui.errors import OptionError
from bunrui.evaluation.labelled import Labelled, check_classifier
from bunrui.evaluation.loopairs import Pairs
from bunrui.evaluation.looparts import KINDS, Ground, ground_of, model_of, named_without
from bunrui.evaluation.loorows import read_rows
from bunrui.evaluation.loorun import scores_of
from bunrui.evaluation.result import Evaluation
from bunrui.kernel.logs import log
from bunrui.kernel.loostate import Labels
from bunrui.models import MODELS
from bunrui.models.base import prior_shares, smoothing_of
from bunrui.models.labelprior import log_label_prior
from bunrui.models.linear import probabilities
from bunrui.models.rest import log_odds
from bunrui.models.view import CountView, select

if TYPE_CHECKING:
    from bunrui.store.documents import Document

__all__ = ["Corpus", "is_exact", "kept_documents", "leave_one_out", "loo_log_odds", "loo_scores"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Options that the pass knows; any other that is on needs a model fitted anew.
_KNOWN = {"model", "analyzer", "smoothing", "alpha", "prior", "unseen", "min_df", "m"}

_MOST_PRIORS = 1 << 22  # label sets × classes: those of more are made block by block, and 6,000 labels have 36 million


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
        self._options = clf.get_params()
        self._documents = Labelled(texts, labels)
        self._documents.check_two()
        analyzer = analyzer_of(clf.analyzer)
        docs, recipe = documents_of(analyzer, self._documents.texts)
        self.counts = count(docs, recipe, self._documents.sets, analyzer.fingerprint)
        self._parts = read_rows(docs, recipe, self.counts.vocabulary)
        self._grounds: dict[tuple[bool, int], Ground] = {}

    def __repr__(self) -> str:
        return f"Corpus{repr(self.counts).removeprefix('Counts')}"

    @cached_property
    def classes(self) -> npt.NDArray[Any]:
        return np.array(self.counts.labels)

    @property
    def true(self) -> list[Any]:
        return self._documents.true

    def scores(self, model: str | None = None, **options: Any) -> Floats:
        """The scores of every document by the model of all the others, (n_docs, n_classes).

        `model` and `options` are those of `TextClassifier`, by default those that the corpus was made with.
        """
        clf = self._reader(model, options)
        if not is_exact(clf):
            return self._refitted(clf, TextClassifier.scores)
        sets, view = self._documents.sets, select(self.counts, clf.min_df, None)
        by_docs = KINDS[clf.model][1]
        if (by_docs, clf.min_df) not in self._grounds:
            # One at a time: each is as large as a table of all weights.
            self._grounds = {(by_docs, clf.min_df): self._ground(view, clf)}

        def priors_of(starts: Integers, classes: Integers) -> Floats:
            return _priors_without(view.doc_count, self.counts.labels, starts, classes, clf.prior)

        is_small = (len(sets.members) - 1) * len(self.classes) <= _MOST_PRIORS
        priors = priors_of(sets.members, sets.indices) if is_small else np.empty(0)
        labels, ground = Labels(sets.groups, sets.members, sets.indices, priors), self._grounds[by_docs, clf.min_df]
        later = None if is_small else priors_of
        return self._without_lonely(self._left_out(clf, clf.model, ground, labels, later))

    def log_odds(self, model: str | None = None, **options: Any) -> Floats:
        """log P(label | document) / P(not label | document) by the model of all the others, (n_docs, n_classes).

        What `TextClassifier.label_odds` gives to a classifier that never saw the document, but for rounding: each label
        and its rest are two classes.
        """
        clf = self._reader(model, options)
        if clf.model == "wcnb" or not is_exact(clf):
            return self._refitted(clf, TextClassifier.label_odds)
        sets, two, name = self._documents.sets, np.arange(3), MODELS[clf.model].twin or clf.model
        priors = _label_priors_without(self.counts, clf.prior)
        pairs = Pairs(select(self.counts, clf.min_df, None), KINDS[name][1])
        out = np.empty((len(self._documents), len(self.classes)))
        for label in range(len(self.classes)):
            lacks = np.add.reduceat(sets.indices == label, sets.members[:-1], dtype=np.int64) == 0
            groups = lacks.astype(np.int64)[sets.groups]
            labels = Labels(groups, two, two[:2], np.stack([priors[:, label], np.zeros(2)], axis=1).reshape(-1))
            both = self._left_out(clf, name, self._ground(pairs.of(label), clf), labels)
            out[:, label] = both[:, 0] - both[:, 1]
        return self._without_lonely(out)

    def evaluate(self, model: str | None = None, **options: Any) -> Evaluation:
        """What every document is predicted to be by the model of all the others."""
        scores = self.scores(model, **options)
        return Evaluation(
            true=self.true,
            predictions=self.classes[scores.argmax(axis=1)],
            probabilities=probabilities(scores),
            classes=self.classes,
            scores=scores,
        )

    def _reader(self, model: str | None, options: dict[str, Any]) -> TextClassifier:
        """An empty classifier with some options, which checks them."""
        if "analyzer" in options:
            raise OptionError("another analyzer has other features: make a new corpus of the texts")
        named = {"model": model} if model else {}
        clf = TextClassifier(**(self._options | changes(options | named)))
        if clf.model not in MODELS:
            raise OptionError(
                f"{clf.model} is trained from documents, and would be trained {self.counts.n_docs:,} times: use "
                "cross_validate"
            )
        return clf

    def _ground(self, view: CountView, clf: AnyClassifier) -> Ground:
        doc_total = self.counts.postings.doc_total[: self.counts.n_ids]
        return ground_of(view, doc_total, by_docs=KINDS[clf.model][1], min_df=clf.min_df)

    def _left_out(self, clf: AnyClassifier, name: str, ground: Ground, labels: Labels, priors_of: Any = None) -> Floats:
        """Scores by the model with a name, and the smoothing of a classifier; `priors_of` as for `scores_of`."""
        smoothing = smoothing_of(clf.smoothing, clf.alpha, MODELS[clf.model].alpha)
        scorer = MODELS[name].scorer(ground.view, smoothing, np.zeros(len(ground.view.doc_count)))
        named = named_without(self._parts, self.counts, ground, smoothing)
        model = model_of(name, ground, smoothing, scorer, named)
        smooth = clf.unseen == "smooth"
        return scores_of(self._parts, labels, ground, model, smooth_unseen=smooth, priors_of=priors_of)

    def _without_lonely(self, scores: Floats) -> Floats:
        """The scores with -inf where no other document has the label."""
        sets = self._documents.sets
        groups = np.repeat(np.arange(len(sets.members) - 1), np.diff(sets.members))
        lonely = self.counts.doc_count[sets.indices] == 1
        document = np.empty(len(sets.members) - 1, np.int64)
        document[sets.groups] = np.arange(len(sets.groups))
        scores[document[groups[lonely]], sets.indices[lonely]] = -np.inf
        return scores

    def _refitted(self, clf: AnyClassifier, score: Callable[[AnyClassifier, Any], Floats]) -> Floats:
        """The same by taking every document back in turn, and learning it again."""
        clf.learn(self._documents.texts, self.true)
        classes = clf.classes_.tolist()
        out = np.full((len(self.true), len(classes)), -np.inf)
        for row in range(len(self.true)):
            text, label = self._documents.pick(np.array([row]))
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
    return clf.model in KINDS and not any(bool(value) for name, value in clf.get_params().items() if name not in _KNOWN)


def _priors_without(
    doc_count: Integers, names: Sequence[Label], starts: Integers, classes: Integers, prior: Any
) -> Floats:
    """log P(c) without a document of each group, (n_groups × n_classes,); 0 for a class that has no other."""
    shares = np.ones((len(starts) - 1, len(doc_count)))
    labels, is_given = np.array(names, object), isinstance(prior, Mapping)
    for group, (a, b) in enumerate(pairwise(starts.tolist())):
        left = doc_count.copy()
        left[classes[a:b]] -= 1
        alive = left > 0
        shares[group, alive] = prior_shares(left[alive], labels[alive].tolist() if is_given else (), prior)
    return log(shares).reshape(-1)


def _label_priors_without(counts: Counts, prior: Any) -> Floats:
    """log P(label) / P(rest) without a document that has the label, and without one that has not, (2, n_classes)."""
    out = []
    for own in (1, 0):
        left = Counts()
        left.labels, left.n_docs, left.doc_count = counts.labels, counts.n_docs - 1, counts.doc_count - own
        out.append(log_odds(log_label_prior(left, prior)))
    return np.array(out)


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
    """The corpus of some documents, or of those that a classifier has kept."""
    check_classifier(clf)
    if texts is None:
        texts, labels = own_documents(clf)
    elif labels is None:
        raise OptionError("leave-one-out needs the labels of the texts too")
    return Corpus(clf, texts, labels)


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
    if len({isinstance(document.text, str) for document in documents}) < 2:
        return documents
    # Some were learned as texts, some as tokens: tokens are what they have in common.
    features = analyzer_of(clf.analyzer).features
    tokens = [[token.text for token in features(d.text)] if isinstance(d.text, str) else d.text for d in documents]
    return [document._replace(text=text) for document, text in zip(documents, tokens, strict=True)]


def loo_scores(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> tuple[npt.NDArray[Any], Floats]:
    """The classes, and the scores of `leave_one_out`, (n_docs, n_classes); -inf for a class without other documents."""
    corpus = corpus_of(clf, texts, labels)
    return corpus.classes, corpus.scores()


def loo_log_odds(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> tuple[npt.NDArray[Any], Floats]:
    """The labels, and the odds of each against the rest, (n_docs, n_labels): see `Corpus.log_odds`."""
    corpus = corpus_of(clf, texts, labels)
    return corpus.classes, corpus.log_odds()
