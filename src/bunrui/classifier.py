"""`TextClassifier`: strings in, labels out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.answering import Answering, Best
from bunrui.calibration import Calibration, digest_of, lengths_of
from bunrui.counts import Label
from bunrui.engines.labels import label_sets
from bunrui.errors import LabelError, MismatchError, NotLearnedError, Option, OptionError, Step
from bunrui.kernel.mutex import Mutex
from bunrui.learner import SETTINGS, Labels, Texts
from bunrui.prediction import probabilities
from bunrui.trained.names import is_trained

if TYPE_CHECKING:
    from bunrui.explanation import Explanation, Word

__all__ = ["TextClassifier"]

Floats = npt.NDArray[np.float64]


class TextClassifier(Answering):
    """Naive Bayes for text: learns by counting, so that it learns, unlearns and merges exactly.

    Parameters
    ----------
    model : str
        `multinomial`, `binary`, `mixed`, `bernoulli`, `complement`, `wcnb` or `binary-complement`.  Any time later,
        `with_model` answers as another one.  `twcnb`, `nbsvm`, `arow` and `aode` are trained from documents: a
        classifier that is made with one of them keeps what it learns, and trains when it next answers; so does
        `columns`, which goes with the analyzer of that name.  With that analyzer, `aode` reads columns too.
    analyzer : str, AnalyzerSpec or function
        How text becomes features: `universal` (any script, no dictionary), `words`, `ja`, `zh`, `ko`, a spec with
        options, or a function from text to tokens.  `columns` is for tables: each text is a row, a JSON object in a
        string (a dict would be counts of words).  Of data frames and dicts, use `ColumnsNB`.
    smoothing : {"eap", "map", "mle"}
        The estimator of P(word | class).
    alpha : float or mapping from word to float, optional
        λ of `eap`, α of `map`; None is the measured default of the model.
    prior : {"empirical", "uniform", "smoothed"}, ("smoothed", λ) or mapping from label to probability
        Class priors; "smoothed" is (D[c] + λ) / (D + λC), with λ = 1 where none is given.  The complement models, and
        those that are trained but `columns`, have none.
    unseen : {"ignore", "smooth"}
        Whether words that were never learned count, with their smoothed probability.
    min_df : int
        Leave out words of fewer documents.
    max_features : int, optional
        Read only the words that say most about the class, by mutual information; `("chi2", n)` by χ².
    class_norm : bool
        Whether the counts of every class are brought to one size first (Frank and Bouckaert 2006); for `multinomial`,
        `binary` and `mixed`.
    against_rest : bool
        Whether a class is scored against all that is not of it; for these and `bernoulli`.
    m : float
        For `aode`: a value is a parent if at least so many documents have it.

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

    def _reset(self) -> None:
        super()._reset()
        self._against_rest: TextClassifier | None = None
        self.calibration: Calibration | None = None

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels that have documents, sorted: the columns of `scores` and `predict_proba`."""
        with self._memory.lock.read():
            if not self.counts.n_docs:
                raise NotLearnedError("nothing has been learned yet", hint=(Step("learn"),))
            return np.array(self.counts.live.labels, self.counts.live.dtype)

    # Predicting

    def scores(self, texts: Texts) -> Floats:
        """Scores (log-joint, up to what all classes share), (n_docs, n_classes) in the order of `classes_`."""
        return self._scores(texts)[1]

    def predict(self, texts: Texts) -> npt.NDArray[Any]:
        """The most likely label of every text, (n_docs,); ties go to the label that sorts first."""
        return self._labels(self._best(texts, 1))[:, 0]

    def predict_top(self, texts: Texts, k: int = 5) -> tuple[npt.NDArray[Any], Floats]:
        """The k most likely labels of every text, best first, and their scores, (n_docs, k) each.

        Where there are fewer classes, all of them.  Of many classes most are never scored, which `predict_proba` needs.

        Examples
        --------
        >>> clf = TextClassifier(analyzer="words")
        >>> _ = clf.learn(["rice and tea", "black tea", "oil"], ["grain", "drink", "fuel"])
        >>> clf.predict_top(["green tea"], k=2)[0].tolist()
        [['drink', 'grain']]
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise OptionError(option="k", value=k, expected="a whole number, at least 1")
        best = self._best(texts, int(k))
        return self._labels(best), best.scores

    def _labels(self, best: Best) -> npt.NDArray[Any]:
        """Labels in place of places."""
        if len(best.classes) <= best.places.size:
            return np.asarray(np.array(best.classes, best.dtype)[best.places])
        found = [best.classes[place] for place in best.places.reshape(-1).tolist()]
        return np.array(found, best.dtype).reshape(best.places.shape)

    def predict_proba(self, texts: Texts) -> Floats:
        """P(class | text), (n_docs, n_classes) in the order of `classes_`; calibrated if the classifier is."""
        if self.is_calibrated and not inputs.is_given(texts):
            texts = inputs.strings(texts)  # which can be read twice
        return self.probabilities_of(self.scores(texts), texts)

    def probabilities_of(self, scores: Floats, texts: Texts) -> Floats:
        """P(class | text) from the scores of texts, as `predict_proba` gives them."""
        if not self.is_calibrated:
            return probabilities(scores)
        assert self.calibration is not None
        return self.calibration.apply(scores, lengths_of(texts))

    @property
    def settings(self) -> dict[str, Any]:
        """The model and its options: all but the analyzer."""
        return {name: getattr(self, name) for name in ("model", *SETTINGS)}

    @property
    def is_calibrated(self) -> bool:
        """Whether there is a calibration, and it was fitted for this model with these options."""
        return self.calibration is not None and self.calibration.options == digest_of(self.settings)

    def set_calibration(self, calibration: Calibration | None) -> None:
        """Take on a calibration, as `bunrui.selection.calibrate` fits them, or none."""
        self.calibration = calibration

    def log_odds(self, texts: Texts, *, positive: Label, negative: Label | None = None) -> Floats:
        """log P(positive | text) / P(negative | text), (n_docs,); 0 is neutral.

        `negative` may be left out where there are two classes.
        """
        columns, scores = self._scores(texts)
        negative = opponent(columns, positive, negative)
        return np.asarray(scores[:, columns.index(positive)] - scores[:, columns.index(negative)])

    # Several labels

    def label_odds(self, texts: Texts) -> Floats:
        """log P(label | text) / P(not label | text) of every label by itself, (n_docs, n_classes).

        Each label is held against the rest, which is the totals less the label, so that documents may have any number
        of labels.  A label and the rest are each other's complement: the complement models answer as `multinomial` and
        `binary` do, with a prior.
        """
        return self._label_odds(texts)[1]

    def _label_odds(self, texts: Texts) -> tuple[list[Label], Floats]:
        """The same with the labels of the columns."""
        if self._against_rest is None:
            model = {"complement": "multinomial", "binary-complement": "binary"}.get(self.model, self.model)
            if is_trained(model) or model == "wcnb":
                raise OptionError(
                    f"{model} tells labels from each other: for documents with several choose binary-complement, "
                    "complement, multinomial, binary, mixed or bernoulli"
                )
            twin = self.with_model(model, against_rest=True)
            twin._smoothing, twin._has_label_priors = self._smoothing, True
            self._against_rest = twin
        return self._against_rest._scores(texts)

    def predict_labels(self, texts: Texts, *, threshold: float | Mapping[Label, float] = 0.0) -> list[set[Label]]:
        """The labels of every text whose log-odds are above a threshold: any number of them, also none.

        Examples
        --------
        >>> clf = TextClassifier(analyzer="words")
        >>> _ = clf.learn(["rice and tea", "tea", "rice", "oil"], [["grain", "drink"], ["drink"], ["grain"], ["oil"]])
        >>> [sorted(found) for found in clf.predict_labels(["tea and rice", "oil"])]
        [['drink', 'grain'], ['oil']]
        """
        classes, odds = self._label_odds(texts)
        return labels_above(classes, odds, thresholds_of(classes, threshold))

    def explain(self, text: Any, *, label: Label | None = None, against: Label | None = None) -> Explanation:
        """Why this label (by default the predicted one) and not another (by default the runner-up)."""
        if is_trained(self.model):
            with self._trained_model() as model:
                found = model.explain(text, label, against)
        else:
            from bunrui.explanation import explain, read

            # Without the lock: a long text takes a second, and whoever waits to learn keeps all others out.
            reading = read(self._analyzer, text)
            with self._memory.lock.read():
                found = explain(self._current_reader(), self._analyzer, text, reading, label, against)
        if not self.is_calibrated:
            return found
        classes, scores = self._scores([text])
        shares = dict(zip(classes, self.probabilities_of(scores, [text])[0].tolist(), strict=True))
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
        """The words that speak for a label: what one occurrence adds to its score, less the mean of the others.

        With `positive` and `negative`, λ(w) = log P(w | positive) / P(w | negative) of the words of both, those that
        speak for the positive class first.  With `word`, that word alone.
        """
        if positive is not None:
            negative = opponent(self.counts.live_labels, positive, negative)
        elif negative is not None:
            raise OptionError((Option("negative"), " goes with ", Option("positive"), ": give both"))
        if is_trained(self.model):
            with self._trained_model() as model:
                return model.words(label, positive, negative, word, top)
        from bunrui.explanation import telling_words

        with self._memory.lock.read():
            return telling_words(self._current_reader(), self._analyzer, label, positive, negative, word, top)

    def with_model(self, model: str | None = None, **options: Any) -> TextClassifier:
        """A classifier that reads the same counts by another model or with other options.

        What either learns, both know.
        """
        if "analyzer" in options:
            raise OptionError("another analyzer has other counts: make a new classifier and learn the texts again")
        options = changes(options | ({"model": model} if model else {}))
        other = TextClassifier(**(self.get_params() | options))
        other._memory, other.calibration = self._memory, self.calibration
        return other

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn `Pipeline` of a `TextVectorizer` and a linear model, with the same predictions.

        Its probabilities differ by rounding only, unless this is calibrated; what is learned later does not reach it.
        """
        if is_trained(self.model):
            with self._trained_model() as model:
                return model.pipeline(self.analyzer)
        from bunrui.estimators.export import pipeline_of

        with self._memory.lock.read():
            return pipeline_of(self._current_reader(), self.analyzer, self.unseen == "smooth")

    # As a scikit-learn estimator

    def fit(self, texts: Texts, labels: Labels) -> TextClassifier:
        """Forget everything, then learn."""
        self._reset()
        return self.learn(texts, labels)

    def partial_fit(self, texts: Texts, labels: Labels, classes: Sequence[Label] | None = None) -> TextClassifier:
        """Learn more.  With `classes`, other labels are errors."""
        if classes is not None:
            known = label_sets(classes, len(classes), {}).labels
            unknown = sorted(set(label_sets(labels, len(labels), dict.fromkeys(known, 0)).labels) - set(known))
            if unknown:
                raise LabelError(f"the label {unknown[0]!r} is not among classes={list(classes)}")
        return self.learn(texts, labels)

    def score(self, texts: Texts, labels: Labels) -> float:
        """Accuracy; of a text with several labels, any of them is right."""
        found = self.predict(texts)
        sets = label_sets(labels, len(found), self.counts.label_ids)
        allowed = [set(sets.indices[a:b].tolist()) for a, b in pairwise(sets.members.tolist())]
        names = {label: k for k, label in enumerate(sets.labels)}
        pairs = zip(found.tolist(), sets.groups.tolist(), strict=True)
        return float(np.mean([names.get(label, -1) in allowed[group] for label, group in pairs]))

    def set_params(self, **options: Any) -> TextClassifier:
        """Change options; another analyzer forgets what was learned.

        Values that make no sense are refused when the classifier is next used, as scikit-learn does it: a search over
        many combinations goes on after one of them.
        """
        known = self.get_params()
        for name in options:
            if name not in known:
                raise OptionError(option="option", value=name, choices=known)
        try:
            checked = TextClassifier(**(known | options))
        except Exception:  # to be raised by `_check_options`
            self.__dict__.update(options, _is_checked=False, _against_rest=None)
            return self
        if checked._memory.counts.fingerprint == self.counts.fingerprint:
            if not self.counts.n_docs and self._keeps_in_memory and self._memory.kept is None:
                self._memory.kept = checked._memory.kept
            checked._memory, checked.calibration = self._memory, self.calibration
        self.__dict__.update(checked.__dict__)
        return self

    def __getstate__(self) -> dict[str, Any]:
        # For copies and other processes: options and counts; the rest is made again.
        return self.__dict__ | {
            "_analyzer": None,
            "_reader": None,
            "_trained": None,
            "_training": None,
            "_against_rest": None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._training = Mutex()
        if not self._is_checked:
            return
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


def changes(options: dict[str, Any]) -> dict[str, Any]:
    """Options to change, and those that change with them.

    Who asks for `mle` does not mean the alpha that another smoothing had, nor who asks for another model the m of
    `aode`.
    """
    alpha = {"alpha": None} if options.get("smoothing") == "mle" else {}
    m = {"m": 1} if options.get("model", "aode") != "aode" else {}
    return alpha | m | options


def thresholds_of(classes: Sequence[Label], threshold: float | Mapping[Label, float]) -> Floats:
    """The threshold of every label, (n_classes,); 0 for one that a mapping does not name."""
    for value in threshold.values() if isinstance(threshold, Mapping) else [threshold]:
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or value != value:
            raise OptionError(f"a threshold should be a number, not {value!r}")
    if not isinstance(threshold, Mapping):
        return np.full(len(classes), float(threshold))
    unknown = sorted(set(threshold) - set(classes))
    if unknown:
        raise LabelError(f"there is no label {unknown[0]!r}: thresholds are for {', '.join(map(str, classes[:20]))}")
    return np.array([float(threshold.get(label, 0.0)) for label in classes])


def labels_above(classes: Sequence[Label], odds: Floats, thresholds: Floats) -> list[set[Label]]:
    """The labels of every row whose log-odds are above their thresholds."""
    return [{classes[k] for k in np.flatnonzero(row).tolist()} for row in odds > thresholds]


_NAME_ANOTHER = ("name the other label with ", Option("negative"))


def opponent(columns: Sequence[Label], positive: Label, negative: Label | None) -> Label:
    """The label that stands against another."""
    for label in (positive, negative):
        if label is not None and label not in columns:
            raise LabelError(f"there is no label {label!r}: the labels are {', '.join(map(str, columns[:20]))}")
    if negative == positive:
        raise LabelError(f"{positive!r} cannot be held against itself", option="negative", hint=_NAME_ANOTHER)
    if negative is not None:
        return negative
    if len(columns) != 2:
        raise LabelError(f"there are {len(columns)} labels", option="negative", hint=_NAME_ANOTHER)
    return next(label for label in columns if label != positive)
