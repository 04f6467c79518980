"""`bunrui export --page`: how large a page is, how soon and how fast it answers, and what pruning costs.

    python benchmarks/page_export.py                      the demonstration and 20 Newsgroups, in chromium
    python benchmarks/page_export.py --corpora imdb --models auto nbsvm --megabytes 20 5

The time to the first answer runs from the opening of the file to the explanation of a short text, and documents a
second are scored one after the other in the page, on one core.  Scores and labels are those of Python: the largest
difference is in the table.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import pyarrow as pa
from rich.table import Table
from table import console

from bunrui import TextClassifier
from bunrui.data import read
from bunrui.export import make_page

MOST_DOCUMENTS = 2000
RUNS = 3
FIRST = "Her goal in the last minute won the final."
SCORE = """(texts) => {
    const start = performance.now();
    const scores = texts.map((text) => Array.from(bunrui.scores(text)));
    return [performance.now() - start, scores];
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=["demo", "20news"])
    parser.add_argument("--models", nargs="+", default=["auto"])
    parser.add_argument("--megabytes", nargs="+", type=float, default=[20.0])
    parser.add_argument("--folder", help="where the corpora are")
    options = parser.parse_args()
    found = Table(title="pages", title_justify="left")
    for heading in ("corpus", "model", "features", "kept", "MB", "made s", "first answer s", "documents/s"):
        found.add_column(heading, justify="left" if heading in ("corpus", "model") else "right")
    for heading in ("MB/s", "accuracy", "after", "off by"):
        found.add_column(heading, justify="right")
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for name in options.corpora:
            train, test = documents(name, options.folder)
            for model in options.models:
                clf = TextClassifier(model).learn(train["text"], train["label"])
                for size in options.megabytes:
                    row = measure(browser, Path(folder) / "page.html", clf, test, int(size * 1e6))
                    print(name, model, *row, file=sys.stderr)
                    found.add_row(name, model, *row)
    console().print(found)


def documents(name: str, folder: str | None) -> tuple[Any, Any]:
    if name != "demo":
        corpus = corpora.load(name, folder)
        return corpus.train, corpus.test
    return pa.Table.from_pylist(read("demo")), pa.Table.from_pylist(read("queries"))


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def measure(browser: Any, path: Path, clf: TextClassifier, test: Any, most_bytes: int) -> list[str]:
    texts, labels = test["text"].to_pylist(), test["label"].to_pylist()
    start = time.perf_counter()
    made = make_page(clf, path.stem, test=(texts, labels), most_bytes=most_bytes)
    seconds = time.perf_counter() - start
    path.write_text(made.html, encoding="utf-8")
    some = texts[:MOST_DOCUMENTS]
    first, rates = [], []
    for _ in range(RUNS):
        page = browser.new_page()
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.fill("#text", FIRST)
        page.wait_for_selector(".explanation")
        first.append(time.perf_counter() - start)
        page.evaluate(SCORE, some[:100])  # the engine compiles what is called often
        milliseconds, scores = page.evaluate(SCORE, some)
        rates.append(1000 / milliseconds)
        page.close()
    best = max(rates)
    cut = made.pruning
    off = "" if cut else f"{np.abs(np.array(scores) - clf.scores(some)).max():.0e}"
    whole = cut.before if cut and cut.before is not None else clf.score(texts, labels)
    return [
        f"{cut.all if cut else made.n_features:,}",
        f"{made.n_features:,}",
        f"{len(made.html.encode()) / 1e6:.2f}",
        f"{seconds:.1f}",
        f"{min(first):.2f}",
        f"{best * len(some):,.0f}",
        f"{best * sum(len(text.encode()) for text in some) / 1e6:.2f}",
        f"{whole:.4f}",
        f"{cut.after:.4f}" if cut and cut.after is not None else "",
        off,
    ]


if __name__ == "__main__":
    main()
