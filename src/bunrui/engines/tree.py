"""Sums of many, in groups: as results come, and groups of groups likewise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Tree"]

_FAN = 8  # that are added up at once


class Tree:
    """Parts of blocks; those with the same number are added up.

    >>> tree = Tree(lambda *parts: sum(parts))
    >>> for number in range(100):
    ...     tree.add([number, 1])
    >>> tree.total()
    [4950, 100]
    """

    def __init__(self, merge: Callable[..., Any]) -> None:
        self._merge = merge
        self._levels: list[list[list[Any]]] = []

    def add(self, parts: list[Any], level: int = 0) -> None:
        """The parts of one more block."""
        if level == len(self._levels):
            self._levels.append([])
        group = self._levels[level]
        group.append(parts)
        if len(group) == _FAN:
            self._levels[level] = []
            self.add(self._merged(group), level + 1)

    def total(self) -> list[Any]:
        """The sums of all."""
        rest = [parts for level in self._levels for parts in level]
        while len(rest) > 1:
            rest = [self._merged(rest[start : start + _FAN]) for start in range(0, len(rest), _FAN)]
        return rest[0]

    def _merged(self, group: list[list[Any]]) -> list[Any]:
        if len(group) == 1:
            return group[0]
        return [self._merge(*same) for same in zip(*group, strict=True)]
