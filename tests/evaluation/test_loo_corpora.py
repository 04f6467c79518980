"""Leave-one-out on public corpora: the bits of unlearning a document and scoring it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bunrui import TextClassifier
from bunrui.evaluation import Corpus
from bunrui.models import MODELS
from tests.support.examples import quick
from tests.support.models import BY_WORD

pytestmark = pytest.mark.data


@pytest.mark.parametrize("n_docs", quick(1, [60, 1500]))
@pytest.mark.parametrize("name", ["20news", "nsmc"])
@pytest.mark.parametrize(
    "options", [{}, {"min_df": 3, "unseen": "smooth", "prior": "smoothed"}, {"alpha": {"the": 2.0, "영화": 0.5}}]
)
def test_equals_unlearning(data_folder: Path, name: str, options: dict[str, Any], n_docs: int) -> None:
    table = pq.read_table(data_folder / name / "train.parquet", columns=["label", "text"])
    rng = np.random.default_rng(0)
    table = table.take(rng.choice(table.num_rows, n_docs, replace=False))
    texts, labels = table["text"].to_pylist(), [str(label) for label in table["label"].to_pylist()]
    corpus = Corpus(TextClassifier(), texts, labels)
    clf = TextClassifier().learn(texts, labels)
    models = list(BY_WORD if "alpha" in options else MODELS)
    scores = {model: corpus.scores(model, **options) for model in models}
    readers = {model: clf.with_model(model, **options) for model in models}
    for row in rng.choice(len(texts), 8, replace=False).tolist():
        clf.unlearn([texts[row]], [labels[row]])
        for model in models:
            np.testing.assert_array_equal(readers[model].scores([texts[row]])[0], scores[model][row])
        clf.learn([texts[row]], [labels[row]])
