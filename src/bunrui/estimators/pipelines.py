"""scikit-learn pipelines: a text model as a pipeline, and the baselines, linear models on TF-IDF.

All counting models are linear in the counts of a document, and scikit-learn's `MultinomialNB` computes just that:

    score_c(d) = class_log_prior_[c] + Σ_f x_f · feature_log_prob_[c, f]
    feature_log_prob_[c, f] = scale_c · (slope_c + shared_f + weight_{f,c})

So it can answer as any of them, with probabilities from the same scores.  A trained model becomes an estimator, as if
this had been fitted on its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from bunrui.analysis import AnalyzerSpec
from bunrui.analysis import texts as inputs
from bunrui.errors import DataError, Option, OptionError, check_choice
from bunrui.estimators.aode import AODE
from bunrui.estimators.columns import ColumnsNB
from bunrui.estimators.discrete import TWCNB
from bunrui.estimators.heads import NBAROW, NBSVM
from bunrui.estimators.vectorizer import TextVectorizer
from bunrui.models import TRAINED
from bunrui.models.aode import Pairs
from bunrui.models.columns import ColumnsForm, ColumnsModel, table_of
from bunrui.models.heads import Arow, HeadForm
from bunrui.models.linear import Reader, dense_table
from bunrui.models.trained import Fitted
from bunrui.models.twcnb import StepsForm


def pipeline_of(parts: Reader | Fitted, options: Mapping[str, Any]) -> Pipeline:
    """A fitted pipeline that predicts as a model does; `options` are those of its classifier."""
    if isinstance(parts, Reader):
        return _pipeline_of_reader(parts, options)
    if isinstance(parts, ColumnsModel):
        return _pipeline_of_columns(parts, options)
    return _pipeline_of_words(parts, options)


def _pipeline_of_reader(reader: Reader, options: Mapping[str, Any]) -> Pipeline:
    if options["unseen"] == "smooth":
        raise OptionError(("scikit-learn ignores words that were never learned: use ", Option("unseen", "ignore")))
    counts, scorer = reader.view.counts, reader.scorer
    ids, columns = reader.view.feature_ids(), reader.columns
    table = dense_table(reader.view, scorer)
    model = MultinomialNB()
    model.classes_ = np.array(reader.classes)
    model.class_log_prior_ = scorer.bias[columns]
    model.feature_log_prob_ = np.ascontiguousarray(table[:, columns].T)
    model.class_count_ = counts.doc_count[columns].astype(np.float64)
    model.n_features_in_ = len(ids)
    words = counts.texts_of(ids)
    return _pipeline(TextVectorizer(vocabulary=words, binary=scorer.presence, dtype=np.float64), options, model)


def _pipeline_of_words(model: Fitted, options: Mapping[str, Any]) -> Pipeline:
    words, form = model.vocabulary(), model.form
    if len(model.classes) == 1 or not words:
        raise OptionError("there is nothing to tell apart yet: learn documents of two labels first")
    estimator: Any
    if isinstance(form, HeadForm) and isinstance(form.head, Arow):
        estimator = NBAROW.of_head(form.head, alpha=TRAINED["arow"].alpha_of(options))
    elif isinstance(form, HeadForm) and form.descent is not None:
        estimator = NBSVM.of_head(form.head, form.descent, alpha=TRAINED["nbsvm"].alpha_of(options))
    elif isinstance(form, StepsForm):
        parameters = {"alpha": TRAINED["twcnb"].alpha_of(options), "smoothing": options["smoothing"]}
        estimator = TWCNB.of_learned(form.learned, len(words), **parameters)
    else:
        assert isinstance(form, Pairs)
        estimator = AODE.of_learned(form.learned, len(words), m=form.m)
    return _pipeline(TextVectorizer(vocabulary=words), options, estimator)


def _pipeline_of_columns(model: ColumnsModel, options: Mapping[str, Any]) -> Pipeline:
    """The fitted estimator, which reads data frames and dicts in place of JSON."""
    form = model.form
    if isinstance(form, ColumnsForm):
        parameters = {name: options[name] for name in ("smoothing", "alpha", "prior")}
        return Pipeline([("model", ColumnsNB.of_model(form.likelihoods, columns=form.kinds, **parameters))])
    pairs, columns = form.pairs, form.columns
    to_cut = [j for j, cuts in enumerate(pairs.counts.cuts) if cuts is not None]
    estimator = AODE.of_learned(pairs.learned, len(columns), m=pairs.m, discretise=to_cut)
    return Pipeline([("table", FunctionTransformer(table_of, kw_args={"names": columns})), ("model", estimator)])


def _pipeline(vectorizer: TextVectorizer, options: Mapping[str, Any], model: Any) -> Pipeline:
    analyzer = options["analyzer"]
    spec = AnalyzerSpec(name=analyzer) if isinstance(analyzer, str) else analyzer
    return Pipeline([("vectorizer", vectorizer.set_params(analyzer=spec).fit([])), ("model", model)])


# --- baselines

BASELINES = ("LinearSVC", "LogisticRegression")


class Baseline:
    """A fitted pipeline that answers as a classifier does.

    Attributes
    ----------
    classes_ : (n_classes,) array of str
    size : pair of int
        Features, and weights.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.classes_ = pipeline.classes_
        self.size = len(pipeline[0].vocabulary_), int(pipeline[1].coef_.size)

    def scores(self, texts: Any) -> npt.NDArray[np.float64]:
        """Logarithms of probabilities, or margins where there are none, (n_docs, n_classes)."""
        if hasattr(self.pipeline, "predict_log_proba"):
            return np.asarray(self.pipeline.predict_log_proba(inputs.to_list(texts)))
        margins = np.asarray(self.pipeline.decision_function(inputs.to_list(texts)))
        return np.column_stack([-margins / 2, margins / 2]) if margins.ndim == 1 else margins


def fit_baseline(name: str, texts: Any, labels: list[Any]) -> Baseline:
    """`TfidfVectorizer`, with its defaults, and a linear model; a document with several labels is a row for each.

    Raises
    ------
    DataError
        If scikit-learn finds nothing to learn: no words, or one label.

    Examples
    --------
    >>> model = fit_baseline("LinearSVC", ["cheap pills", "lunch at noon"], ["spam", "ham"])
    >>> model.classes_[model.scores(["pills", "noon"]).argmax(axis=1)].tolist(), model.size
    (['spam', 'ham'], (5, 5))
    """
    check_choice("baseline", name, BASELINES)
    # The default of 100 steps is too few: scikit-learn warns that the fit has not converged.
    model = LinearSVC() if name == "LinearSVC" else LogisticRegression(max_iter=1000)
    sets = [[label] if isinstance(label, str) else sorted(label) for label in labels]
    rows = [row for row, names in enumerate(sets) for _ in names]
    listed = inputs.to_list(texts)
    try:
        pipeline = make_pipeline(TfidfVectorizer(), model)
        pipeline.fit([listed[row] for row in rows], np.array([label for names in sets for label in names]))
    except ValueError as error:
        raise DataError(f"{name} cannot learn this: {error}") from error
    return Baseline(pipeline)
