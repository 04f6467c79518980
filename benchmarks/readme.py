"""The figures of the README, from the recorded run.

python benchmarks/readme.py      the lines as they should stand there; tests/benchmarks/test_page.py compares them
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import table
from page import RECORD

# The names of peers on IMDB with words, as a reader knows them.
PEERS = {
    "scikit-learn": "scikit-learn, `CountVectorizer` and `MultinomialNB`",
    "bunrui, Arrow": "**bunrui, the same model: the same labels**",
    "bunrui, defaults": "**bunrui, default features, `binary-complement`**",
    "fastText": "fastText, the defaults",
    "fastText, lr 1, 25 epochs": "fastText, learning rate 1, 25 epochs",
    "Vowpal Wabbit": "Vowpal Wabbit, one pass, no vocabulary",
    "river": "river, on a sample",
}
# The rest, as ratios.
OTHERS = {
    ("imdb", "words2"): "word 1–2-grams",
    ("20news", "words"): "20 Newsgroups",
    ("livedoor", "ja"): "Japanese character 2–3-grams",
}


def lines(run: Mapping[str, Any]) -> Iterator[str]:
    """A row of the table for each peer, and what is said of the other corpora."""
    rows = {(row["corpus"], row["features"], row["peer"], row["task"]): row for row in run["rows"]}
    for peer, name in PEERS.items():
        learn, predict = (rows["imdb", "words", peer, task] for task in ("learn", "predict"))
        accuracy = f"{predict['accuracy']:.3f}".removeprefix("0")
        yield f"| {name} | {_rate(learn)} | {_rate(predict)} | {accuracy} | {table.needed(learn):.0f} |"
    for work, name in OTHERS.items():
        learn, predict = (rows[*work, "bunrui, Arrow", task] for task in ("learn", "predict"))
        yield f"{name} {learn['ratio']:.0f}× and {predict['ratio']:.0f}×"


def _rate(row: Mapping[str, Any]) -> str:
    rate = f"{row['mb_per_s']:.0f}"
    return f"{rate} ({row['ratio']:.0f}×)" if row["peer"].startswith("bunrui") else rate


if __name__ == "__main__":
    print(*lines(json.loads(RECORD.read_text(encoding="utf-8"))), sep="\n")
