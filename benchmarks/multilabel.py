"""Several labels a document: micro-F and macro-F on public corpora, beside scikit-learn with a classifier for each.

    python benchmarks/multilabel.py [--corpora reuters10,reuters90,goemotions,bibtex,delicious] [--alpha 0.1,1] [--json]
    python benchmarks/multilabel.py --floors

    reuters10    Reuters-21578, ModApte, all 9,603 / 3,299 documents, the 10 topics with most training documents
    reuters90    the documents and topics of ModApte with 90 topics
    goemotions   official training and test sets, 28 labels
    bibtex, delicious    mulan's training and test sets; words are 0/1 columns

Corpora are in the folder of corpora.py; Reuters and GoEmotions can be those of `bunrui datasets fetch`, too.

Texts are read by `TextVectorizer` with the analyzer `words`, no word left out.  Thresholds are 0, or chosen on folds of
the training set; every λ that was asked for has its row.  "× fit" is the time of scikit-learn's `OneVsRestClassifier`
over ours, where both fit the same multinomial model on the same matrix in the same run.

The rule of `threshold="folds"` was revised twice after the test figures of Reuters and bibtex had been seen: those
columns are not untouched test results.  `--floors` compares values of `LEAST_F` (bunrui/models/rest.py) on a
fifth of the training sets, held out.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
import time
from collections import Counter
from typing import Any, NamedTuple

import corpora
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from corpora import data_folder
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn import naive_bayes as peers
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

from bunrui import BernoulliNB, BinaryNB, ComplementNB, MultilabelNB, MultinomialNB, TextVectorizer
from bunrui.evaluation.metrics import measure_labels
from bunrui.models import rest as thresholds

CORPORA = ("reuters10", "reuters90", "goemotions", "bibtex", "delicious")
MODELS = {
    "multinomial": MultinomialNB,
    "binary": BinaryNB,
    "bernoulli": BernoulliNB,
    "complement": ComplementNB,
    "wcnb": lambda alpha: ComplementNB(alpha=alpha, norm=True),
}
N_LABELS = {"bibtex": 159, "delicious": 983}


class Task(NamedTuple):
    """Sparse counts and indicator matrices of training and test set."""

    X: Any
    Y: Any
    X_test: Any
    Y_test: Any


def load(name: str) -> Task:
    """A corpus as matrices."""
    if name in N_LABELS:
        return _mulan(name)
    corpus = name.rstrip("0123456789")
    home = data_folder() / corpus
    if home.is_dir():
        tables = [pq.read_table(home / f"{part}.parquet", columns=["label", "text"]) for part in ("train", "test")]
    else:
        tables = [corpora.with_unlabelled(corpus, part) for part in ("train", "test")]
    if name == "reuters90":
        tables = of_90_topics(*tables)
    train, test = (part["text"] for part in tables)
    labels, test_labels = (part["label"].to_pylist() for part in tables)
    topics = sorted({label for row in labels for label in row})
    if name == "reuters10":
        topics = sorted(label for label, _ in Counter(label for row in labels for label in row).most_common(10))
    binarizer = MultiLabelBinarizer(classes=topics).fit([])
    known = set(topics)
    Y, Y_test = (
        binarizer.transform([[t for t in row if t in known] for row in rows]) for rows in (labels, test_labels)
    )
    vectorizer = TextVectorizer()
    return Task(vectorizer.fit_transform(train), Y, vectorizer.transform(test), Y_test)


def of_90_topics(train: pa.Table, test: pa.Table) -> list[pa.Table]:
    """Documents of ModApte with topics that both sets have, of which there are 90, and no other topics."""
    parts = [train.to_pylist(), test.to_pylist()]
    in_train, in_test = ({topic for row in part for topic in row["label"]} for part in parts)
    topics = in_train & in_test
    kept = [[row | {"label": [topic for topic in row["label"] if topic in topics]} for row in part] for part in parts]
    return [pa.Table.from_pylist([row for row in part if row["label"]], train.schema) for part in kept]


def _mulan(name: str) -> Task:
    parts = []
    with tarfile.open(data_folder() / "mulan" / "mulan.tar.xz") as archive:
        for part in ("train", "test"):
            file = archive.extractfile(f"{name}/{name}-{part}.arff")
            assert file is not None
            matrix = _arff(file.read().decode())
            border = matrix.shape[1] - N_LABELS[name]
            parts += [matrix[:, :border], matrix[:, border:].toarray()]
    return Task(*parts)


def _arff(text: str) -> Any:
    """The matrix of a sparse ARFF file: rows as `{column value, ...}`, all values 1."""
    head, _, body = text.partition("@data")
    rows = [[int(cell.split()[0]) for cell in line[1:-1].split(",") if cell] for line in body.split("\n") if line]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row])
    return sparse.csr_array(
        (np.ones(len(columns), np.int64), columns, ends), shape=(len(rows), head.count("@attribute"))
    )


def measure(name: str, alphas: list[float]) -> list[dict[str, Any]]:
    """A row for each model, λ and threshold."""
    task, rows = load(name), []
    for alpha in alphas:
        ours, seconds = _timed(lambda alpha=alpha: MultilabelNB(MultinomialNB(alpha=alpha)).fit(task.X, task.Y))
        peer, theirs = _timed(
            lambda alpha=alpha: OneVsRestClassifier(peers.MultinomialNB(alpha=alpha)).fit(task.X, task.Y)
        )
        rows.append(_row(name, "scikit-learn", alpha, "0", peer, task.X_test, task.Y_test))
        for model, make in MODELS.items():
            for threshold in (0.0, "folds"):
                clf = MultilabelNB(make(alpha=alpha), threshold=threshold).fit(task.X, task.Y)
                row = _row(name, model, alpha, str(threshold).rstrip(".0") or "0", clf, task.X_test, task.Y_test)
                if model == "multinomial" and threshold == 0.0:
                    row["fit_ratio"] = theirs / seconds
                    row["same_as_scikit_learn"] = bool((ours.predict(task.X_test) == peer.predict(task.X_test)).all())
                rows.append(row)
    return rows


def compare_floors(names: list[str]) -> list[dict[str, Any]]:
    """F on a fifth of the training set, by the F below which no threshold goes under 0; None for thresholds of 0."""
    rows, usual = [], thresholds.LEAST_F
    for name in names:
        task = load(name)
        X, order = task.X.tocsr(), np.random.default_rng(0).permutation(task.Y.shape[0])
        held, kept = order[: len(order) // 5], order[len(order) // 5 :]
        for model, make in (("multinomial", MultinomialNB), ("bernoulli", BernoulliNB)):
            for floor in (None, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
                thresholds.LEAST_F = floor or 0.0
                clf = MultilabelNB(make(alpha=0.1), threshold=0.0 if floor is None else "folds")
                rows.append(_row(name, model, 0.1, str(floor), clf.fit(X[kept], task.Y[kept]), X[held], task.Y[held]))
    thresholds.LEAST_F = usual
    return rows


def _timed(run: Any) -> tuple[Any, float]:
    """The result, and the best time of three."""
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        result = run()
        if isinstance(result, MultilabelNB):
            result.predict_log_odds(
                sparse.csr_array((1, result.n_features_in_))
            )  # the weights, which the peer has made
        seconds.append(time.perf_counter() - started)
    return result, min(seconds)


def _row(name: str, model: str, alpha: float, threshold: str, clf: Any, X: Any, Y: Any) -> dict[str, Any]:
    metrics = measure_labels(Y, clf.predict(X))
    return {
        "corpus": name,
        "model": model,
        "alpha": alpha,
        "threshold": threshold,
        "micro_f": metrics.micro.f1,
        "macro_f": metrics.macro.f1,
        "example_f": metrics.example.f1,
        "hamming_loss": metrics.hamming_loss,
        "subset_accuracy": metrics.subset_accuracy,
    }


def show(rows: list[dict[str, Any]]) -> None:
    """A table on stdout, a rule between one corpus and the next."""
    table = Table()
    for heading in (
        "corpus",
        "model",
        "λ",
        "threshold",
        "micro-F",
        "macro-F",
        "example-F",
        "Hamming",
        "subset",
        "× fit",
    ):
        table.add_column(heading)
    for k, row in enumerate(rows):
        if k and row["corpus"] != rows[k - 1]["corpus"]:
            table.add_section()
        numbers = (f"{row[key]:.4f}" for key in ("micro_f", "macro_f", "example_f", "hamming_loss", "subset_accuracy"))
        ratio = f"{row['fit_ratio']:.1f}" if "fit_ratio" in row else ""
        table.add_row(row["corpus"], row["model"], f"{row['alpha']:g}", row["threshold"], *numbers, ratio)
    (Console() if sys.stdout.isatty() else Console(width=120)).print(table)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--alpha", default="0.1,1")
    parser.add_argument("--floors", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    alphas = [float(alpha) for alpha in options.alpha.split(",")]
    names = options.corpora.split(",")
    rows = compare_floors(names) if options.floors else [row for name in names for row in measure(name, alphas)]
    if options.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    else:
        show(rows)


if __name__ == "__main__":
    main()
