"""True labels → which of the classes each document has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.counts import Label
from bunrui.evaluation.metrics import encoded

__all__ = ["membership"]


def membership(true: Any, classes: Sequence[Label]) -> npt.NDArray[np.bool_]:
    """Whether a document has a class, (n_docs, n_classes); a label that is no class is left out.

    Parameters
    ----------
    true : sequence of (label or collection of labels)
    classes : sequence of labels
        The columns.

    Examples
    --------
    >>> membership(["ham", {"spam", "news"}, "work"], ["ham", "spam"]).tolist()
    [[True, False], [False, True], [False, False]]
    """
    sets = encoded(true, "true")
    columns = {label: k for k, label in enumerate(classes)}
    places = np.array([columns.get(label, -1) for label in sets.labels], np.int64)[sets.indices]
    n_members = np.diff(sets.members)
    groups = np.repeat(np.arange(len(n_members)), n_members)
    has = np.zeros((len(n_members), len(classes)), bool)
    has[groups[places >= 0], places[places >= 0]] = True
    return has[sets.groups]
