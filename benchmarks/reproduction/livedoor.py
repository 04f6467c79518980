"""livedoor news, nine categories: multinomial naive Bayes on 80/20 splits.

An article reports micro-F .9132, F of the macro means .9140 and overall accuracy .9807.  Of its setting this is known:
add-one smoothing, words by MeCab, 80/20.  Which dictionary, parts of speech, lines of a file and seed is not.
"""

from __future__ import annotations

from collections.abc import Iterator

import corpora
import numpy as np

from bunrui import AnalyzerSpec, BinaryNB, MultinomialNB, TextVectorizer
from bunrui.errors import MissingExtraError
from bunrui.evaluation import measure
from reproduction.rows import NONE, Row, over_seeds
from reproduction.splits import cut, in_order

SEEDS = range(10)
SPLIT = "80/20, seeds 0–9"
MEASURE = "micro-F / F of macro means / overall accuracy"
PUBLISHED = ".9132 / .9140 / .9807"
WORDS = {
    "MeCab, UniDic": AnalyzerSpec(name="ja"),
    "MeCab, UniDic, nouns": AnalyzerSpec(name="ja", pos=("名詞",)),
    "n-grams": AnalyzerSpec(),
}
MODELS = {"multinomial λ=1": MultinomialNB(alpha=1.0), "multinomial λ=.1": MultinomialNB(alpha=0.1)}
DEFAULT = {"binary λ=.1": BinaryNB(alpha=0.1)}
COMMENTS = {
    ("MeCab, UniDic", "multinomial λ=1"): "the article's dictionary and choice of words are unknown",
    ("n-grams", "multinomial λ=1"): "λ=1 is too much for so many features",
}


def run(folder: str | None) -> Iterator[Row]:
    """Rows."""
    table = in_order(corpora.load("livedoor", folder))
    labels = np.array(table["label"].to_pylist())
    for words, spec in WORDS.items():
        try:
            X = TextVectorizer(analyzer=spec).fit_transform(table["text"])
        except MissingExtraError as error:
            yield Row("livedoor", words, SPLIT, MEASURE, comment=f"left out: {error}")
            continue
        models = MODELS | (DEFAULT if words == "n-grams" else {})
        figures: dict[str, list[tuple[float, ...]]] = {model: [] for model in models}
        for seed in SEEDS:
            task = cut(X, labels, seed)
            for model, clf in models.items():
                found = measure(task.truth.tolist(), clf.fit(task.X, task.y).predict(task.Q).tolist())
                figures[model].append((found.micro.f1, found.macro.f1_of_means, found.overall_accuracy))
        for model in models:
            published = PUBLISHED if words != "n-grams" and model == "multinomial λ=1" else NONE
            more = {"comment": COMMENTS.get((words, model), ""), **over_seeds(figures[model])}
            yield Row("livedoor", f"{model}, {words}", SPLIT, MEASURE, published, **more)
