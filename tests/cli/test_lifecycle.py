"""`undo`, `relabel`, `forget`, `label`: what they change, what they say, and that undo takes all of it back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bunrui.cli import main
from tests.support.commands import info, write
from tests.support.examples import quick
from tests.support.waiting import PATIENCE

# Labels and ids as people have them.
ODD = ["two words", "日本語", "👩‍💻", "[red]", "\x1b[2J", "a\tb\nc", "'quoted'", "-x"]

DOCUMENTS = [
    {"id": "<1@x.org>", "text": "cheap pills now", "label": "spam"},
    {"id": "<2@x.org>", "text": "meeting at noon", "label": "ham"},
    {"id": "猫 3", "text": "料金が無料", "label": ["spam", "ad"]},
    {"id": "4", "text": "lunch with the team", "label": "ham"},
]
NOW = "a.bunrui has learned"


def state(run, file: str = "a.bunrui") -> tuple[object, ...]:
    """Everything that a user can see of what was learned."""
    known = info(run, file)
    scores = run("predict", file, "--line", "pills at noon 無料", "--top", "9", "--json").out
    return known["documents"], known["labels"], known["features"], scores


def labels(run, file: str = "a.bunrui") -> dict[str, int]:
    return info(run, file)["labels"]


@pytest.fixture
def box(run) -> str:
    """A classifier of four documents that keeps their texts, in a.bunrui."""
    write("docs.jsonl", *DOCUMENTS)
    assert run("learn", "a.bunrui", "docs.jsonl", "--id", "id").code == 0
    return "a.bunrui"


def learn_kept(run, keep: str, documents: list[dict[str, object]] = DOCUMENTS) -> str:
    write("docs.jsonl", *documents)
    assert run("learn", "a.bunrui", "docs.jsonl", "--id", "id", "--keep", keep).code == 0
    return "a.bunrui"


def single() -> list[dict[str, object]]:
    return [document | {"label": "ad"} if document["id"] == "猫 3" else document for document in DOCUMENTS[:3]]


# --- relabel


def test_relabel_by_texts(run, box: str) -> None:
    before = state(run)
    write("new.jsonl", {"text": "cheap pills now"}, {"text": "料金が無料", "label": "is not read"})
    assert run("relabel", box, "new.jsonl", "--to", "ham") == (
        0,
        "",
        f"relabelled 2 documents: {NOW} 4 documents of 1 label now\n",
    )
    assert labels(run) == {"ham": 4}
    assert run("undo", box).err == f"took back the relabel of 2 documents: {NOW} 4 documents of 3 labels now\n"
    assert state(run) == before


def test_relabel_is_as_if_it_had_been_learned_so(run, box: str) -> None:
    assert run("relabel", box, "--by-id", "<1@x.org>", "--to", "ham", "--to", "new").code == 0
    write("right.jsonl", DOCUMENTS[0] | {"label": ["ham", "new"]}, *DOCUMENTS[1:])
    assert run("learn", "b.bunrui", "right.jsonl").code == 0
    assert state(run) == state(run, "b.bunrui")


def test_relabel_several_ids(run, box: str) -> None:
    assert run("relabel", box, "--by-id", "<1@x.org>", "--by-id", "猫 3", "--by-id", "<1@x.org>", "--to", "x") == (
        0,
        "",
        f"relabelled 2 documents: {NOW} 4 documents of 2 labels now\n'x' is a new label\n",
    )
    assert labels(run) == {"ham": 2, "x": 2}


def test_relabel_to_a_label_that_is_mistyped(run, box: str) -> None:
    assert run("relabel", box, "--by-id", "<1@x.org>", "--to", "spma", "--to", "ham", "--to", "新しい") == (
        0,
        "",
        f"relabelled 1 document: {NOW} 4 documents of 5 labels now\n"
        "'spma' is a new label: did you mean 'spam'? 'bunrui undo' takes this back\n"
        "'新しい' is a new label\n",
    )


def test_relabel_from_a_pipe(run, box: str) -> None:
    done = run("relabel", box, "--to", "ham", "-", stdin="cheap pills now\n")
    assert done == (0, "", f"relabelled 1 document: {NOW} 4 documents of 3 labels now\n")
    assert labels(run) == {"ad": 1, "ham": 3, "spam": 1}


def test_relabel_as_it_is(run, box: str) -> None:
    before = state(run)
    assert run("relabel", box, "--by-id", "<1@x.org>", "--to", "spam") == (
        0,
        "",
        "these documents of a.bunrui had that label already: nothing was changed\n",
    )
    assert state(run) == before and len(run("log", box).out.splitlines()) == 1


def test_relabel_tokens(run) -> None:
    files = write("a.jsonl", {"text": ["one", "two"], "label": "x"}), write("b.jsonl", {"text": {"w": 3}, "label": "x"})
    assert run("learn", "a.bunrui", *files).code == 0
    assert run("relabel", "a.bunrui", *files, "--to", "y").code == 0
    assert labels(run) == {"y": 2}


@pytest.mark.parametrize("label", ODD)
def test_relabel_to_odd_labels(run, box: str, label: str) -> None:
    before = state(run)
    code, out, err = run("relabel", box, "--by-id", "<1@x.org>", f"--to={label}")
    assert (code, out) == (0, "")
    assert err == f"relabelled 1 document: {NOW} 4 documents of 4 labels now\n{label!r} is a new label\n"
    assert labels(run)[label] == 1
    assert run("undo", box).code == 0 and state(run) == before


def test_relabel_where_digests_are_kept(run) -> None:
    box = learn_kept(run, "digests")
    before = state(run)
    write("new.jsonl", {"text": "cheap pills now"})
    assert run("relabel", box, "new.jsonl", "--to", "ham").code == 0
    assert labels(run) == {"ad": 1, "ham": 3, "spam": 1}
    assert run("undo", box).code == 0 and state(run) == before
    for which in (["--by-id", "<1@x.org>"], ["--by-digest", "0" * 32]):
        assert run("relabel", box, *which, "--to", "ham") == (
            1,
            "",
            "error: a.bunrui keeps digests of its documents: give the texts as DATA\n",
        )
    assert state(run) == before


def test_relabel_where_nothing_is_kept(run) -> None:
    box = learn_kept(run, "nothing")
    before = state(run)
    for which in (["docs.jsonl"], ["--by-id", "<1@x.org>"], ["--by-digest", "0" * 32]):
        assert run("relabel", box, *which, "--to", "ham") == (
            1,
            "",
            "error: a.bunrui keeps nothing of its documents: unlearn them with their old labels, and learn them with "
            "the new ones\n",
        )
    assert state(run) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--by-id", "<1@x.org>", "--by-id", "x"],
            "no document that is learned has the id 'x': 'bunrui log a.bunrui --documents' lists those that are there",
        ),
        (
            ["--by-digest", "0" * 32],
            f"no document that is learned has the digest '{'0' * 32}': 'bunrui log a.bunrui --documents' lists those "
            "that are there",
        ),
        (["new.jsonl"], "new.jsonl, line 2: this was never learned: 'never \\x1b[2J'"),
        (["long.jsonl"], f"long.jsonl, line 1: this was never learned: '{'long ' * 12}…'"),
        (["mail/1.eml"], "mail/1.eml: this was never learned: 'Hello\\n\\nnever\\n'"),
        (["none.csv"], "there is no file 'none.csv': check the path"),
    ],
)
def test_relabel_what_was_never_learned(run, box: str, arguments: list[str], message: str) -> None:
    write("new.jsonl", {"text": "cheap pills now"}, {"text": "never \x1b[2J"})
    write("long.jsonl", {"text": "long " * 100})
    Path("mail").mkdir()
    Path("mail/1.eml").write_text("Subject: Hello\n\nnever\n")
    before = state(run)
    assert run("relabel", box, *arguments, "--to", "ham") == (1, "", f"error: {message}\n")
    assert state(run) == before and len(run("log", box).out.splitlines()) == 1


@pytest.mark.parametrize("command", [["unlearn", "a.bunrui"], ["relabel", "a.bunrui", "--to", "x"]])
def test_what_was_unlearned_is_not_there(run, box: str, command: list[str]) -> None:
    assert run("unlearn", box, "--by-id", "<1@x.org>").code == 0
    before = state(run)
    code, out, err = run(*command, "--by-id", "<1@x.org>", "--by-id", "<2@x.org>")
    assert (code, out) == (1, "") and err.startswith("error: no document that is learned has the id '<1@x.org>': ")
    assert state(run) == before


def test_relabel_no_documents(run, box: str) -> None:
    write("bad.jsonl", {"text": None})
    assert run("relabel", box, "bad.jsonl", "--to", "ham", "--skip-bad") == (
        1,
        "",
        "skipped 1 bad row:\n"
        "  bad.jsonl, line 1: the text is missing (null): fill it with an empty string, or leave the row out\n"
        "error: there are no documents to be read: nothing was changed\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "x"], "say which documents, by one of DATA, --by-id and --by-digest."),
        (
            ["docs.jsonl", "--by-id", "a", "--to", "x"],
            "say which documents, by one of DATA, --by-id and --by-digest.",
        ),
        (
            ["--by-id", "a", "--by-digest", "b", "--to", "x"],
            "say which documents, by one of DATA, --by-id and --by-digest.",
        ),
        (["docs.jsonl"], "missing option '--to'."),
        (["docs.jsonl", "--to", ""], "invalid value for '--to': it is empty."),
    ],
)
def test_relabel_wrong_usage(run, box: str, arguments: list[str], message: str) -> None:
    assert run("relabel", box, *arguments) == (2, "", f"error: {message}\nTry 'bunrui relabel --help'.\n")


# --- undo


def test_undo_of_the_only_change(run, box: str) -> None:
    assert run("undo", box) == (
        0,
        "",
        f"took back the learn of 4 documents: {NOW} 0 documents of 0 labels now\n"
        "nothing is left in it; to have documents back, learn them anew\n",
    )
    assert run("undo", box) == (1, "", "error: there is nothing to undo in a.bunrui\n")


def test_undo(run, mail: Path) -> None:
    question = ["predict", "mail.bunrui", "--line", "cheap star", "--top", "3", "--json"]
    before = run(*question).out
    run("learn", "mail.bunrui", write("new.jsonl", {"text": "new star", "label": "news"}))
    assert run(*question).out != before
    assert run("undo", "mail.bunrui") == (
        0,
        "",
        "took back the learn of 1 document: mail.bunrui has learned 4 documents of 2 labels now\n",
    )
    assert run(*question).out == before


def test_undo_to(run, box: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(run)
    monkeypatch.setenv("BUNRUI_AUTHOR", "Ann")
    assert run("relabel", box, "--to", "spam", "--by-id", "4").code == 0
    monkeypatch.setenv("BUNRUI_AUTHOR", "猫")
    assert run("set", box, "--alpha", "3").code == 0
    assert run("label", "drop", box, "ham").code == 0
    assert run("log", box).out.splitlines()[1].split("\t")[2:] == ["relabel", "1", "labels spam; by Ann"]
    assert run("undo", box, "--to", "1") == (
        0,
        "",
        "took back 3 changes of 2 documents, by 猫, Ann (1 drop, 1 set, 1 relabel): "
        f"{NOW} 4 documents of 3 labels now\n",
    )
    assert state(run) == before
    assert run("log", box).out.splitlines()[2].split("\t")[4].endswith("; by 猫; undone by 猫")
    assert run("undo", box, "--to", "1") == (1, "", "error: there is nothing to undo in a.bunrui after change 1\n")


def test_undo_settings_up_to_a_change(run, box: str) -> None:
    for alpha in ("2", "3"):
        assert run("set", box, "--alpha", alpha).code == 0
    assert run("undo", box, "--to", "1").err == f"took back 2 changes (2 set): {NOW} 4 documents of 3 labels now\n"


def test_nothing_to_undo(run, mail: Path) -> None:
    assert run("undo", "mail.bunrui").code == 0
    assert run("undo", "mail.bunrui") == (1, "", "error: there is nothing to undo in mail.bunrui\n")


# --- forget


def test_forget_a_source(run, box: str) -> None:
    write("more.jsonl", {"text": "a star", "label": "news"})
    run("learn", box, "more.jsonl")
    before = state(run)
    assert run("forget", box, "--source", "docs.jsonl") == (
        0,
        "",
        f"forgot 4 documents: {NOW} 1 document of 1 label now\n",
    )
    assert labels(run) == {"news": 1}
    assert run("undo", box).err == f"took back the forget of 4 documents: {NOW} 5 documents of 4 labels now\n"
    assert state(run) == before


def ago(hours: float, zone: object = None) -> datetime:
    """A time so long ago; without a zone, as a clock on the wall here shows it."""
    return datetime.now(zone) - timedelta(hours=hours)  # type: ignore[arg-type]


@pytest.mark.parametrize("before_now", [True, False])
@pytest.mark.parametrize("written", ["date", "minutes", "space", "utc", "z", "zone", "short"])
@pytest.mark.parametrize("local", quick(1, ["Asia/Tokyo", "America/Los_Angeles", "UTC"]))
def test_forget_before(run, box: str, monkeypatch, written: str, before_now: bool, local: str) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("no time zones by TZ")
    import time
    from zoneinfo import ZoneInfo

    monkeypatch.setenv("TZ", local)
    time.tzset()
    try:
        hours = 2 if before_now else -2
        given = {
            "date": f"{ago(50 if before_now else -50):%Y-%m-%d}",
            "minutes": f"{ago(hours):%Y-%m-%dT%H:%M}",
            "space": f"{ago(hours):%Y-%m-%d %H:%M:%S}",
            "utc": f"{ago(hours, UTC):%Y-%m-%dT%H:%M+00:00}",
            "z": f"{ago(hours, UTC):%Y-%m-%dT%H:%MZ}",
            "zone": f"{ago(hours, ZoneInfo('Asia/Kolkata')):%Y-%m-%dT%H:%M+05:30}",
            "short": f"{ago(50 if before_now else -50):%Y%m%d}",
        }[written]
        code, out, err = run("forget", box, "--before", given)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (code, out) == (0, "")
    if before_now:
        assert err == (
            "nothing was forgotten: 'bunrui log a.bunrui --documents' lists the times and sources that there are\n"
        )
    else:
        assert err == f"forgot 4 documents: {NOW} 0 documents of 0 labels now\n"


def test_forget_what_fits_both(run, box: str) -> None:
    before = state(run)
    for options in (
        ["--source", "docs.jsonl", "--before", "2020-01-01"],
        ["--source", "none.jsonl", "--before", "2199-01-01"],
    ):
        code, _, err = run("forget", box, *options)
        assert code == 0 and err.startswith("nothing was forgotten: ") and state(run) == before
    assert run("forget", box, "--source", "docs.jsonl", "--before", "2199-01-01").err.startswith("forgot 4 documents: ")


def test_forget_nothing_leaves_no_trace(run, box: str) -> None:
    before = run("log", box).out
    assert run("forget", box, "--source", "none.jsonl").err.startswith("nothing was forgotten: ")
    assert run("log", box).out == before


def test_documents_keep_the_time_of_their_first_learning(run, box: str) -> None:
    def times(file: str) -> list[str]:
        return sorted(json.loads(line)["time"] for line in run("log", file, "--documents", "--json").out.splitlines())

    before = times(box)
    moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    assert run("relabel", box, "--by-id", "<1@x.org>", "--to", "ham").code == 0
    assert run("label", "move", box, "ad", "ham").code == 0
    assert run("merge", "b.bunrui", box).code == 0
    assert times(box) == times("b.bunrui") == before
    assert run("forget", "b.bunrui", "--before", moment).err.startswith("forgot 4 documents: ")


def test_forget_and_compact_wipe_out(run, box: str) -> None:
    assert run("forget", box, "--source", "docs.jsonl").code == 0
    assert run("compact", box).code == 0
    assert "料金".encode() not in Path(box).read_bytes() and b"pills" not in Path(box).read_bytes()


@pytest.mark.parametrize("date", ["yesterday", "2026-13-01", "31.1.2026", "2026-02-30T10:00", "1.5", "\x1b[2J"])
def test_forget_wrong_dates(run, box: str, date: str) -> None:
    message = f"--before takes a date, such as 2026-01-31 or 2026-01-31T18:00, not {date!r}."
    assert run("forget", box, "--before", date) == (2, "", f"error: {message}\nTry 'bunrui forget --help'.\n")
    assert labels(run) == {"ad": 1, "ham": 2, "spam": 2}


@pytest.mark.parametrize("date", ["0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00"])
def test_forget_dates_at_the_end_of_the_calendar(run, box: str, date: str) -> None:
    code, out, err = run("forget", box, "--before", date)
    assert (code, out) == (2, "") and err.startswith("error: --before takes a date, ")


def test_forget_needs_to_know_what(run, box: str) -> None:
    assert run("forget", box) == (
        2,
        "",
        "error: say which documents: give --before, --source, or both, or --unlabelled.\nTry 'bunrui forget --help'.\n",
    )


@pytest.mark.parametrize("option", [["--before", "2199-01-01"], ["--source", "none"]])
def test_forget_needs_texts(run, option: list[str]) -> None:
    for keep, why in (
        ("digests", "keeps digests of its documents"),
        ("nothing", "keeps nothing of its documents"),
    ):
        learn_kept(run, keep)
        before = state(run)
        err = f"error: a.bunrui {why}: take them back by their texts, with 'bunrui unlearn a.bunrui DATA'\n"
        assert run("forget", "a.bunrui", *option) == (1, "", err)
        assert state(run) == before
        Path("a.bunrui").unlink()


# --- label


def test_rename(run, keep: str) -> None:
    box = learn_kept(run, keep)
    before = state(run)
    assert run("label", "rename", box, "spam", "junk") == (
        0,
        "",
        f"renamed 'spam' to 'junk' (2 documents): {NOW} 4 documents of 3 labels now\n",
    )
    assert labels(run) == {"ad": 1, "ham": 2, "junk": 2}
    assert run("undo", box).err == (f"took back the rename of 2 documents: {NOW} 4 documents of 3 labels now\n")
    assert state(run) == before


@pytest.mark.parametrize(
    ("arguments", "said", "left"),
    [
        (["drop", "ham"], f"dropped 'ham' (1 document): {NOW} 2", {"ad": 1, "spam": 1}),
        (["move", "spam", "ham"], f"moved 'spam' to 'ham' (1 document): {NOW} 3", {"ad": 1, "ham": 2}),
    ],
    ids=["drop", "move"],
)
def test_drop_and_move(run, keep: str, arguments: list[str], said: str, left: dict[str, int]) -> None:
    box = learn_kept(run, keep, single())
    before = state(run)
    assert run("label", arguments[0], box, *arguments[1:]) == (0, "", f"{said} documents of 2 labels now\n")
    assert labels(run) == left
    taken_back = f"took back the {arguments[0]} of 1 document: {NOW} 3 documents of 3 labels now\n"
    assert run("undo", box).err == taken_back
    assert state(run) == before


def test_documents_with_several_labels_keep_the_others(run, box: str) -> None:
    assert run("label", "drop", box, "spam").err == (
        f"dropped 'spam' (2 documents): {NOW} 3 documents of 2 labels now\n"
    )
    assert labels(run) == {"ad": 1, "ham": 2}
    assert run("label", "move", box, "ad", "ham").code == 0 and labels(run) == {"ham": 3}


@pytest.mark.parametrize("kept", ["digests", "nothing"])
@pytest.mark.parametrize("action", [["drop", "a.bunrui", "spam"], ["move", "a.bunrui", "ham", "ad"]])
def test_several_labels_need_texts(run, kept: str, action: list[str]) -> None:
    learn_kept(run, kept)
    before = state(run)
    assert run("label", *action) == (
        1,
        "",
        "error: a.bunrui keeps no texts to tell the words of documents with several labels apart: learn the documents "
        "again with other labels\n",
    )
    assert state(run) == before


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("two words", "two words"),
        ("日本語", "日本語"),
        ("👩‍💻", "👩‍💻"),
        ("[red]", "[red]"),
        ("\x1b[2J", "␛[2J"),
        ("a\tb\nc", "a␉b␊c"),
        ("'quoted'", "'quoted'"),
    ],
)
def test_odd_labels(run, box: str, label: str, said: str) -> None:
    before = state(run)
    rest = f"(2 documents): {NOW} 4 documents of 3 labels now\n"
    assert run("label", "rename", box, "spam", label) == (0, "", f"renamed 'spam' to '{said}' {rest}")
    assert run("label", "drop", box, label).err.startswith(f"dropped '{said}' (2 documents): ")
    assert run("undo", box).code == 0
    assert run("undo", box).code == 0 and state(run) == before
    write("more.jsonl", {"text": "another", "label": label})
    assert run("learn", box, "more.jsonl").code == 0
    rest = f"documents): {NOW} 5 documents of 3 labels now\n"
    assert run("label", "move", box, "spam", label) == (0, "", f"moved 'spam' to '{said}' (2 {rest}")
    assert labels(run)[label] == 3
    assert run("label", "rename", box, label, "junk") == (0, "", f"renamed '{said}' to 'junk' (3 {rest}")
    assert labels(run) == {"ad": 1, "ham": 2, "junk": 3}


def test_undo_a_rename_when_its_old_name_was_used_since(run, box: str) -> None:
    before = state(run)
    assert run("label", "rename", box, "ad", "advertising").code == 0
    write("more.jsonl", {"text": "a new one", "label": "ad"})
    assert run("learn", box, "more.jsonl").code == 0
    assert run("undo", box).code == 0
    assert run("undo", box).code == 0 and state(run) == before


def test_a_label_that_looks_like_an_option(run, box: str) -> None:
    assert run("label", "rename", box, "--", "spam", "-x").code == 0
    assert labels(run) == {"-x": 2, "ad": 1, "ham": 2}


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (["drop", "a.bunrui", "x"], "there is no label 'x' in a.bunrui: the labels are ad, ham, spam"),
        (["drop", "a.bunrui", ""], "there is no label '' in a.bunrui: the labels are ad, ham, spam"),
        (["rename", "a.bunrui", "x", "y"], "there is no label 'x' in a.bunrui: the labels are ad, ham, spam"),
        (["move", "a.bunrui", "x", "ham"], "there is no label 'x' in a.bunrui: the labels are ad, ham, spam"),
        (["move", "a.bunrui", "ham", "x"], "there is no label 'x' in a.bunrui: the labels are ad, ham, spam"),
        (["rename", "a.bunrui", "ham", "ham"], "'ham' has that name already"),
        (["rename", "a.bunrui", "spam", "ham"], "there is a label 'ham' already: move 'spam' to it instead"),
        (["move", "a.bunrui", "ham", "ham"], "'ham' cannot be moved to itself"),
    ],
)
def test_wrong_labels(run, box: str, action: list[str], message: str) -> None:
    before = state(run), run("log", box).out
    assert run("label", *action) == (1, "", f"error: {message}\n")
    assert (state(run), run("log", box).out) == before


WRITE = "write 'label rename FILE LABEL TO', 'label drop FILE LABEL' or 'label move FILE LABEL TO'."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing argument 'ACTION'."),
        (["drop"], "missing argument 'FILE'."),
        (["drop", "a.bunrui"], "missing argument 'LABEL'."),
        (["delete", "a.bunrui", "ham"], WRITE),
        (["drop", "a.bunrui", "ham", "spam"], WRITE),
        (["rename", "a.bunrui", "ham"], WRITE),
        (["move", "a.bunrui", "ham"], WRITE),
        (["rename", "a.bunrui", "ham", ""], "the new name is empty: give the label one."),
        (["move", "a.bunrui", "ham", ""], "the new name is empty: give the label one."),
    ],
)
def test_label_wrong_usage(run, box: str, arguments: list[str], message: str) -> None:
    assert run("label", *arguments) == (2, "", f"error: {message}\nTry 'bunrui label --help'.\n")


# --- files

COMMANDS = {
    "relabel": ["relabel", "x", "--to", "ham", "--by-id", "<1@x.org>"],
    "relabel by text": ["relabel", "x", "--to", "ham", "docs.jsonl"],
    "unlearn": ["unlearn", "x", "--by-id", "<1@x.org>"],
    "forget": ["forget", "x", "--source", "docs.jsonl"],
    "rename": ["label", "rename", "x", "spam", "y"],
    "drop": ["label", "drop", "x", "spam"],
    "move": ["label", "move", "x", "spam", "ham"],
    "undo": ["undo", "x"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("content", "err"),
    [
        (None, "there is no classifier x: make one with 'bunrui learn x DATA'"),
        (b"", "x: the file is empty: give a file that bunrui has made"),
        (b"text,label\n", "x is not a bunrui classifier: give a file that bunrui has made"),
    ],
)
def test_no_classifier(run, box: str, command: str, content: bytes | None, err: str) -> None:
    if content is not None:
        Path("x").write_bytes(content)
    assert run(*COMMANDS[command]) == (1, "", f"error: {err}\n")
    assert (Path("x").read_bytes() if Path("x").exists() else None) == content


@pytest.mark.parametrize("command", COMMANDS)
def test_words_were_left_out(run, box: str, command: str) -> None:
    assert run("slim", box, "x", "--min-df", "2").code == 0
    code, out, err = run(*COMMANDS[command])
    assert (code, out) == (1, "") and err.startswith(
        ("error: x lacks the words of fewer than 2 documents", "error: x keeps nothing of its documents: ")
    )


@pytest.fixture
def open_folder(run, box: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that every user may enter, with the classifier x in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for file in ("docs.jsonl", "a.bunrui"):
            (folder / file).write_bytes(Path(file).read_bytes())
        (folder / "a.bunrui").rename(folder / "x")
        monkeypatch.chdir(folder)
        yield folder
        monkeypatch.undo()


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
@pytest.mark.parametrize("command", COMMANDS)
def test_read_only(run, open_folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    content = (open_folder / "x").read_bytes()
    assert main(COMMANDS[command]) == 0  # also imports all that the command needs, which nobody else may read
    (open_folder / "x").write_bytes(content)
    (open_folder / "x").chmod(0o444)
    capsys.readouterr()
    user = os.geteuid()
    if user == 0:  # whom no permission stops
        os.seteuid(65534)
    try:
        code = main(COMMANDS[command])
    finally:
        if user == 0:
            os.seteuid(0)
    err = "error: x cannot be written: check its permissions and those of its folder\n"
    assert (code, *capsys.readouterr()) == (1, "", err)
    assert (open_folder / "x").read_bytes() == content


@pytest.mark.skipif(sys.platform != "linux", reason="mounts")
def test_read_only_mount(run, box: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    Path(box).rename(tmp_path / "folder" / "x")
    mount = "mount --bind folder folder && mount -o remount,ro,bind folder"
    command = ["unshare", "-rm", "sh", "-c", f'{mount} || exit 99; exec "$0" -m bunrui set folder/x --alpha 4']
    command.append(sys.executable)
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if found.returncode == 99 or "unshare" in found.stderr:
        pytest.skip("this user may not mount")
    assert (found.returncode, found.stdout, found.stderr) == (
        1,
        "",
        "error: folder/x can be read, but not changed: a change needs a file beside it, and its folder is read-only\n",
    )
