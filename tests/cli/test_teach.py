"""`bunrui teach`: keys are answers, answers are in the file, and the next start goes on."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

import bunrui
from tests.cli.conftest import Result, Run
from tests.support.pools import two_topics
from tests.support.processes import patience_with
from tests.support.waiting import PATIENCE

INBOX = """text
cheap pills
lunch at noon
pills now
meeting at noon
free money pills
see you at noon
"""

Teach = Callable[..., Result]


@pytest.fixture
def teach(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Teach:
    """Teach a.bunrui with the documents of inbox.csv, by some keys."""
    (tmp_path / "inbox.csv").write_text(INBOX)
    monkeypatch.setenv("COLUMNS", "100")

    def call(keys: str, *options: str, data: str = "inbox.csv") -> Result:
        monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
        return run("teach", "a.bunrui", data, *options)

    return call


def many(n: int) -> str:
    """A file of documents that differ."""
    Path("many.csv").write_text("\n".join(["text", *(f"document {k} of {n}" for k in range(n)), ""]))
    return "many.csv"


def learned(path: Path) -> dict[str, list[str]]:
    with bunrui.open(path / "a.bunrui") as clf:
        return {document.text: document.labels for document in clf.documents()}


def shown(found: Result) -> list[str]:
    """The documents in the order in which they came."""
    texts = INBOX.splitlines()[1:]
    return [text for line in found.err.splitlines() for text in texts if line.startswith("│") and text in line]


def test_one_key_for_each_label(teach: Teach, tmp_path: Path) -> None:
    order = shown(teach("q", "--labels", "spam,ham"))
    assert len(order) == 1 and learned(tmp_path) == {}
    assert shown(teach("\x041", "--labels", "spam,ham")) == order and learned(tmp_path) == {}  # Ctrl-D ends it, too
    found = teach("121212", "--labels", "spam,ham")
    assert found.code == 0 and len(set(shown(found))) == 6
    assert list(learned(tmp_path).values()) == [["spam"], ["ham"]] * 3
    assert "learned 6 answers into a.bunrui; 0 documents left\n" in found.err
    assert "at random" in found.err and " [1] spam" in found.err and " [2] ham" in found.err


def test_it_goes_on_where_it_stopped(teach: Teach, tmp_path: Path) -> None:
    first = teach("12q", "--labels", "spam,ham")
    second = teach("12q")
    assert not set(shown(first)[:2]) & set(shown(second))
    assert len(learned(tmp_path)) == 4
    assert "learned 2 answers into a.bunrui; 2 documents left" in second.err
    assert " [1] ham" in second.err, "without --labels, they are those of the file, sorted"


def test_skip_undo_and_stop(teach: Teach, tmp_path: Path) -> None:
    found = teach("s1u2q", "--labels", "spam,ham")
    skipped, taught, after, again, _ = shown(found)
    assert taught == again != after
    assert learned(tmp_path) == {taught: ["ham"]} and skipped != taught
    assert "there is nothing to undo in this session" in teach("uq").err


def test_labels_may_have_the_names_of_keys(teach: Teach, tmp_path: Path) -> None:
    teach("123,12\nsq", "--labels", "s,u,q")
    assert list(learned(tmp_path).values()) == [["s"], ["u"], ["q"], ["s", "u"]]


def test_a_label_that_is_a_digit_has_that_key(teach: Teach, tmp_path: Path) -> None:
    found = teach("012q", "--labels", "spam,1,0")
    assert list(learned(tmp_path).values()) == [["0"], ["1"], ["spam"]]
    assert " [2] spam [1] 1 [0] 0" in found.err


def test_a_new_label_that_is_a_digit_takes_its_key(teach: Teach, tmp_path: Path) -> None:
    """The label that had the key gets another one; the rest keep theirs."""
    found = teach("1n1\n123q", "--labels", "spam,ham")
    assert list(learned(tmp_path).values()) == [["spam"], ["1"], ["1"], ["ham"], ["spam"]]
    assert "[3] spam" in found.err and "[2] ham" in found.err and "[1] 1" in found.err


def test_integer_labels_have_their_digits(teach: Teach, tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a.bunrui") as clf:
        clf.learn(["good film", "bad film", "long film"], [1, 0, 12])
    teach("012q")
    assert list(learned(tmp_path).values())[3:] == [[0], [1], [12]]


def test_two_terminals_teach_one_file(teach: Teach, start: Callable[..., Popen[bytes]], tmp_path: Path) -> None:
    """The second learns all documents while the first has a question."""
    teach("q", "--labels", "spam,ham")
    first = start("teach", "a.bunrui", "inbox.csv", "--labels", "spam,ham", stdin=PIPE)
    assert first.stdin is not None and first.stderr is not None
    with patience_with(first):
        while b"q stop" not in (line := first.stderr.readline()):
            assert line, "it ended before it was told to"
    assert teach("111111", "--labels", "spam,ham").code == 0
    _, said = first.communicate(b"2222", timeout=PATIENCE)
    assert first.returncode == 0 and "somebody else has answered this meanwhile" in said.decode()
    assert "learned 0 answers into a.bunrui; 0 documents left" in said.decode()
    assert list(learned(tmp_path).values()) == [["spam"]] * 6


def test_labels_found_on_the_way(teach: Teach, tmp_path: Path) -> None:
    """A new label gets the next key; a part of a name finds it; several labels end with Enter."""
    teach("nspam\n" + "nwork mail\n" + "2" + "/WORK\n" + ",12\n" + ",121\n")
    assert list(learned(tmp_path).values()) == [
        ["spam"],
        ["work mail"],
        ["work mail"],
        ["work mail"],
        ["spam", "work mail"],
        ["work mail"],
    ]


def test_searching_says_what_there_is(teach: Teach) -> None:
    found = teach("/x\n/a\nn\n/\nq", "--labels", "spam,ham,eggs")
    assert "none: press n for a new label" in found.err and "  spam, ham\n" in found.err


def test_a_key_that_does_nothing_says_so(teach: Teach, tmp_path: Path) -> None:
    found = teach("x\x1b1q", "--labels", "spam,ham")
    for key in "x␛":
        assert f"  no label has the key {key}: / search  n new  , several  s skip  u undo  q stop\n" in found.err
    assert list(learned(tmp_path).values()) == [["spam"]]


def test_a_narrow_terminal_shows_all_of_it(teach: Teach, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    assert "0 answers · 6 documents left" in " ".join(teach("q", "--labels", "spam,ham").err.split())


def test_labels_beyond_the_keys_can_be_searched(teach: Teach, tmp_path: Path) -> None:
    names = ",".join(f"label{k:02d}" for k in range(50))
    found = teach("/label49\nq", "--labels", names)
    assert list(learned(tmp_path).values()) == [["label49"]]
    assert "19 more" in found.err


def test_the_likely_label_beyond_the_keys(teach: Teach, tmp_path: Path) -> None:
    names = [f"label {k:02}" for k in range(40)]
    with bunrui.create(tmp_path / "a.bunrui") as clf:
        clf.learn([f"word {k}" for k in range(39)] + ["pills at noon, cheap money"], names)
    found = teach("\nq")
    assert "[Enter] label 39" in found.err
    assert learned(tmp_path)[shown(found)[0]] == ["label 39"]


def test_an_undo_takes_the_accuracy_back(teach: Teach) -> None:
    found = teach("12uq", "--labels", "a,b")
    before, after = found.err.split("1 answer · 5 documents left")[1:3]
    assert "accuracy" not in before.split("2 answers")[0] and "accuracy" not in after.split("learned 1 answer")[0]
    assert "accuracy: not known before 10 documents" in before


def test_the_log_says_who(teach: Teach, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_AUTHOR", "Ann")
    teach("1q", "--labels", "spam,ham")
    assert run("log", "a.bunrui").out.rstrip("\n").endswith("learn\t1\tby Ann")


def test_a_wish_and_an_accuracy(teach: Teach) -> None:
    assert "accuracy: not known before there are answers with two labels" in teach("1q", "--labels", "a,b").err
    found = teach("2121", "--labels", "a,b", "--wish", "0.9")
    assert re.search(r"accuracy: not known before 10 documents at random have answers, \d more\n", found.err)
    assert "accuracy 0" not in found.err and "accuracy 1" not in found.err
    found = teach("12" * 40, "--labels", "a,b", "--wish", "0.9", data=many(80))
    assert "accuracy " in found.err and "at random); agreed " in found.err
    assert "how many answers 0.9 takes, nobody can tell yet" in found.err
    assert "because this model is trained" in run_trained(teach).err


def run_trained(teach: Teach) -> Result:
    os.remove("a.bunrui")
    return teach("12q", "--labels", "spam,ham", "--model", "arow")


def test_the_accuracy_is_without_texts_that_have_no_label(teach: Teach, tmp_path: Path) -> None:
    texts, labels, pool = two_topics()
    with bunrui.create(tmp_path / "a.bunrui", "binary", analyzer="words") as clf:
        clf.learn(texts, labels).learn_unlabelled(pool)
    assert "at random), without the texts that have no label" in teach("1" * 80, data=many(80)).err


def test_documents_without_an_answer_help(teach: Teach, tmp_path: Path) -> None:
    found = teach("12q", "--labels", "spam,ham", "--unlabelled")
    assert "texts without a label: not used: " in found.err and found.code == 0
    with bunrui.open(tmp_path / "a.bunrui") as clf:
        assert len(clf.memory.pool) == 6 and clf.counts.n_docs == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-"], 2, "error: the standard input has the keys: give DATA as files.\n"),
        (["none.csv"], 1, "error: there is no file 'none.csv': check the path\n"),
        (["empty.csv"], 1, "error: there are no documents to be read: nothing was done\n"),
        (["inbox.csv", "--labels", f"ham,{'x' * 2000}"], 2, "has 2,000 characters"),
        (["inbox.csv", "--labels", "a,,a"], 2, "error: invalid value for '--labels': 'a,,a' has an empty name: "),
        (["inbox.csv", "--labels", "a, b,a"], 2, "error: --labels: the label 'a' comes twice: give it once\n"),
    ],
)
def test_bad_input_makes_no_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "inbox.csv").write_text(INBOX)
    (tmp_path / "empty.csv").write_text("text\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("q"))
    found = run("teach", "a.bunrui", *arguments)
    assert found.code == code and message in found.err
    assert not (tmp_path / "a.bunrui").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_a_terminal_answers_each_key_at_once(start: Callable[..., Popen[bytes]], tmp_path: Path) -> None:
    (tmp_path / "inbox.csv").write_text(INBOX)
    ours, theirs = os.openpty()
    process = start("teach", "a.bunrui", "inbox.csv", "--labels", "spam,ham", stdin=theirs)
    assert process.stderr is not None
    with patience_with(process):
        for key in b"12q":
            while b"q stop" not in (line := process.stderr.readline()):
                assert line, "it ended before it was told to"
            os.write(ours, bytes([key]))
        assert process.wait() == 0
    os.close(ours)
    os.close(theirs)
    assert list(learned(tmp_path).values()) == [["spam"], ["ham"]]
