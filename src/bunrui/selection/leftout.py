"""Documents, each scored by a model that never saw it: what calibration and audit start from.

Models that counts determine leave each document out exactly (`bunrui.evaluation.loo`).  Those that are trained from
documents, and options that choose features or weigh counts anew with every document, take five folds: each is scored by
a model that was fitted on the other four.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.classifier import AnyClassifier
from bunrui.counts import Label
from bunrui.errors import OptionError
from bunrui.evaluation.crossing import cross_validate
from bunrui.evaluation.folding import folds
from bunrui.evaluation.labelled import Labelled, check_classifier
from bunrui.evaluation.loo import Corpus, is_exact, own_documents
from bunrui.evaluation.membership import membership

__all__ = ["LeftOut", "left_out"]

Floats = npt.NDArray[np.float64]

N_FOLDS = 5


class LeftOut(NamedTuple):
    """Labelled documents and what they score where they were left out.

    `scores` is -inf for a class that has no other document, (n_docs, n_classes); `own` says which classes each has.
    """

    texts: Any
    classes: list[Label]
    scores: Floats
    own: npt.NDArray[np.bool_]


def left_out(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> LeftOut:
    """Score documents by the model and the options of a classifier, each by what the others say.

    Examples
    --------
    >>> found = left_out(TextClassifier(), ["pills", "pills now", "at noon", "noon"], ["spam", "spam", "ham", "ham"])
    >>> found.classes, found.scores.argmax(axis=1).tolist()
    (['ham', 'spam'], [1, 1, 0, 0])
    """
    check_classifier(clf)
    if texts is None:
        texts, labels = own_documents(clf)
    elif labels is None:
        raise OptionError("texts need their labels, too")
    documents = Labelled(texts, labels)
    documents.check_two()
    n_docs = len(documents)
    if is_exact(clf):
        corpus = Corpus(clf, documents.texts, documents.true)
        classes, scores = corpus.classes.tolist(), corpus.scores()
    else:
        parts = folds(n_docs, documents.true, min(N_FOLDS, n_docs))
        found = cross_validate(clf, documents.texts, documents.true, parts)
        classes, scores = found.classes.tolist(), found.scores
    return LeftOut(documents.texts, classes, scores, membership(documents.true, classes))
