"""Why: what every feature of a text adds to the score of a label, placed on the original text."""

from __future__ import annotations

from typing import Any, NamedTuple

from bunrui.analysis import Analyzer
from bunrui.prediction import Reader


class Word(NamedTuple):
    text: str


class Explanation(NamedTuple):
    label: str


def explain(reader: Reader, analyzer: Analyzer, text: Any, label: str | None, against: str | None) -> Explanation:
    return Explanation("")


def telling_words(reader: Reader, label: Any, positive: Any, negative: Any, word: Any, top: Any) -> list[Word]:
    return []
