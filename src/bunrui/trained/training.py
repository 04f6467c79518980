"""Documents → a trained model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.analysis import Analyzer
from bunrui.counts import Counts
from bunrui.errors import NotLearnedError, Step
from bunrui.estimators.aode import AODE
from bunrui.estimators.arow import NBAROW
from bunrui.estimators.arrange import Keys
from bunrui.estimators.complement import TWCNB
from bunrui.estimators.nbsvm import NBSVM
from bunrui.estimators.pairs import MOST_CELLS
from bunrui.memory import Batch, Documents
from bunrui.models.view import select
from bunrui.trained.forms import Nothing, form_of
from bunrui.trained.model import Fitted, rows_of
from bunrui.trained.names import MOST_FEATURES, TRAINED, reads_table

__all__ = ["train"]

Integers = npt.NDArray[np.int64]


def train(
    name: str,
    options: Mapping[str, Any],
    analyzer: Analyzer,
    counts: Counts,
    source: Documents,
    previous: Fitted | None,
) -> Fitted:
    """The model of all documents; `previous` is what was trained last, with the same options."""
    if not counts.n_docs:
        raise NotLearnedError("nothing has been learned yet", hint=(Step("learn"),))
    classes = counts.live_labels
    if reads_table(name, options["analyzer"]):
        from bunrui.trained.columns import train_columns

        _, batches, mark = source.batches(None)
        labelled = ((batch, *_labelled(np.arange(len(batch.texts)), batch)[:2]) for batch in batches)
        return train_columns(options, analyzer, counts, labelled, mark)
    ids = _chosen(name, options, counts, len(classes))
    # What is chosen among the words changes with every document.
    goes_on = name == "arow" and ids is None and previous is not None and previous.counts is counts
    goes_on, batches, mark = source.batches(previous.mark if goes_on and previous is not None else None)
    width = counts.n_ids if ids is None else len(ids)
    if not width or (len(classes) == 1 and name != "arow"):
        # No mark: there is no head to go on with.
        return Fitted(counts, analyzer, Nothing(len(classes)), classes, ids, None)
    tables = (_labelled(rows_of(batch.texts, analyzer, counts, ids, width), batch) for batch in batches)
    if name == "arow":
        before = previous.form.estimator if goes_on and previous is not None else None
        estimator = _estimator(name, options) if before is None else before
        for table in _by_number(tables):
            estimator.learn_more(*table)
    else:
        X, y, keys = _stacked(list(tables))
        estimator = _estimator(name, options)
        if name == "nbsvm":
            estimator.fit_keyed(X, y, keys)
        else:
            estimator.fit(X, y)
    form = Nothing(1, estimator) if len(classes) == 1 else form_of(estimator)
    return Fitted(counts, analyzer, form, classes, ids, mark)


class _Labelled(NamedTuple):
    """Rows with a label each, their hashes, and the number of the batch that they are of."""

    X: Any
    labels: npt.NDArray[Any]
    keys: Keys
    number: int = 0


def _by_number(tables: Iterable[_Labelled]) -> Iterator[tuple[Any, npt.NDArray[Any], Keys]]:
    """Tables of the same batch as one."""
    for _, parts in groupby(tables, key=lambda table: table.number):
        yield _stacked(list(parts))


def _stacked(tables: list[_Labelled]) -> tuple[Any, npt.NDArray[Any], Keys]:
    if len(tables) == 1:
        return tables[0][:3]
    X = sparse.vstack([table.X for table in tables], format="csr")
    return X, np.concatenate([table.labels for table in tables]), np.concatenate([table.keys for table in tables])


def _estimator(name: str, options: Mapping[str, Any]) -> Any:
    if name == "aode":
        return AODE(m=options["m"])
    alpha = options["alpha"]
    if alpha is None and options["smoothing"] == "eap":
        alpha = TRAINED[name].alpha
    if name == "twcnb":
        return TWCNB(alpha=alpha, smoothing=options["smoothing"])
    return (NBSVM if name == "nbsvm" else NBAROW)(alpha=alpha)


def _chosen(name: str, options: Mapping[str, Any], counts: Counts, n_classes: int) -> Integers | None:
    """The features that a model reads; None for all."""
    most = options["max_features"]
    if name == "aode" and most is None:
        # Pairs of present and absent, as many as its tables may have.
        most = min(MOST_FEATURES, max(1, math.isqrt(MOST_CELLS // n_classes) // 2))
    view = select(counts, options["min_df"], most)
    # The size of the vocabulary is a parameter of twcnb: words that were unlearned must not count.
    if not len(view.keep) and (name != "twcnb" or counts.n_features == counts.n_ids):
        return None
    return view.feature_ids().astype(np.int64)


def _labelled(X: Any, batch: Batch) -> _Labelled:
    """Rows with one label each, and their hashes: a document with several labels is a row for each."""
    sets = batch.sets
    names = np.array(sets.labels)
    keys = batch.digests.view(np.uint64).reshape(-1, 2)
    if sets.is_single:
        return _Labelled(X, names[sets.groups], keys, batch.number)
    sizes = np.diff(sets.members)[sets.groups]
    rows = np.repeat(np.arange(len(sets.groups)), sizes)
    labels = np.concatenate([sets.indices[sets.members[g] : sets.members[g + 1]] for g in sets.groups.tolist()])
    return _Labelled(X[rows], names[labels], keys[rows], batch.number)
