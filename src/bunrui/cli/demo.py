"""`bunrui demo`: a tour on the embedded corpus."""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager

from rich.console import Console
from rich.text import Text

import bunrui
from bunrui.cli.console import interrupts, say, stdout_console
from bunrui.cli.parameters import flag
from bunrui.cli.serve import check_packages
from bunrui.data import read
from bunrui.views.tables import Column, Table, numbers, words

_FOLDS = 5
_WIDTH = 100
_HOST = "127.0.0.1"


Rows = list[dict[str, str]]


def demo(
    serve: bool = flag("Open a page in the browser, on the same sentences, until Ctrl-C."),
    no_browser: bool = flag("With --serve: print the address of the page, and open nothing.", needs="serve"),
) -> None:
    """Show what bunrui does, on 400 short sentences of news in four languages.

    Learns, evaluates, predicts, explains, corrects a mistake and takes the
    correction back, in a temporary folder; each heading is the command that
    does the same on your files.

    [bold]Examples[/]

      bunrui demo
      bunrui demo | less
      bunrui demo --serve
    """
    if serve:
        _serve(read("demo"), open_browser=not no_browser)
        return
    with interrupts("interrupted"), _temporary() as classifier:
        _tour(stdout_console(min(_WIDTH, stdout_console().width)), classifier, read("demo"), read("queries"))


@contextmanager
def _temporary() -> Iterator[bunrui.StoredClassifier]:
    """A classifier in a folder that is gone afterwards."""

    with (
        tempfile.TemporaryDirectory(prefix="bunrui-demo-") as folder,
        bunrui.create(os.path.join(folder, "news.bunrui")) as classifier,
    ):
        yield classifier


def _serve(corpus: Rows, *, open_browser: bool) -> None:
    check_packages()
    from bunrui.service import Settings, host_names, link
    from bunrui.service.app import listen, run

    token = secrets.token_urlsafe(24)
    with _temporary() as classifier, closing(listen(_HOST, 0)) as opened:
        classifier.learn([row["text"] for row in corpus], [row["label"] for row in corpus])
        port = opened.getsockname()[1]
        address = link(_HOST, port, token)
        say(f"the page is at {address}")
        say("Ctrl-C stops it; what it has learned is gone then")
        if open_browser:
            # Beside the service: a browser in the terminal comes back when it is closed.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        run(classifier, Settings(token, host_names(_HOST, port)), opened)


def _tour(console: Console, classifier: bunrui.StoredClassifier, corpus: Rows, queries: Rows) -> None:
    import numpy as np

    from bunrui.views.evaluation import metrics_tables

    def heading(title: str, *commands: str) -> None:
        console.print()
        console.rule(Text(title, "bold"), align="left")
        for command in commands:
            console.print(Text(f"$ {command}", "cyan"))
        console.print()

    heading("Learn", "bunrui learn news.bunrui news.jsonl", "bunrui info news.bunrui")
    classifier.learn([row["text"] for row in corpus], [row["label"] for row in corpus])
    known = classifier.info()
    labels = ", ".join(f"{label} {n}" for label, n in known["labels"].items())
    console.print(f"{known['documents']} documents in English, Japanese, Chinese and Korean: {labels}")
    console.print(f"{known['features']:,} features, model {known['model']}, {known['size'] / 1000:,.0f} kB on disk")

    heading(
        f"Evaluate: each of {_FOLDS} parts is unlearned, predicted and learned again",
        "bunrui unlearn news.bunrui part1.jsonl",
        "bunrui evaluate news.bunrui part1.jsonl",
        "bunrui learn news.bunrui part1.jsonl",
    )
    tally = bunrui.evaluation.Tally()
    for fold in range(_FOLDS):
        part = corpus[fold::_FOLDS]
        given = [row["text"] for row in part], [row["label"] for row in part]
        classifier.unlearn(*given)
        tally.add(given[1], classifier.predict(given[0]))
        classifier.learn(*given)
    console.print(metrics_tables(tally.metrics()))

    heading("Predict: P(class | text)", "bunrui predict news.bunrui new.jsonl --top 5")
    texts, rows = [row["text"] for row in queries], []
    probabilities, before = classifier.predict_proba(texts), classifier.scores(texts)
    for row, shares in zip(queries, probabilities, strict=True):
        cells = [Text(f"{p:.3f}", "bold green" if p == shares.max() else "") for p in shares]
        rows.append([row["text"], row["label"], *cells])
    column = Column("text", is_number=False, overflow="cut", max_width=34)
    console.print(Table([column, *words("true"), *numbers(*map(str, classifier.classes_))], rows))

    text = texts[int(probabilities.max(axis=1).argmin())]
    heading("Explain: why the least sure of them", f'bunrui explain news.bunrui "{text[:20]}…"')
    explanation = classifier.explain(text)
    console.print(explanation)

    was, other = list(explanation.probabilities)[:2]
    heading(
        f"Correct: say that it is {other}, and take that back",
        f'echo "{text[:20]}…" | bunrui learn news.bunrui - --as {other}',
        "bunrui undo news.bunrui",
    )
    classifier.learn([text], [other])
    console.print(f"it was [bold]{was}[/]; learned as {other}, it is [bold]{classifier.predict([text])[0]}[/]")
    classifier.undo()
    same, now = np.array_equal(before, classifier.scores(texts)), classifier.predict([text])[0]
    console.print(f"undone, it is [bold]{now}[/]; all scores the same to the last bit: {same}")
    heading("Now yours", "bunrui learn mine.bunrui train.csv", "bunrui --help")
