"""`ColumnsExplanation`: the score of a row, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.errors import OptionError
from bunrui.estimators.labels import Labels

__all__ = ["ColumnsExplanation"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ColumnsExplanation:
    """What each column adds to the scores of one row.

    Attributes
    ----------
    label : object
        The label that is predicted.
    classes : (n_classes,)
    prior : (n_classes,)
        log P(class).
    columns : dict from name to (n_classes,)
        log P(value | class) of every column, in the order of the table; 0 where the value is missing.
    scores : (n_classes,)
        The prior and all columns, added up from left to right.
    """

    label: Any
    classes: Labels
    prior: Floats
    columns: dict[str, Floats]
    scores: Floats

    def between(self, label: Any, other: Any) -> dict[str, float]:
        """What each column says for one label against another, the most telling first; above 0 it is for `label`."""
        names = self.classes.tolist()
        for each in (label, other):
            if each not in names:
                raise OptionError(f"there is no class {each!r}: choose among {names}")
        a, b = names.index(label), names.index(other)
        odds = {name: float(part[a] - part[b]) for name, part in self.columns.items()}
        return dict(sorted(odds.items(), key=lambda item: -abs(item[1])))
