"""A row of the table: what was published, and what we get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

UNVERIFIED = "not verified here"
NONE = "–"


@dataclass(frozen=True)
class Row:
    """Some figures of one setting.

    Attributes
    ----------
    experiment, setting : str
        What was measured.
    split : str
        What was learned and what predicted, with the seeds.
    measure : str
        The names of the figures, with / between them.
    published : str
        The figures as printed; "–" where nobody published any, "not verified here" where somebody did, but neither the
        article nor a copy of its figures was at hand.
    ours : tuple of float
        Whole numbers are counts.  Empty where the experiment could not run.
    deviations : tuple of float
        Standard deviations over seeds, if there are several.
    percent : bool
        Whether figures are shown in percent, as the published ones are.
    comment : str
    """

    experiment: str
    setting: str = NONE
    split: str = NONE
    measure: str = NONE
    published: str = NONE
    ours: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()
    percent: bool = False
    comment: str = ""

    @property
    def figures(self) -> str:
        """Our figures as text.

        >>> Row("x", ours=(0.9132, 0.914), deviations=(0.002, 0.003)).figures
        '.9132±.0020 / .9140±.0030'
        >>> Row("x", ours=(0.1612,), percent=True).figures
        '16.12'
        >>> Row("x", ours=(48, 7, 12)).figures
        '48 / 7 / 12'
        """
        spreads = [f"±{self._text(each)}" for each in self.deviations] or [""] * len(self.ours)
        return " / ".join(f"{self._text(each)}{more}" for each, more in zip(self.ours, spreads, strict=True)) or NONE

    def _text(self, value: float) -> str:
        if isinstance(value, int):
            return str(value)
        if self.percent:
            return f"{100 * value:.2f}"
        return f"{value:.4f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.4f}"

    def as_dict(self) -> dict[str, Any]:
        """The row as plain data."""
        return asdict(self) | {"figures": self.figures}


def over_seeds(figures: Sequence[Sequence[float]]) -> dict[str, tuple[float, ...]]:
    """Mean and standard deviation (of a sample) over seeds, as arguments of a row.

    >>> over_seeds([[0.8], [0.9]])["ours"]
    (0.85,)
    """
    values = np.asarray(figures, float)
    deviations = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return {"ours": tuple(values.mean(axis=0).round(12).tolist()), "deviations": tuple(deviations.tolist())}
