"""`export`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bunrui.data import read
from bunrui.export import page


def learn(run, rows: str, *options: str) -> None:
    Path("rows.csv").write_text("text,label\n" + rows)
    assert run("learn", "a.bunrui", "rows.csv", *options).code == 0


@pytest.mark.parametrize("keep", ["text", "digests", "nothing"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow"])
def test_a_table(run, keep: str, suffix: str) -> None:
    learn(run, "one two two,日本 x\ntwo,[red]\n", "--keep", keep, "--analyzer", "words")
    assert run("export", "a.bunrui", f"o.{suffix}") == (0, "", f"wrote 3 rows into o.{suffix}\n")
    rows = table(f"o.{suffix}")
    assert rows == [
        {"feature": "one", "label": "日本 x", "term_count": 1, "doc_freq": 1},
        {"feature": "two", "label": "[red]", "term_count": 1, "doc_freq": 1},
        {"feature": "two", "label": "日本 x", "term_count": 2, "doc_freq": 1},
    ]


def table(path: str) -> list[dict]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if path.endswith(".parquet"):
        return pa.parquet.read_table(path).to_pylist()
    if path.endswith(".arrow"):
        return pa.ipc.open_file(path).read_all().to_pylist()
    options = pa.csv.ParseOptions(delimiter="\t" if path.endswith(".tsv") else ",")
    return pa.csv.read_csv(path, parse_options=options).to_pylist()


def test_one_row(run) -> None:
    learn(run, "one,x\n")
    assert run("export", "a.bunrui", "o.csv").err == "wrote 1 row into o.csv\n"


def test_nothing(run, mail: Path) -> None:
    assert run("undo", "mail.bunrui").code == 0
    assert run("export", "mail.bunrui", "o.csv") == (0, "", "wrote 0 rows into o.csv\n")
    assert Path("o.csv").read_text() == '"feature","label","term_count","doc_freq"\n'
    assert run("export", "mail.bunrui", "o.parquet").code == 0 and table("o.parquet") == []


def test_over_a_file(run, mail: Path) -> None:
    Path("o.csv").write_text("old")
    assert run("export", "mail.bunrui", "o.csv").code == 0
    assert Path("o.csv").read_text().startswith('"feature"')


@pytest.mark.parametrize(
    ("arguments", "code", "err"),
    [
        (
            ["mail.bunrui", "o.json"],
            2,
            "error: the name 'o.json' does not tell the format: give it one of .parquet .csv .tsv .xlsx "
            ".arrow\n"
            "Try 'bunrui export --help'.\n",
        ),
        (
            ["mail.bunrui", "mail.bunrui"],
            2,
            "error: the name 'mail.bunrui' does not tell the format: give it one of .parquet .csv .tsv .xlsx "
            ".arrow\nTry 'bunrui export --help'.\n",
        ),
        (
            ["mail.bunrui"],
            2,
            "error: give OUT for a table, or --page for a page: one of them.\nTry 'bunrui export --help'.\n",
        ),
        (
            ["mail.bunrui", "o.csv", "--page", "o.html"],
            2,
            "error: give OUT for a table, or --page for a page: one of them.\nTry 'bunrui export --help'.\n",
        ),
        (
            ["mail.bunrui", "o.csv", "--test", "mail.csv"],
            2,
            "error: --test goes with --page.\nTry 'bunrui export --help'.\n",
        ),
        (
            ["mail.bunrui", "--page", "o.html", "--skip-bad"],
            2,
            "error: --text, --label and the like are for the documents of --test: give it, or leave them out.\n"
            "Try 'bunrui export --help'.\n",
        ),
        (
            ["mail.bunrui", "--page", "o.csv"],
            2,
            "error: --page writes a page: give a name that ends in .html, not 'o.csv'.\nTry 'bunrui export --help'.\n",
        ),
        (
            ["mail.bunrui", "--page", "no/o.html"],
            1,
            "error: no/o.html: there is no folder no: make it, or check the path\n",
        ),
        (["mail.bunrui", "no/o.csv"], 1, "error: no/o.csv: there is no folder no: make it, or check the path\n"),
        (["mail.bunrui", "d.csv"], 1, "error: d.csv: this is a folder: name a file in it\n"),
        (["x", "o.csv"], 1, "error: there is no classifier x: make one with 'bunrui learn x DATA'\n"),
        (
            ["mail.csv", "o.csv"],
            1,
            "error: mail.csv is not a bunrui classifier: give a file that bunrui has made\n",
        ),
    ],
)
def test_errors(run, mail: Path, arguments: list[str], code: int, err: str) -> None:
    Path("d.csv").mkdir()
    assert run("export", *arguments) == (code, "", err)
    assert {path.name for path in Path().iterdir()} == {"mail.csv", "mail.bunrui", "d.csv"}


# --- a page


def said(run, *options: str) -> list[str]:
    code, out, err = run("export", "mail.bunrui", "--page", "o.html", *options)
    assert (code, out) == (0, "")
    assert Path("o.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    return [re.sub(r"[\d.]+ kB", "… kB", line) for line in err.splitlines()]


def test_a_page(run, mail: Path) -> None:
    assert said(run) == ["wrote o.html", "it has … kB and all 23 words: it answers as the classifier does"]
    assert "<title>mail – bunrui</title>" in Path("o.html").read_text(encoding="utf-8")


def test_a_page_that_has_not_room_for_all_words(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Says so, and what that costs."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, read("demo"))))
    assert run("learn", "mail.bunrui", "rows.jsonl", "--model", "multinomial").code == 0
    monkeypatch.setattr(page, "MOST_BYTES", 150_000)
    wrote, has, costs = said(run)
    assert wrote == "wrote o.html"
    assert re.fullmatch(r"it has … kB and [\d,]+ of [\d,]+ words, those that tell labels apart best", has)
    percent = r"[\d.]+%"
    measured = f"accuracy {percent} with all words, {percent} with these, on"
    assert re.fullmatch(f"{measured} 80 documents, predicted by the other four fifths", costs)
    Path("test.tsv").write_text("what\tof\nparliament\tpolitics\nthe final\tsports\n")
    costs = said(run, "--test", "test.tsv", "--text", "what", "--label", "of")[-1]
    assert re.fullmatch(f"{measured} 2 documents", costs)
    assert run("slim", "mail.bunrui", "slim.bunrui").code == 0
    Path("slim.bunrui").replace("mail.bunrui")
    assert said(run)[-1] == "what that costs was not measured, as the file keeps no texts: give documents with --test"


def test_a_page_with_rounded_weights(run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, read("demo"))))
    assert run("learn", "mail.bunrui", "rows.jsonl", "--model", "nbsvm").code == 0
    assert "answers as the classifier does" in said(run)[-1]
    monkeypatch.setattr(page, "MOST_BYTES", Path("o.html").stat().st_size - 10_000)
    _, has, costs = said(run)
    assert re.fullmatch(r"it has … kB and all [\d,]+ words, with rounded weights", has)
    assert re.match(r"accuracy [\d.]+% with exact weights, [\d.]+% with these, on 80 documents", costs)


def test_what_no_page_can_have(run, mail: Path) -> None:
    learn(run, "one,x\ntwo,y\n", "--from-html")
    hint = "Try 'bunrui export --help'.\n"
    error = f"error: a page cannot rewrite texts: learn without --from-html\n{hint}"
    assert run("export", "a.bunrui", "--page", "o.html") == (2, "", error)
    assert run("set", "mail.bunrui", "--model", "aode").code == 0
    error = (
        "error: a page cannot answer as aode, which weighs words or cells together: choose another with 'bunrui set "
        f"mail.bunrui --model nbsvm'\n{hint}"
    )
    assert run("export", "mail.bunrui", "--page", "o.html") == (2, "", error)
    assert not Path("o.html").exists()
    assert run("set", "mail.bunrui", "--model", "nbsvm").code == 0
    assert run("export", "mail.bunrui", "--page", "o.html").code == 0
