from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bunrui.store
from tests.cli.conftest import MAIL
from tests.support.commands import info
from tests.support.pools import two_topics
from tests.support.waiting import PATIENCE


def test_new_file(run, mail: Path) -> None:
    known = info(run, "mail.bunrui")
    assert (known["documents"], known["labels"]) == (4, {"ham": 2, "spam": 2})
    assert (known["model"], known["keep"], known["transactions"]) == ("auto", "text", 1)


def test_more_documents_words_and_labels(run, mail: Path) -> None:
    Path("more.jsonl").write_text('{"label": "news", "text": "a star"}\n{"label": ["ham", "news"], "text": "stars"}\n')
    assert run("learn", "mail.bunrui", "more.jsonl") == (
        0,
        "",
        "learned 2 documents of 2 labels into mail.bunrui in T\n",
    )
    assert info(run, "mail.bunrui")["labels"] == {"ham": 3, "news": 2, "spam": 2}


def test_one(run) -> None:
    Path("a.csv").write_text("text,label\none,x\n")
    assert run("learn", "a.bunrui", "a.csv").err == "learned 1 document of 1 label into a.bunrui in T\n"


def test_a_first_line_that_looks_like_a_row_is_told(run) -> None:
    Path("a.csv").write_text("cheap pills,spam\nlunch at noon,ham\nwin money,spam\n")
    assert run("learn", "a.bunrui", "a.csv") == (
        1,
        "",
        "error: a.csv: there is no column 'text' and no column 'label', only 'cheap pills', 'spam': choose others with "
        "--text and --label. The first line looks like a row: put a line such as text,label above it\n",
    )
    assert run("learn", "a.bunrui", "a.csv", "--text", "cheap pills", "--label", "spam") == (
        0,
        "",
        "learned 2 documents of 2 labels into a.bunrui in T\n"
        "warning: the first line of a.csv was read as names of columns: if it is a document, "
        "put a line with the names above it\n",
    )


def test_duplicates_are_told(run, mail: Path) -> None:
    assert run("learn", "mail.bunrui", "mail.csv").err == (
        "learned 4 documents of 2 labels into mail.bunrui in T\n"
        "4 of them repeat a text of this run or an earlier one; each time counts\n"
    )


def test_documents_without_text_are_told(run) -> None:
    for number, text in enumerate(["", "\n", "one"]):
        Path("data/x").mkdir(parents=True, exist_ok=True)
        Path(f"data/x/{number}.txt").write_text(text)
    err = "learned 3 documents of 1 label into a.bunrui in T\n2 of them without any text: only the label counts\n"
    assert run("learn", "a.bunrui", "data") == (0, "", err)
    Path("tokens.jsonl").write_text('{"label": "x", "text": []}\n{"label": "x", "text": ["one"]}\n')
    Path("counts.jsonl").write_text('{"label": "x", "text": {}}\n')
    err = "learned 3 documents of 1 label into b.bunrui in T\n2 of them without any text: only the label counts\n"
    assert run("learn", "b.bunrui", "tokens.jsonl", "counts.jsonl", "--keep", "nothing") == (0, "", err)


@pytest.mark.parametrize("options", [[], ["--memory", "2GB"]])
def test_labels_that_differ_in_spaces_are_told(run, options: list[str]) -> None:
    Path("a.csv").write_text("text,label\n1,苦情\n2,苦情 \n3,苦情\u3000\n4,a  b\n5,a b\n6,ab\n")
    advice = "with --memory, no model is chosen: 'bunrui choose a.bunrui' does it\n" if options else ""
    assert run("learn", "a.bunrui", "a.csv", *options) == (
        0,
        "",
        "learned 6 documents of 6 labels into a.bunrui in T\n"
        "warning: the labels 'a  b' and 'a b' differ only in spaces: 'bunrui label move' makes one of two\n"
        "warning: the labels '苦情', '苦情 ' and '苦情\\u3000' differ only in spaces: 'bunrui label move' makes one of "
        "two\n" + advice,
    )
    assert len(info(run, "a.bunrui")["labels"]) == 6


def test_a_label_is_held_against_those_that_were_there(run) -> None:
    for name, label in (("a.csv", "spam"), ("b.csv", "spam ")):
        Path(name).write_text(f"text,label\none of {name},{label}\n")
    assert run("learn", "a.bunrui", "a.csv").err == "learned 1 document of 1 label into a.bunrui in T\n"
    assert "warning: the labels 'spam' and 'spam ' differ" in run("learn", "a.bunrui", "b.csv").err
    assert run("label", "move", "a.bunrui", "spam ", "spam").code == 0
    Path("c.csv").write_text("text,label\nanother,ham\n")
    assert run("learn", "a.bunrui", "c.csv").err == "learned 1 document of 1 label into a.bunrui in T\n"


def test_each_file_in_its_encoding(run) -> None:
    texts = {"苦情": "商品が壊れていました", "質問": "送料はいくらですか"}
    for label, text in texts.items():
        for number, encoding in enumerate(["utf-8", "cp932", "cp932" if label == "苦情" else "euc-jp"]):
            path = Path("data", label, f"{number}.txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(f"{text}。{number}".encode(encoding))
    for encoding in ("utf-8", "cp932"):
        code, _, err = run("learn", "a.bunrui", "data", "--encoding", encoding)
        assert code == 1 and err.endswith(". Where files have different encodings: --encoding auto\n")
    assert run("learn", "a.bunrui", "data", "--encoding", "auto") == (
        0,
        "",
        "learned 6 documents of 2 labels into a.bunrui in T\n3 files were read as cp932\n1 file was read as euc-jp\n",
    )
    Path("utf8.csv").write_text("text,label\n" + "".join(f"{t}。{n},{c}\n" for c, t in texts.items() for n in range(3)))
    assert run("learn", "b.bunrui", "utf8.csv").code == 0
    with bunrui.store.open("a.bunrui") as one, bunrui.store.open("b.bunrui") as other:
        assert one.counts == other.counts
    code, out, err = run("predict", "a.bunrui", "data", "--encoding", "auto")
    assert (code, len(out.splitlines())) == (0, 6) and err.endswith(
        "3 files were read as cp932\n1 file was read as euc-jp\n"
    )
    code, out, err = run("evaluate", "data", "--loo", "--encoding", "auto")
    assert code == 0 and "3 files were read as cp932\n" in err


def test_a_pipe_in_its_encoding(start) -> None:
    process = start("learn", "a.bunrui", "-", "--encoding", "auto")
    out, err = process.communicate("text,label\n送料はいくらですか,質問\n".encode("cp932"), timeout=PATIENCE)
    assert (process.returncode, out) == (0, b"")
    assert err.startswith(b"learned 1 document of 1 label ") and err.endswith(b"\n1 file was read as cp932\n")


def test_options_of_documents(run) -> None:
    Path("a.csv").write_text("title,body,topic,key\nCheap,pills,spam,k1\nNoon,meeting,ham,k2\n", encoding="utf-16")
    options = ["--text", "title", "--text", "body", "--label", "topic", "--id", "key", "--encoding", "utf-16"]
    assert run("learn", "a.bunrui", "a.csv", *options).code == 0
    assert run("predict", "a.bunrui", "--line", "cheap\npills").out.startswith("spam")
    with bunrui.store.open("a.bunrui") as clf:
        clf.unlearn(["Cheap\npills"], ["spam"])


def test_one_label_for_all(run) -> None:
    Path("spam").mkdir()
    Path("spam/1.txt").write_text("cheap pills")
    Path("spam/2.bak").write_text("meeting")
    assert run("learn", "a.bunrui", "spam", "--as", "junk", "--include", "*.txt").code == 0
    assert info(run, "a.bunrui")["labels"] == {"junk": 1}


def test_folder_of_classes(run) -> None:
    for label, text in (("x", "one"), ("y", "two")):
        Path("data", label).mkdir(parents=True)
        Path("data", label, "a.txt").write_text(text)
        Path("data", label, "b.md").write_text(text)
    assert run("learn", "a.bunrui", "data", "--exclude", "*.md").code == 0
    assert info(run, "a.bunrui")["labels"] == {"x": 1, "y": 1}


def test_tokens_and_counts(run) -> None:
    Path("a.jsonl").write_text('{"label": "x", "text": ["one", "two"]}\n')
    Path("b.jsonl").write_text('{"label": "y", "text": {"three": 3}}\n')
    assert run("learn", "a.bunrui", "a.jsonl", "b.jsonl").code == 0
    assert run("words", "a.bunrui", "--word", "three", "--json").out.startswith('[{"word": "three", "weight": ')


def test_options_of_the_model_and_the_analyzer(run) -> None:
    Path("a.csv").write_text("text,label\nthe team,x\n<b>a</b> team 1 2,y\n")
    Path("stop.txt").write_text("the\n")
    options = ["--model", "multinomial", "--smoothing", "map", "--alpha", "1.5", "--prior", "smoothed:0.5"]
    options += ["--unseen", "smooth", "--min-df", "2", "--max-features", "chi2:5"]
    options += ["--analyzer", "words", "--words", "2", "--stop-words", "stop.txt", "--html", "--numbers"]
    options += ["--keep", "digests"]
    assert run("learn", "a.bunrui", "a.csv", *options).code == 0
    known = info(run, "a.bunrui")
    assert (known["model"], known["smoothing"]) == ("multinomial", "map")
    with bunrui.store.open("a.bunrui") as clf:
        assert (clf.alpha, clf.prior) == (1.5, ("smoothed", 0.5))
        assert clf.refresh() is False
    assert "prior         smoothed:0.5\n" in run("info", "a.bunrui").out
    assert (known["prior"], known["unseen"], known["min_df"], known["max_features"]) == (
        ["smoothed", 0.5],
        "smooth",
        2,
        ["chi2", 5],
    )
    analyzer = known["analyzer"]
    assert (analyzer["name"], analyzer["words"], analyzer["stop_words"]) == ("words", 2, ["the"])
    assert [analyzer[name] for name in ("html", "urls", "mentions", "numbers")] == [True, False, False, True]
    assert known["keep"] == "digests"
    assert run("learn", "a.bunrui", "a.csv", *options).code == 0, "the same options again"
    assert run("learn", "a.bunrui", "a.csv").code == 0, "no options"


@pytest.mark.parametrize(
    ("options", "err"),
    [
        (
            ["--model", "complement"],
            "error: mail.bunrui has another model (auto): change it with "
            "'bunrui set mail.bunrui --model complement', or learn into another file\n",
        ),
        (
            ["--alpha", "0.5"],
            "error: mail.bunrui has another alpha (0.3): change it with "
            "'bunrui set mail.bunrui --alpha 0.5', or learn into another file\n",
        ),
        (
            ["--max-features", "chi2:5"],
            "error: mail.bunrui has another max_features (all): change it with "
            "'bunrui set mail.bunrui --max-features chi2:5', or learn into another file\n",
        ),
        (
            ["--analyzer", "words"],
            "error: mail.bunrui was made with another analyzer (universal, 1–2-grams, characters 1–3 (kana, han), 1–4 "
            "(hangul)): leave the options of the analyzer out, or learn into another file\n",
        ),
        (
            ["--keep", "nothing"],
            "error: mail.bunrui keeps text, not nothing: leave --keep out, or learn into another file\n",
        ),
    ],
)
def test_contradictions(run, mail: Path, options: list[str], err: str) -> None:
    assert run("learn", "mail.bunrui", "mail.csv", *options) == (2, "", f"{err}Try 'bunrui learn --help'.\n")
    assert info(run, "mail.bunrui")["documents"] == 4


def test_the_default_by_its_value_is_no_contradiction(run, mail: Path) -> None:
    assert run("learn", "mail.bunrui", "mail.csv", "--alpha", "default", "--max-features", "all").code == 0
    assert run("learn", "mail.bunrui", "mail.csv", "--alpha", "0.3", "--analyzer", "universal").code == 0


def test_a_file_without_a_name(run, mail: Path) -> None:
    for command, metavar in (
        (["learn", "", "mail.csv"], "FILE"),
        (["predict", "", "--line", "a"], "FILE"),
        (["merge", "new.bunrui", "mail.bunrui", ""], "OTHER"),
        (["slim", "mail.bunrui", ""], "OUT"),
    ):
        err = f"error: invalid value for '{metavar}': it is empty.\nTry 'bunrui {command[0]} --help'.\n"
        assert run(*command) == (2, "", err)
    assert {path.name for path in Path().iterdir()} == {"mail.csv", "mail.bunrui"}


@pytest.mark.parametrize("label", ["two words", "日本　語", "👩\u200d💻"])
def test_any_label_for_all(run, mail: Path, label: str) -> None:
    assert run("learn", "a.bunrui", "mail.csv", "--as", label).code == 0
    assert info(run, "a.bunrui")["labels"] == {label: 4}


def test_a_label_for_all_that_have_one(run, mail: Path) -> None:
    note = "the column 'label' of mail.csv is not read: --as gives all documents the label junk\n"
    assert run("learn", "a.bunrui", "mail.csv", "mail.csv", "--as", "junk").err.count(note) == 1
    Path("plain.csv").write_text("text\nbuy pills\n")
    assert "is not read" not in run("learn", "a.bunrui", "plain.csv", "--as", "junk").err
    assert run("learn", "a.bunrui", "mail.csv", "--as", "junk", "--label", "label") == (
        2,
        "",
        "error: --as gives all documents one label, and --label reads theirs: give one of them.\n"
        "Try 'bunrui learn --help'.\n",
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [(["--keep", "nothing"], "the documents are not kept"), (["--model", "auto", "--alpha", "0.1"], "alpha is given")],
)
def test_no_model_was_chosen(run, tmp_path: Path, options: list[str], reason: str) -> None:
    rows = [f"{word} {n},{label}" for n in range(30) for word, label in (("pills", "spam"), ("noon", "ham"))]
    Path("rows.csv").write_text("\n".join(["text,label", *rows, ""]))
    note = f"no model was chosen, a.bunrui has binary-complement: {reason}\n"
    assert run("learn", "a.bunrui", "rows.csv", *options).err.endswith(note)
    assert "no model" not in run("learn", "a.bunrui", "rows.csv").err
    assert "no model" not in run("learn", "b.bunrui", "rows.csv").err


def test_a_model_that_is_misspelled(run, mail: Path) -> None:
    err = run("predict", "mail.bunrui", "--line", "x", "--model", "nbvsm").err
    assert err.startswith("error: invalid value for '--model': did you mean nbsvm? Choose one of auto, multinomial")


def test_columns_that_differ_in_case(run, tmp_path: Path) -> None:
    Path("a.csv").write_text("Text,Label\nbuy pills,spam\n")
    assert run("learn", "a.bunrui", "a.csv").err == (
        "error: a.csv: there is no column 'text' and no column 'label', only 'Text', 'Label': "
        "choose others with --text Text and --label Label\n"
    )


def test_no_label_for_all(run, mail: Path) -> None:
    err = "error: invalid value for '--as': it is empty.\n"
    for command in (["learn", "a.bunrui"], ["unlearn", "mail.bunrui"], ["evaluate", "mail.bunrui"]):
        assert run(*command, "mail.csv", "--as", "") == (2, "", f"{err}Try 'bunrui {command[0]} --help'.\n")
    err = "error: --as is not valid UTF-8 (character 4): give the label another name\n"
    assert run("learn", "a.bunrui", "mail.csv", "--as", "caf\udce9") == (1, "", err)
    assert not Path("a.bunrui").exists()


@pytest.mark.parametrize("option", ["--text", "--label", "--id", "--encoding", "--include"])
def test_empty_options_of_reading(run, mail: Path, option: str) -> None:
    code, _, err = run("learn", "a.bunrui", "mail.csv", option, "")
    assert code == 2 and err.startswith(f"error: invalid value for '{option}': it is empty.\n")
    assert not Path("a.bunrui").exists()


# --- all or nothing


def test_a_bad_row_stops(run, mail: Path) -> None:
    Path("bad.csv").write_text("text,label\nfine,x\nbad,\n")
    err = "error: bad.csv, line 3: the label is empty: give it a name, or leave the row out\n"
    assert run("learn", "mail.bunrui", "mail.csv", "bad.csv") == (1, "", err)
    assert info(run, "mail.bunrui")["documents"] == 4
    assert run("learn", "new.bunrui", "mail.csv", "bad.csv") == (1, "", err)
    assert {path.name for path in Path().iterdir()} == {"bad.csv", "mail.csv", "mail.bunrui"}


def test_bad_rows_are_skipped(run) -> None:
    Path("bad.csv").write_text("text,label\nfine,x\n" + "bad,\n" * 5)
    assert run("learn", "a.bunrui", "bad.csv", "--skip-bad") == (
        0,
        "",
        "learned 1 document of 1 label into a.bunrui in T\n"
        "skipped 5 bad rows:\n"
        "  bad.csv, line 3: the label is empty: give it a name, or leave the row out\n"
        "  bad.csv, line 4: the label is empty: give it a name, or leave the row out\n"
        "  bad.csv, line 5: the label is empty: give it a name, or leave the row out\n"
        "  …\n",
    )


def test_nothing_but_bad_rows(run) -> None:
    Path("bad.csv").write_text("text,label\nbad,\n")
    assert run("learn", "a.bunrui", "bad.csv", "--skip-bad") == (
        1,
        "",
        "skipped 1 bad row:\n  bad.csv, line 2: the label is empty: give it a name, or leave the row out\n"
        "error: there are no documents to be read: nothing was changed\n",
    )
    assert not Path("a.bunrui").exists()


@pytest.mark.parametrize(
    ("name", "content", "err"),
    [
        ("no.csv", None, "error: there is no file 'no.csv': check the path\n"),
        ("empty.csv", "", "error: empty.csv: the file is empty: give one with documents\n"),
        (
            "a.data",
            "x",
            "error: the name 'a.data' does not tell the format: give --format, one of csv, tsv, tab, xlsx, jsonl, "
            "parquet, arrow, fasttext, lines, eml, mbox\n",
        ),
        (
            "plain.txt",
            "one\ntwo\n",
            "error: plain.txt has lines without labels: begin each with __label__ and its label, or give all of them "
            "one with --as\n",
        ),
    ],
)
def test_data_that_cannot_be_read(run, name: str, content: str | None, err: str) -> None:
    if content is not None:
        Path(name).write_text(content)
    assert run("learn", "a.bunrui", name) == (1, "", err)
    assert not Path("a.bunrui").exists()


def test_no_folder_to_write_into(run, mail: Path) -> None:
    code, out, err = run("learn", "no/a.bunrui", "mail.csv")
    assert (code, out) == (1, "") and err.startswith("error: no/a.bunrui: there is no folder no: make it")


def test_no_stop_words(run, mail: Path) -> None:
    err = "error: no.txt: there is no such file or folder: check the path\n"
    assert run("learn", "a.bunrui", "mail.csv", "--stop-words", "no.txt") == (1, "", err)


def test_from_a_pipe(run) -> None:
    done = run("learn", "a.bunrui", "-", "--format", "fasttext", stdin="__label__x one\n__label__y two\n")
    assert done == (0, "", "learned 2 documents of 2 labels into a.bunrui in T\n")


# --- each text once


def test_unique(run, mail: Path) -> None:
    Path("more.csv").write_text("text,label\na new one,ham\nwin money fast,ham\n")
    err = "error: more.csv, line 3: this was learned before, or comes twice: 'win money fast'\n"
    assert run("learn", "mail.bunrui", "more.csv", "--unique") == (1, "", err)
    Path("twice.csv").write_text("text,label\na new one,ham\na new one,spam\n")
    err = "error: twice.csv, line 3: this was learned before, or comes twice: 'a new one'\n"
    assert run("learn", "mail.bunrui", "twice.csv", "--unique") == (1, "", err)
    assert run("learn", "new.bunrui", "twice.csv", "--unique") == (1, "", err)
    assert info(run, "mail.bunrui")["documents"] == 4 and not Path("new.bunrui").exists()
    Path("new.csv").write_text("text,label\na new one,ham\nanother,ham\n")
    assert run("learn", "mail.bunrui", "new.csv", "--unique") == (
        0,
        "",
        "learned 2 documents of 1 label into mail.bunrui in T\n",
    )


def test_unique_after_it_was_unlearned(run, mail: Path) -> None:
    assert run("unlearn", "mail.bunrui", "mail.csv").code == 0
    assert run("learn", "mail.bunrui", "mail.csv", "--unique").code == 0


def test_unique_where_digests_are_kept(run, mail: Path) -> None:
    assert run("learn", "a.bunrui", "mail.csv", "--unique", "--keep", "digests").code == 0
    err = "error: mail.csv, line 2: this was learned before, or comes twice: 'cheap pills now'\n"
    assert run("learn", "a.bunrui", "mail.csv", "--unique") == (1, "", err)


def test_unique_where_nothing_is_kept(run, mail: Path) -> None:
    assert run("learn", "a.bunrui", "mail.csv", "--unique", "--keep", "nothing") == (
        1,
        "",
        "error: a.bunrui keeps nothing of its documents: learn them into a file with --keep text or --keep digests\n",
    )
    assert not Path("a.bunrui").exists()


# --- unlearn


def test_unlearn(run, mail: Path) -> None:
    before = run("predict", "mail.bunrui", "--line", "pills at noon", "--top", "2", "--json").out
    Path("more.csv").write_text("text,label\npills at noon,ham\nfree,news\n")
    run("learn", "mail.bunrui", "more.csv")
    assert run("predict", "mail.bunrui", "--line", "pills at noon", "--top", "2", "--json").out != before
    assert run("unlearn", "mail.bunrui", "more.csv") == (
        0,
        "",
        "unlearned 2 documents of 2 labels from mail.bunrui in T\n",
    )
    assert run("predict", "mail.bunrui", "--line", "pills at noon", "--top", "2", "--json").out == before


def test_unlearn_what_was_never_learned(run, mail: Path) -> None:
    Path("more.csv").write_text("text,label\ncheap pills now,spam\nnever seen,ham\n")
    err = "error: more.csv, line 3: this was never learned as 'ham': 'never seen'\n"
    assert run("unlearn", "mail.bunrui", "more.csv") == (1, "", err)
    assert info(run, "mail.bunrui")["documents"] == 4


def test_unlearn_everything(run, mail: Path) -> None:
    assert run("unlearn", "mail.bunrui", "mail.csv").code == 0
    err = "error: nothing has been learned yet: learn documents first, with 'bunrui learn'\n"
    assert run("predict", "mail.bunrui", "--line", "a") == (1, "", err)


# --- unlearn by id and digest


@pytest.fixture
def named(run) -> str:
    """A classifier of three documents with ids, two of them of one text, in a.bunrui."""
    Path("a.csv").write_text("id,text,label\n1,cheap pills,spam\n[red] 猫,at noon,ham\n3,cheap pills,ham\n")
    assert run("learn", "a.bunrui", "a.csv", "--id", "id").code == 0
    return "a.bunrui"


def digest_of(run, file: str, id: str) -> str:
    documents = map(json.loads, run("log", file, "--documents", "--json").out.splitlines())
    return next(document["digest"] for document in documents if document["id"] == id)


def test_unlearn_by_id(run, named: str) -> None:
    before = run("predict", named, "--line", "pills at noon", "--top", "2", "--json").out
    assert run("unlearn", named, "--by-id", "1") == (0, "", "unlearned 1 document from a.bunrui\n")
    assert info(run, named)["labels"] == {"ham": 2}
    assert run("undo", named) == (
        0,
        "",
        "took back the unlearn of 1 document: a.bunrui has learned 3 documents of 2 labels now\n",
    )
    assert run("predict", named, "--line", "pills at noon", "--top", "2", "--json").out == before
    assert run("unlearn", named, "--by-id", "3", "--by-id", "[red] 猫", "--by-id", "3") == (
        0,
        "",
        "unlearned 2 documents from a.bunrui\n",
    )
    assert info(run, named)["labels"] == {"spam": 1}


@pytest.mark.parametrize("n_digits", [32, 12, 4])
def test_unlearn_by_digest(run, named: str, n_digits: int) -> None:
    digest = digest_of(run, named, "1")[:n_digits].upper()
    assert run("unlearn", named, "--by-digest", digest) == (0, "", "unlearned 2 documents from a.bunrui\n")
    assert info(run, named)["labels"] == {"ham": 1}


def test_unlearn_by_several_digests(run, named: str) -> None:
    digests = digest_of(run, named, "1"), digest_of(run, named, "[red] 猫")[:12]
    assert run("unlearn", named, "--by-digest", digests[0], "--by-digest", digests[1]).code == 0
    assert info(run, named)["documents"] == 0


def test_unlearn_by_a_digest_that_begins_several(run) -> None:
    # Of 3,000 texts many share four hexadecimal digits.
    Path("a.txt").write_text("".join(f"__label__x number {i}\n" for i in range(3000)))
    assert run("learn", "a.bunrui", "a.txt").code == 0
    digests = [line[:32] for line in run("log", "a.bunrui", "--documents").out.splitlines()]
    firsts = [digest[:4] for digest in digests]
    first = next(first for first in firsts if firsts.count(first) == 2)
    assert run("unlearn", "a.bunrui", "--by-digest", first) == (
        1,
        "",
        f"error: 2 texts have digests that begin with {first!r}: give more digits\n",
    )
    assert info(run, "a.bunrui")["documents"] == 3000


LISTED = ": 'bunrui log a.bunrui --documents' lists those that are there"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by-id", "1", "--by-id", "x"], f"no document that is learned has the id 'x'{LISTED}"),
        (["--by-digest", "0" * 32], f"no document that is learned has the digest '{'0' * 32}'{LISTED}"),
        (["--by-digest", "0000"], f"no document that is learned has a digest that begins with '0000'{LISTED}"),
    ],
)
def test_unlearn_unknown_names(run, named: str, arguments: list[str], message: str) -> None:
    assert run("unlearn", named, *arguments) == (1, "", f"error: {message}\n")
    assert info(run, named)["documents"] == 3 and len(run("log", named).out.splitlines()) == 1


@pytest.mark.parametrize("digest", ["abc", "xyz0", "0" * 33, "\x1b[2J"])
def test_unlearn_by_no_digest(run, named: str, digest: str) -> None:
    assert run("unlearn", named, "--by-digest", digest) == (
        2,
        "",
        f"error: --by-digest takes 4 to 32 hexadecimal digits, as 'bunrui log --documents' has them, not "
        f"{digest.lower()!r}.\nTry 'bunrui unlearn --help'.\n",
    )


@pytest.mark.parametrize(
    ("keep", "why"),
    [
        ("digests", "keeps digests of its documents"),
        ("nothing", "keeps nothing of its documents"),
    ],
)
def test_unlearn_by_name_needs_texts(run, named: str, keep: str, why: str) -> None:
    assert run("learn", "b.bunrui", "a.csv", "--id", "id", "--keep", keep).code == 0
    err = f"error: b.bunrui {why}: give them as DATA, with their labels\n"
    assert run("unlearn", "b.bunrui", "--by-id", "1") == (1, "", err)
    assert run("unlearn", "b.bunrui", "--by-digest", digest_of(run, named, "1")) == (1, "", err)
    assert run("unlearn", "b.bunrui", "a.csv").code == 0 and info(run, "b.bunrui")["documents"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say which documents, by one of DATA, --by-id and --by-digest."),
        (["a.csv", "--by-id", "1"], "say which documents, by one of DATA, --by-id and --by-digest."),
        (
            ["--by-id", "1", "--by-digest", "2"],
            "say which documents, by one of DATA, --by-id and --by-digest.",
        ),
    ],
)
def test_unlearn_wrong_usage(run, named: str, arguments: list[str], message: str) -> None:
    assert run("unlearn", named, *arguments) == (2, "", f"error: {message}\nTry 'bunrui unlearn --help'.\n")


# --- texts without a label


def test_texts_without_a_label(run) -> None:
    texts, labels, pool = two_topics()
    rows = "".join(f"{label},{text}\n" for text, label in zip(texts, labels, strict=True))
    Path("few.csv").write_text(f"label,text\n{rows}")
    Path("pool.txt").write_text("\n".join(pool))
    done = run("learn", "a.bunrui", "few.csv", "--unlabelled", "pool.txt", "--analyzer", "words")
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[:2] == [
        "learned 24 documents of 2 labels into a.bunrui in T",
        "160 texts without a label came; a.bunrui has 160",
    ]
    assert re.fullmatch(
        r"texts without a label: weight [\d.]+: [\d.]+ by 5 folds; without: \.\d+", done.err.splitlines()[-1]
    )
    shown = run("info", "a.bunrui").out
    assert re.search(
        r"^unlabelled    160, weight .*\n( +\d\.\d{3}  weight [\d.]+\n){4} +for binary-complement", shown, re.M
    )
    known = json.loads(run("info", "a.bunrui", "--json").out)
    assert known["documents"] == 24 and known["unlabelled"]["n_pool"] == 160 and known["unlabelled"]["weight"] > 0
    with_pool = run("predict", "a.bunrui", "pool.txt", "--json").out
    # labels in a pool are not read, and a text with a label is none of the pool's
    assert "24 texts without a label came" in run("learn", "a.bunrui", "--unlabelled", "few.csv").err
    assert run("predict", "a.bunrui", "pool.txt", "--json").out == with_pool
    assert "measured without the texts that have no label" in run("evaluate", "a.bunrui", "--loo").err
    refused = run("calibrate", "a.bunrui")
    assert refused.code and "bunrui forget FILE --unlabelled" in refused.err
    gone = run("unlearn", "a.bunrui", "--unlabelled", "few.csv")
    assert (gone.code, gone.err) == (0, "24 texts without a label went; a.bunrui has 160\n")
    assert run("forget", "a.bunrui", "--unlabelled").err == "forgot 160 texts without a label\n"
    assert json.loads(run("info", "a.bunrui", "--json").out)["unlabelled"] is None
    assert run("undo", "a.bunrui").code == 0
    assert run("predict", "a.bunrui", "pool.txt", "--json").out == with_pool
    assert run("check", "a.bunrui").code == 0


def test_texts_without_a_label_that_cannot_be_used(run) -> None:
    Path("mail.csv").write_text(MAIL)
    Path("pool.txt").write_text("pills at noon\n")
    Path("empty.txt").write_text("")
    Path("blank.csv").write_text("text\n")
    able = "set the model to auto, or to one of multinomial, binary, complement, binary-complement"
    for args, code, said in [
        (["mail.csv", "--unlabelled", "empty.txt"], 1, "error: empty.txt: the file is empty"),
        (
            ["mail.csv", "--unlabelled", "blank.csv"],
            1,
            "there are no texts without a label to be read: nothing was changed",
        ),
        (
            ["mail.csv", "--unlabelled", "pool.txt", "--model", "bernoulli"],
            2,
            f"bernoulli does not read fractions of counts: {able}",
        ),
        (["mail.csv", "--unlabelled", "pool.txt", "--model", "nbsvm"], 2, "nbsvm does not read fractions"),
        (
            ["mail.csv", "--unlabelled", "pool.txt", "--keep", "digests"],
            1,
            "leave --unlabelled out, or learn into another file",
        ),
        (["mail.csv", "--unlabelled", "pool.txt", "--memory", "2GB"], 2, "--unlabelled needs all documents in memory"),
        (["-", "--unlabelled", "-"], 2, "the standard input, -, can be read once."),
        ([], 2, "give DATA with labels, or --unlabelled POOL, or both."),
    ]:
        done = run("learn", "new.bunrui", *args)
        assert done.code == code and said in done.err and not Path("new.bunrui").exists(), (args, done)
    assert run("learn", "a.bunrui", "mail.csv", "--unlabelled", "pool.txt").code == 0
    before = Path("a.bunrui").read_bytes()
    for args, said in [
        (
            ["unlearn", "a.bunrui", "--unlabelled", "mail.csv"],
            "mail.csv, line 2: this is not among the texts without a label: 'cheap",
        ),
        (["unlearn", "a.bunrui", "--unlabelled", "pool.txt", "--by-id", "1"], "--unlabelled goes with DATA, or alone."),
        (["forget", "a.bunrui", "--unlabelled", "--source", "x"], "--unlabelled goes alone"),
    ]:
        done = run(*args)
        assert done.code > 0 and said in done.err, (args, done)
    assert Path("a.bunrui").read_bytes() == before
