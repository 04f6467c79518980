"""`--memory` and `--hash-bits`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import bunrui
from bunrui.analysis import AnalyzerSpec
from bunrui.store.sessions import least_memory
from tests.cli.conftest import MAIL

LEAST = f"{least_memory() // 10**6}MB"


@pytest.fixture(autouse=True)
def mail(tmp_path: Path) -> None:
    (tmp_path / "mail.csv").write_text(MAIL)


def same(one: str, other: str) -> bool:
    with bunrui.open(one) as a, bunrui.open(other) as b:
        return bool(a.counts == b.counts and a.keep == b.keep and a.get_params() == b.get_params())


@pytest.mark.parametrize("keep", ["text", "digests", "nothing"])
def test_learning_within_memory(run, keep: str) -> None:
    options = ("--keep", keep, "--model", "multinomial", "--analyzer", "words")
    assert run("learn", "a.bunrui", "mail.csv", *options).code == 0
    done = run("learn", "b.bunrui", "mail.csv", *options, "--memory", LEAST)
    assert done == (0, "", "learned 4 documents of 2 labels into b.bunrui in T\n")
    assert same("a.bunrui", "b.bunrui")
    assert run("learn", "a.bunrui", "mail.csv").code == 0
    done = run("learn", "b.bunrui", "mail.csv", "--memory", "2GB", "--model", "multinomial")
    again = "4 of them repeat a text of this run or an earlier one; each time counts\n"
    assert done.err == "learned 4 documents of 2 labels into b.bunrui in T\n" + (again if keep != "nothing" else "")
    assert same("a.bunrui", "b.bunrui")
    assert run("check", "b.bunrui").code == 0


def test_no_model_is_chosen_within_memory(run) -> None:
    advice = "'bunrui choose a.bunrui' does it"
    done = run("learn", "a.bunrui", "mail.csv", "--memory", LEAST)
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith(f"\nwith --memory, no model is chosen: {advice}\n")
    assert f"nothing was chosen yet; {advice}" in " ".join(run("info", "a.bunrui").out.split())
    assert run("choose", "a.bunrui").code == 0
    assert advice not in run("info", "a.bunrui").out
    assert advice not in run("learn", "b.bunrui", "mail.csv", "--memory", LEAST, "--keep", "nothing").err


def test_what_does_not_fit(run) -> None:
    run("learn", "a.bunrui", "mail.csv")
    for options, code, message in (
        (["--memory", "2"], 2, "memory should be a size with its unit, such as 2GB or 800MB, not '2'"),
        (["--memory", "lots"], 2, "memory should be a size with its unit, such as 2GB or 800MB, not 'lots'"),
        (["--memory", "10MB"], 2, f"--memory should be at least {LEAST} for "),
        (["--memory", "2GB", "--columns"], 2, "--columns needs all documents in memory at once: leave --memory out."),
        (
            ["--memory", "2GB", "--calibrate"],
            2,
            "--calibrate needs all documents in memory at once",
        ),
        (["--memory", "2GB", "--engine", "ray"], 2, "--engine ray goes without --memory."),
        (["--memory", "2GB", "--keep", "nothing"], 2, "a.bunrui keeps text, not nothing"),
        (["--memory", "2GB", "--alpha", "3"], 2, "a.bunrui has another alpha (0.3)"),
        (["--memory", "2GB", "--words", "3"], 2, "a.bunrui was made with another analyzer"),
        (
            ["--memory", "2GB", "--unique"],
            1,
            "mail.csv, line 2: this was learned before, or comes twice: 'cheap pills now'",
        ),
    ):
        done = run("learn", "a.bunrui", "mail.csv", *options)
        assert done.code == code and message in done.err, (options, done)
    with bunrui.open("a.bunrui") as clf:
        assert clf.counts.n_docs == 4
    assert run("learn", "new.bunrui", "nowhere.csv", "--memory", "2GB").code == 1
    Path("empty.csv").write_text("text,label\n")
    done = run("learn", "new.bunrui", "empty.csv", "--memory", "2GB")
    assert done.code == 1 and "there are no documents to be read" in done.err
    assert sorted(os.listdir()) == ["a.bunrui", "empty.csv", "mail.csv"]


def test_tables_need_all_in_memory(run) -> None:
    Path("t.csv").write_text("age,label\n3,x\n4,y\n")
    run("learn", "t.bunrui", "t.csv", "--columns")
    done = run("learn", "t.bunrui", "t.csv", "--memory", "2GB")
    assert done.code == 2 and "t.bunrui reads tables, which must be in memory at once: leave --memory out." in done.err


def test_counting_within_memory(run) -> None:
    assert run("count", "mail.csv", "-o", "a.bunrui").code == 0
    done = run("count", "mail.csv", "-o", "b.bunrui", "--memory", LEAST)
    assert done == (0, "", "counted 4 documents of 2 labels into b.bunrui in T\n")
    assert same("a.bunrui", "b.bunrui")
    with bunrui.open("a.bunrui") as a, bunrui.open("b.bunrui") as b:
        assert [entry[1:2] + entry[3:] for entry in a.history()] == [entry[1:2] + entry[3:] for entry in b.history()]
    assert "has this shard already" in run("count", "mail.csv", "-o", "b.bunrui").err
    run("merge", "all.bunrui", "a.bunrui")
    assert "it has learned 4 documents of 2 labels" in run("merge", "all.bunrui", "b.bunrui").err  # left out


def test_slim_copies_within_memory(run) -> None:
    run("learn", "mail.bunrui", "mail.csv")
    plain = run("slim", "mail.bunrui", "a.bunrui", "--min-df", "2")
    bounded = run("slim", "mail.bunrui", "b.bunrui", "--min-df", "2", "--memory", LEAST)
    assert bounded == plain._replace(err=plain.err.replace("a.bunrui", "b.bunrui"))
    assert same("a.bunrui", "b.bunrui")


def test_hashed_features(run) -> None:
    said = "23 of 4,194,304 buckets in use: of about 23 features, 0 % share one with another (an estimate)"
    options = ("--analyzer", "words", "--words", "2", "--hash-bits", "22")
    for more in ((), ("--memory", LEAST)):
        done = run("learn", f"{len(more)}.bunrui", "mail.csv", *options, *more)
        advice = "with --memory, no model is chosen: 'bunrui choose 2.bunrui' does it\n" if more else ""
        assert done == (0, "", f"learned 4 documents of 2 labels into {len(more)}.bunrui in T\n{said}\n{advice}")
    Path("twice.csv").write_text(Path("mail.csv").read_text() + Path("mail.csv").read_text().partition("\n")[2])
    twice = run("learn", "twice.bunrui", "twice.csv", *options).err
    assert twice.splitlines()[1].startswith("4 of them repeat"), "documents, not the buckets"
    assert same("0.bunrui", "2.bunrui")
    with bunrui.open("0.bunrui") as clf:
        assert clf.analyzer == AnalyzerSpec(name="words", words=2, hash_bits=22)
    shown = run("info", "0.bunrui").out
    assert said in shown and "analyzer      words, 1–2-grams, hashed to 2**22 buckets\n" in shown
    assert run("predict", "0.bunrui", "mail.csv").out.count("spam") >= 2
    assert "lunch" in run("explain", "0.bunrui", "lunch with pills").out
    run("learn", "plain.bunrui", "mail.csv", "--analyzer", "words", "--words", "2")
    done = run("merge", "plain.bunrui", "0.bunrui")
    assert done.code == 1 and "was made with another analyzer (words, 1–2-grams, hashed to 2**22 buckets)" in done.err
    assert run("learn", "new.bunrui", "mail.csv", "--hash-bits", "7").code == 2
    assert run("count", "mail.csv", "-o", "part.bunrui", "--hash-bits", "9").code == 0
