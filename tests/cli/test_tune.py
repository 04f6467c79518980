from __future__ import annotations

import json
import signal
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bunrui import data, store
from tests.support.waiting import PATIENCE

# Says when it begins to tune.
WHEN_TUNING = """
import sys
from bunrui import cli, selection
tune = selection.tune
def begin(*args, **options):
    print("it tunes", file=sys.stderr, flush=True)
    return tune(*args, **options)
selection.tune = begin
raise SystemExit(cli.main(sys.argv[1:]))
"""


@pytest.fixture
def news(run, tmp_path: Path) -> Path:
    """A hundred sentences of five labels, in news.jsonl; ids are the numbers of their tens."""
    rows = [row for row in data.read("demo") if row["lang"] == "en"]
    path = tmp_path / "news.jsonl"
    path.write_text("".join(json.dumps(row | {"ten": str(k // 10)}) + "\n" for k, row in enumerate(rows)))
    return path


def test_what_is_chosen_and_why(run, news: Path) -> None:
    code, out, err = run("tune", "news.jsonl", "--out", "best.bunrui", "--fast")
    assert code == 0 and err.startswith("learned 100 documents into best.bunrui\n")
    assert out.startswith("Chosen: ") and out.endswith(".\n") and out.count("\n") == 1
    assert "Accuracy 0." in out and " settings were tried in " in out
    assert "; a little too good, since the same documents made the choice. " in out


def test_the_file_has_learned_everything_with_the_chosen_settings(run, news: Path) -> None:
    code, out, _ = run("tune", "news.jsonl", "--id", "ten", "--out", "best.bunrui", "--fast", "--json")
    found = json.loads(out)
    assert code == 0 and len(found["trials"]) > 20
    rows = [json.loads(line) for line in news.read_text().splitlines()]
    with closing(store.open("best.bunrui")) as clf:
        kept = list(clf.documents())
        assert [(d.text, d.labels, d.id) for d in kept] == [(r["text"], [r["label"]], r["ten"]) for r in rows]
        assert {d.source for d in kept} == {"news.jsonl"} and clf.keep == "text"
        chosen = dict(found["settings"])
        spec = chosen.pop("analyzer", {"name": "universal"})
        assert {name: getattr(clf, name) for name in chosen} == chosen
        assert {name: list(v) if isinstance(v := getattr(clf.analyzer, name), tuple) else v for name in spec} == spec
    log = run("log", "best.bunrui").out
    assert log.count("\n") == 1 and "\tlearn\t100\ttuned for accuracy 0." in log and " settings tried in " in log
    assert run("check", "best.bunrui").code == 0


def test_a_file_is_not_overwritten(run, news: Path) -> None:
    Path("best.bunrui").write_text("precious")
    error = "error: best.bunrui: this is there already, and is not replaced: give another name\n"
    assert run("tune", "news.jsonl", "--out", "best.bunrui") == (1, "", error)
    assert Path("best.bunrui").read_text() == "precious"


def test_a_budget(run, news: Path) -> None:
    assert run("tune", "news.jsonl", "--out", "best.bunrui", "--budget", "0.5").code == 0
    assert Path("best.bunrui").exists()
    code, out, _ = run("tune", "news.jsonl", "--out", "first.bunrui", "--budget", "0.000001")
    assert code == 0 and out.endswith("1 setting was tried in 0 s, then the time was up.\n")
    assert "model         binary-complement" in run("info", "first.bunrui").out


def test_a_classifier_that_keeps_texts(run, news: Path) -> None:
    run("learn", "news.bunrui", "news.jsonl", "--html", "--model", "mixed")
    code, _, _ = run("tune", "news.bunrui", "--out", "best.bunrui", "--fast")
    with closing(store.open("best.bunrui")) as clf:
        assert code == 0 and clf.analyzer.html and clf.counts.n_docs == 100


def test_documents_that_were_learned_as_tokens(run, tmp_path: Path) -> None:
    with store.create("a.bunrui") as clf:
        clf.learn([["a", "b"], ["c"], ["a"], ["c", "d"]], ["x", "y", "x", "y"])
    assert run("tune", "a.bunrui", "--out", "b.bunrui", "--fast").code == 0
    with closing(store.open("b.bunrui")) as clf:
        assert [d.text for d in clf.documents()] == [["a", "b"], ["c"], ["a"], ["c", "d"]]


def test_documents_that_were_learned_as_texts_and_as_tokens(run, tmp_path: Path) -> None:
    with store.create("a.bunrui", analyzer="words") as clf:
        clf.learn(["a b", "c"], ["x", "y"])
        clf.learn([["a"], ["c", "d"]], ["x", "y"])
    assert run("tune", "a.bunrui", "--out", "b.bunrui", "--fast").code == 0
    with closing(store.open("b.bunrui")) as clf:
        assert [d.text for d in clf.documents()] == [["a", "b"], ["c"], ["a"], ["c", "d"]]


def test_a_classifier_that_has_learned_nothing(run, tmp_path: Path) -> None:
    store.create("a.bunrui").close()
    none = "error: there are no documents to be read: nothing was done\n"
    assert run("tune", "a.bunrui", "--out", "b.bunrui") == (1, "", none) and not Path("b.bunrui").exists()


@pytest.mark.parametrize("by", ["label", "source", "id", "order"])
def test_parts(run, news: Path, by: str) -> None:
    lines = news.read_text().splitlines(keepends=True)
    Path("a.jsonl").write_text("".join(lines[:50]))
    Path("b.jsonl").write_text("".join(lines[50:]))
    options = ["--id", "ten", "--folds", "2", "--by", by, "--fast", "--json"]
    code, out, _ = run("tune", "a.jsonl", "b.jsonl", "--out", "best.bunrui", *options)
    found = json.loads(out)
    assert code == 0 and {trial["predicted"] for trial in found["trials"]} == {"in 2 parts, each by others"}


@pytest.mark.parametrize("metric", ["macro_f1", "log_loss"])
def test_metrics(run, news: Path, metric: str) -> None:
    code, out, _ = run("tune", "news.jsonl", "--out", "best.bunrui", "--fast", "--metric", metric, "--json")
    found = json.loads(out)
    assert (code, found["metric"]) == (0, metric) and found["value"] > 0
    log = run("log", "best.bunrui").out
    assert f"tuned for {metric.replace('_', ' ')} {found['value']:.4f}" in log


def test_copies_are_told(run, news: Path) -> None:
    news.write_text(news.read_text() * 2)
    _, _, err = run("tune", "news.jsonl", "--out", "best.bunrui", "--budget", "0.001")
    assert err.startswith("copies or near copies of other documents, 100 of 200 (50.0%), ")


@pytest.mark.parametrize(
    ("content", "err"),
    [
        ("text,label\na,x\nb,x\n", "error: all documents have the label 'x', so that there is nothing to tell apart: "),
        ("text,label\n", "error: there are no documents to be read: "),
    ],
)
def test_data_that_cannot_be_tuned_leave_no_file(run, tmp_path: Path, content: str, err: str) -> None:
    Path("a.csv").write_text(content)
    found = run("tune", "a.csv", "--out", "best.bunrui")
    assert (found.code, found.out) == (1, "") and found.err.startswith(err)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    "rows",
    [
        "a b,x\nc d,y\na,x\n",
        "a,x\na,x\nb,y\nb,y\nc,alone\n",
        ",x\n,y\na,x\nb,y\n",
        "野球の試合,s\n選挙の結果,p\n野球,s\n選挙,p\n",
    ],
    ids=["three", "a label alone", "empty", "no spaces"],
)
def test_small_and_odd_data(run, tmp_path: Path, rows: str) -> None:
    Path("a.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    code, out, _ = run("tune", "a.csv", "--out", "best.bunrui")
    assert code == 0 and out.startswith("Chosen: binary-complement, alpha 0.3, universal. Accuracy ")
    assert run("predict", "best.bunrui", "a.csv").out.count("\n") == rows.count("\n")


@pytest.mark.parametrize(
    ("arguments", "code", "err"),
    [
        ([], 2, "error: missing option '--out'.\nTry 'bunrui tune --help'.\n"),
        (["--out", ""], 2, "error: invalid value for '--out': it is empty.\nTry 'bunrui tune --help'.\n"),
        (["--out", "b", "--by", "id"], 2, "error: --by goes with --folds.\n"),
        (["--out", "b", "--budget", "0"], 2, "error: invalid value for '--budget': give more than 0 seconds.\n"),
        (
            ["--out", "b", "--metric", "auc"],
            2,
            "error: invalid value for '--metric': choose one of accuracy, macro_f1, ",
        ),
        (["--out", "no/b"], 1, "error: no/b: there is no folder no: make it, or check the path\n"),
        (
            ["--out", "b", "--folds", "2", "--by", "source"],
            2,
            "error: all documents have the same source: give several",
        ),
        (
            ["--out", "b", "--folds", "3", "--by", "id"],
            2,
            "error: some documents have no id: give an --id COLUMN ",
        ),
    ],
)
def test_wrong_usage(run, news: Path, arguments: list[str], code: int, err: str) -> None:
    found = run("tune", "news.jsonl", *arguments)
    assert (found.code, found.out) == (code, "") and found.err.startswith(err)
    assert not Path("b").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_leaves_no_file(start, news: Path, tmp_path: Path) -> None:
    rows = data.read("demo")
    lines = [json.dumps(row | {"text": f"{row['text']} {k}"}) + "\n" for k in range(50) for row in rows]
    (tmp_path / "many.jsonl").write_text("".join(lines))
    process = start("tune", "many.jsonl", "--out", "best.bunrui", python=("-c", WHEN_TUNING))
    assert b"it tunes\n" in iter(process.stderr.readline, b"")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, b"") and err.splitlines()[-1].startswith(b"interrupted; ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.jsonl", "news.jsonl"]
