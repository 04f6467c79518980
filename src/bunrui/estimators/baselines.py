"""What is usual elsewhere: scikit-learn's linear models on TF-IDF, to be compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC

from bunrui.errors import DataError, OptionError

__all__ = ["BASELINES", "Baseline", "fit_baseline"]

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
            return np.asarray(self.pipeline.predict_log_proba(_listed(texts)))
        margins = np.asarray(self.pipeline.decision_function(_listed(texts)))
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
    if name not in BASELINES:
        raise OptionError(option="baseline", value=name, choices=BASELINES)
    # As many steps as it takes: with the 100 of the default it warns that it has not come to an end.
    model = LinearSVC() if name == "LinearSVC" else LogisticRegression(max_iter=1000)
    sets = [[label] if isinstance(label, str) else sorted(label) for label in labels]
    rows = [row for row, names in enumerate(sets) for _ in names]
    listed = _listed(texts)
    try:
        pipeline = make_pipeline(TfidfVectorizer(), model)
        pipeline.fit([listed[row] for row in rows], np.array([label for names in sets for label in names]))
    except ValueError as error:
        raise DataError(f"{name} cannot learn this: {error}") from error
    return Baseline(pipeline)


def _listed(texts: Any) -> list[str]:
    return texts if isinstance(texts, list) else list(texts.to_pylist())
