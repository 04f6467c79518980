"""The log-odds above which a document gets a label, chosen for each label by leaving every document out in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from bunrui.classifier import AnyClassifier
from bunrui.estimators.thresholds import best_cut
from bunrui.evaluation.loo import corpus_of
from bunrui.evaluation.membership import membership

__all__ = ["best_thresholds"]


def best_thresholds(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> dict[str, float]:
    """The threshold of every label: that of the best F1 on documents that were left out, for `predict_labels`.

    Parameters
    ----------
    clf : TextClassifier
        Whose model and options are used; where no texts are given, a classifier in a file that keeps them.
    texts, labels : sequences, optional
        Documents with their labels, of which a document may have several.

    Notes
    -----
    Below 0 a threshold goes only for an F1 of .3 or more: of a label with a handful of documents the best would often
    be to give it to all.

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
    odds, classes = corpus.log_odds(), corpus.classes.tolist()
    has, ones = membership(corpus.true, classes), np.ones(len(odds))
    return {label: best_cut(odds[:, k], has[:, k], ones) for k, label in enumerate(classes)}
