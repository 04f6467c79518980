"""log P(label) where documents may have several labels: each label and the rest are two classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bunrui.counts import Counts, Label
from bunrui.errors import OptionError
from bunrui.models.base import Floats, prior_shares

__all__ = ["log_label_prior"]


def log_label_prior(counts: Counts, prior: Any) -> Floats:
    """log P(label) of every class id by itself; 0 for classes without documents.

    "empirical" is D_c / D with every document once, "uniform" is a half, ("smoothed", λ) (D_c + λ) / (D + 2λ).
    """
    out = np.zeros(len(counts.labels))
    if isinstance(prior, Mapping):
        for c in np.flatnonzero(counts.doc_count).tolist():
            out[c] = math.log(_given(counts.labels[c], prior))
        return out
    # Many labels have as many documents as others.
    distinct, places = np.unique(counts.doc_count, return_inverse=True)
    pairs = [np.array([counts.n_docs - docs, docs]) for docs in distinct.tolist()]
    logs = [math.log(prior_shares(pair, [0, 1], prior)[1]) if pair[1] else 0.0 for pair in pairs]
    return np.array(logs)[places]


def _given(label: Label, prior: Mapping[Label, float]) -> float:
    share = prior.get(label)
    if not isinstance(share, (int, float, np.number)) or not 0 < float(share) < 1:
        raise OptionError(f"the prior of the label {label!r} by itself should be above 0 and below 1, not {share!r}")
    return float(share)
