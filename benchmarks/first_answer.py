"""The first answer of a new process: `bunrui predict FILE --line` by a trained model, beside a counting one.

    python benchmarks/first_answer.py [--corpus imdb] [--runs 9] [--json]

The weights of a trained model stand in its file (docs/decisions/007).  Beside them: the same file without its weights,
which every process trains again, and slim copies.  Each run is a new process, all rows in turn; bytecode is kept,
as after an installation.  Figures are medians: wall clock, and processor time, which tells more where other programs
run; ratios are to the counting model.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

import corpora
from fresh import medians

import bunrui

COUNTING = "binary-complement"
MODELS = (COUNTING, "arow", "nbsvm", "twcnb")
LINE = "a good film, and one that I would see again"


def files(corpus: str, folder: Path) -> dict[str, Path]:
    """Files by the name of their row."""
    train = corpora.load(corpus).train
    made = {}
    for model in MODELS:
        path = made[model] = folder / f"{model}.bunrui"
        with bunrui.create(path, model) as clf:
            clf.learn(train["text"], train["label"])
            for min_df in (1, 2):
                slim = made[f"{model}, slim, min_df {min_df}"] = folder / f"{model}-{min_df}.bunrui"
                clf.slim(slim, min_df=min_df)
            if model != COUNTING:
                bare = made[f"{model}, without weights"] = folder / f"{model}-bare.bunrui"
                clf.copy(bare)
                db = sqlite3.connect(bare, isolation_level=None)
                db.execute("DELETE FROM weights")
                db.execute("VACUUM")
                db.close()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="imdb")
    parser.add_argument("--runs", type=int, default=9, metavar="N")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        made = files(options.corpus, Path(name))
        ask = [sys.executable, "-m", "bunrui", "predict"]
        commands = {row: [*ask, str(path), "--line", LINE] for row, path in made.items()}
        took = medians(commands, options.runs, Path(name) / "bytecode")
        sizes = {row: path.stat().st_size for row, path in made.items()}
    base = took[COUNTING]
    rows = [
        {
            "file": row,
            "MB": sizes[row] / 1e6,
            "ms": 1e3 * took[row].seconds,
            "ratio": took[row].seconds / base.seconds,
            "processor ms": 1e3 * took[row].processor,
            "processor ratio": took[row].processor / base.processor,
        }
        for row in made
    ]
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{options.corpus:34}{'MB':>7}{'ms':>8}{'×':>7}{'CPU ms':>9}{'×':>7}")
    for row in rows:
        figures = (row["MB"], row["ms"], row["ratio"], row["processor ms"], row["processor ratio"])
        print(f"{row['file']:34}" + "{:7.1f}{:8.0f}{:7.2f}{:9.0f}{:7.2f}".format(*figures))


if __name__ == "__main__":
    main()
