"""AODE: the time to train beside scikit-learn's CategoricalNB, and its errors beside naive Bayes on the UCI tables.

    python benchmarks/aode.py [--only speed | errors | words] [--tables iris vote ...] [--folder FOLDER] [--json]

Speed: a generated table of 1,000,000 rows × 20 columns × 5 values (integers, 2 classes), best of 3 in one process.

Errors: mean of five times two stratified folds (seeds 0 to 4) on the tables of `uci/uci.tar.xz`, in the folder that
corpora.py looks into, or on adult and the tables uci-… that `bunrui datasets fetch` has brought.  Numeric columns are
cut inside the fold by description length, missing values are skipped.  All three learn from the same counts: naive
Bayes is AODE that finds no parent, and so has the same smoothing.  A table wins where its mean error is smaller.

Words: accuracy on SMS spam and 20 Newsgroups by the presence of the 100 words with the largest χ², with absent words as
values like others, and with absent words left out as if they were missing.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tarfile
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import corpora
import numpy as np
import pyarrow as pa
import stopwatch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB

from bunrui.datasets import CORPORA
from bunrui.datasets.publishers import read_arff
from bunrui.estimators.aode import AODE

MODELS = {"NB": sys.float_info.max, "AODE m=30": 30, "AODE m=1": 1}
REPEATS = 5
CLASS_FIRST = ("wine", "spect.", "spectf.")


class Table(NamedTuple):
    """Rows with None where a value is missing, their labels, and which columns have numbers."""

    name: str
    X: Any
    y: Any
    numeric: list[int]


def speed() -> dict[str, Any]:
    """Seconds to train and to predict."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (1_000_000, 20)), rng.integers(0, 2, 1_000_000)
    AODE().fit(X[:100], y[:100]).predict(X[:100])  # compiles
    row: dict[str, Any] = {"rows": len(X), "columns": X.shape[1], "values": 5}
    for name, estimator in {"CategoricalNB": CategoricalNB(), "AODE": AODE()}.items():
        row[f"{name} fit s"] = stopwatch.best(lambda estimator=estimator: estimator.fit(X, y), 3).seconds
        row[f"{name} predict s"] = stopwatch.best(lambda estimator=estimator: estimator.predict(X), 3).seconds
    row["fit ×"] = row["AODE fit s"] / row["CategoricalNB fit s"]
    row["predict ×"] = row["AODE predict s"] / row["CategoricalNB predict s"]
    return row


def words(name: str, folder: str | None, n_words: int = 100) -> dict[str, Any]:
    """Accuracy by the presence of words."""
    corpus = corpora.load(name, folder)
    texts, labels = ([part[each].to_pylist() for part in (corpus.train, corpus.test)] for each in ("text", "label"))
    vectorizer = CountVectorizer(binary=True, token_pattern=r"\w+", min_df=2)
    train = vectorizer.fit_transform(texts[0])
    select = SelectKBest(chi2, k=n_words).fit(train, labels[0])
    train, test = select.transform(train), select.transform(vectorizer.transform(texts[1]))
    clf = AODE().fit(train, labels[0])
    present = [np.where(part.toarray() > 0, 1, None) for part in (train, test)]
    return {
        "corpus": name,
        "words": n_words,
        "AODE": clf.score(test, labels[1]),
        "AODE without absent words": AODE().fit(present[0], labels[0]).score(present[1], labels[1]),
        "NB": clf.set_params(m=MODELS["NB"]).score(test, labels[1]),
    }


# --- tables


def tables(folder: str | None) -> Iterator[Table]:
    """All tables, in the order of their names; one whose class is a number is none of classes, and left out."""
    path = corpora.data_folder(folder) / "uci" / "uci.tar.xz"
    if not path.is_file():
        yield from brought()
        return
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers() if member.isfile()}
        texts = {name: file.read().decode("latin-1") for name, file in files.items() if file}
    adult = "".join(texts.pop(name) for name in sorted(texts) if name.endswith(".csv"))
    rows = [[_value(cell) for cell in re.split(r"\s*,\s*", line.strip(" ."))] for line in adult.splitlines() if line]
    found = [_table("adult", rows, [0, 2, 4, 10, 11, 12], 14)]
    for name, text in texts.items():
        if name.endswith(".arff"):
            short = name.rpartition("/")[2].removesuffix(".arff")
            table = read_arff(text)
            label = 0 if short.startswith(CLASS_FIRST) else len(table.names) - 1
            numeric = [j for j, is_number in enumerate(table.numeric or ()) if is_number]
            if label in numeric:
                print(f"{short}: its class is a number; left out", file=sys.stderr)
            else:
                found.append(_table(short, table.rows, numeric, label))
    yield from sorted(found)


def brought() -> Iterator[Table]:
    """Tables that `bunrui datasets fetch` has brought, training and test set together."""
    names = [name for name in CORPORA if name == "adult" or name.startswith("uci-")]
    missing: list[FileNotFoundError] = []
    for name in names:
        try:
            yield of_columns(name.removeprefix("uci-"), corpora.load_fetched(name))
        except FileNotFoundError as error:
            missing.append(error)
    if len(missing) == len(names):
        raise missing[0]


def of_columns(name: str, table: pa.Table) -> Table:
    """A table of `bunrui.datasets`."""
    attributes = table.drop_columns("label")
    X = np.array([list(row.values()) for row in attributes.to_pylist()], object)
    numeric = [j for j, kind in enumerate(attributes.schema.types) if pa.types.is_floating(kind)]
    return Table(name, X, np.array(table["label"].to_pylist()), numeric)


def _value(cell: str) -> str | None:
    return None if cell == "?" else cell.strip("'\"")


def _table(name: str, rows: list[list[Any]], numeric: list[int], label: int) -> Table:
    rows = [row for row in rows if row[label] is not None]
    X = np.array([row[:label] + row[label + 1 :] for row in rows], object)
    columns = [j - (j > label) for j in numeric]
    for j in columns:
        X[:, j] = [None if value is None else float(value) for value in X[:, j]]
    return Table(name, X, np.array([row[label] for row in rows]), columns)


# --- errors


def errors(table: Table) -> dict[str, Any]:
    """The mean error of every model."""
    wrong: dict[str, list[float]] = {name: [] for name in MODELS}
    for seed in range(REPEATS):
        folds = StratifiedKFold(2, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with one row
            parts = list(folds.split(table.X, table.y))
        for train, test in parts:
            clf = AODE(discretise=table.numeric or False).fit(table.X[train], table.y[train])
            for name, m in MODELS.items():
                wrong[name].append(float((clf.set_params(m=m).predict(table.X[test]) != table.y[test]).mean()))
    return {"table": table.name, "rows": len(table.X), **{name: float(np.mean(each)) for name, each in wrong.items()}}


def against(rows: list[dict[str, Any]], one: str, other: str) -> dict[str, Any]:
    """Wins, ties and losses, with the chance of so uneven a result if both were alike (sign test, two-sided)."""
    differences = [row[other] - row[one] for row in rows]
    wins, losses = sum(d > 1e-12 for d in differences), sum(d < -1e-12 for d in differences)
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(max(wins, losses), n + 1)) / 2**n
    return {"wins": wins, "ties": len(rows) - n, "losses": losses, "p": min(1.0, 2 * tail)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["speed", "errors", "words"])
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[str, Any] = {}
    if options.only in (None, "speed"):
        result["speed"] = stopwatch.isolated(speed)
    if options.only in (None, "words"):
        result["words"] = [words(name, options.folder) for name in ("sms_spam", "20news")]
    if options.only in (None, "errors"):
        rows = []
        for table in tables(options.folder):
            if not options.tables or table.name in options.tables:
                rows.append(errors(table))
                print(f"{table.name}: done", file=sys.stderr)
        result["errors"] = rows
        result["mean"] = {name: float(np.mean([row[name] for row in rows])) for name in MODELS}
        compared = [("AODE m=30", "NB"), ("AODE m=1", "NB"), ("AODE m=1", "AODE m=30")]
        result["against"] = {f"{one} : {other}": against(rows, one, other) for one, other in compared}
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result.get("speed", {}).items():
        print(f"{name:24}{value:12,.2f}" if isinstance(value, float) else f"{name:24}{value:12,}")
    for row in result.get("words", []):
        shares = ", ".join(f"{name} {value:.4f}" for name, value in row.items() if isinstance(value, float))
        print(f"{row['corpus']}, {row['words']} words: {shares}")
    for row in [*result.get("errors", []), {"table": "mean", "rows": "", **result["mean"]}] if "mean" in result else []:
        print(f"{row['table']:28}{row['rows']:>8}" + "".join(f"  {name} {row[name]:.4f}" for name in MODELS))
    for name, count in result.get("against", {}).items():
        print(f"{name:24} {count['wins']} wins, {count['ties']} ties, {count['losses']} losses (p = {count['p']:.3g})")


if __name__ == "__main__":
    main()
