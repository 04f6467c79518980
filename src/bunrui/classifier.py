"""`TextClassifier`: strings in, labels out.  It has a memory with its counts, and a model that reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer, AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import documents_of, n_docs_of
from bunrui.calibration import Calibration, Unfitted, digest_of, lengths_of
from bunrui.choice import FREE, PLAIN, USUAL_SCORES, Choice, LeftOut, choose, fixed_by, is_due, why_not
from bunrui.counts import Counts, Label
from bunrui.engines.count import count
from bunrui.engines.labelgroups import LabelSets, copies_of, label_sets, weights_of
from bunrui.engines.stream import annotate
from bunrui.errors import LabelError, MismatchError, NotLearnedError, Option, OptionError, check_whole
from bunrui.kernel.slices import Mutex
from bunrui.labels import check_types, given_label, noun_of, type_of
from bunrui.memory import KeptPool, Memory, PoolTexts, by_digest, lasting
from bunrui.models import AUTO, DEFAULT_MODEL, kind_of
from bunrui.models.counting import CountingModel
from bunrui.models.linear import log_sum_exp, probabilities
from bunrui.models.model import Model, WordQuestion, check_label
from bunrui.models.rest import labels_above
from bunrui.models.scorer import log_prior, smoothing_of
from bunrui.models.view import select
from bunrui.sample import Drawn, LowestDigests
from bunrui.sparse import Floats
from bunrui.unlabelled import PoolWeight, check_reads_pool, reads_pool, weigh
from bunrui.unlabelled import is_due as is_weighing_due

if TYPE_CHECKING:
    from bunrui.models.explain import Word
    from bunrui.views.explanation import Explanation

# How counts are read, besides the model: may change at any time.
SETTINGS = ("smoothing", "alpha", "prior", "unseen", "min_df", "max_features", "class_norm", "against_rest", "m")
OPTIONS = ("model", "analyzer", *SETTINGS)
_STATE = (*OPTIONS, "memory", "calibration", "choice", "pool_weight", "_reads_pool", "_is_checked")

Texts = Any
Labels = Any

_making = Mutex()


@dataclass(eq=False, repr=False)
class AnyClassifier(ABC):
    """The interface of all classifiers, in memory or in a file; the options are attributes."""

    model: str = AUTO
    _: KW_ONLY
    analyzer: str | AnalyzerSpec | Callable[[str], Iterable[Any]] = "universal"
    smoothing: str = "eap"
    alpha: float | Mapping[str, float] | None = None
    prior: str | tuple[str, float] | Mapping[Any, float] = "empirical"
    unseen: str = "ignore"
    min_df: int = 1
    max_features: int | tuple[str, int] | None = None
    class_norm: bool = False
    against_rest: bool = False
    m: float = 1

    memory: Memory = field(init=False)
    """The counts and documents that were learned, and the lock on them."""
    text_analyzer: Analyzer = field(init=False)
    """The analyzer: it turns texts into features."""
    choice: Choice | None = field(init=False)
    pool_weight: PoolWeight | None = field(init=False)
    _compared: tuple[Model, Calibration | None, bool] | None = field(default=None, init=False)
    # The scores of a text without a known word.
    _nothing: tuple[Model, int, Floats] | None = field(default=None, init=False)

    @property
    @abstractmethod
    def current_model(self) -> Model:
        """The model with its options as they are now.

        Raises
        ------
        OptionError
            If `set_params` took options that make no sense.
        """

    @property
    @abstractmethod
    def calibration(self) -> Calibration | None:
        """How scores become probabilities; None without a calibration."""

    @property
    def counts(self) -> Counts:
        """The counts of all documents."""
        return self.memory.counts

    @property
    def needs_documents(self) -> bool:
        """Whether the model is trained from documents; all others read counts."""
        return kind_of(self.effective_options["model"]).needs_documents

    @property
    def is_trained(self) -> bool:
        """Whether the next question is answered without training: counts are enough, or a file has the weights."""
        return not self.needs_documents

    @property
    def n_trained(self) -> int:
        """Documents whose weights are in a file: the next question learns the others."""
        return 0

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels that have documents, sorted: the columns of `scores` and `predict_proba`."""
        with self.memory.lock.read():
            live = self.memory.readable_counts().live
            return np.array(live.labels, live.dtype)

    @property
    def label_type(self) -> type | None:
        """The type of the labels: str, int or bool; None before the first."""
        return type_of(self.counts.live.labels)

    def label_named(self, name: Any) -> Label:
        """The label that a text stands for, such as 1 for `"1"` where labels are integers; other values stay."""
        return given_label(name, self.label_type)

    # Options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name."""
        return {name: getattr(self, name) for name in OPTIONS}

    @property
    def settings(self) -> dict[str, Any]:
        """The model and its options: all but the analyzer."""
        return {name: getattr(self, name) for name in ("model", *SETTINGS)}

    @property
    def effective_options(self) -> dict[str, Any]:
        """The options by name, with the model that was chosen in place of `auto`."""
        return resolve(self.get_params(), self.choice)

    @property
    def effective_settings(self) -> dict[str, Any]:
        """The model and its options, with the model that was chosen in place of `auto`."""
        return resolve(self.settings, self.choice)

    @property
    def effective_alpha(self) -> Any:
        """α as it is, or the number that the default comes to; None for a smoothing that has none."""
        has = self.effective_settings
        if has["alpha"] is not None or has["smoothing"] == "mle":
            return has["alpha"]
        usual = kind_of(has["model"]).default_alpha(class_norm=bool(has["class_norm"]))
        return smoothing_of(has["smoothing"], None, usual).value + (has["smoothing"] == "map")

    @property
    def model_(self) -> Choice | None:
        """The model that `model="auto"` stands for now, and why; None where the model was named.

        Examples
        --------
        >>> clf = TextClassifier().learn(["cheap pills", "meeting at noon"], ["spam", "ham"])
        >>> clf.model_.candidate.model, clf.model_.reason
        ('binary-complement', '2 documents are too few to tell')
        >>> TextClassifier("multinomial").model_
        """
        if self.model != AUTO:
            return None
        if self.choice is not None and not (self.choice.evidence and fixed_by(self.settings)):
            return self.choice
        with self.memory.lock.read():
            if not self.counts.n_docs:
                return Choice(reason="nothing has been learned yet")
            return Choice(reason=why_not(self.counts, self.get_params()) or self._why_no_sample())

    def _why_no_sample(self) -> str:
        """Why there was nothing to choose by."""
        return self.memory.why_no_sample

    @abstractmethod
    def choose(self, metric: str | None = None) -> Choice:
        """Choose the model that `model="auto"` stands for anew, by the learned documents.

        Parameters
        ----------
        metric : {"accuracy", "macro_f1"}, optional
            By default that of the last choice; at first, accuracy.
        """

    def _check_auto(self) -> None:
        if self.model != AUTO:
            problem = f"the model is {self.model!r}, and there is nothing to choose"
            raise OptionError(problem, option="model", hint=("set ", Option("model", AUTO), " first"))

    # Predicting

    def scores(self, texts: Texts) -> Floats:
        """Scores, (n_docs, n_classes) in the order of `classes_`: log-joint, up to a number that all classes share."""
        return self.labelled_scores(texts)[1]

    def labelled_scores(self, texts: Texts) -> tuple[list[Label], Floats]:
        """The labels of the columns, and the scores: another thread may learn a new label at any time."""
        return self.current_model.scores(texts)

    def predict(self, texts: Texts) -> npt.NDArray[Any]:
        """The most likely label of every text, (n_docs,); ties go to the label that sorts first."""
        return self.current_model.best(texts, 1).labels[:, 0]

    def predict_top(self, texts: Texts, k: int = 5) -> tuple[npt.NDArray[Any], Floats]:
        """The k most likely labels of every text, best first, and their scores, (n_docs, k) each.

        If there are fewer classes, all of them.  With many classes, most are never scored; `predict_proba` scores all.

        Examples
        --------
        >>> clf = TextClassifier(analyzer="words")
        >>> _ = clf.learn(["rice and tea", "black tea", "oil"], ["grain", "drink", "fuel"])
        >>> clf.predict_top(["green tea"], k=2)[0].tolist()
        [['drink', 'grain']]
        """
        check_whole("k", k)
        best = self.current_model.best(texts, int(k))
        return best.labels, best.scores

    def predict_proba(self, texts: Texts) -> Floats:
        """P(class | text), (n_docs, n_classes) in the order of `classes_`; calibrated if the classifier is."""
        return self.scores_and_probabilities(texts)[2]

    def predict_log_proba(self, texts: Texts) -> Floats:
        """log P(class | text), (n_docs, n_classes) in the order of `classes_`; calibrated if the classifier is."""
        if self._model_and_calibration()[1] is None:
            scores = self.scores(texts)
            return np.asarray(scores - log_sum_exp(scores))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(texts)))

    def decision_function(self, texts: Texts) -> Floats:
        """The log-odds of each class against all others, not calibrated: (n_docs, n_classes), or (n_docs,) for two.

        With two classes they are those of the second class.  Scores grow with the length of a text, and odds do not:
        so scikit-learn's tools, such as `CalibratedClassifierCV`, can compare texts.

        Examples
        --------
        >>> clf = TextClassifier(analyzer="words").learn(["cheap pills", "lunch at noon"], ["spam", "ham"])
        >>> (clf.decision_function(["pills", "noon"]) > 0).tolist()
        [True, False]
        """
        scores = self.scores(texts)
        if scores.shape[1] < 3:
            return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores
        others, is_best = scores.copy(), scores == scores.max(axis=1, keepdims=True)
        others[np.arange(len(scores)), scores.argmax(axis=1)] = -np.inf
        top = scores.max(axis=1, keepdims=True) - log_sum_exp(others)
        shares = scores - log_sum_exp(scores)
        odds = shares - np.log1p(-np.exp(np.minimum(shares, -np.log(2))))  # no other has more than a half
        return np.asarray(np.where(is_best, top, np.minimum(odds, np.nextafter(top, -np.inf))))  # whatever is rounded

    def scores_and_probabilities(self, texts: Texts) -> tuple[list[Label], Floats, Floats]:
        """The labels of the columns, the scores, and the probabilities, all by one model."""
        model, calibration = self._model_and_calibration()
        if calibration is None:
            labels, scores = model.scores(texts)
            return labels, scores, probabilities(scores)
        if not inputs.is_given(texts):
            texts = inputs.strings(texts)  # which can be read twice
        labels, scores = model.scores(texts)
        return labels, scores, self._calibrated(model, calibration, scores, texts)

    def probabilities_of(self, scores: Floats, texts: Texts) -> Floats:
        """P(class | text) from the scores of texts, as `predict_proba` gives them."""
        model, calibration = self._model_and_calibration()
        return probabilities(scores) if calibration is None else self._calibrated(model, calibration, scores, texts)

    def _calibrated(self, model: Model, calibration: Calibration, scores: Floats, texts: Texts) -> Floats:
        """P(class | text); without a known word, a text is no surer than the model is before it reads one.

        A calibration is fitted on documents with words.  It takes an empty text for as sure as the surest of them.
        """
        found, version = calibration.apply(scores, lengths_of(texts)), self.counts.version
        # Without documents, scores are those of others, which left some out; and no row of a table is empty.
        if not self.counts.n_docs or getattr(self.text_analyzer, "reads_rows", False):
            return found
        if self._nothing is None or self._nothing[0] is not model or self._nothing[1] != version:
            self._nothing = model, version, model.scores([[]])[1][0]
        nothing = self._nothing[2]
        if len(nothing) == scores.shape[1]:
            rows, before = np.flatnonzero((scores == nothing).all(axis=1)), probabilities(nothing[None])
            found[rows] = np.where(before.max() < found[rows].max(axis=1, keepdims=True), before, found[rows])
        return found

    def _model_and_calibration(self) -> tuple[Model, Calibration | None]:
        """The model as it is now, and its calibration, if it has one: another thread may choose anew at any time."""
        with _making:
            model, calibration = self.current_model, self.calibration
            # Comparing the options took 47 of the 228 µs that the probabilities of a short text took.
            if self._compared is None or self._compared[0] is not model or self._compared[1] is not calibration:
                self._compared = model, calibration, self.is_calibrated
            return model, calibration if self._compared[2] else None

    @property
    def is_calibrated(self) -> bool:
        """Whether there is a calibration, and it was fitted for this model with these options."""
        if self.calibration is None:
            return False
        return self.calibration.options == key_of_calibration(self.effective_settings, self.pool_weight)

    @abstractmethod
    def set_calibration(self, calibration: Calibration | None) -> None:
        """Use a calibration (`bunrui.selection.calibrate` fits them), or none."""

    def annotate(self, batch: Any, text: str = "text") -> Any:
        """The columns `predicted` and `probability` for a batch of rows, for `map` of Hugging Face's `datasets`.

        Parameters
        ----------
        batch : mapping from column to values, data frame, or Arrow table or record batch
        text : str
            The column with the text.

        Returns
        -------
        dict of list, or data frame, or Arrow table or record batch
            The two columns; of a data frame or Arrow, the batch with the two columns in addition.

        Examples
        --------
        >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
        >>> clf.annotate({"text": ["pills", "noon"]})["predicted"]
        ['spam', 'ham']
        >>> import pyarrow as pa
        >>> clf.annotate(pa.table({"id": [7], "body": ["noon"]}), text="body").select(["id", "predicted"]).to_pylist()
        [{'id': 7, 'predicted': 'ham'}]
        """
        return annotate(self, batch, text)

    def log_odds(self, texts: Texts, *, positive: Label, negative: Label | None = None) -> Floats:
        """log P(positive | text) / P(negative | text), (n_docs,); 0 is neutral.

        With two classes, `negative` may be left out.
        """
        columns, scores = self.labelled_scores(texts)
        negative = opponent(columns, positive, negative)
        return np.asarray(scores[:, columns.index(positive)] - scores[:, columns.index(negative)])

    def label_odds(self, texts: Texts) -> Floats:
        """log P(label | text) / P(not label | text) of every label by itself, (n_docs, n_classes).

        Each label is compared with the rest, that is the totals minus the label.  So documents may have any number of
        labels.  A label and the rest are each other's complement, so the complement models answer like `multinomial`
        and `binary`, with a prior.
        """
        return self.current_model.label_odds(texts)[1]

    def predict_labels(self, texts: Texts, *, threshold: float | Mapping[Label, float] = 0.0) -> list[set[Label]]:
        """The labels of every text whose log-odds are above a threshold: any number of them, also none.

        Examples
        --------
        >>> clf = TextClassifier(analyzer="words")
        >>> _ = clf.learn(["rice and tea", "tea", "rice", "oil"], [["grain", "drink"], ["drink"], ["grain"], ["oil"]])
        >>> [sorted(found) for found in clf.predict_labels(["tea and rice", "oil"])]
        [['drink', 'grain'], ['oil']]
        """
        classes, odds = self.current_model.label_odds(texts)
        return labels_above(classes, odds, thresholds_of(classes, threshold))

    # Explaining

    def explain(self, text: Any, *, label: Label | None = None, against: Label | None = None) -> Explanation:
        """Why this label (by default the predicted one) and not another (by default the runner-up)."""
        model, calibration = self._model_and_calibration()
        found = model.explain(text, label, against)
        if calibration is None:
            return found
        classes, scores = model.scores([text])
        shares = dict(zip(classes, self._calibrated(model, calibration, scores, [text])[0].tolist(), strict=True))
        return replace(found, probabilities={name: shares.get(name, 0.0) for name in found.probabilities})

    def words(
        self,
        label: Label | None = None,
        *,
        positive: Label | None = None,
        negative: Label | None = None,
        word: str | None = None,
        top: int | None = 20,
    ) -> list[Word]:
        """The words that speak for a label, by the share of an occurrence in its score, minus the mean of others.

        With `positive` and `negative`: λ(w) = log P(w | positive) / P(w | negative) of the words of both, beginning
        with those that speak for the positive class.  With `word`: that word alone.
        """
        from bunrui.models.explain import Words

        if positive is not None:
            negative = opponent(self.counts.live_labels, positive, negative)
        elif negative is not None:
            raise OptionError((Option("negative"), " goes with ", Option("positive"), ": give both"))
        return Words(self.current_model.words(WordQuestion(label, positive, negative, word, top)))

    def _repr_html_(self) -> str:
        from bunrui.views.tables import classifier_html

        with self.memory.lock.read():
            counts = self.counts
            known = {
                "model": f"{AUTO}, {self.choice.describe()}" if self.choice and self.model == AUTO else self.model,
                "analyzer": self.text_analyzer.describe(),
                "documents": f"{counts.n_docs:,}",
                "features": f"{counts.n_features:,}",
                "calibrated": "yes" if self.is_calibrated else "no",
            }
            n_docs = {label: n for label, (n, _, _) in counts.class_totals().items()}
        return classifier_html(type(self).__name__, known, n_docs)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn `Pipeline` of a `TextVectorizer` and a linear model, with the same labels.

        Its probabilities are those before calibration; they differ from them by rounding alone.  It does not follow
        later changes of the classifier.
        """
        from bunrui.estimators.pipelines import pipeline_of

        return self.current_model.export(lambda parts: pipeline_of(parts, self.get_params()))

    # Learning

    @abstractmethod
    def learn(self, texts: Texts, labels: Labels) -> Self:
        """Learn documents with their labels, all or none of them."""

    @abstractmethod
    def unlearn(self, texts: Texts, labels: Labels) -> Self:
        """Take documents back: afterwards the classifier is the one that never saw them."""

    @abstractmethod
    def learn_unlabelled(self, texts: Texts) -> Self:
        """Take in texts without a label, to help where labelled documents are few; each text once.

        A pool of such texts helps by expectation–maximisation (Nigam et al. 2000).  Its weight is chosen by folds of
        the labelled documents; where it does not help, it is 0, and answers are those without the pool.  `unlabelled_`
        says which, and why.  Counts stay those of the labelled documents.  A text that is learned with a label counts
        by its label alone.

        Raises
        ------
        OptionError
            If the model cannot read fractions of counts, or the texts are none.
        """

    @abstractmethod
    def unlearn_unlabelled(self, texts: Texts | None = None) -> Self:
        """Take texts without a label back, by default all of them.

        Raises
        ------
        UnlearnError
            If one of them is not there; then nothing is taken back.
        """

    @property
    def unlabelled_(self) -> PoolWeight | None:
        """How much the texts without a label count now, and why; None where there are none."""
        if not len(self.memory.pool):
            return None
        return self.pool_weight or PoolWeight(reason="nothing was weighed yet", n_pool=len(self.memory.pool))

    def count_sets(self, texts: Texts, sets: LabelSets) -> Counts:
        """Count documents, and learn nothing."""
        self.check_options()
        return count(*documents_of(self.text_analyzer, texts), sets, self.counts.fingerprint)

    @abstractmethod
    def check_options(self) -> None:
        """Refuse invalid options: `set_params` takes any."""

    @abstractmethod
    def with_model(self, model: str | None = None, **options: Any) -> Self:
        """A classifier that reads the same counts by another model or with other options.

        What either learns, both know.
        """

    # As a scikit-learn estimator

    def partial_fit(self, texts: Texts, labels: Labels, classes: Sequence[Label] | None = None) -> Self:
        """Learn more.  With `classes`, any other label is an error."""
        check_among(labels, classes)
        return self.learn(texts, labels)

    def score(self, texts: Texts, labels: Labels, sample_weight: Any = None) -> float:
        """Accuracy; for a text with several labels, each of them is right.  Weights may be fractions."""
        found = self.predict(texts)
        sets = label_sets(labels, len(found), self.counts.label_ids)
        names, pairs = sets.names, zip(found.tolist(), sets.groups.tolist(), strict=True)
        is_right = [label in names[group] for label, group in pairs]
        weights = None if sample_weight is None else weights_of(sample_weight, len(found))
        return float(np.average(is_right, weights=weights))

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


@dataclass(eq=False, repr=False)
class TextClassifier(AnyClassifier):
    """Naive Bayes for text.  It learns by counting, so it can learn, unlearn and merge exactly.

    Parameters
    ----------
    model : str
        `auto` chooses one that suits the documents, by leave-one-out on a sample of them: at the first `learn`, with
        the 50th document, when documents have doubled or halved since, and after `merge`.  For that it keeps the
        sample, some 2,000 texts; `model_` says what it chose and why.  Or a name in `bunrui.models.MODELS`, such as
        `multinomial`; `with_model` can change it at any time.  Those in `bunrui.models.TRAINED`, such as `nbsvm`, are
        trained from documents: a classifier with one of them keeps its documents, and trains at its next answer.
        `columns` needs the analyzer `columns`.  With this analyzer, `aode` reads columns, too.
    analyzer : str, AnalyzerSpec or function
        How text becomes features: `universal` (any script, no dictionary), `words`, `ja`, `zh`, `ko`, a spec with
        options, or a function from text to tokens.  `columns` is for tables: each text is a row, a JSON object in a
        string (a dict would be counts of words).  For data frames and dicts, use `ColumnsNB`.
    smoothing : {"eap", "map", "mle"}
        The estimator of P(word | class).
    alpha : float or mapping from word to float, optional
        λ of `eap`, α of `map`; None is the measured default of the model.
    prior : {"empirical", "uniform", "smoothed"}, ("smoothed", λ) or mapping from label to probability
        Class priors; "smoothed" is (D[c] + λ) / (D + λC), with λ = 1 by default.  The complement models have no prior,
        nor have trained models other than `columns`.
    unseen : {"ignore", "smooth"}
        Ignore new words, or count them with their smoothed probability.
    min_df : int
        The fewest documents of a word that is read.
    max_features : int, optional
        The number of words that are read, the most telling ones by mutual information; `("chi2", n)` by χ².
    class_norm : bool
        Scale the counts of every class to one size first (Frank and Bouckaert 2006); for models with this name among
        their `options`, such as `multinomial`.
    against_rest : bool
        Score a class against all other documents; for models with this name among their `options`.
    m : float
        For `aode`: the fewest documents of a value that is a parent.

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

    def __post_init__(self) -> None:
        self._calibration: Calibration | Unfitted | None = None
        self._reads_pool = True
        self._model: Model | None = None
        self._twins: WeakSet[TextClassifier] = WeakSet([self])
        self._forget()

    def attach(
        self, memory: Memory, calibration: Calibration | Unfitted | None = None, choice: Choice | None = None
    ) -> Self:
        """Share the memory of another classifier, for reading and learning."""
        if self.counts.fingerprint != memory.counts.fingerprint:
            raise MismatchError("the analyzer makes other features than the memory has: learn the texts again")
        self.memory, self._model, self._calibration, self.choice = memory, None, calibration, choice
        return self

    @property
    def calibration(self) -> Calibration | None:
        """The calibration; one that came with a choice is fitted at the first question for it."""
        found = self._calibration
        if not isinstance(found, Unfitted):
            return found
        fitted = found.fit()  # without the lock, on which all classifiers wait; two threads fit the same
        with _making:
            if self._calibration is found:
                self._calibration = fitted
        return fitted

    @calibration.setter
    def calibration(self, calibration: Calibration | None) -> None:
        self._calibration = calibration

    def take_on(
        self, choice: Choice | None, calibration: Calibration | Unfitted | None, pool_weight: PoolWeight | None = None
    ) -> None:
        """Answer as a choice says, with this weight of the pool, and calibrated for it."""
        with _making:
            self.choice, self._calibration, self.pool_weight = choice, calibration, pool_weight
            self._model = None

    def _forget(self) -> None:
        """Check the options, and begin with nothing learned."""
        self.text_analyzer = _check(self.get_params())
        self.memory = Memory(Counts(self.text_analyzer.fingerprint))
        self.calibration = self.choice = self.pool_weight = None
        self._prepare()

    def _prepare(self) -> None:
        """Make ready for options that have been checked."""
        with _making:
            self._model = None
        self._is_checked = True
        if self.needs_documents:
            self.memory.keep_documents()
        if self.model == AUTO:
            self.memory.keep_sample(LowestDigests)

    def __repr__(self) -> str:
        with self.memory.lock.read():
            return f"TextClassifier{repr(self.counts).removeprefix('Counts')}"

    @property
    def current_model(self) -> Model:
        """The model with its options as they are now."""
        self.check_options()
        model = self._model
        if model is None:
            with _making:  # threads that ask at once get one model, which is trained once
                model = self._model
                if model is None:
                    options = self.effective_options
                    model = kind_of(options["model"]).model(options, self.text_analyzer, self.memory)
                    weight = 0.0 if self.pool_weight is None else self.pool_weight.weight
                    # A file that was meant to harm may have a weight for another model, or no texts.
                    if weight and isinstance(model, CountingModel) and len(self.memory.pool) and reads_pool(options):
                        from bunrui.models.pool import PooledModel  # the import takes as long as a prediction

                        model = PooledModel(model, weight, self.text_analyzer, self.memory)
                    self._model = model
        return model

    def check_options(self) -> None:
        """Refuse invalid options: `set_params` takes any."""
        if not self._is_checked:
            _check(self.get_params())

    def set_calibration(self, calibration: Calibration | None) -> None:
        """Use a calibration (`bunrui.selection.calibrate` fits them), or none."""
        with _making:
            self.calibration = calibration

    # Learning

    def learn(self, texts: Texts, labels: Labels, sample_weight: Any = None) -> Self:
        """Learn documents with their labels, all or none of them.

        A label is a string, an integer or a boolean; all labels of a classifier have one type.  For a document with
        several labels, give a collection.  A document of weight 3 is learned as three, and one of weight 0 not at all.
        Weights are whole numbers: counts are exact.  Models that are trained from documents take none.

        Examples
        --------
        >>> clf = TextClassifier(analyzer="words")
        >>> clf.learn(["cheap pills", "lunch"], ["spam", "ham"], sample_weight=[3, 1]).counts.class_totals()
        {'ham': (1, 1, 1), 'spam': (3, 6, 6)}
        """
        self.memory.learn(*self._counted(texts, labels, sample_weight))
        self._choose_where_due()
        return self

    def unlearn(self, texts: Texts, labels: Labels, sample_weight: Any = None) -> Self:
        """Take documents back: afterwards the classifier is the one that never saw them.

        Counts know words, not documents.  So a text is refused if it cannot have been learned.  Unless documents are
        kept, another text is accepted if all its words occur often enough with the label.

        Raises
        ------
        UnlearnError
            If something in them was never learned; then nothing is taken back.
        """
        self.memory.unlearn(*self._counted(texts, labels, sample_weight))
        self._choose_where_due()
        return self

    def learn_unlabelled(self, texts: Texts) -> Self:
        """Take in texts without a label, to help where labelled documents are few; each text once.

        Examples
        --------
        >>> clf = TextClassifier().learn(["cheap pills", "meeting at noon"], ["spam", "ham"])
        >>> clf.learn_unlabelled(["pills for you", "noon meeting"]).unlabelled_.describe()
        'not used: 0 documents that others can predict are too few to tell'
        """
        check_reads_pool(self.get_params())
        memory = self.memory
        memory.keep_sample(LowestDigests)
        if memory.sample is None and memory.counts.n_docs:
            problem = f"there is nothing to weigh texts without a label by: {memory.why_no_sample}"
            raise NotLearnedError(problem, hint="give them before the first labelled documents")
        with memory.lock.write():
            texts = lasting(texts)
            known = by_digest(texts if isinstance(texts, list) else texts.to_pylist())
            if not known:
                raise OptionError("there are no texts to learn: give at least one")
            assert isinstance(memory.pool, KeptPool)
            memory.pool.add(known)
        self._choose_where_due(has_other_pool=True)
        return self

    def unlearn_unlabelled(self, texts: Texts | None = None) -> Self:
        """Take texts without a label back, by default all of them."""
        memory = self.memory
        with memory.lock.write():
            pool = memory.pool
            assert isinstance(pool, KeptPool)
            pool.remove(list(pool.texts() if texts is None else by_digest(texts)))
        self._choose_where_due(has_other_pool=True)
        return self

    def merge(self, other: AnyClassifier) -> Self:
        """Add the counts of another classifier with the same analyzer.

        Where the other one keeps no documents, `auto` can no longer choose: its last choice stays.
        """
        check_alike(self, other)
        self.memory.merge(other.memory, self.model)
        before = self.choice
        if self.memory.sample is not None:
            self.take_on(None, asked_for(self._calibration))
        self._choose_if_due(before)
        self._choose_where_due()
        return self

    def _choose_where_due(self, *, has_other_pool: bool = False) -> None:
        """Choose here, and for those that share the memory, and so have learned the same."""
        for each in list(self._twins):
            if each.memory is self.memory:
                each._choose_if_due(has_other_pool=has_other_pool)

    def _choose_if_due(self, before: Choice | None = None, *, has_other_pool: bool = False) -> None:
        """Choose if it is time, by the metric of the last choice: `before` is one that holds no longer."""
        last, counts, memory = self.choice or before, self.counts, self.memory
        if memory.sample is None:
            if self.pool_weight is not None and not memory.is_of_file:
                # Nobody knows any more which texts of the pool have a label.
                weight = replace(self.pool_weight, weight=0.0, reason=memory.why_no_sample)
                self.take_on(self.choice, self._calibration, weight)
            return
        sizes = counts.n_docs, len(counts.live.labels)
        n_pool = len(memory.pool) * self._reads_pool
        is_due_to_weigh = n_pool and is_weighing_due(self.pool_weight, self.effective_options["model"], *sizes, n_pool)
        is_other = self._reads_pool and (has_other_pool or is_due_to_weigh)
        if self.model == AUTO and (is_other or is_due(self.choice, *sizes)):
            self.make_choice("accuracy" if last is None else last.metric)
        elif is_other:
            self.make_choice(None)

    def choose(self, metric: str | None = None) -> Choice:
        """Choose the model that `model="auto"` stands for anew, from the sample that is kept."""
        self._check_auto()
        self.check_options()
        if self.memory.sample is None:
            problem = f"there are no documents to choose by: {self.memory.why_no_sample}"
            raise NotLearnedError(problem, hint="learn all documents into a new classifier")
        last = "accuracy" if self.choice is None else self.choice.metric
        self.make_choice(last if metric is None else metric)
        found = self.model_
        assert found is not None
        return found

    def make_choice(self, metric: str | None, tx: int = 0) -> None:
        """Choose the model, if there is a metric, and the weight of the pool.

        Where a file has the documents, call `at_rest`, with the number of its last transaction.
        """
        memory = self.memory
        with memory.lock.read():  # until the choice is there: a slower thread must not bring an older one
            before = Chosen(self.choice, self._calibration)
            if memory.counts.n_docs:
                pool: PoolTexts = memory.pool.texts() if self._reads_pool else {}
                labelled: Container[bytes] = ()
                if pool:
                    from bunrui.models.pool import labelled_in

                    labelled = labelled_in(memory)
                drawn = memory.draw(len(memory.counts.live.labels))
                given = self.get_params(), memory.counts, self.text_analyzer, drawn, pool, labelled
                before = choose_by(*given, before, metric, tx)
            elif metric is not None:
                before = Chosen(None, asked_for(self._calibration))
            self.take_on(*before)

    def _counted(self, texts: Texts, labels: Labels, sample_weight: Any) -> tuple[Counts, Texts, LabelSets, bool]:
        """The counts of documents, the documents, their labels, and whether documents are in the form that is kept."""
        self.check_options()
        if sample_weight is not None and self.memory.kept is not None:
            problem = Option("sample_weight"), " is for counts alone, and this classifier keeps each document"
            raise OptionError(problem, hint="leave it out, or learn a document as often as it is to count")
        is_kept = self.memory.keeps_texts
        texts = list(texts) if isinstance(texts, Iterator) else texts
        texts = lasting(texts) if is_kept else texts
        docs, recipe = documents_of(self.text_analyzer, texts, is_checked=is_kept)
        sets = label_sets(labels, n_docs_of(docs), self.counts.label_ids if self.counts.n_docs else {})
        if sample_weight is not None:
            sets = sets._replace(copies=copies_of(sample_weight, n_docs_of(docs)))
        return count(docs, recipe, sets, self.counts.fingerprint), texts, sets, is_kept

    def with_model(self, model: str | None = None, **options: Any) -> Self:
        """A classifier that reads the same counts by another model or with other options.

        What either learns, both know.  It reads labelled documents alone: a pool is weighed for one model.  With `auto`
        and other options than here, it chooses.
        """
        if "analyzer" in options:
            raise OptionError("another analyzer has other counts: make a new classifier and learn the texts again")
        has = self.get_params() | (FREE if model == AUTO else {}) if model else self.effective_options
        if options.get("smoothing", has["smoothing"]) != has["smoothing"]:
            has = has | {"alpha": self.alpha}  # a λ that was chosen is that of another smoothing
        options = complete_options(options | ({"model": model} if model else {}))
        twin = type(self)(**(has | options)).attach(self.memory, self._calibration)
        twin.choice = self.choice if twin.settings == self.settings else None
        twin._reads_pool = False
        twin._twins = self._twins
        twin._twins.add(twin)
        if twin.model == AUTO and twin.choice is None:
            self.memory.keep_sample(LowestDigests)
            twin._choose_if_due(self.choice)
        return twin

    # As a scikit-learn estimator

    def fit(self, texts: Texts, labels: Labels, sample_weight: Any = None) -> Self:
        """Forget everything, then learn."""
        self._forget()
        return self.learn(texts, labels, sample_weight)

    def partial_fit(
        self, texts: Texts, labels: Labels, classes: Sequence[Label] | None = None, sample_weight: Any = None
    ) -> Self:
        """Learn more.  With `classes`, any other label is an error."""
        check_among(labels, classes)
        return self.learn(texts, labels, sample_weight)

    def set_params(self, **options: Any) -> Self:
        """Change options; another analyzer forgets all documents.

        Invalid values are refused at the next use, as in scikit-learn: so a search over many combinations can go on
        after one of them.
        """
        check_names(options)
        before, choice = self.settings, self.choice
        for name, value in options.items():
            setattr(self, name, value)
        if self.settings != before:
            self.choice = self.pool_weight = None
        try:
            analyzer = _check(self.get_params())
        except Exception:  # to be raised by `current_model`
            self._is_checked = False
            return self
        if analyzer.fingerprint != self.counts.fingerprint:
            self.memory, self.calibration = Memory(Counts(analyzer.fingerprint)), None
        self.text_analyzer = analyzer
        self._prepare()
        self._choose_if_due(choice)
        return self

    def __getstate__(self) -> dict[str, Any]:
        # For copies and other processes: options and memory; the rest is made again.
        return {name: getattr(self, name) for name in _STATE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in _STATE:
            setattr(self, name, state[name])
        self._model, self._twins = None, WeakSet([self])
        if not self._is_checked:
            return
        self.text_analyzer = analyzer_of(self.analyzer)
        if self.text_analyzer.fingerprint != self.counts.fingerprint:
            raise MismatchError("this copy was made where the analyzer gave other features: learn the texts again here")


def check_among(labels: Labels, classes: Sequence[Label] | None) -> None:
    """Refuse labels that are not among those that were declared."""
    if classes is None:
        return
    known = label_sets(classes, len(classes), {}).labels
    unknown = sorted(set(label_sets(labels, len(labels), dict.fromkeys(known, 0)).labels) - set(known))
    if unknown:
        raise LabelError(f"the label {unknown[0]!r} is not among classes={list(classes)}")


def resolve(options: dict[str, Any], choice: Choice | None) -> dict[str, Any]:
    """Options with the model that was chosen in place of `auto`; a choice says nothing of options that fix a model."""
    if options["model"] != AUTO:
        return options
    if choice is None or choice.candidate == PLAIN or fixed_by(options):
        return options | {"model": DEFAULT_MODEL}
    return options | choice.options


class Chosen(NamedTuple):
    """A choice of a classifier, its calibration from now on, and the weight of its texts without a label."""

    choice: Choice | None = None
    calibration: Calibration | Unfitted | None = None
    pool_weight: PoolWeight | None = None


def choose_by(
    options: dict[str, Any],
    counts: Counts,
    analyzer: Analyzer,
    drawn: Drawn,
    pool: PoolTexts,
    labelled: Container[bytes],
    before: Chosen,
    metric: str | None,
    tx: int = 0,
) -> Chosen:
    """Choose a model and the weight of a pool, and calibrate the model by the documents that were left out.

    In memory, a calibration is fitted when somebody asks for it, unless the scores to fit it by are large.

    Parameters
    ----------
    options : dict
        Those of the classifier.
    counts, drawn
        All that was learned, and a sample of it.
    pool, labelled
        Texts without a label, and the digests of those that have a label by now.
    before : Chosen
        The choices until now.
    metric : str or None
        The metric to choose by; None leaves the model as it is.
    tx : int
        The transaction of a file that the calibration belongs to.
    """

    def fit(left_out: LeftOut | None) -> Calibration | Unfitted | None:
        # Also one that looks worse than none here: on other documents it is better, as `cli/info.py` has measured.
        if left_out is None or choice is None:
            return None
        has = resolve({name: options[name] for name in ("model", *SETTINGS)}, choice)
        key, known = key_of_calibration(has, weight), asked_for(before.calibration)
        if known is not None and known.options == key and known.n_docs >= len(left_out.texts):
            return known  # it has seen more
        named = {"model": has["model"], "options": key, "tx": tx}
        found = Unfitted((left_out.scores, lengths_of(left_out.texts), left_out.own), named)
        return found.fit() if tx or left_out.scores.size > USUAL_SCORES else found

    (choice, calibration, _), weight = before, None
    if metric is not None:
        choice, left_out = choose(counts, analyzer, drawn, options, metric)
        calibration = fit(left_out) or asked_for(calibration)
    if pool:
        weight, left_out = weigh(counts, analyzer, drawn, pool, labelled, resolve(options, choice))
        calibration = fit(left_out) or calibration
    return Chosen(choice, calibration, weight)


def key_of_calibration(settings: Mapping[str, Any], pool_weight: PoolWeight | None) -> str:
    """A digest of all that a calibration depends on: the settings, and the weight of a pool that counts."""
    weight = 0.0 if pool_weight is None else pool_weight.weight
    return digest_of({**settings, "pool": weight} if weight else settings)


def asked_for(calibration: Calibration | Unfitted | None) -> Calibration | None:
    """A calibration, unless it came with a choice: then it goes with it."""
    return None if calibration is None or isinstance(calibration, Unfitted) or calibration.by_choice else calibration


def _check(options: Mapping[str, Any]) -> Analyzer:
    """Refuse options that make no sense; the analyzer that they name."""
    options = resolve(dict(options), None)
    for name in ("class_norm", "against_rest"):
        if not isinstance(options[name], (bool, np.bool_)):
            raise OptionError(option=name, value=options[name], expected="True or False")
    kind = kind_of(options["model"])
    kind.check(options)
    smoothing_of(options["smoothing"], options["alpha"], kind.default_alpha(class_norm=bool(options["class_norm"])))
    log_prior(Counts(), options["prior"])
    select(Counts(), options["min_df"], options["max_features"])
    if options["unseen"] not in ("ignore", "smooth"):
        raise OptionError(option="unseen", value=options["unseen"], expected="'ignore' or 'smooth'")
    return analyzer_of(options["analyzer"])


def check_classifier(other: Any) -> None:
    """Refuse to merge anything but a classifier."""
    if not isinstance(other, AnyClassifier):
        raise OptionError(f"a classifier can be merged with another classifier, not with {type(other).__name__}")


def check_alike(
    mine: AnyClassifier, other: AnyClassifier, name: str = "this classifier", other_name: str = "the other classifier"
) -> None:
    """Refuse to join classifiers with labels of other types, other features, or columns of tables of other kinds."""
    check_classifier(other)
    has, comes = mine.text_analyzer, other.text_analyzer
    if (has.fingerprint, getattr(has, "kinds", 0)) != (comes.fingerprint, getattr(comes, "kinds", 0)):
        problem = f"{other_name} was made with another analyzer ({comes.describe()}) than {name} ({has.describe()})"
        raise MismatchError(problem, hint="learn the documents again with one of the two")
    if mine.label_type and other.label_type and mine.label_type is not other.label_type:
        theirs, ours = noun_of(other.label_type), noun_of(mine.label_type)
        problem = f"the labels of {other_name} are {theirs}, and those of {name} are {ours}"
        raise LabelError(problem, hint="learn the documents of one of the two again, with labels of the other type")


def check_names(options: Iterable[str]) -> None:
    """Refuse options that no classifier has."""
    for name in options:
        if name not in OPTIONS:
            raise OptionError(option="option", value=name, choices=OPTIONS)


def complete_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options to change, with those that must change with them.

    `mle` must not keep the alpha of another smoothing, nor another model the m of `aode`.
    """
    alpha = {"alpha": None} if options.get("smoothing") == "mle" else {}
    m = {"m": 1} if options.get("model", "aode") != "aode" else {}
    return alpha | m | options


def thresholds_of(classes: Sequence[Label], threshold: float | Mapping[Label, float]) -> Floats:
    """The threshold of every label, (n_classes,); 0 for one that a mapping does not name."""
    for value in threshold.values() if isinstance(threshold, Mapping) else [threshold]:
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or value != value:
            best = "bunrui.evaluation.best_thresholds(clf) finds one for each label" if str(value) == "best" else ""
            raise OptionError(option="threshold", value=value, expected="a number", hint=best)
    if not isinstance(threshold, Mapping):
        return np.full(len(classes), float(threshold))
    for label in threshold:
        check_types([label], classes)
    unknown = sorted(set(threshold) - set(classes))
    if unknown:
        raise LabelError(f"there is no label {unknown[0]!r}: thresholds are for {', '.join(map(str, classes[:20]))}")
    return np.array([float(threshold.get(label, 0.0)) for label in classes])


_NAME_ANOTHER = ("name the other label with ", Option("negative"))


def opponent(columns: Sequence[Label], positive: Label, negative: Label | None) -> Label:
    """The label that stands against another."""
    for label in (positive, negative):
        if label is not None:
            check_label(columns, label)
    if negative == positive:
        raise LabelError(f"{positive!r} cannot be held against itself", option="negative", hint=_NAME_ANOTHER)
    if negative is not None:
        return negative
    if len(columns) != 2:
        raise LabelError(f"there are {len(columns)} labels", option="negative", hint=_NAME_ANOTHER)
    return next(label for label in columns if label != positive)
