"""Data that are so few, or so empty, that a choice among models has nearly nothing to go by."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, tuple[list[Any], list[str]]] = {
    "three": (["a b", "c d", "a"], ["x", "y", "x"]),
    "two": (["a b", "c d"], ["x", "y"]),
    "empty": (["", "", "a b", "c"], ["x", "y", "x", "y"]),
    "all empty": (["", "", "", ""], ["x", "y", "x", "y"]),
    "a label alone": (["a b"] * 4 + ["c d"] * 4 + ["e"], ["x"] * 4 + ["y"] * 4 + ["alone"]),
    "no spaces": (["野球の試合", "野球が好き", "選挙の結果", "選挙に行く"], ["s", "s", "p", "p"]),
    "tokens": ([["a", "b"], ["c"], ["a"], ["c", "d"]], ["x", "y", "x", "y"]),
    "counts": ([{"a": 2}, {"c": 1}, {"a": 1}, {"c": 3}], ["x", "y", "x", "y"]),
}
