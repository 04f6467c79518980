"""A text model as a scikit-learn pipeline.

All counting models are linear in the counts of a document, and scikit-learn's `MultinomialNB` computes just that:

    score_c(d) = class_log_prior_[c] + Σ_f x_f · feature_log_prob_[c, f]
    feature_log_prob_[c, f] = scale_c · (slope_c + shared_f + weight_{f,c})

so that it answers as any of them, with probabilities from the same scores.  A trained model becomes the estimator that
would have been fitted on its rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from bunrui.analysis import AnalyzerSpec
from bunrui.errors import OptionError
from bunrui.estimators.aode import AODE
from bunrui.estimators.columns import ColumnsNB
from bunrui.estimators.discrete import TWCNB
from bunrui.estimators.heads import NBAROW, NBSVM
from bunrui.estimators.vectorizer import TextVectorizer
from bunrui.models.heads import Arow
from bunrui.models.table import dense_table
from bunrui.prediction import Reader
from bunrui.trained.columns import ColumnsForm, ColumnsModel, table_of
from bunrui.trained.forms import HeadForm, PairsForm, StepsForm
from bunrui.trained.model import TrainedModel
from bunrui.trained.training import alpha_of

__all__ = ["pipeline_of", "pipeline_of_trained"]


def pipeline_of(reader: Reader, analyzer: Any, smooth_unseen: bool) -> Pipeline:
    """A fitted pipeline that predicts what the reader does."""
    if smooth_unseen:
        raise OptionError("scikit-learn ignores words that were never learned: use unseen='ignore'")
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
    return _pipeline(TextVectorizer(vocabulary=words, binary=scorer.presence, dtype=np.float64), analyzer, model)


def pipeline_of_trained(model: TrainedModel, analyzer: Any) -> Pipeline:
    """The same of a trained model."""
    if isinstance(model, ColumnsModel):
        return _pipeline_of_columns(model)
    words, form, options = model.vocabulary(), model.form, model.options
    if len(model.classes) == 1 or not words:
        raise OptionError("there is nothing to tell apart yet: learn documents of two labels first")
    estimator: Any
    if isinstance(form, HeadForm) and isinstance(form.head, Arow):
        estimator = NBAROW.of_head(form.head, alpha=alpha_of("arow", options))
    elif isinstance(form, HeadForm) and form.descent is not None:
        estimator = NBSVM.of_head(form.head, form.descent, alpha=alpha_of("nbsvm", options))
    elif isinstance(form, StepsForm):
        parameters = {"alpha": alpha_of("twcnb", options), "smoothing": options["smoothing"]}
        estimator = TWCNB.of_learned(form.learned, len(words), **parameters)
    else:
        assert isinstance(form, PairsForm)
        estimator = AODE.of_learned(form.pairs.learned, len(words), m=form.pairs.m)
    return _pipeline(TextVectorizer(vocabulary=words), analyzer, estimator)


def _pipeline_of_columns(model: ColumnsModel) -> Pipeline:
    """The fitted estimator, which reads data frames and dicts in place of JSON."""
    form, options = model.form, model.options
    if isinstance(form, ColumnsForm):
        parameters = {name: options[name] for name in ("smoothing", "alpha", "prior")}
        return Pipeline([("model", ColumnsNB.of_model(form.likelihoods, columns=form.kinds, **parameters))])
    learned, columns = form.pairs.learned, form.columns
    estimator = AODE.of_learned(learned, len(columns), m=form.pairs.m, discretise=form.to_cut)
    return Pipeline([("table", FunctionTransformer(table_of, kw_args={"names": columns})), ("model", estimator)])


def _pipeline(vectorizer: TextVectorizer, analyzer: Any, model: Any) -> Pipeline:
    spec = AnalyzerSpec(name=analyzer) if isinstance(analyzer, str) else analyzer
    return Pipeline([("vectorizer", vectorizer.set_params(analyzer=spec).fit([])), ("model", model)])
