"""`TextVectorizer` beside scikit-learn's `CountVectorizer`: the time of `fit_transform` on 20 Newsgroups.

    python benchmarks/vectorizer.py [--documents N]

Seconds of processor time, on one thread each, and whether the matrices are equal.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ["BUNRUI_THREADS"] = "1"

import corpora
from sklearn.feature_extraction.text import CountVectorizer

from bunrui.estimators import TextVectorizer

OPTIONS = {
    "word": {"analyzer": "word", "token_pattern": r"(?u)\b\w\w+\b"},
    "word, 1–2-grams": {"analyzer": "word", "token_pattern": r"(?u)\b\w\w+\b", "ngram_range": (1, 2)},
    "char_wb, 2–4": {"analyzer": "char_wb", "ngram_range": (2, 4)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, metavar="N", help="only the first")
    texts = corpora.load("20news").train["text"].to_pylist()[: parser.parse_args().documents]
    print(f"{len(texts):,} documents{'ours, s':>14}{'theirs, s':>12}{'×':>7}")
    for name, options in OPTIONS.items():
        matrices, seconds = [], []
        for kind in (TextVectorizer, CountVectorizer):
            started = time.process_time()
            matrices.append(kind(**options).fit_transform(texts))
            seconds.append(time.process_time() - started)
        same = "" if abs(matrices[0] - matrices[1]).nnz == 0 else "  the matrices differ"
        print(f"{name:18}{seconds[0]:11.1f}{seconds[1]:12.1f}{seconds[1] / seconds[0]:7.1f}{same}", flush=True)


if __name__ == "__main__":
    main()
