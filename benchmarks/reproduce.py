"""Published results of the naive-Bayes family, ours beside theirs, in one table.

    python benchmarks/reproduce.py [--data FOLDER] [--only NAME ...] [--json FILE]

    livedoor    Japanese news, MeCab and n-grams          20news   MNB and TWCNB of Rennie et al. (2003)
    twitter     NLTK's tweets, log-odds                   imdb     MNB, SVM and NBSVM of Wang and Manning (2012)
    aozora      authors, MAP and EAP                      adult    a table of numbers and categories
    enron       event models of Metsis et al. (2006)      aode     AODE on the UCI tables, Webb et al. (2005)
    reuters     several topics a document

Each experiment is a file of `reproduction/`, which says what of the published setting is known.  The same corpora give
the same table.  Corpora are in the folder of corpora.py, or were brought by `bunrui datasets fetch`; an experiment
whose corpus is missing has a line that says so.  docs/reproduction.md has a run with notes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from corpora import data_folder
from reproduction import adult, aozora, enron, imdb, livedoor, newsgroups, one_dependence, reuters, twitter
from reproduction.rows import Row

EXPERIMENTS: dict[str, Callable[[str | None], Iterator[Row]]] = {
    "livedoor": livedoor.run,
    "twitter": twitter.run,
    "aozora": aozora.run,
    "enron": enron.run,
    "reuters": reuters.run,
    "20news": newsgroups.run,
    "imdb": imdb.run,
    "adult": adult.run,
    "aode": one_dependence.run,
}
# Where a corpus comes from, if it is not in the folder.
WAYS = {
    **{name: f"`bunrui datasets fetch {name}` gets it" for name in ("livedoor", "enron", "reuters", "20news", "imdb")},
    "twitter": "expected are twitter_samples/train.parquet and test.parquet with label and text",
    "aozora": "expected are aozora/train.parquet and test.parquet with label, title and text",
    "adult": "`bunrui datasets fetch adult` gets it",
    "aode": "`bunrui datasets fetch uci-iris`, and so on, gets its tables",
}
HEADINGS = ("experiment", "setting", "split and seed", "measure", "published", "ours", "comment")


def rows_of(name: str, folder: str | None) -> Iterator[Row]:
    """The rows of an experiment, or one that says what is missing."""
    try:
        yield from EXPERIMENTS[name](folder)
    except FileNotFoundError:
        yield Row(name, comment=f"left out: its corpus is not in {data_folder(folder)}; {WAYS[name]}")


def as_markdown(rows: list[Row]) -> str:
    """The rows as a table of Markdown, which reads as plain text too."""
    cells = [
        HEADINGS,
        *((r.experiment, r.setting, r.split, r.measure, r.published, r.figures, r.comment) for r in rows),
    ]
    widths = [max(len(row[k]) for row in cells) for k in range(len(HEADINGS))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells]
    lines = [f"| {' | '.join(row)} |" for row in padded]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="FOLDER", help="the folder of the corpora, in place of BUNRUI_DATA")
    parser.add_argument("--only", metavar="NAME", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows to a file as well")
    options = parser.parse_args(arguments)
    if options.data:
        os.environ["BUNRUI_DATA"] = options.data  # the scripts that take no folder read it
    rows = []
    for name in EXPERIMENTS:
        if name in options.only:
            started = time.perf_counter()
            for row in rows_of(name, options.data):
                rows.append(row)
                print(f"{name}: {row.setting}: {row.figures} ({time.perf_counter() - started:.0f} s)", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps([row.as_dict() for row in rows], indent=2, ensure_ascii=False) + "\n")
    sys.stdout.write(as_markdown(rows))


if __name__ == "__main__":
    main()
