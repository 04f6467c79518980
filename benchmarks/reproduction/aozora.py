"""Who wrote it: seven authors of Aozora Bunko, eight works each to learn and two to predict.

The two estimators of P(word | author) are those of the system from which `map` and its α = 1.0001 come: the posterior
mode, which is add-.0001, and the posterior mean, add-one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from corpora import data_folder

from bunrui import AnalyzerSpec, TextClassifier
from bunrui.errors import MissingExtraError
from reproduction.rows import Row

SPLIT = "8 + 2 works an author"
WORDS = {"MeCab, UniDic": AnalyzerSpec(name="ja"), "n-grams": AnalyzerSpec()}
MODELS: dict[str, dict[str, Any]] = {
    "MAP α=1.0001": {"model": "multinomial", "smoothing": "map", "alpha": 1.0001},
    "EAP λ=1": {"model": "multinomial", "smoothing": "eap", "alpha": 1.0},
    "our default model": {},
}


def run(folder: str | None) -> Iterator[Row]:
    """Rows; the comment names what is wrong."""
    home = data_folder(folder) / "aozora"
    train, test = (pq.read_table(home / f"{part}.parquet") for part in ("train", "test"))
    truth, titles = np.array(test["label"].to_pylist()), test["title"].to_pylist()
    for words, spec in WORDS.items():
        try:
            learned = TextClassifier(analyzer=spec).learn(train["text"], train["label"])
        except MissingExtraError as error:
            yield Row("aozora", words, SPLIT, "accuracy", comment=f"left out: {error}")
            continue
        for name, options in MODELS.items():
            found = learned.with_model(**options).predict(test["text"])
            wrong = ", ".join(f"{titles[k]} → {found[k]}" for k in np.flatnonzero(found != truth))
            right = float((found == truth).mean())
            yield Row("aozora", f"{name}, {words}", SPLIT, "accuracy", ours=(right,), comment=wrong)
