"""`bunrui calibrate`, `learn --calibrate`, `predict --unsure`, and what `info`, `log` and `undo` say of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import bunrui

ROWS = ["cheap pills,spam", "pills now,spam", "meeting at noon,ham", "lunch at noon,ham", "see you,ham"]
FEW = "warning: that is few: below 100 documents, probabilities stay rough\n"
WORSE = (
    "warning: on these documents, too few of which were predicted wrongly, it makes probabilities worse\n"
    "'bunrui evaluate {0} TEST' tells how it is on others; 'bunrui undo {0}' takes it back\n"
)


@pytest.fixture
def big(run, tmp_path: Path) -> Path:
    """A classifier of 200 mails, calibrated, in big.bunrui."""
    (tmp_path / "big.csv").write_text("\n".join(["text,label", *ROWS * 40, ""]))
    assert run("learn", "big.bunrui", "big.csv").code == 0
    assert run("calibrate", "big.bunrui").err == (
        "calibrated big.bunrui on 200 documents\n" + WORSE.format("big.bunrui")  # all of them are right
    )
    return tmp_path / "big.bunrui"


def test_a_table(run, mail: Path) -> None:
    code, out, err = run("calibrate", "mail.bunrui")
    assert (code, err) == (0, "calibrated mail.bunrui on 4 documents\n" + FEW + WORSE.format("mail.bunrui"))
    assert [line.split()[:-2] for line in out.splitlines()] == [[], ["ECE"], ["log", "loss"]]
    assert re.fullmatch(r" +before +after\nECE( +\d\.\d{4}){2}\nlog loss( +\d\.\d{4}){2}\n", out)


def test_json(run, mail: Path) -> None:
    code, out, _ = run("calibrate", "mail.bunrui", "--json")
    known = json.loads(out)
    assert code == 0 and known["n_docs"] == 4 and known["model"] == "binary-complement"
    assert set(known) == {"n_docs", "model", "ece_before", "ece_after", "log_loss_before", "log_loss_after"}


def test_no_warning_where_it_gets_better(run, tmp_path: Path) -> None:
    """A word that says nothing, and documents of several lengths that are all too sure."""
    rows = [f"{'noon ' * (1 + n % 7)}{'pills' if n % 3 else 'lunch'},{'spam' if n % 2 else 'ham'}" for n in range(120)]
    (tmp_path / "even.csv").write_text("\n".join(["text,label", *rows, ""]))
    run("learn", "even.bunrui", "even.csv")
    code, out, err = run("calibrate", "even.bunrui", "--json")
    known = json.loads(out)
    assert (code, err) == (0, "calibrated even.bunrui on 120 documents\n")
    assert known["log_loss_after"] < known["log_loss_before"]


def test_what_looks_worse_is_kept_and_can_be_taken_back(run, mail: Path) -> None:
    known = json.loads(run("calibrate", "mail.bunrui", "--json").out)
    assert known["ece_after"] > known["ece_before"] and known["log_loss_after"] > known["log_loss_before"]
    with bunrui.open(mail) as clf:
        assert clf.is_calibrated
    assert run("undo", "mail.bunrui") == (0, "", "took back the calibration: mail.bunrui has none now\n")
    with bunrui.open(mail) as clf:
        assert clf.calibration is None and clf.counts.n_docs == 4


@pytest.mark.data
def test_what_looks_worse_on_few_documents_is_better_on_others(data_folder: Path) -> None:
    from bunrui.reliability import log_loss
    from bunrui.selection import calibrate

    table = pq.read_table(data_folder / "sms_spam" / "all.parquet")
    n_worse = 0
    for seed in range(20):
        part = table.take(np.random.default_rng(seed).permutation(table.num_rows)[:1040])
        texts, labels = part["text"].to_pylist(), part["label"].to_pylist()
        clf = bunrui.TextClassifier().learn(texts[:40], labels[:40])
        own = np.array(labels[40:])[:, None] == np.array(clf.classes_)
        before = log_loss(own, clf.predict_proba(texts[40:]))
        known = calibrate(clf, texts[:40], labels[:40])
        if known.ece_after > known.ece_before and known.log_loss_after > known.log_loss_before:
            n_worse += 1
            assert log_loss(own, clf.predict_proba(texts[40:])) < before
    assert n_worse > 3


def test_learn_and_calibrate(run, mail: Path) -> None:
    code, out, err = run("learn", "mail.bunrui", "mail.csv", "--calibrate")
    assert (code, out) == (0, "")
    assert err.splitlines()[0] == "learned 4 documents of 2 labels into mail.bunrui in T"
    assert err.splitlines()[-4] == "calibrated mail.bunrui on 8 documents"
    assert err.endswith(FEW + WORSE.format("mail.bunrui"))
    with bunrui.open(mail) as clf:
        assert clf.is_calibrated


@pytest.mark.parametrize("keep", ["nothing", "digests"])
def test_files_without_texts(run, mail: Path, keep: str) -> None:
    needs = "--calibrate leaves each document out in turn, and needs --keep text."
    wrong = (2, "", f"error: {needs}\nTry 'bunrui learn --help'.\n")
    assert run("learn", "a.bunrui", "mail.csv", "--keep", keep, "--calibrate") == wrong
    assert not Path("a.bunrui").exists()
    assert run("learn", "a.bunrui", "mail.csv", "--keep", keep).code == 0
    code, out, err = run("learn", "a.bunrui", "mail.csv", "--calibrate")
    assert (code, out) == (1, "") and err.startswith(f"error: a.bunrui keeps {keep}")
    assert err.endswith(": leave --calibrate out, or learn into another file\n")
    code, out, err = run("calibrate", "a.bunrui")
    assert (code, out) == (1, "") and err.endswith(
        ": calibrate the file that the documents were learned into, with their texts\n"
    )


def test_one_label(run) -> None:
    Path("a.csv").write_text("text,label\na,x\nb,x\n")
    run("learn", "a.bunrui", "a.csv")
    same = "error: all documents have the same label: there is nothing to calibrate\n"
    assert run("calibrate", "a.bunrui") == (1, "", same)


def test_one_document(run) -> None:
    Path("a.csv").write_text("text,label\na,x\n")
    run("learn", "a.bunrui", "a.csv")
    few = "error: one document cannot be predicted by others: give at least two\n"
    assert run("calibrate", "a.bunrui") == (1, "", few)


def test_trained_models(run, mail: Path) -> None:
    run("set", "mail.bunrui", "--model", "nbsvm")
    code, _, err = run("calibrate", "mail.bunrui")
    assert code == 0
    told = "training nbsvm five times, each time without a fifth of the documents\ncalibrated mail.bunrui"
    assert err.startswith(told)


def test_info(run, big: Path) -> None:
    def lines() -> list[str]:
        out = run("info", "big.bunrui").out.splitlines()
        start = next(k for k, line in enumerate(out) if line.startswith("calibrated"))
        end = next(k for k, line in enumerate(out) if line.startswith("keeps"))
        return out[start:end]

    (first,) = lines()
    assert re.fullmatch(
        r"calibrated    on 200 documents, each predicted without itself: ECE 0\.\d{4} before, 0\.\d{4} after", first
    )
    run("learn", "big.bunrui", "big.csv")
    assert lines()[1:] == ["              stale: 200 documents learned or unlearned since"]
    run("set", "big.bunrui", "--alpha", "0.5")
    assert lines()[1] == "              not applied: it is for binary-complement with other settings than these"
    assert json.loads(run("info", "big.bunrui", "--json").out)["calibration"]["changed_since"] == 200


def test_info_of_a_file_without_one(run, mail: Path) -> None:
    assert "calibrated    no\n" in run("info", "mail.bunrui").out


def test_log_and_undo(run, big: Path) -> None:
    last = run("log", "big.bunrui").out.splitlines()[-1].split("\t")
    assert last[2:4] == ["calibrate", "0"] and re.fullmatch(r"200 documents, ECE 0\.\d{4} to 0\.\d{4}", last[4])
    run("learn", "big.bunrui", "big.csv", "--calibrate")
    before = "took back the calibration: big.bunrui has the one before now\n"
    assert run("undo", "big.bunrui") == (0, "", before)
    run("undo", "big.bunrui")
    none = "took back the calibration: big.bunrui has none now\n"
    assert run("undo", "big.bunrui") == (0, "", none)
    with bunrui.open(big) as clf:
        assert clf.calibration is None


# --- predict


def test_predict_uses_it(run, big: Path) -> None:
    label, share = run("predict", "big.bunrui", "--line", "cheap pills").out.split()
    with bunrui.open(big) as clf:
        assert label == "spam" and share == f"{clf.predict_proba(['cheap pills']).max():.4f}"


def test_another_model_is_not_calibrated_and_says_so_once(run, big: Path) -> None:
    found = run("predict", "big.bunrui", "big.csv", "--model", "multinomial")
    told = "big.bunrui is calibrated for binary-complement with other settings: these probabilities are not\n"
    assert (found.code, found.err) == (0, told)
    assert run("predict", "big.bunrui", "big.csv").err == ""
    assert "no longer calibrated" in run("set", "big.bunrui", "--model", "nbsvm").err
    assert run("predict", "big.bunrui", "big.csv").err == ""  # `set` has said it


@pytest.fixture
def doubtful(big: Path) -> Path:
    """The same, with a threshold of .9 for 5 % of errors."""
    import dataclasses

    with bunrui.open(big) as clf:
        assert clf.calibration is not None
        clf.set_calibration(dataclasses.replace(clf.calibration, thresholds=(0.5, 0.9), errors=(0.3, 0.05)))
    return big


def test_unsure(run, doubtful: Path) -> None:
    code, out, err = run("predict", "big.bunrui", "--line", "cheap pills", "--line", "xyz", "--unsure", "0.05")
    (sure, high), (unsure, low) = (line.split("\t") for line in out.splitlines())
    assert (code, sure, unsure) == (0, "spam", "?") and float(low) < 0.9 <= float(high)
    assert re.fullmatch(
        r"unsure of 1 of 2 documents \(below 0\.9000\); of the others, 5\.0% are expected to be wrong\n", err
    )


def test_unsure_with_top_and_log_odds(run, doubtful: Path) -> None:
    asked = ["--line", "xyz", "--unsure", "0.05", "--top", "2", "--log-odds", "spam"]
    fields = run("predict", "big.bunrui", *asked).out.strip().split("\t")
    assert fields[0] == "?" and fields[2] in ("ham", "spam") and len(fields) == 5


def test_unsure_in_json_keeps_the_label(run, doubtful: Path) -> None:
    out = run("predict", "big.bunrui", "--line", "cheap pills", "--line", "xyz", "--unsure", "0.05", "--json").out
    sure, unsure = map(json.loads, out.splitlines())
    assert (sure["label"], sure["unsure"]) == ("spam", False)
    assert unsure["label"] in ("ham", "spam") and unsure["unsure"] is True and unsure["probability"] < 0.9


def test_unsure_in_tables(run, doubtful: Path) -> None:
    Path("new.csv").write_text("text\ncheap pills\nxyz\n")
    run("predict", "big.bunrui", "new.csv", "--unsure", "0.05", "-o", "out.parquet")
    table = pq.read_table("out.parquet")
    assert table["unsure"].to_pylist() == [False, True] and table["label"][0].as_py() == "spam"
    run("predict", "big.bunrui", "new.csv", "-o", "out.parquet")
    assert "unsure" not in pq.read_table("out.parquet").column_names


def test_nothing_is_sure_enough(run, doubtful: Path) -> None:
    code, out, err = run("predict", "big.bunrui", "--line", "cheap pills", "--unsure", "0.001")
    assert (code, out[0]) == (0, "?")
    assert err == "unsure of all documents: none is sure enough for at most 0.001 of the answers to be wrong\n"


def test_unsure_needs_a_calibration(run, mail: Path) -> None:
    first = (
        "error: --unsure needs probabilities that can be believed: 'bunrui calibrate mail.bunrui' first\n"
        "Try 'bunrui predict --help'.\n"
    )
    assert run("predict", "mail.bunrui", "--line", "pills", "--unsure", "0.05") == (2, "", first)


def test_nobody_is_sent_to_calibrate_a_file_without_texts(run, mail: Path, big: Path) -> None:
    for name in ("mail", "big"):
        run("slim", f"{name}.bunrui", f"{name}-slim.bunrui")
    code, _, err = run("predict", "mail-slim.bunrui", "--line", "pills", "--unsure", "0.05")
    assert code == 2 and err.startswith(
        "error: --unsure needs probabilities that can be believed: calibrate the file that it was made from"
    )
    told = "set model of big-slim.bunrui\nthe probabilities of big-slim.bunrui are no longer calibrated\n"
    assert run("set", "big-slim.bunrui", "--model", "multinomial") == (0, "", told)


def test_unsure_needs_the_model_that_is_calibrated(run, big: Path) -> None:
    code, out, err = run("predict", "big.bunrui", "--line", "a", "--unsure", "0.05", "--alpha", "2")
    assert (code, out) == (2, "") and err == (
        "error: big.bunrui is calibrated for binary-complement with other settings: leave the options of the model "
        "out, or set them and 'bunrui calibrate big.bunrui' again\nTry 'bunrui predict --help'.\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--unsure", "1.5"], "invalid value for '--unsure'"),
        (["--unsure", "x"], "invalid value for '--unsure'"),
        (["--unsure", "0.05", "--labels"], "--labels goes without --top, --log-odds and --unsure."),
    ],
)
def test_wrong_usage(run, big: Path, options: list[str], message: str) -> None:
    code, out, err = run("predict", "big.bunrui", "--line", "a", *options)
    assert (code, out) == (2, "") and message in err


def test_a_damaged_calibration(run, big: Path) -> None:
    import sqlite3

    db = sqlite3.connect(big)
    (text,) = db.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()
    db.execute("UPDATE meta SET value = ? WHERE key = 'settings'", (text.replace('"level": ', '"level": 1e'),))
    db.commit()
    db.close()
    for command in (["predict", "big.bunrui", "--line", "a"], ["info", "big.bunrui"], ["calibrate", "big.bunrui"]):
        code, out, err = run(*command)
        assert (code, out) == (1, "") and err.startswith("error: big.bunrui is damaged: ")
    assert run("check", "big.bunrui").code == 1
