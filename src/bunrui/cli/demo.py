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
    console = stdout_console(min(_WIDTH, stdout_console().width))
    corpus, queries = read("demo"), read("queries")
    with interrupts("interrupted"), _temporary() as classifier:
        _learn(console, classifier, corpus)
        _evaluate(console, classifier, corpus)
        _predict(console, classifier, queries)
        _explain(console, classifier, queries)
        _correct(console, classifier, queries)
    _heading(console, "Now yours", "bunrui learn mine.bunrui train.csv", "bunrui --help")


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


def _heading(console: Console, title: str, *commands: str) -> None:
    console.print()
    console.rule(Text(title, "bold"), align="left")
    for command in commands:
        console.print(Text(f"$ {command}", "cyan"))
    console.print()


def _learn(console: Console, classifier: bunrui.StoredClassifier, corpus: Rows) -> None:
    _heading(console, "Learn", "bunrui learn news.bunrui news.jsonl", "bunrui info news.bunrui")
    classifier.learn([row["text"] for row in corpus], [row["label"] for row in corpus])
    known = classifier.info()
    labels = ", ".join(f"{label} {n}" for label, n in known["labels"].items())
    console.print(f"{known['documents']} documents in English, Japanese, Chinese and Korean: {labels}")
    console.print(f"{known['features']:,} features, model {known['model']}, {known['size'] / 1000:,.0f} kB on disk")


def _evaluate(console: Console, classifier: bunrui.StoredClassifier, corpus: Rows) -> None:
    from bunrui.views.evaluation import metrics_tables

    _heading(
        console,
        f"Evaluate: each of {_FOLDS} parts is unlearned, predicted and learned again",
        "bunrui unlearn news.bunrui part1.jsonl",
        "bunrui evaluate news.bunrui part1.jsonl",
        "bunrui learn news.bunrui part1.jsonl",
    )
    console.print(metrics_tables(_folds(classifier, corpus)))


def _folds(classifier: bunrui.StoredClassifier, corpus: Rows) -> bunrui.evaluation.Metrics:
    """Every sentence predicted by a classifier that never saw it."""
    tally = bunrui.evaluation.Tally()
    for fold in range(_FOLDS):
        part = corpus[fold::_FOLDS]
        texts, labels = [row["text"] for row in part], [row["label"] for row in part]
        classifier.unlearn(texts, labels)
        tally.add(labels, classifier.predict(texts))
        classifier.learn(texts, labels)
    return tally.metrics()


def _predict(console: Console, classifier: bunrui.StoredClassifier, queries: Rows) -> None:
    _heading(console, "Predict: P(class | text)", "bunrui predict news.bunrui new.jsonl --top 5")
    rows = []
    for row, shares in zip(queries, classifier.predict_proba([row["text"] for row in queries]), strict=True):
        cells = [Text(f"{p:.3f}", "bold green" if p == shares.max() else "") for p in shares]
        rows.append([row["text"], row["label"], *cells])
    text = Column("text", is_number=False, overflow="cut", max_width=34)
    console.print(Table([text, *words("true"), *numbers(*map(str, classifier.classes_))], rows))


def _least_sure(classifier: bunrui.StoredClassifier, queries: Rows) -> str:
    texts = [row["text"] for row in queries]
    return texts[int(classifier.predict_proba(texts).max(axis=1).argmin())]


def _explain(console: Console, classifier: bunrui.StoredClassifier, queries: Rows) -> None:
    text = _least_sure(classifier, queries)
    _heading(console, "Explain: why the least sure of them", f'bunrui explain news.bunrui "{text[:20]}…"')
    console.print(classifier.explain(text))


def _correct(console: Console, classifier: bunrui.StoredClassifier, queries: Rows) -> None:
    import numpy as np

    texts = [row["text"] for row in queries]
    text = _least_sure(classifier, queries)
    was, other = list(classifier.explain(text).probabilities)[:2]
    before = classifier.scores(texts)
    _heading(
        console,
        f"Correct: say that it is {other}, and take that back",
        f'echo "{text[:20]}…" | bunrui learn news.bunrui - --as {other}',
        "bunrui undo news.bunrui",
    )
    classifier.learn([text], [other])
    console.print(f"it was [bold]{was}[/]; learned as {other}, it is [bold]{classifier.predict([text])[0]}[/]")
    classifier.undo()
    same = np.array_equal(before, classifier.scores(texts))
    console.print(
        f"undone, it is [bold]{classifier.predict([text])[0]}[/]; all scores the same to the last bit: {same}"
    )
