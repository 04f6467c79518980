"""A text model as a scikit-learn pipeline.

All text models are linear in the counts of a document, and scikit-learn's `MultinomialNB` computes just that:

    score_c(d) = class_log_prior_[c] + Σ_f x_f · feature_log_prob_[c, f]
    feature_log_prob_[c, f] = scale_c · (slope_c + shared_f + weight_{f,c})

so that it answers as any of them, with probabilities from the same scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline

from bunrui.analysis import AnalyzerSpec
from bunrui.errors import OptionError
from bunrui.estimators.table import dense_table
from bunrui.estimators.vectorizer import TextVectorizer
from bunrui.models.linear import Reader

__all__ = ["pipeline_of"]


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
    spec = AnalyzerSpec(name=analyzer) if isinstance(analyzer, str) else analyzer
    vectorizer = TextVectorizer(
        analyzer=spec, vocabulary=counts.texts_of(ids), binary=scorer.presence, dtype=np.float64
    )
    return Pipeline([("vectorizer", vectorizer.fit([])), ("model", model)])
