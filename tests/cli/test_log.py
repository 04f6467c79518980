"""`log` and `check`: lines into a pipe, tables and marks on a terminal."""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bunrui.store
from bunrui.cli import main
from tests.store.probing import reseal
from tests.support.commands import write
from tests.support.processes import patience_with
from tests.support.waiting import PATIENCE

DOCUMENTS = [
    {"id": "<1@x.org>", "text": "cheap pills now", "label": "spam"},
    {"id": "猫 3", "text": "料金が無料", "label": ["spam", "ad vert"]},
    {"id": "[red]4", "text": "lunch at\tnoon?\x1b[2J", "label": "[red]"},
]
DIGESTS = ["2e9324b13e9b8a4e615a226cf735f42a", "aeeaf63216c163363af4245afd8a7e19", "b0be620c7b34416e1b5139049bd89da8"]


def timeless(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d", "TIME", text)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "SHORT", text)


@pytest.fixture
def box(run) -> str:
    """A classifier of three documents, in a.bunrui."""
    write("docs.jsonl", *DOCUMENTS)
    assert run("learn", "a.bunrui", "docs.jsonl", "--id", "id").code == 0
    return "a.bunrui"


@pytest.fixture
def changed(run, box: str) -> str:
    """The same after every kind of change."""
    write("more.jsonl", {"text": "cheap pills now", "label": "spam"})
    run("learn", box, "more.jsonl")
    run("unlearn", box, "more.jsonl")
    run("relabel", box, "--by-id", "<1@x.org>", "--to", "x", "--to", "\x1b[2J")
    run("undo", box)
    run("forget", box, "--source", "none")
    run("label", "rename", box, "[red]", "[bold]y[/]")
    run("label", "drop", box, "ad vert")
    run("label", "move", box, "spam", "[bold]y[/]")
    run("learn", "b.bunrui", "more.jsonl")
    run("merge", box, "b.bunrui")
    run("set", box, "--model", "multinomial", "--alpha", "0.5", "--max-features", "chi2:9")
    run("set", box, "--alpha", "default", "--max-features", "all")
    run("forget", box, "--source", "more.jsonl", "--before", "2199-01-01T00:00Z")
    return box


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Run a command in this process whose output is a terminal; its lines."""

    def call(
        *arguments: str, width: int = 80, code: int = 0, encoding: str = "utf-8", colours: bool = False
    ) -> list[str]:
        screen = Terminal()
        screen.encoding = encoding
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", screen)
            patch.setenv("COLUMNS", str(width))
            patch.setenv("TERM", "xterm-256color")
            patch.delenv("NO_COLOR", raising=False)
            assert main(arguments) == code
        seen = screen.getvalue()
        if not colours:
            seen = re.sub(r"\x1b\[[\d;]*m", "", seen)
        return [line.rstrip() for line in timeless(seen).splitlines()]

    return call


# --- changes


def test_changes(run, changed: str) -> None:
    code, out, err = run("log", changed)
    assert (code, err) == (0, "")
    assert timeless(out).splitlines() == [
        "1\tTIME\tlearn\t3",
        "2\tTIME\tlearn\t1\tduplicates 1",
        "3\tTIME\tunlearn\t1",
        "4\tTIME\trelabel\t1\tlabels x, ␛[2J\tundone TIME",
        "5\tTIME\trename\t1\tlabel [red]; to [bold]y[/]",
        "6\tTIME\tdrop\t1\tlabel ad vert",
        "7\tTIME\tmove\t2\tlabel spam; to [bold]y[/]",
        "8\tTIME\tmerge\t1\tduplicates 1",
        "9\tTIME\tset\t0\tmodel multinomial; alpha 0.5; max-features chi2:9",
        "10\tTIME\tset\t0\talpha default; max-features all",
        "11\tTIME\tforget\t1\tbefore TIME; source more.jsonl",
    ]


def test_changes_whatever_is_kept(run, keep: str) -> None:
    write("docs.jsonl", *DOCUMENTS)
    run("learn", "a.bunrui", "docs.jsonl", "--keep", keep)
    run("undo", "a.bunrui")
    code, out, err = run("log", "a.bunrui")
    assert (code, timeless(out), err) == (0, "1\tTIME\tlearn\t3\t\tundone TIME\n", "")


def test_changes_as_json(run, changed: str) -> None:
    code, out, err = run("log", changed, "--json")
    entries = [json.loads(line) for line in out.splitlines()]
    assert (code, err, "\x1b" in out) == (0, "", False)
    with bunrui.store.open(changed) as clf:
        assert entries == [entry._asdict() for entry in clf.history()]
    assert entries[8]["note"]["before"]["model"] == "auto"
    assert entries[3]["note"] == {"labels": ["x", "\x1b[2J"]} and entries[3]["undone"]


def test_pages_of_changes(run, changed: str) -> None:
    def numbers(*options: str) -> list[int]:
        return [json.loads(line)["number"] for line in run("log", changed, "--json", *options).out.splitlines()]

    every = numbers()
    assert every == list(range(1, len(every) + 1)) and len(every) > 3
    assert numbers("--limit", "2") == every[-2:]
    assert numbers("--limit", "2", "--before", str(every[-2])) == every[-4:-2]
    assert numbers("--after", "1") == every[1:] and numbers("--after", "1", "--before", "3") == [2]
    assert run("log", changed, "--after", "99") == (0, "", "there are no such changes\n")
    code, out, err = run("log", changed, "--documents", "--limit", "2")
    assert (code, out) == (2, "") and "--limit, --before and --after choose changes" in err


def test_changes_on_a_terminal(on_terminal, changed: str) -> None:
    assert on_terminal("log", changed, width=100) == [
        "    time              what     documents  note",
        "─" * 91,
        " 1  SHORT  learn            3",
        " 2  SHORT  learn            1  duplicates 1",
        " 3  SHORT  unlearn          1",
        " 4  SHORT  relabel          1  undone SHORT: labels x, ␛[2J",
        " 5  SHORT  rename           1  label [red]; to [bold]y[/]",
        " 6  SHORT  drop             1  label ad vert",
        " 7  SHORT  move             2  label spam; to [bold]y[/]",
        " 8  SHORT  merge            1  duplicates 1",
        " 9  SHORT  set              0  model multinomial; alpha 0.5; max-features chi2:9",
        "10  SHORT  set              0  alpha default; max-features all",
        "11  SHORT  forget           1  before SHORT; source more.jsonl",
    ]


@pytest.mark.parametrize("before", ['"soon"', "5", '{"a": 1}', "[1, null]", '"9999-12-31T23:59:59-12:00"'])
def test_notes_are_shown_whatever_they_are(run, on_terminal, box: str, before: str) -> None:
    damage(box, f"UPDATE transactions SET note = '{{\"before\": {before}}}', undone = 'once'")
    reseal(box)
    assert run("log", box).code == 0 and "before" in run("log", box).out
    assert "undone once: before" in on_terminal("log", box)[2]


def test_undone_changes_are_struck_through(on_terminal, changed: str) -> None:
    lines = on_terminal("log", changed, colours=True)
    struck = [line for line in lines if "\x1b[2;9m" in line]
    assert len(struck) == 1 and "\x1b[2;9mrelabel" in struck[0]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_times_on_a_terminal_are_local(on_terminal, run, box: str, monkeypatch, zone: str) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("no time zones by TZ")
    import time
    from datetime import datetime
    from zoneinfo import ZoneInfo

    moment = datetime.fromisoformat(json.loads(run("log", box, "--json").out)["time"])
    monkeypatch.setattr(f"{__name__}.timeless", lambda text: text)
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        line = on_terminal("log", box)[2]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert line.split()[1:3] == f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}".split()


def test_nothing_was_done_yet(run, on_terminal, capsys: pytest.CaptureFixture[str]) -> None:
    bunrui.store.create("a.bunrui").close()
    assert run("log", "a.bunrui") == (0, "", "nothing was done to a.bunrui yet\n")
    assert run("log", "a.bunrui", "--json") == (0, "", "")
    assert on_terminal("log", "a.bunrui") == []
    assert capsys.readouterr().err == "nothing was done to a.bunrui yet\n"


# --- documents


def test_documents(run, box: str) -> None:
    code, out, err = run("log", box, "--documents")
    assert (code, err) == (0, "")
    assert timeless(out).splitlines() == [
        f"{DIGESTS[0]}\tTIME\tspam\t<1@x.org>\tdocs.jsonl\tcheap pills now",
        f"{DIGESTS[1]}\tTIME\tad vert, spam\t猫 3\tdocs.jsonl\t料金が無料",
        f"{DIGESTS[2]}\tTIME\t[red]\t[red]4\tdocs.jsonl\tlunch at␉noon?␛[2J",
    ]


def test_documents_without_texts(run, on_terminal) -> None:
    write("docs.jsonl", *DOCUMENTS)
    run("learn", "a.bunrui", "docs.jsonl", "--keep", "digests")
    assert timeless(run("log", "a.bunrui", "--documents").out).splitlines() == [
        f"{DIGESTS[0]}\tTIME\tspam\t\tdocs.jsonl\t",
        f"{DIGESTS[1]}\tTIME\tad vert, spam\t\tdocs.jsonl\t",
        f"{DIGESTS[2]}\tTIME\t[red]\t\tdocs.jsonl\t",
    ]
    assert [json.loads(line)["text"] for line in run("log", "a.bunrui", "--documents", "--json").out.splitlines()] == [
        None,
        None,
        None,
    ]
    assert on_terminal("log", "a.bunrui", "--documents") == [
        "digest        labels         source",
        "─" * 39,
        "2e9324b13e9b  spam           docs.jsonl",
        "aeeaf63216c1  ad vert, spam  docs.jsonl",
        "b0be620c7b34  [red]          docs.jsonl",
    ]


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_documents_of_a_file_that_keeps_none(run, option: list[str]) -> None:
    write("docs.jsonl", *DOCUMENTS)
    run("learn", "a.bunrui", "docs.jsonl", "--keep", "nothing")
    err = "error: a.bunrui keeps nothing of its documents: learn them into a file with --keep text or --keep digests\n"
    assert run("log", "a.bunrui", "--documents", *option) == (1, "", err)


def test_documents_as_json_can_be_learned_again(run, box: str) -> None:
    code, out, err = run("log", box, "--documents", "--json")
    assert (code, err, "\x1b" in out) == (0, "", False)
    assert json.loads(out.splitlines()[1]) == {
        "digest": DIGESTS[1],
        "labels": ["ad vert", "spam"],
        "time": json.loads(run("log", box, "--json").out)["time"],
        "id": "猫 3",
        "source": "docs.jsonl",
        "text": "料金が無料",
    }
    Path("again.jsonl").write_text(out)
    assert run("learn", "b.bunrui", "again.jsonl", "--label", "labels", "--id", "id").code == 0
    question = ["--line", "pills at noon 無料", "--top", "9", "--json"]
    assert run("predict", "b.bunrui", *question).out == run("predict", box, *question).out


def test_documents_on_a_terminal(on_terminal, box: str) -> None:
    assert on_terminal("log", box, "--documents") == [
        "digest        labels         id         source      text",
        "─" * 80,
        "2e9324b13e9b  spam           <1@x.org>  docs.jsonl  cheap pills now",
        "aeeaf63216c1  ad vert, spam  猫 3       docs.jsonl  料金が無料",
        "b0be620c7b34  [red]          [red]4     docs.jsonl  lunch at␉noon?␛[2J",
    ]
    assert on_terminal("log", box, "--documents", width=100)[2] == (
        "2e9324b13e9b  SHORT  spam           <1@x.org>  docs.jsonl  cheap pills now"
    )


def test_what_does_not_fit_is_cut(run, on_terminal) -> None:
    long = {"id": "id" * 50, "text": "日本" * 50 + "\nsecond line", "label": "label " * 10}
    write("docs.jsonl", long)
    run("learn", "a.bunrui", "docs.jsonl", "--id", "id")
    from rich.cells import cell_len

    header, _, line = on_terminal("log", "a.bunrui", "--documents")
    assert header.split() == ["digest", "labels", "id", "source", "text"] and cell_len(line) <= 80
    assert re.fullmatch(r"[0-9a-f]{12}  label label …  ididididididi?…  docs\.jsonl  [日本]+ ?…", line), line
    line = run("log", "a.bunrui", "--documents").out
    assert line.endswith("\t" + "日本" * 40 + "…\n") and "\t" + "id" * 50 + "\t" in line


def test_tokens_and_counts(run) -> None:
    write("a.jsonl", {"text": ["one", "two\t3"], "label": "x"})
    write("b.jsonl", {"text": {"three": 3}, "label": "x"})
    run("learn", "a.bunrui", "a.jsonl", "b.jsonl")
    assert [line.split("\t")[-1] for line in run("log", "a.bunrui", "--documents").out.splitlines()] == [
        "one two␉3",
        "three ×3",
    ]


def test_no_documents(run, on_terminal, box: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("undo", box)
    assert run("log", box, "--documents") == (0, "", "a.bunrui has learned no documents\n")
    assert run("log", box, "--documents", "--json") == (0, "", "")
    assert on_terminal("log", box, "--documents") == []
    assert capsys.readouterr().err == "a.bunrui has learned no documents\n"


@pytest.mark.parametrize(("n", "is_table"), [(300, True), (301, False), (2000, False)])
def test_many_documents_are_lines(run, on_terminal, n: int, is_table: bool) -> None:
    Path("a.txt").write_text("".join(f"__label__x number {i}\n" for i in range(n)))
    run("learn", "a.bunrui", "a.txt")
    lines = on_terminal("log", "a.bunrui", "--documents")
    if is_table:
        assert len(lines) == n + 2 and lines[-1].endswith(f"number {n - 1}")
    else:
        assert lines == timeless(run("log", "a.bunrui", "--documents").out).splitlines() and len(lines) == n


def test_narrow_terminals_have_lines(run, on_terminal, changed: str) -> None:
    for options in ([], ["--documents"]):
        assert (
            on_terminal("log", changed, *options, width=50) == timeless(run("log", changed, *options).out).splitlines()
        )


def test_nobody_reads_to_the_end(start, run) -> None:
    Path("a.txt").write_text("".join(f"__label__x number {i} {'and more ' * 9}\n" for i in range(20_000)))
    run("learn", "a.bunrui", "a.txt")
    process = start("log", "a.bunrui", "--documents")
    with patience_with(process):
        assert b"number 0 " in process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 141)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals")
def test_a_real_terminal(start, box: str) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    code = "import os, sys; os.environ['TERM'] = 'xterm-256color'; import bunrui.cli; bunrui.cli.main(sys.argv[1:])"
    process = start("check", box, python=("-c", code), stdout=theirs)
    os.close(theirs)
    process.wait(timeout=PATIENCE)
    seen = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "\x1b[32m✓\x1b[0m the pages of the file" in seen


# --- check


def findings(n_docs: int, n_features: int) -> list[str]:
    return [
        "right    the pages of the file",
        "right    settings, labels and changes: checksums",
        "right    the chain of changes",
        f"right    snapshot and deltas: checksums, totals; features: {n_features}",
        f"right    documents in the log: {n_docs}",
        "right    documents of each label",
    ]


def test_check(run, keep: str) -> None:
    write("docs.jsonl", *DOCUMENTS)
    run("learn", "a.bunrui", "docs.jsonl", "--keep", keep)
    code, out, err = run("check", "a.bunrui")
    expected = {
        "text": [
            *findings(3, 31),
            "right    digests of the texts",
            "right    the counts, counted again from the texts",
        ],
        "digests": [
            *findings(3, 31),
            "unknown  the counts and digests, from their texts: the file keeps digests only",
        ],
        "nothing": [*findings(3, 31)[:4], "unknown  the counts, from their documents: the file keeps none"],
    }[keep]
    assert (code, out.splitlines(), err) == (0, expected, "")


def test_check_as_json(run, changed: str) -> None:
    code, out, err = run("check", changed, "--json")
    report = json.loads(out)
    assert (code, err) == (0, "") and report["wrong"] == report["unknown"] == []
    assert report["right"][-1] == "the counts, counted again from the texts"


def test_check_of_an_empty_classifier(run, box: str) -> None:
    run("undo", box)
    code, out, _ = run("check", box)
    assert code == 0 and out.splitlines()[:6] == findings(0, 0)


def damage(file: str, statement: str) -> None:
    connection = sqlite3.connect(file)
    with connection:
        connection.execute(statement)
    connection.close()


DAMAGED = "error: a.bunrui is damaged: take a copy from a backup, or learn the documents again\n"


def test_check_finds_what_is_wrong(run, box: str) -> None:
    damage(box, "DELETE FROM documents")
    code, out, err = run("check", box)
    assert (code, err) == (1, DAMAGED)
    assert out.splitlines() == [
        "right    the pages of the file",
        "right    settings, labels and changes: checksums",
        "right    the chain of changes",
        "right    snapshot and deltas: checksums, totals; features: 31",
        "right    digests of the texts",
        "wrong    documents in the log: 0: 3 in the counts",
        "wrong    documents of each label: the log has others than the counts",
        "wrong    the counts, counted again from the texts: the texts give others",
    ]
    code, out, err = run("check", box, "--json")
    assert (code, err) == (1, DAMAGED) and len(json.loads(out)["wrong"]) == 3


def test_check_on_a_terminal(run, on_terminal, box: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_terminal("check", box)[0] == "✓ the pages of the file"
    assert on_terminal("check", box, colours=True)[0] == "\x1b[32m✓\x1b[0m the pages of the file"
    assert on_terminal("check", box, encoding="ascii")[0] == "right    the pages of the file"
    damage(box, "DELETE FROM documents")
    capsys.readouterr()
    assert on_terminal("check", box, code=1)[5] == "✗ documents in the log: 0: 3 in the counts"
    assert capsys.readouterr().err == DAMAGED
    assert on_terminal("check", box, code=1, colours=True)[5].startswith("\x1b[1;31m✗\x1b[0m documents in")
    run("learn", "d.bunrui", "docs.jsonl", "--keep", "digests")
    assert on_terminal("check", "d.bunrui", colours=True)[-1].startswith("\x1b[33m?\x1b[0m the counts and digests")


def test_check_a_file_that_cannot_be_opened(run, box: str) -> None:
    content = bytearray(Path(box).read_bytes())
    content[100:4096] = bytes(3996)  # the list of tables
    Path(box).write_bytes(content)
    code, out, err = run("check", box)
    assert (code, err) == (1, DAMAGED) and out.startswith("wrong    a.bunrui is damaged (")
    code, out, err = run("check", box, "--json")
    report = json.loads(out)
    assert (code, err) == (1, DAMAGED) and report == {"right": [], "wrong": report["wrong"], "unknown": []}
    assert len(report["wrong"]) == 1 and report["wrong"][0].startswith("a.bunrui is damaged (")


# --- files


@pytest.mark.parametrize(
    "command", [["log", "x"], ["log", "x", "--documents"], ["check", "x"], ["check", "x", "--json"]]
)
@pytest.mark.parametrize(
    ("content", "err"),
    [
        (None, "there is no classifier x: make one with 'bunrui learn x DATA'"),
        (b"", "x: the file is empty: give a file that bunrui has made"),
        (b"text,label\n", "x is not a bunrui classifier: give a file that bunrui has made"),
    ],
)
def test_no_classifier(run, command: list[str], content: bytes | None, err: str) -> None:
    if content is not None:
        Path("x").write_bytes(content)
    assert run(*command) == (1, "", f"error: {err}\n")
    assert Path("x").exists() is (content is not None)


def test_another_database(run) -> None:
    damage("x", "CREATE TABLE t (c)")
    for command in (["log", "x"], ["check", "x"]):
        assert run(*command) == (1, "", "error: x is not a bunrui classifier, but another SQLite database\n")


def test_reading_changes_nothing(run, changed: str) -> None:
    before = Path(changed).read_bytes()
    for command in (["log", changed], ["log", changed, "--documents"], ["check", changed]):
        assert run(*command).code == 0
    assert Path(changed).read_bytes() == before
