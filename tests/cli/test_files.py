"""`merge`, `copy`, `slim`, `compact`, `train`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.choosing import choosing
from tests.support.commands import info, learn

# --- merge


def test_merge_into_a_new_file(run, mail: Path) -> None:
    run("set", "mail.bunrui", "--model", "complement", "--max-features", "chi2:9")
    learn(run, "b.bunrui", "new star,news\n", "--keep", "digests")
    assert run("merge", "all.bunrui", "mail.bunrui", "b.bunrui") == (
        0,
        "",
        "merged 2 files into all.bunrui: it has learned 5 documents of 3 labels\n",
    )
    known = info(run, "all.bunrui")
    assert (known["keep"], known["model"], known["max_features"]) == ("digests", "complement", ["chi2", 9])
    learn(
        run, "same.bunrui", "new star,news\n", "--keep", "digests", "--model", "complement", "--max-features", "chi2:9"
    )
    run("learn", "same.bunrui", "mail.csv")
    question = ["--line", "cheap star", "--top", "3", "--json"]
    assert run("predict", "all.bunrui", *question).out == run("predict", "same.bunrui", *question).out


def test_merge_into_an_old_file(run, mail: Path) -> None:
    learn(run, "b.bunrui", "new star,news\n")
    assert run("merge", "mail.bunrui", "b.bunrui").code == 0
    assert info(run, "mail.bunrui")["labels"] == {"ham": 2, "news": 1, "spam": 2}


def test_changes_tell_the_model_that_they_choose(run, tmp_path: Path) -> None:
    rows = [
        f"word{k % 7} {'cheap pills' if k % 2 else 'team lunch'} {k},{'spam' if k % 2 else 'ham'}\n" for k in range(80)
    ]
    learn(run, "few.bunrui", "".join(rows[:10]))
    learn(run, "many.bunrui", "".join(rows[10:]))
    chosen = "chose binary-complement, λ 0.3: 1.000 by leave-one-out; no other model is better"
    assert run("merge", "few.bunrui", "many.bunrui").err.splitlines()[1:] == [chosen]
    learn(run, "many.bunrui", "".join(rows[:10]))  # no change that makes it due
    Path("rows.csv").write_text("text,label\n" + "".join(rows[:20]))
    assert [line for line in run("unlearn", "few.bunrui", "rows.csv").err.splitlines() if "chose" in line] == []
    learn(run, "one.bunrui", "".join(f"{row.rpartition(',')[0]},ham\n" for row in rows))
    Path("texts.csv").write_text("text\n" + "".join(row.rpartition(",")[0] + "\n" for row in rows[1::2]))
    assert run("relabel", "one.bunrui", "texts.csv", "--to", "spam").err.splitlines()[-1] == chosen


@pytest.mark.parametrize("target", ["mail.bunrui", "new.bunrui"])
def test_merge_other_analyzers(run, mail: Path, target: str) -> None:
    learn(run, "b.bunrui", "new star,news\n", "--analyzer", "words")
    assert run("merge", target, *(["mail.bunrui"] if target == "new.bunrui" else []), "b.bunrui") == (
        1,
        "",
        f"error: b.bunrui was made with another analyzer (words, words) than {target} (universal, 1–2-grams, "
        "characters 1–3 (kana, han), 1–4 (hangul)): learn the documents again with one of the two\n",
    )
    assert not Path("new.bunrui").exists() and info(run, "mail.bunrui")["documents"] == 4


def test_merge_other_kinds_of_columns(run, tmp_path: Path) -> None:
    Path("t.csv").write_text("label,age\na,1\nb,2\n")
    run("learn", "a.bunrui", "t.csv", "--columns", "--kind", "age=binned")
    run("learn", "b.bunrui", "t.csv", "--columns")
    for target, *others in (("new.bunrui", "a.bunrui", "b.bunrui"), ("a.bunrui", "b.bunrui")):
        code, _, err = run("merge", target, *others)
        said = f"error: b.bunrui was made with another analyzer (columns) than {target} (columns, age=binned): learn"
        assert code == 1 and err.startswith(said)
    assert not Path("new.bunrui").exists()


def test_merge_with_itself(run, mail: Path) -> None:
    err = "error: mail.bunrui cannot be merged with itself: name other files\nTry 'bunrui merge --help'.\n"
    assert run("merge", "mail.bunrui", "mail.bunrui") == (2, "", err)
    assert info(run, "mail.bunrui")["documents"] == 4


def test_merge_what_keeps_less(run, mail: Path) -> None:
    learn(run, "a.bunrui", "new star,news\n")
    learn(run, "b.bunrui", "new star,news\n", "--keep", "nothing")
    assert run("merge", "mail.bunrui", "a.bunrui", "b.bunrui") == (
        2,
        "",
        "error: mail.bunrui keeps text of every document, but b.bunrui keeps nothing: merge both into a new file that "
        "keeps nothing\nTry 'bunrui merge --help'.\n",
    )
    assert info(run, "mail.bunrui")["documents"] == 4


def test_merge_unique(run, mail: Path) -> None:
    learn(run, "b.bunrui", "new star,news\n")
    learn(run, "c.bunrui", "new star,news\nold star,news\ncheap pills now,spam\n", "--keep", "digests")
    assert run("merge", "mail.bunrui", "b.bunrui", "--unique") == (
        0,
        "",
        "merged 1 file into mail.bunrui: it has learned 5 documents of 3 labels\n",
    )
    err = "error: texts that were learned before, or come twice: 2. Without --unique, each time counts\n"
    assert run("merge", "all.bunrui", "mail.bunrui", "c.bunrui", "--unique") == (1, "", err)
    assert not Path("all.bunrui").exists()
    assert run("merge", "all.bunrui", "mail.bunrui", "c.bunrui") == (
        0,
        "",
        "merged 2 files into all.bunrui: it has learned 8 documents of 3 labels\n"
        "2 of them repeat a text that was there before; each time counts\n",
    )


def test_merge_unique_where_nothing_is_kept(run, mail: Path) -> None:
    learn(run, "b.bunrui", "new star,news\n", "--keep", "nothing")
    assert run("merge", "all.bunrui", "b.bunrui", "--unique") == (
        1,
        "",
        "error: all.bunrui keeps nothing of its documents: learn them into a file with --keep text or --keep digests\n",
    )
    assert not Path("all.bunrui").exists()


def test_merge_nothing(run, mail: Path) -> None:
    learn(run, "mail.bunrui", "cheap pills now,spam\n")
    learn(run, "b.bunrui", "new star,news\n")
    assert run("undo", "b.bunrui").code == 0
    assert run("merge", "mail.bunrui", "b.bunrui") == (
        0,
        "",
        "merged 1 file into mail.bunrui: it has learned 5 documents of 2 labels\n",
    )
    assert [entry["kind"] for entry in history(run)] == ["learn", "learn"]


def history(run) -> list[dict]:
    return [json.loads(line) for line in run("log", "mail.bunrui", "--json").out.splitlines()]


def test_a_merge_of_several_is_one_change(run, mail: Path) -> None:
    learn(run, "b.bunrui", "new star,news\n")
    learn(run, "c.bunrui", "old star,news\n")
    assert run("merge", "mail.bunrui", "b.bunrui", "c.bunrui").code == 0
    assert [(entry["kind"], entry["n_docs"]) for entry in history(run)] == [("learn", 4), ("merge", 2)]
    assert run("undo", "mail.bunrui").err == (
        "took back the merge of 2 documents: mail.bunrui has learned 4 documents of 2 labels now\n"
    )


def test_undo_a_merge(run, mail: Path) -> None:
    learn(run, "b.bunrui", "new star,news\n")
    assert run("merge", "mail.bunrui", "b.bunrui").code == 0
    assert run("undo", "mail.bunrui").err == (
        "took back the merge of 1 document: mail.bunrui has learned 4 documents of 2 labels now\n"
    )


def test_a_merge_tells_what_it_costs(run, tmp_path: Path) -> None:
    texts, labels = choosing(200)
    learn(run, "many.bunrui", "".join(f"{text},{label}\n" for text, label in zip(texts, labels, strict=True)))
    learn(run, "few.bunrui", "lunch,ham\n", "--keep", "digests")
    assert run("merge", "both.bunrui", "many.bunrui", "few.bunrui").err.splitlines()[1:] == [
        "no model was chosen, both.bunrui has binary-complement: the documents are not kept",
        "the probabilities of both.bunrui are not calibrated",
    ]
    learn(run, "more.bunrui", "lunch,ham\n")
    assert run("merge", "all.bunrui", "many.bunrui", "more.bunrui").err.splitlines()[1].startswith("chose binary, ")


def test_a_slim_copy_tells_how_its_probabilities_can_be_believed(run, tmp_path: Path) -> None:
    texts, labels = choosing(200)
    learn(run, "many.bunrui", "".join(f"{text},{label}\n" for text, label in zip(texts, labels, strict=True)))
    first = "set --min-df 2 and calibrate a copy of many.bunrui, and slim that"
    told = f"its probabilities are not calibrated: {first}\n"
    for more in ([], ["--memory", "1GB"]):
        assert told in run("slim", "many.bunrui", f"a{len(more)}.bunrui", "--min-df", "2", *more).err
    assert "not calibrated" not in run("slim", "many.bunrui", "b.bunrui").err
    assert "its probabilities are not calibrated\n" in run("slim", "b.bunrui", "d.bunrui", "--min-df", "2").err
    for command in (["set", "many.bunrui", "--min-df", "2"], ["calibrate", "many.bunrui"]):
        assert run(*command).code == 0
    assert "not calibrated" not in run("slim", "many.bunrui", "c.bunrui", "--min-df", "2").err
    assert run("predict", "c.bunrui", "--line", texts[0], "--unsure", "0.5").code == 0


@pytest.mark.parametrize("command", [("learn", "b.bunrui", "--model", "nbsvm"), ("tune", "--fast", "--out=b.bunrui")])
def test_probabilities_that_nobody_has_calibrated(run, tmp_path: Path, command: tuple[str, ...]) -> None:
    texts, labels = choosing(60)
    learn(run, "a.bunrui", "".join(f"{text},{label}\n" for text, label in zip(texts, labels, strict=True)))
    err = run(*command, "rows.csv").err
    assert err.endswith("probabilities of b.bunrui are not calibrated: 'bunrui calibrate b.bunrui' calibrates them\n")
    assert "not calibrated" not in run("learn", "c.bunrui", "rows.csv", "--model", "nbsvm", "--calibrate").err
    Path("one.csv").write_text("text,label\nlunch,ham\n")
    assert "not calibrated" not in run("learn", "d.bunrui", "one.csv", "--model", "nbsvm").err


def test_the_file_that_cannot_be_merged_is_named(run, mail: Path) -> None:
    learn(run, "b.bunrui", "new star,news\n")
    for name in ("mail", "b"):
        run("slim", f"{name}.bunrui", f"{name}-slim.bunrui")
    assert run("merge", "all.bunrui", "mail-slim.bunrui", "b-slim.bunrui").err == (
        "error: mail-slim.bunrui was compacted, or is a slim copy, and does not know which shards it holds, so that "
        "some might count twice: merge the files it was made from\n"
    )


# --- copy


def test_copy(run, mail: Path) -> None:
    code, out, err = run("copy", "mail.bunrui", "backup.bunrui")
    assert (code, out) == (0, "") and re.fullmatch(r"wrote backup.bunrui: [\d.]+ kB\n", err)
    assert info(run, "backup.bunrui") == info(run, "mail.bunrui")
    assert run("check", "backup.bunrui").code == 0
    run("undo", "backup.bunrui")
    assert info(run, "backup.bunrui")["documents"] == 0 and info(run, "mail.bunrui")["documents"] == 4


def test_copy_to_where_it_cannot_be(run, mail: Path) -> None:
    before = Path("mail.csv").read_bytes()
    assert run("copy", "mail.bunrui", "mail.csv") == (
        1,
        "",
        "error: mail.csv: this is there already, and is not replaced: give another name\n",
    )
    assert run("copy", "mail.bunrui", "no/b.bunrui") == (
        1,
        "",
        "error: no/b.bunrui: there is no folder no: make it, or check the path\n",
    )
    assert Path("mail.csv").read_bytes() == before and not list(Path().glob(".*"))


# --- slim and compact


def test_slim(run, mail: Path) -> None:
    code, out, err = run("slim", "mail.bunrui", "s.bunrui")
    assert (code, out) == (0, "") and re.sub(r"\d+\.\d kB", "SIZE", err) == (
        "wrote s.bunrui: SIZE, mail.bunrui has SIZE\n"
        "it can predict, explain, evaluate, change its model, learn more and be merged\n"
        "it cannot tell which documents were learned, nor undo earlier changes: it has no texts and no digests\n"
    )
    question = ["--line", "cheap team", "--top", "2", "--json"]
    assert run("predict", "s.bunrui", *question).out == run("predict", "mail.bunrui", *question).out
    assert run("learn", "s.bunrui", "mail.csv").code == 0 and run("merge", "s.bunrui", "mail.bunrui").code == 0


def test_slim_without_rare_words(run, mail: Path) -> None:
    code, _, err = run("slim", "mail.bunrui", "s.bunrui", "--min-df", "2")
    assert code == 0 and err.splitlines()[1:3] == [
        "it can predict, explain, evaluate and change its model",
        "it lacks the words of fewer than 2 documents: it cannot learn, unlearn or be merged exactly",
    ]
    question = ["--line", "cheap pills at noon", "--top", "2", "--json"]
    assert run("predict", "s.bunrui", *question).out == run("predict", "mail.bunrui", *question, "--min-df", "2").out
    for command in (
        ["learn", "s.bunrui", "mail.csv"],
        ["unlearn", "s.bunrui", "mail.csv"],
        ["merge", "n.bunrui", "s.bunrui"],
    ):
        assert run(*command).code == 1
    assert not Path("n.bunrui").exists()
    assert "without those of fewer than 2 documents" in run("info", "s.bunrui").out
    again = run("slim", "s.bunrui", "again.bunrui").err
    assert "it lacks the words of fewer than 2 documents" in again and "learn more" not in again


def test_slim_of_a_trained_model(run, mail: Path) -> None:
    assert run("set", "mail.bunrui", "--model", "arow").code == 0
    code, out, err = run("slim", "mail.bunrui", "s.bunrui")
    assert (code, out) == (0, "") and re.sub(r"\d+\.\d kB", "SIZE", err) == (
        "wrote s.bunrui: SIZE, mail.bunrui has SIZE\n"
        "it can predict, explain, evaluate and change its model\n"
        "it has the weights of arow, but no documents to train it again: as arow it learns no more\n"
        "it cannot tell which documents were learned, nor undo earlier changes: it has no texts and no digests\n"
    )
    question = ["--line", "cheap team", "--top", "2", "--json"]
    assert run("predict", "s.bunrui", *question) == run("predict", "mail.bunrui", *question)
    assert run("learn", "s.bunrui", "mail.csv") == (
        1,
        "",
        "error: s.bunrui has the weights of arow, and no documents to train it again: learn in the file that it was "
        "made from, or choose a model that reads counts\n",
    )
    assert "trained\n" in run("info", "s.bunrui").out
    for command in (["set", "s.bunrui", "--model", "multinomial"], ["undo", "s.bunrui"]):
        assert run(*command).code == 0
    assert run("predict", "s.bunrui", *question) == run("predict", "mail.bunrui", *question)
    assert run("predict", "s.bunrui", "--line", "x", "--model", "nbsvm") == (
        2,
        "",
        "error: nbsvm is trained from documents, and s.bunrui keeps nothing of them: learn into a file that keeps "
        "text, or choose a model that reads counts\nTry 'bunrui predict --help'.\n",
    )


def test_slim_onto_something(run, mail: Path) -> None:
    Path("s.bunrui").write_text("precious")
    err = "error: s.bunrui: this is there already, and is not replaced: give another name\n"
    assert run("slim", "mail.bunrui", "s.bunrui") == (1, "", err)
    assert Path("s.bunrui").read_text() == "precious"


def test_train_where_nothing_can_be_told_apart(run, mail: Path) -> None:
    Path("one.csv").write_text("text,label\ncheap pills,spam\n")
    assert run("learn", "one.bunrui", "one.csv", "--model", "nbsvm").code == 0
    code, out, err = run("train", "one.bunrui")
    assert (code, out) == (0, "") and err.startswith("nothing was trained: nbsvm tells nothing apart yet")


def test_train(run, mail: Path) -> None:
    assert run("train", "mail.bunrui") == (
        2,
        "",
        "error: auto has no weights that a file keeps: choose one of twcnb, nbsvm, arow\nTry 'bunrui train --help'.\n",
    )
    told = "training nbsvm from 4 documents that the file keeps\n"
    question = ["predict", "mail.bunrui", "--line", "cheap team"]
    assert run("set", "mail.bunrui", "--model", "nbsvm").code == 0
    assert run(*question).err == ""
    run("unlearn", "mail.bunrui", "mail.csv")
    run("learn", "mail.bunrui", "mail.csv")
    assert run(*question).err == told
    assert "until 'bunrui train' is called" in run("info", "mail.bunrui").out
    code, out, err = run("train", "mail.bunrui")
    assert (code, out) == (0, "") and re.fullmatch(
        r"trained nbsvm from 4 documents: mail.bunrui has [\d.]+ kB, it had [\d.]+ kB\n", err
    )
    assert run(*question).err == ""
    assert run("check", "mail.bunrui").code == 0


def test_compact(run, mail: Path) -> None:
    learn(run, "mail.bunrui", "unforgettable,secret\n")
    assert run("unlearn", "mail.bunrui", "rows.csv").code == 0
    assert run("compact", "mail.bunrui").code == 0
    assert b"unforgettable" not in mail.read_bytes() and info(run, "mail.bunrui")["documents"] == 4
    assert [entry["kind"] for entry in history(run)] == ["learn", "learn", "unlearn", "compact"]
    code, out, err = run("undo", "mail.bunrui")
    assert (code, out) == (1, "") and err.startswith("error: the last change of mail.bunrui was joined with those")


def test_compact_tells_the_sizes(run, mail: Path) -> None:
    learn(run, "mail.bunrui", "".join(f"number {i} of many {i * i},x\n" for i in range(5000)))
    assert run("unlearn", "mail.bunrui", "rows.csv").code == 0
    code, out, err = run("compact", "mail.bunrui")
    assert (code, out) == (0, "")
    found = re.fullmatch(r"compacted mail.bunrui: ([\d.]+) kB of ([\d.]+) kB\n", err)
    assert found and float(found[1]) < float(found[2]) / 2
    err = f"compacted mail.bunrui: {found[1]} kB, as small as it can be\n"
    assert run("compact", "mail.bunrui") == (0, "", err)
