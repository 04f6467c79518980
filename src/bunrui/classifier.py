"""`TextClassifier`: strings in, labels out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer, AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import distinct, given_recipe
from bunrui.counts import Counts
from bunrui.engines import threads
from bunrui.engines.labels import LabelSets, label_sets
from bunrui.engines.locks import ReadWriteLock
from bunrui.errors import DataError, LabelError, MismatchError, NotLearnedError, OptionError
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.workspace import release
from bunrui.models import DEFAULT_MODEL, model_of
from bunrui.models.base import log_prior, smoothing_of
from bunrui.models.view import select
from bunrui.prediction import Reader, probabilities

if TYPE_CHECKING:
    from bunrui.explanation import Explanation, Word

__all__ = ["TextClassifier"]

Floats = npt.NDArray[np.float64]
Texts = Any
Labels = Any
_Given = tuple[Documents, Recipe, Callable[[Any], tuple[Documents, Recipe]]]


class _Memory:
    """What has been learned, and the lock on it; shared by the models that read it."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.lock = ReadWriteLock()


class TextClassifier:
    """Naive Bayes for text: learns by counting, so that it learns, unlearns and merges exactly.

    Parameters
    ----------
    model : str
        `multinomial`, `binary`, `mixed`, `bernoulli`, `complement`, `wcnb` or `binary-complement`.  Any time later,
        `with_model` answers as another one.
    analyzer : str, AnalyzerSpec or function
        How text becomes features: `universal` (any script, no dictionary), `words`, `ja`, `zh`, `ko`, a spec with
        options, or a function from text to tokens.
    smoothing : {"eap", "map", "mle"}
        The estimator of P(word | class).
    alpha : float or mapping from word to float, optional
        λ of `eap`, α of `map`; None is the measured default of the model.
    prior : {"empirical", "uniform", "smoothed"} or mapping from label to probability
        Class priors (the complement models have none).
    unseen : {"ignore", "smooth"}
        Whether words that were never learned count, with their smoothed probability.
    min_df : int
        Leave out words of fewer documents.
    max_features : int, optional
        Read only the words that say most about the class, by mutual information; `("chi2", n)` by χ².

    Examples
    --------
    >>> clf = TextClassifier()
    >>> clf.learn(["cheap pills now", "meeting at noon", "料金が無料"], ["spam", "ham", "spam"])
    TextClassifier(3 documents, 2 classes, 25 features)
    >>> clf.predict(["pills for free", "noon?", "無料です"]).tolist()
    ['spam', 'ham', 'spam']
    >>> clf.unlearn(["料金が無料"], ["spam"])
    TextClassifier(2 documents, 2 classes, 10 features)
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        analyzer: str | AnalyzerSpec | Callable[[str], Iterable[Any]] = "universal",
        smoothing: str = "eap",
        alpha: float | Mapping[str, float] | None = None,
        prior: str | Mapping[str, float] = "empirical",
        unseen: str = "ignore",
        min_df: int = 1,
        max_features: int | tuple[str, int] | None = None,
    ) -> None:
        self.model = model
        self.analyzer = analyzer
        self.smoothing = smoothing
        self.alpha = alpha
        self.prior = prior
        self.unseen = unseen
        self.min_df = min_df
        self.max_features = max_features
        self._reset()

    def _reset(self) -> None:
        """Check the options and forget everything."""
        self._model = model_of(self.model)
        self._smoothing = smoothing_of(self.smoothing, self.alpha, self._model.alpha)
        log_prior(Counts(), self.prior)
        if self.unseen not in ("ignore", "smooth"):
            raise OptionError(f"unseen should be 'ignore' or 'smooth', not {self.unseen!r}")
        self._analyzer: Analyzer = analyzer_of(self.analyzer)
        self._memory = _Memory(Counts(self._analyzer.fingerprint))
        select(self._memory.counts, self.min_df, self.max_features)
        self._reader: Reader | None = None
        self._numbers = False

    def __repr__(self) -> str:
        with self._memory.lock.read():
            return f"TextClassifier{repr(self.counts).removeprefix('Counts')}"

    @property
    def counts(self) -> Counts:
        """What has been learned."""
        return self._memory.counts

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels that have documents, sorted: the columns of `scores` and `predict_proba`."""
        with self._memory.lock.read():
            if not self.counts.n_docs:
                raise NotLearnedError("nothing has been learned yet: call learn(texts, labels) first")
            return self._named(self.counts.live_labels)

    def _named(self, labels: Sequence[str]) -> npt.NDArray[Any]:
        return np.array([int(label) for label in labels] if self._numbers else labels)

    # Learning

    def learn(self, texts: Texts, labels: Labels) -> TextClassifier:
        """Learn documents with their labels (strings, or collections of strings), all or none of them."""
        self._check_strings()
        return self._learn(texts, labels)

    def _check_strings(self) -> None:
        if self._numbers:
            raise LabelError("this classifier was fitted with numbers as labels: fit it with strings to learn more")

    def _learn(self, texts: Texts, labels: Labels) -> TextClassifier:
        delta = self._count(texts, labels)
        with self._memory.lock.write():
            if not self.counts.labels:
                self._memory.counts = delta
                delta.version = 1
                return self
            self.counts.add(delta)
        release(delta.vocabulary)
        return self

    def unlearn(self, texts: Texts, labels: Labels) -> TextClassifier:
        """Take documents back: afterwards the classifier is the one that never saw them.

        Counts know words, not documents: what is refused is what could not have been learned.  Another text whose words
        all occur often enough with the label is taken for one that was.

        Raises
        ------
        UnlearnError
            If something in them was never learned; then nothing is taken back.
        """
        self._check_strings()
        delta = self._count(texts, labels)
        with self._memory.lock.write():
            self.counts.subtract(delta)
        release(delta.vocabulary)
        return self

    def merge(self, other: TextClassifier) -> TextClassifier:
        """Add what another classifier with the same analyzer has learned."""
        if other.counts is self.counts:
            raise OptionError("a classifier cannot be merged with itself")
        self._check_strings()
        other._check_strings()
        with other._memory.lock.read():
            theirs = other.counts.copy()
        with self._memory.lock.write():
            self.counts.add(theirs)
        return self

    def _count(self, texts: Texts, labels: Labels) -> Counts:
        documents = self._documents(texts)
        return self._counted(documents, label_sets(labels, _n_docs(documents[0]), self.counts.label_ids))

    def count_sets(self, texts: Texts, sets: LabelSets) -> Counts:
        """Count documents, and learn nothing."""
        return self._counted(self._documents(texts), sets)

    def _counted(self, documents: _Given, sets: LabelSets) -> Counts:
        docs, recipe, again = documents
        counts, hard = threads.count(docs, recipe, sets, self.counts.fingerprint)
        if len(hard):
            more, _ = threads.count(*again(hard), sets.subset(hard), self.counts.fingerprint)
            counts.add(more)
        return counts

    def _documents(self, texts: Texts) -> _Given:
        """Buffers, what to do with them, and the same for some documents folded in Python."""
        if inputs.is_given(texts):
            return inputs.given(texts), given_recipe(), _never
        array = inputs.strings(texts)
        analyzer = self._analyzer

        def again(rows: Any) -> tuple[Documents, Recipe]:
            return analyzer.refold(inputs.pick(array, rows))

        return analyzer.documents(array), analyzer.recipe, again

    # Predicting

    def scores(self, texts: Texts) -> Floats:
        """Scores (log-joint, up to what all classes share), (n_docs, n_classes) in the order of `classes_`."""
        return self._scores(texts)[1]

    def _scores(self, texts: Texts) -> tuple[list[str], Floats]:
        """Scores with the classes of their columns: another thread may learn a class at any time."""
        if self.unseen == "smooth" and self._model.presence:
            texts = distinct(self._analyzer, texts)
        docs, recipe, again = self._documents(texts)
        with self._memory.lock.read():
            reader = self._current_reader()
            out, hard = _score(reader, docs, recipe)
            if len(hard):
                out[hard], _ = _score(reader, *again(hard))
            return reader.classes, np.ascontiguousarray(out[:, reader.columns])

    def predict(self, texts: Texts) -> npt.NDArray[Any]:
        """The most likely label of every text, (n_docs,); ties go to the label that sorts first."""
        classes, scores = self._scores(texts)
        return np.asarray(self._named(classes)[scores.argmax(axis=1)])

    def predict_proba(self, texts: Texts) -> Floats:
        """P(class | text), (n_docs, n_classes) in the order of `classes_`."""
        return probabilities(self.scores(texts))

    def log_odds(self, texts: Texts, *, positive: str, negative: str | None = None) -> Floats:
        """log P(positive | text) / P(negative | text), (n_docs,); 0 is neutral.

        `negative` may be left out where there are two classes.
        """
        columns, scores = self._scores(texts)
        negative = opponent(columns, positive, negative)
        return np.asarray(scores[:, columns.index(positive)] - scores[:, columns.index(negative)])

    def explain(self, text: Any, *, label: str | None = None, against: str | None = None) -> Explanation:
        """Why this label (by default the predicted one) and not another (by default the runner-up)."""
        from bunrui.explanation import explain

        with self._memory.lock.read():
            return explain(self._current_reader(), self._analyzer, text, label, against)

    def words(
        self,
        label: str | None = None,
        *,
        positive: str | None = None,
        negative: str | None = None,
        word: str | None = None,
        top: int | None = 20,
    ) -> list[Word]:
        """The words that speak for a label: what one occurrence adds to its score, less the mean of the others.

        With `positive` and `negative`, λ(w) = log P(w | positive) / P(w | negative) of the words of both, those that
        speak for the positive class first.  With `word`, that word alone.
        """
        if positive is not None:
            negative = opponent(self.counts.live_labels, positive, negative)
        elif negative is not None:
            raise OptionError("words(negative=...) needs positive=... too")
        from bunrui.explanation import telling_words

        with self._memory.lock.read():
            return telling_words(self._current_reader(), self._analyzer, label, positive, negative, word, top)

    def with_model(self, model: str | None = None, **options: Any) -> TextClassifier:
        """A classifier that reads the same counts by another model or with other options.

        What either learns, both know.
        """
        if "analyzer" in options:
            raise OptionError("another analyzer has other counts: make a new classifier and learn the texts again")
        options = without_alpha(options) | ({"model": model} if model else {})
        other = TextClassifier(**(self.get_params() | options))
        other._memory, other._numbers = self._memory, self._numbers
        return other

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn `Pipeline` of a `TextVectorizer` and a linear model, with the same predictions.

        Its probabilities differ by rounding only; what is learned later does not reach it.
        """
        from bunrui.estimators.export import pipeline_of

        with self._memory.lock.read():
            return pipeline_of(self._current_reader(), self.analyzer, self.unseen == "smooth")

    def _current_reader(self) -> Reader:
        """The reader of the counts as they are now; call with the lock held."""
        counts = self.counts
        reader = self._reader
        if reader is not None and reader.view.counts is counts and reader.version == counts.version:
            return reader
        if not counts.n_docs:
            raise NotLearnedError("nothing has been learned yet: call learn(texts, labels) first")
        view = select(counts, self.min_df, self.max_features)
        scorer = self._model.formula(view, self._smoothing, log_prior(counts, self.prior))
        reader = Reader(view, scorer, smooth_unseen=self.unseen == "smooth")
        self._reader = reader
        return reader

    # As a scikit-learn estimator

    def fit(self, texts: Texts, labels: Labels) -> TextClassifier:
        """Forget everything, then learn.

        Here labels may also be a NumPy array of whole numbers: scikit-learn's `cross_val_predict` makes one when it is
        asked for probabilities.
        """
        self._reset()
        if isinstance(labels, (list, tuple)) and labels and all(type(label) is int for label in labels):
            labels = np.array(labels)
        if not (isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.size and labels.min() >= 0):
            return self.learn(texts, labels)
        width = len(str(labels.max()))
        self._learn(texts, [f"{number:0{width}d}" for number in labels.tolist()])
        self._numbers = True
        return self

    def partial_fit(self, texts: Texts, labels: Labels, classes: Sequence[str] | None = None) -> TextClassifier:
        """Learn more.  With `classes`, other labels are errors."""
        if classes is not None:
            unknown = sorted(set(label_sets(labels, len(labels), {}).labels) - set(classes))
            if unknown:
                raise LabelError(f"the label {unknown[0]!r} is not among classes={list(classes)}")
        return self.learn(texts, labels)

    def score(self, texts: Texts, labels: Labels) -> float:
        """Accuracy; of a text with several labels, any of them is right."""
        found = self.predict(texts)
        if self._numbers:
            return float(np.mean(found == np.asarray(labels)))
        sets = label_sets(labels, len(found), self.counts.label_ids)
        allowed = [set(sets.indices[a:b].tolist()) for a, b in pairwise(sets.members.tolist())]
        names = {label: k for k, label in enumerate(sets.labels)}
        pairs = zip(found.tolist(), sets.groups.tolist(), strict=True)
        return float(np.mean([names.get(label, -1) in allowed[group] for label, group in pairs]))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name."""
        names = ("model", "analyzer", "smoothing", "alpha", "prior", "unseen", "min_df", "max_features")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **options: Any) -> TextClassifier:
        """Change options; another analyzer forgets what was learned."""
        known = self.get_params()
        for name in options:
            if name not in known:
                raise OptionError(f"there is no option {name!r}: choose among {', '.join(known)}")
        checked = TextClassifier(**(known | options))
        if checked._memory.counts.fingerprint == self.counts.fingerprint:
            checked._memory, checked._numbers = self._memory, self._numbers
        self.__dict__.update(checked.__dict__)
        return self

    def __getstate__(self) -> dict[str, Any]:
        # For copies and other processes: options and counts; the rest is made again.
        return self.__dict__ | {"_analyzer": None, "_reader": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._analyzer = analyzer_of(self.analyzer)
        if self._analyzer.fingerprint != self.counts.fingerprint:
            raise MismatchError("this copy was made where the analyzer gave other features: learn the texts again here")

    def __sklearn_is_fitted__(self) -> bool:
        return self.counts.n_docs > 0

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )


def without_alpha(options: dict[str, Any]) -> dict[str, Any]:
    """Options to change; who asks for `mle` does not mean the alpha that another smoothing had."""
    return {"alpha": None} | options if options.get("smoothing") == "mle" else options


def opponent(columns: Sequence[str], positive: str, negative: str | None) -> str:
    """The label that stands against another."""
    for label in (positive, negative):
        if label is not None and label not in columns:
            raise LabelError(f"there is no label {label!r}: the labels are {', '.join(columns[:20])}")
    if negative == positive:
        raise LabelError(f"{positive!r} cannot be held against itself: name another label")
    if negative is not None:
        return negative
    if len(columns) != 2:
        raise LabelError(f"there are {len(columns)} labels: say which one is negative")
    return next(label for label in columns if label != positive)


def _n_docs(docs: Documents) -> int:
    return max(len(docs.lists) if len(docs.lists) else len(docs.offsets), 1) - 1


def _score(reader: Reader, docs: Documents, recipe: Recipe) -> tuple[Floats, Any]:
    """Scores by class id, and the documents that must be folded in Python first."""
    n = _n_docs(docs)
    out = np.empty((n, len(reader.view.counts.labels)))
    longest = threads.longest_document(docs, recipe)
    if not reader.wants_table(n, int(docs.offsets[-1] - docs.offsets[0])):
        simple = [reader.score_one(docs, recipe, d, longest) for d in range(n)]
        if all(row is not None for row in simple):
            for d, row in enumerate(simple):
                out[d] = row
            return out, np.empty(0, np.int64)
    reader.table()
    hard = threads.each_slice(
        lambda lo, hi: reader.score_slice(docs, recipe, lo, hi, longest, out), threads.bounds_of(docs, recipe)
    )
    return out, np.concatenate(hard)


def _never(rows: Any) -> tuple[Documents, Recipe]:
    raise DataError("given features are never folded")
