"""`Growing`: the tables of a head that goes on learning, with room for more features and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.errors import OptionError
from bunrui.kernel.heads import Head

__all__ = ["Growing"]


class Growing:
    """Weights and variances by place and class, and what ratios of new features and classes need.

    Attributes
    ----------
    labels : list
        The classes in the order in which they came: the columns of the tables.
    place_of : (n_columns,) int64
        The place of every column of X in the tables; -1 for one that never occurred.
    factor : (n_columns,)
        IDF to its power; 0 for a column that never occurred.
    weights, variance : (room, n_classes)
    bias, bias_variance : (n_classes,)
    totals : (room,)
        What was counted of each of the features at a place.
    uses : (room,) int64
        How many features share a place.
    mass : (1 + n_classes,)
        What was counted by class, after that of no class, which is 0.
    unit : float, optional
        What ratios are multiplied with to become weights; None before the first batch.
    """

    def __init__(self, n_columns: int, options: dict[str, Any]) -> None:
        self.options = options
        self.labels: list[Any] = []
        self.place_of = np.full(n_columns, -1, np.int64)
        self.factor = np.zeros(n_columns)
        self.weights, self.variance = np.zeros((2, 0, 0))
        self.bias, self.bias_variance, self.totals = np.zeros((3, 0))
        self.mass = np.zeros(1)
        self.uses = np.zeros(0, np.int64)
        self.unit: float | None = None
        self.n_docs = 0.0
        self.n_places = 0
        self.n_features = 0

    def check_options(self, options: dict[str, Any]) -> None:
        """Refuse to go on with other options than before."""
        for name, value in self.options.items():
            if options[name] != value:
                raise OptionError(f"{name}={value!r} decided what was learned: call fit again after changing it")

    def head(self, constant: float) -> Head:
        """The tables as the kernels read them."""
        return Head(self.weights.reshape(-1), self.variance.reshape(-1), self.bias, self.bias_variance, constant)

    def add_classes(self, labels: list[Any]) -> None:
        """New classes, with no weights yet."""
        more = len(labels)
        self.labels = self.labels + labels
        self.weights, self.variance = (np.pad(table, ((0, 0), (0, more))) for table in (self.weights, self.variance))
        self.bias, self.mass = np.pad(self.bias, (0, more)), np.pad(self.mass, (0, more))
        self.bias_variance = np.pad(self.bias_variance, (0, more), constant_values=1.0)

    def widen(self, n_columns: int) -> None:
        """Columns of X that there were not before, to the right of the others."""
        more = n_columns - len(self.place_of)
        self.place_of = np.pad(self.place_of, (0, more), constant_values=-1)
        self.factor = np.pad(self.factor, (0, more))

    def make_room(self, n_places: int) -> None:
        """Tables for so many places: the first time just these, later twice as many as there were."""
        room = len(self.weights)
        if n_places > room:
            more = max(n_places, 2 * room) - room
            self.weights, self.variance = (np.pad(t, ((0, more), (0, 0))) for t in (self.weights, self.variance))
            self.totals, self.uses = np.pad(self.totals, (0, more)), np.pad(self.uses, (0, more))

    def part(self, columns: npt.NDArray[np.int64]) -> None:
        """Give columns that share a place one of their own: they are no longer alike."""
        before = self.place_of[columns]
        shared = self.uses[before] > 1
        columns, before = columns[shared], before[shared]
        after = self.n_places + np.arange(len(columns))
        self.n_places += len(columns)
        self.make_room(self.n_places)
        for table in (self.weights, self.variance, self.totals):
            table[after] = table[before]
        np.subtract.at(self.uses, before, 1)
        self.uses[after] = 1
        self.place_of[columns] = after
