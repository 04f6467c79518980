from __future__ import annotations

import json
import os
import re
import sys
import threading
from pathlib import Path

import pytest

from bunrui import data
from tests.support.waiting import PATIENCE

ON_TERMINAL = """
import os, sys
os.environ["TERM"] = "xterm"
from bunrui.cli import main
sys.exit(main())
"""
TIED = (
    "3 of the 3 other rows are tied with the first on {} documents: take the simplest, {}, or compare on more "
    "documents\n"
)
FEW = ("--models", "binary,multinomial", "--analyzers", "universal,words:2")


@pytest.fixture
def news(run, tmp_path: Path) -> Path:
    """A hundred sentences of five labels, in news.jsonl."""
    rows = [row for row in data.read("demo") if row["lang"] == "en"]
    path = tmp_path / "news.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_table_on_stdout_and_which_to_take_on_stderr(run, news: Path) -> None:
    code, out, err = run("compare", "news.jsonl", *FEW)
    assert (code, err) == (0, TIED.format(100, "binary with universal"))
    lines = out.splitlines()
    assert lines[0] == "100 documents, predicted each of 5 parts by the others"
    assert lines[1].split() == [
        *["model", "analyzer", "accuracy", "95", "%", "macro", "F1", "vs.", "first"],
        *["learn", "predict", "features", "cells"],
    ]
    rows = [line for line in lines if line.startswith(("binary", "multinomial"))]
    assert len(rows) == 4 and " first " in rows[0] and all(" tied +" in row or " lost +" in row for row in rows[1:])


def test_one_row_is_no_choice(run, news: Path) -> None:
    assert run("compare", "news.jsonl", "--models", "binary", "--analyzers", "words").err == ""


def test_one_row_that_is_better(run, tmp_path: Path) -> None:
    """The order of two words is all that there is to see."""
    rows = ["cold then hot,x", "hot then cold,y"] * 50
    Path("order.csv").write_text("\n".join(["text,label", *rows, ""]))
    err = run("compare", "order.csv", "--models", "multinomial", "--analyzers", "words:2,words").err
    assert err.endswith("\nthe first, multinomial with words 1–2, is better than the other\n")
    err = run("compare", "order.csv", "--models", "multinomial,binary", "--analyzers", "words:2,words").err
    told = (
        "1 of the 3 other rows is tied with the first on 100 documents: take the simplest, multinomial with words 1–2, "
    )
    assert told in err


def test_the_default_is_the_simplest_and_a_baseline_is_not_taken(run, news: Path) -> None:
    pytest.importorskip("sklearn")
    options = ["--models", "bernoulli,binary-complement", "--analyzers", "universal,words", "--baselines"]
    code, out, err = run("compare", "news.jsonl", *options)
    n_tied = sum(" tied +" in line for line in out.splitlines())
    assert code == 0 and n_tied > 2 and "LinearSVC" in out
    assert err.startswith(f"{n_tied} of the 5 other rows are tied with the first on 100 documents: ")
    assert "take the simplest, binary-complement with universal, or compare" in err


def test_json(run, news: Path) -> None:
    code, out, err = run("compare", "news.jsonl", *FEW, "--folds", "3", "--json")
    found = json.loads(out)
    assert (code, err, found["documents"]) == (0, "", 100)
    assert found["predicted"] == "each of 3 parts by the others"
    accuracies = [row["accuracy"] for row in found["rows"]]
    assert accuracies == sorted(accuracies, reverse=True) and len(accuracies) == 4
    assert found["rows"][0]["verdict"] == "first" and found["rows"][0]["against_first"] is None
    assert set(found["rows"][1]["against_first"]) == {"only_first", "only_this", "p", "level"}


def test_leave_one_out_is_that_of_evaluate(run, news: Path) -> None:
    code, out, _ = run("compare", "news.jsonl", "--loo", "--models", "binary", "--analyzers", "words", "--json")
    alone = run("evaluate", "news.jsonl", "--loo", "--model", "binary", "--analyzer", "words", "--json").out
    assert (code, json.loads(out)["rows"][0]["accuracy"]) == (0, json.loads(alone)["accuracy"])


def test_test_documents(run, news: Path) -> None:
    pytest.importorskip("sklearn")
    lines = news.read_text().splitlines(keepends=True)
    Path("train.jsonl").write_text("".join(lines[:80]))
    Path("test.jsonl").write_text("".join(lines[80:]))
    code, out, err = run("compare", "train.jsonl", "--test", "test.jsonl", *FEW, "--baselines", "--json")
    found = json.loads(out)
    assert (code, err, found["documents"], found["predicted"]) == (0, "", 20, "by 80 others")
    assert {row["model"] for row in found["rows"]} == {"binary", "multinomial", "LinearSVC", "LogisticRegression"}
    run("learn", "a.bunrui", "train.jsonl", "--model", "binary")
    expected = json.loads(run("evaluate", "a.bunrui", "test.jsonl", "--json").out)
    (mine,) = [row for row in found["rows"] if (row["model"], row["analyzer"]) == ("binary", {"name": "universal"})]
    assert (mine["accuracy"], mine["macro_f1"]) == (expected["accuracy"], expected["macro"]["f1"])


def test_a_classifier_that_keeps_texts(run, news: Path) -> None:
    run("learn", "news.bunrui", "news.jsonl")
    before = Path("news.bunrui").read_bytes()
    code, out, err = run("compare", "news.bunrui", *FEW, "--json")
    assert (code, err, Path("news.bunrui").read_bytes()) == (0, "", before)
    same = json.loads(run("compare", "news.jsonl", *FEW, "--json").out)
    assert [row["accuracy"] for row in json.loads(out)["rows"]] == [row["accuracy"] for row in same["rows"]]


def test_copies_are_told(run, news: Path) -> None:
    news.write_text(news.read_text() * 2)
    code, _, err = run("compare", "news.jsonl", *FEW)
    assert code == 0 and err.startswith("copies or near copies of other documents, 100 of 200 (50.0%), ")


@pytest.mark.parametrize("by", ["label", "id", "order"])
def test_parts(run, news: Path, by: str) -> None:
    rows = [json.loads(line) for line in news.read_text().splitlines()]
    news.write_text("".join(json.dumps(row | {"ten": str(k // 10)}) + "\n" for k, row in enumerate(rows)))
    options = ["--id", "ten", "--folds", "4", "--by", by, "--models", "binary", "--analyzers", "words", "--json"]
    code, out, err = run("compare", "news.jsonl", *options)
    assert (code, err) == (0, "")
    found, row = json.loads(out), json.loads(out)["rows"][0]
    same = [*options[:6], "--model", "binary", "--analyzer", "words", "--json"]
    alone = json.loads(run("evaluate", "news.jsonl", *same).out)
    assert (found["documents"], row["accuracy"]) == (alone["n"], alone["accuracy"])
    assert found["predicted"] == "in 4 parts, each by others"


def test_test_documents_that_are_learned_too(run, news: Path) -> None:
    lines = news.read_text().splitlines(keepends=True)
    Path("test.jsonl").write_text("".join(lines[:30]) + json.dumps({"text": "new", "label": "sports"}) + "\n")
    code, _, err = run("compare", "news.jsonl", "--test", "test.jsonl", *FEW)
    warning = "warning: news.jsonl has learned 30 of 31 test documents: the result looks better than it is\n"
    assert (code, err) == (0, warning + TIED.format(31, "binary with universal"))


def test_models_are_checked_before_anything_is_read(run, tmp_path: Path) -> None:
    found = run("compare", "not-there.csv", "--loo", "--models", "nbsvm")
    assert found.code == 2 and found.err.startswith("error: nbsvm would be trained once for each document")


def test_a_page(run, news: Path) -> None:
    code, out, err = run("compare", "news.jsonl", *FEW, "--html", "all.html")
    assert code == 0 and err.endswith("compare on more documents\nwrote all.html\n") and out.startswith("100 documents")
    page = Path("all.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>\n<html") and page.count("<tr") == 5 and page.count("<circle") == 4
    assert "<h1>Models compared</h1>" in page and "<bdi>news.jsonl</bdi>" in page


def test_what_a_baseline_cannot_learn(run, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    Path("a.csv").write_text("text,label\na,x\nb,y\na,x\nb,y\n")
    code, out, err = run("compare", "a.csv", *FEW, "--baselines")
    assert code == 0 and "LinearSVC" not in out
    assert [line.partition(" cannot")[0] for line in err.splitlines() if line.startswith("left out: ")] == [
        "left out: LinearSVC",
        "left out: LogisticRegression",
    ]


def test_japanese_without_spaces(run, tmp_path: Path) -> None:
    rows = [row for row in data.read("demo") if row["lang"] == "ja"]
    Path("ja.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = run("compare", "ja.jsonl", "--models", "binary", "--json")
    names = {row["analyzer"]["name"] for row in json.loads(out)["rows"]}
    assert (code, err) == (0, "") and "universal" in names and "words" not in names


@pytest.mark.parametrize(
    ("arguments", "code", "err"),
    [
        (
            ["--models", "svm"],
            2,
            "error: there is no model 'svm' to compare: choose one of multinomial, binary, mixed, ",
        ),
        (["--models", "binary,,mixed"], 2, "error: invalid value for '--models': 'binary,,mixed' has an empty name: "),
        (["--analyzers", "sentences"], 2, "error: there is no analyzer 'sentences': choose one of "),
        (
            ["--loo", "--models", "nbsvm"],
            2,
            "error: nbsvm would be trained once for each document: compare it by folds, without --loo\n",
        ),
        (["--loo", "--baselines"], 2, "error: baselines would be trained once for each document: "),
        (["--by", "id"], 2, "error: --by goes with --folds.\n"),
        (["--folds", "2", "--by", "source"], 2, "error: all documents have the same source: give several files, or "),
        (["--loo", "--folds", "3"], 2, "error: give one of --test, --folds and --loo, not several.\n"),
        (["--folds", "200"], 1, "error: 100 rows cannot be cut into 200 folds: give more rows, or fewer folds\n"),
        (["--test", "no.csv"], 1, "error: there is no file 'no.csv': check the path\n"),
        (["--html", "no/all.html"], 1, "error: no/all.html: there is no folder no: make it, or check the path\n"),
        (["--html", "."], 1, "error: .: this is a folder: name a file in it\n"),
        (
            ["--html", "news.jsonl"],
            2,
            "error: --html writes a page: give a name that ends in .html, not 'news.jsonl'.\n",
        ),
    ],
)
def test_wrong_usage(run, news: Path, arguments: list[str], code: int, err: str) -> None:
    found = run("compare", "news.jsonl", *arguments)
    assert (found.code, found.out) == (code, "") and found.err.startswith(err)


@pytest.mark.parametrize(
    ("content", "err"),
    [
        ("text,label\na,x\nb,x\n", "error: all documents have the label 'x', so that there is nothing to tell apart: "),
        ("text,label\n", "error: there are no documents to be read: "),
        ("text\na\n", "error: a.csv: there is no column 'label', only 'text': choose another with --label\n"),
    ],
)
def test_data_that_cannot_be_compared(run, tmp_path: Path, content: str, err: str) -> None:
    Path("a.csv").write_text(content)
    found = run("compare", "a.csv")
    assert (found.code, found.out) == (1, "") and found.err.startswith(err)


def test_tables_are_refused(run, tmp_path: Path) -> None:
    Path("t.csv").write_text("age,colour,label\n1,red,x\n2,blue,y\n3,red,x\n4,blue,y\n")
    assert run("learn", "t.bunrui", "t.csv", "--columns").code == 0
    found = run("compare", "t.bunrui")
    assert (found.code, found.out) == (2, "") and found.err.startswith("error: t.bunrui is a classifier of tables")


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals")
def test_the_table_grows_on_a_terminal_and_goes(start, news: Path) -> None:
    import pty

    mine, theirs = pty.openpty()
    process = start("compare", "news.jsonl", *FEW, "--json", python=("-c", ON_TERMINAL), stderr=theirs)
    os.close(theirs)
    shown: list[bytes] = []

    def read() -> None:
        try:
            while piece := os.read(mine, 1 << 16):
                shown.append(piece)
        except OSError:  # the other end was closed
            pass

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    out, _ = process.communicate(timeout=PATIENCE)
    reader.join(PATIENCE)
    os.close(mine)
    assert process.returncode == 0 and len(json.loads(out)["rows"]) == 4
    text = b"".join(shown).decode()
    assert [k for k in range(1, 6) if f"{k} of 4: " in text] == [1, 2, 3, 4]
    assert "1 of 4: binary, alpha 0.1, universal" in text and text.endswith("\x1b[1A\x1b[2K")  # nothing stays


def test_the_automatic_choice_has_a_row(run, news: Path) -> None:
    models = {"auto": ["auto"], "auto,binary": ["auto", "binary"], "binary": ["binary"]}
    for given, expected in models.items():
        found = json.loads(run("compare", news.name, "--models", given, "--analyzers", "words", "--json").out)
        assert sorted(row["model"] for row in found["rows"]) == expected
        assert found["automatic"].endswith(", chosen by leave-one-out") == ("auto" in expected)
    out = run("compare", news.name, "--models", "auto,binary", "--analyzers", "words").out
    assert re.search(r"^auto: .+, λ [\d.e-]+, chosen by leave-one-out$", out, re.MULTILINE)
    found = json.loads(run("compare", news.name, "--loo", "--analyzers", "words", "--json").out)
    assert [row["model"] for row in found["rows"]].count("auto") == 1


def test_the_automatic_choice_of_few_documents(run, tmp_path: Path) -> None:
    Path("few.csv").write_text("text,label\na b,x\nb c,x\nd e,y\ne f,y\n")
    found = json.loads(run("compare", "few.csv", "--models", "auto", "--analyzers", "words", "--loo", "--json").out)
    assert [row["model"] for row in found["rows"]] == ["auto"]
    assert found["automatic"] == "binary-complement, λ 0.3: 4 documents are too few to tell"
