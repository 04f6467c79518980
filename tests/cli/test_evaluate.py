from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.support.commands import small_files

TEST = "text,label\npills,spam\nnoon,ham\nteam,ham\nlunch,spam\n"


def test_tables(run, mail: Path) -> None:
    Path("test.csv").write_text(TEST)
    code, out, err = run("evaluate", "mail.bunrui", "test.csv")
    assert (code, err) == (0, "") and out.startswith("accuracy 0.750 (95 % interval 0.250–1.000) of 4 ")
    assert [line.split()[:5] for line in out.splitlines() if line.startswith(("ham", "spam"))] == [
        ["ham", "0.667", "1.000", "0.800", "██████▍"],
        ["spam", "1.000", "0.500", "0.667", "█████▎"],
    ]


def test_json(run, mail: Path) -> None:
    Path("test.csv").write_text(TEST)
    code, out, err = run("evaluate", "mail.bunrui", "test.csv", "--json")
    found = json.loads(out)
    assert (code, err, found["accuracy"], found["n"]) == (0, "", 0.75, 4)
    assert found["confusion"] == {"labels": ["ham", "spam"], "matrix": [[2, 0], [1, 1]]}


def test_labels_that_were_never_learned(run, mail: Path) -> None:
    Path("test.csv").write_text(TEST + "pills,news\npills,\x1b[2J\n")
    code, out, err = run("evaluate", "mail.bunrui", "test.csv", "--json")
    assert (code, json.loads(out)["accuracy"]) == (0, 0.5)
    assert err == "warning: never learned, so always mistaken: ␛[2J, news\n"


def test_several_labels(run, mail: Path) -> None:
    Path("test.jsonl").write_text('{"text": "pills", "label": ["spam", "news"]}\n{"text": "noon", "label": "ham"}\n')
    code, out, err = run("evaluate", "mail.bunrui", "test.jsonl", "--json")
    assert (code, json.loads(out)["accuracy"]) == (0, 1.0)
    assert err.splitlines()[0] == "warning: never learned, so always mistaken: news"
    assert err.splitlines()[1].startswith("1 document has several labels: any of them counts as right; ")


def test_other_models_and_columns(run, mail: Path) -> None:
    Path("test.csv").write_text("body,kind\npills,spam\n")
    options = ["--text", "body", "--label", "kind", "--model", "bernoulli", "--json"]
    assert json.loads(run("evaluate", "mail.bunrui", "test.csv", *options).out)["accuracy"] == 1
    assert (
        json.loads(run("evaluate", "mail.bunrui", "test.csv", "--text", "body", "--as", "ham", "--json").out)[
            "accuracy"
        ]
        == 0
    )


def test_the_file_is_not_changed(run, mail: Path) -> None:
    before = mail.read_bytes()
    run("evaluate", "mail.bunrui", "mail.csv")
    assert mail.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "err"),
    [
        ("no.csv", None, "error: there is no file 'no.csv': check the path\n"),
        (
            "a.csv",
            "text\npills\n",
            "error: a.csv: there is no column 'label', only 'text': choose another with --label\n",
        ),
        (
            "a.csv",
            "本文,分類\n送料,質問\n",
            "error: a.csv: there is no column 'text' and no column 'label', only '本文', '分類': "
            "choose others with --text and --label. If the first line is a row, put a line such as text,label "
            "above it\n",
        ),
        ("a.csv", "text,label\n", "error: there are no documents to be read: nothing was evaluated\n"),
    ],
)
def test_data_that_cannot_be_read(run, mail: Path, name: str, content: str | None, err: str) -> None:
    if content is not None:
        Path(name).write_text(content)
    assert run("evaluate", "mail.bunrui", name) == (1, "", err)


# --- several labels


TOPICS = "text,label\nrice and tea,grain;drink\ntea,drink\nrice,grain\noil,oil\ncrude oil,oil\n"


def test_label_sets(run, tmp_path: Path) -> None:
    Path("topics.csv").write_text(TOPICS)
    assert run("learn", "t.bunrui", "topics.csv", "--separator", ";", "--analyzer", "words").code == 0
    assert list(json.loads(run("info", "t.bunrui", "--json").out)["labels"]) == ["drink", "grain", "oil"]
    lines = run("predict", "t.bunrui", "--labels", "--line", "tea with rice", "--line", "oil").out.splitlines()
    assert [line.split("\t")[::2] for line in lines] == [["drink", "grain"], ["oil"]]
    nothing = run("predict", "t.bunrui", "--labels", "--threshold", "99", "--line", "oil", "--json")
    assert json.loads(nothing.out) == {"labels": [], "probabilities": {}}
    code, out, _err = run("evaluate", "t.bunrui", "topics.csv", "--separator", ";", "--labels", "--json")
    found = json.loads(out)
    assert (code, found["subset_accuracy"], found["hamming_loss"], found["micro"]["f1"]) == (0, 1.0, 0.0, 1.0)
    out = run("evaluate", "t.bunrui", "topics.csv", "--separator", ";", "--labels").out
    assert out.startswith("micro F1 1.000 · macro F1 1.000 · example F1 1.000\n5 documents · all labels right 1.000")
    best = run("evaluate", "t.bunrui", "topics.csv", "--separator", ";", "--labels", "--threshold", "best", "--json")
    assert best.code == 0 and json.loads(best.out)["n"] == 5


def test_one_answer_for_documents_with_several_labels(run, tmp_path: Path) -> None:
    """A trained model and a calibration are about one label a document, and say so."""
    Path("topics.csv").write_text(TOPICS)
    run("learn", "t.bunrui", "topics.csv", "--separator", ";", "--analyzer", "words")
    code, _, err = run("calibrate", "t.bunrui")
    assert code == 0 and err.splitlines()[:2] == [
        "calibrated t.bunrui on 5 documents",
        "any label of a document counted as right; the probabilities of --labels are not calibrated",
    ]
    before = run("predict", "t.bunrui", "--labels", "--line", "tea with rice").out
    run("undo", "t.bunrui")
    assert run("predict", "t.bunrui", "--labels", "--line", "tea with rice").out == before
    assert run("set", "t.bunrui", "--model", "nbsvm") == (
        0,
        "",
        "set model of t.bunrui\n"
        "t.bunrui has documents with several labels, and nbsvm gives each document one label: for --labels, set a "
        "model that reads counts\n",
    )
    assert run("predict", "t.bunrui", "--line", "tea").out.startswith("drink\t")
    for threshold in ("0", "best"):
        code, out, err = run("predict", "t.bunrui", "--labels", "--threshold", threshold, "--line", "tea")
        assert (code, out) == (2, "") and "nbsvm gives each document one label: for several labels, choose one" in err
    Path("none.csv").write_text("text,label\nrice,grain;drink\nno topic,\n")
    code, _, err = run("learn", "t.bunrui", "none.csv", "--separator", ";", "--model", "nbsvm")
    assert code == 1 and err.endswith("none.csv, line 3: the label is empty: give it a name, or leave the row out\n")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "arrow"])
def test_label_sets_in_files(run, suffix: str, tmp_path: Path) -> None:
    import pyarrow.feather
    import pyarrow.parquet

    Path("topics.csv").write_text(TOPICS)
    run("learn", "t.bunrui", "topics.csv", "--separator", ";", "--analyzer", "words")
    assert run("predict", "t.bunrui", "topics.csv", "--labels", "-o", f"out.{suffix}").code == 0
    if suffix == "parquet":
        rows = pyarrow.parquet.read_table("out.parquet").to_pylist()
    elif suffix == "arrow":
        rows = pyarrow.feather.read_table("out.arrow").to_pylist()
    elif suffix == "jsonl":
        rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    else:
        rows = [
            {"labels": json.loads(row["labels"])} for row in csv.DictReader(Path("out.csv").read_text().splitlines())
        ]
    assert [sorted(row["labels"]) for row in rows] == [["drink", "grain"], ["drink"], ["grain"], ["oil"], ["oil"]]


def test_label_sets_that_make_no_sense(run, mail: Path) -> None:
    assert "--threshold goes with --labels" in run("predict", "mail.bunrui", "--line", "a", "--threshold", "1").err
    assert "neither a number" in run("predict", "mail.bunrui", "--line", "a", "--labels", "--threshold", "x").err
    assert "--labels goes without --top" in run("predict", "mail.bunrui", "--line", "a", "--labels", "--top", "2").err
    code, out, err = run("predict", "mail.bunrui", "--line", "a", "--labels", "--model", "nbsvm")
    assert (code, out) == (2, "") and "nbsvm gives each document one label: for several labels, choose one" in err


# --- documents that predict each other


DATA = (
    "text,label,who\n"
    + "".join(f"cheap pills {k},spam,a{k % 2}\n" for k in range(6))
    + "".join(f"lunch at noon {k},ham,b{k % 2}\n" for k in range(6))
)


def test_leave_one_out(run, tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA)
    code, out, _err = run("evaluate", "data.csv", "--loo", "--json", "--analyzer", "words", "--model", "multinomial")
    found = json.loads(out)
    assert (code, found["accuracy"], found["n"]) == (0, 1.0, 12)
    assert run("learn", "d.bunrui", "data.csv", "--analyzer", "words", "--model", "multinomial").code == 0
    assert json.loads(run("evaluate", "d.bunrui", "--loo", "--json").out) == found
    # The same keys as with a classifier and test documents.
    assert json.loads(run("evaluate", "d.bunrui", "data.csv", "--json").out).keys() == found.keys()
    assert "1 − ROCA" in run("evaluate", "data.csv", "--loo", "--positive", "spam").out


@pytest.mark.parametrize("by", ["label", "id", "order"])
@pytest.mark.parametrize("model", ["multinomial", "nbsvm"])
def test_folds(run, by: str, model: str, tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA)
    options = ["--folds", "2", "--by", by, "--model", model, "--id", "who", "--json"]
    code, out, err = run("evaluate", "data.csv", *options)
    assert code == 0, err
    # In order, each part is predicted by those before it: the first is not.
    assert json.loads(out)["n"] == (12 if by != "order" else json.loads(out)["n"]) and json.loads(out)["n"] >= 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["data.csv", "--loo", "--folds", "2"], "not both"),
        (["data.csv", "--by", "id"], "--by goes with --folds."),
        (["data.csv", "--loo", "--by", "id"], "--by goes with --folds."),
        (["data.csv", "--loo", "--separator", ""], "invalid value for '--separator': it is empty."),
        (["data.csv", "--loo", "--model", "nbsvm"], "give --folds K in place of --loo"),
        (["data.csv", "--folds", "2", "--by", "id"], "some documents have no id: give an --id COLUMN"),
        (["data.csv", "--loo", "--labels"], "--labels needs a classifier and documents to test"),
        (["mail.bunrui"], "give DATA, or --loo or --folds"),
        (["mail.bunrui", "data.csv", "--loo"], "is a classifier"),
        (["mail.bunrui", "--loo", "--text", "body"], "as they were learned"),
        (["mail.bunrui", "data.csv", "--analyzer", "words"], "has its analyzer"),
        (["mail.bunrui", "data.csv", "--labels", "--positive", "spam"], "leave --labels out"),
    ],
)
def test_wrong_usage(run, mail: Path, options: list[str], message: str) -> None:
    Path("data.csv").write_text(DATA)
    code, out, err = run("evaluate", *options)
    assert (code, out) == (2, "") and message in err


def test_documents_that_are_not_kept_cannot_predict_each_other(run, tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA)
    run("learn", "d.bunrui", "data.csv", "--keep", "digests")
    code, out, err = run("evaluate", "d.bunrui", "--loo")
    assert (code, out) == (1, "") and "keeps digests" in err


def test_copies_are_counted(run, tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA + "cheap pills 1,spam,a\n")
    one = (
        "copies or near copies of other documents, 1 of 13 (7.7%), make the result look better; "
        "--folds 5 --by id keeps together what has the same id\n"
    )
    assert run("evaluate", "data.csv", "--loo", "--id", "who").err == one
    assert run("evaluate", "data.csv", "--loo").err == one.partition(";")[0] + "\n"  # without ids
    Path("data.csv").write_text(DATA + "cheap pills 1,spam,a\n" * 2)
    assert run("evaluate", "data.csv", "--loo").err.startswith(
        "copies or near copies of other documents, 2 of 14 (14.3%), "
    )


def test_rows_of_tables_are_no_near_copies(run, tmp_path: Path) -> None:
    rows = "".join(f"{'ab'[age % 2]},{age},Rome\n" for age in range(20, 40))
    Path("t.csv").write_text(f"label,age,city\n{rows}")
    run("learn", "t.bunrui", "t.csv", "--columns")
    assert run("evaluate", "t.bunrui", "--folds", "2").err == ""
    assert "near" not in run("audit", "t.bunrui").out
    Path("t.csv").write_text(f"label,age,city\n{rows}a,20,Rome\n")
    run("learn", "u.bunrui", "t.csv", "--columns")
    assert run("evaluate", "u.bunrui", "--folds", "2").err.startswith("copies of other documents, 1 of 21 (4.8%), make")


def test_documents_with_several_labels_are_told(run, tmp_path: Path) -> None:
    rows = [{"label": labels, "text": f"tea {n}"} for n, labels in enumerate((["x"], ["x", "y"], ["y"]) * 3)]
    Path("m.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run("learn", "m.bunrui", "m.jsonl")
    told = (
        "3 documents have several labels: any of them counts as right; 'bunrui evaluate FILE TEST --labels' "
        "measures all of them\n"
    )
    for data in (["m.bunrui", "m.jsonl"], ["m.jsonl", "--folds", "3"], ["m.bunrui", "--loo"]):
        assert told in run("evaluate", *data).err
    assert told not in run("evaluate", "m.bunrui", "m.jsonl", "--labels").err


# --- what is said beside the numbers


def test_what_cannot_be_done_is_refused_before_anything_is_read(run, tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA * 2 + '"no end')
    code, out, err = run("evaluate", "data.csv", "--loo", "--model", "nbsvm")
    assert (code, out) == (2, "") and err.startswith("error: nbsvm would be trained for each document: give --folds K")
    Path("data.csv").write_text(DATA + DATA.partition("\n")[2])
    code, out, err = run("evaluate", "data.csv", "--folds", "99")
    assert (code, out, err) == (
        *(1, ""),
        "error: 24 rows cannot be cut into 99 folds: give more rows, or fewer folds\n",
    )
    run("learn", "d.bunrui", "data.csv", "--model", "nbsvm")
    assert run("evaluate", "d.bunrui", "--loo").err.startswith("error: nbsvm would be trained for each document")


@pytest.mark.parametrize(
    ("options", "err"),
    [
        (["--by", "source"], "all documents have the same source: give several files, or leave --by out."),
        (["--by", "id", "--id", "label"], "all documents have the same id: give an --id COLUMN with different ids, or"),
    ],
)
def test_parts_that_cannot_be_made(run, tmp_path: Path, options: list[str], err: str) -> None:
    Path("data.csv").write_text("".join(DATA.splitlines(keepends=True)[:7]))
    found = run("evaluate", "data.csv", "--folds", "5", *options)
    assert (found.code, found.out) == (2, "") and err in found.err
    few = "error: 6 rows cannot be cut into 13 parts, one to begin with and one for each fold: give at most 5 folds\n"
    assert run("evaluate", "data.csv", "--folds", "12", "--by", "order") == (1, "", few)


@pytest.mark.parametrize("how", [["--loo"], ["--folds", "3"]])
def test_labels_that_settle_the_outcome(run, how: list[str], tmp_path: Path) -> None:
    Path("one.csv").write_text("text,label\na,x\nb,x\nc,x\n")
    code, out, err = run("evaluate", "one.csv", *how)
    assert (code, err) == (0, "warning: there is one label: nothing can be mistaken\n") and out.startswith(
        "accuracy 1.0"
    )
    Path("alone.csv").write_text(DATA + "unheard of,news,c\n")
    assert run("evaluate", "alone.csv", *how).err == (
        "warning: 1 document has a label that no other has: always mistaken\n"
    )
    Path("alone.csv").write_text(DATA + "unheard of,news,c\nunseen,art,c\n")
    assert run("evaluate", "alone.csv", *how).err == (
        "warning: 2 documents have a label that no other has: always mistaken\n"
    )


@pytest.mark.parametrize("keep", ["text", "digests", "nothing"])
def test_documents_that_were_learned(run, keep: str, tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA)
    Path("new.csv").write_text("text,label\ncheap pills 1,spam\nsee you,ham\n")
    run("learn", "d.bunrui", "data.csv", "--keep", keep)
    all_of_them = "warning: d.bunrui has learned 12 of 12 test documents: the result looks better than it is\n"
    one_of_them = "warning: d.bunrui has learned 1 of 2 test documents: the result looks better than it is\n"
    for options in ([], ["--model", "multinomial"], ["--labels"]):
        assert run("evaluate", "d.bunrui", "data.csv", *options).err == (all_of_them if keep != "nothing" else "")
        assert run("evaluate", "d.bunrui", "new.csv", *options).err == (one_of_them if keep != "nothing" else "")


def test_documents_that_were_unlearned_are_new(run, tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA)
    Path("new.csv").write_text("text,label\ncheap pills 1,spam\n")
    run("learn", "d.bunrui", "data.csv")
    run("unlearn", "d.bunrui", "new.csv")
    assert run("evaluate", "d.bunrui", "new.csv").err == ""


def test_rows_of_tables_that_were_learned(run, tmp_path: Path) -> None:
    Path("t.csv").write_text("age,colour,label\n1,red,x\n2,blue,y\n3,red,x\n4,blue,y\n")
    run("learn", "t.bunrui", "t.csv", "--columns")
    assert run("evaluate", "t.bunrui", "t.csv").err.endswith(
        "warning: t.bunrui has learned 4 of 4 test documents: the result looks better than it is\n"
    )


@pytest.mark.parametrize("how", [["--loo"], ["--folds", "3"]])
def test_probabilities_before_calibration(run, how: list[str], tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA)
    run("learn", "d.bunrui", "data.csv")
    assert run("evaluate", "d.bunrui", *how).err == ""
    run("calibrate", "d.bunrui")
    told = "probabilities are those before calibration; 'bunrui evaluate d.bunrui TEST' applies it\n"
    assert run("evaluate", "d.bunrui", *how).err == told
    assert run("evaluate", "d.bunrui", *how, "--alpha", "2").err == ""  # for which it is not calibrated
    refused = run("evaluate", "d.bunrui", "--folds", "13")
    assert refused.err.startswith("error: "), "an error comes without notes before it"


_CLASS_NORM = ["--model", "multinomial", "--class-norm"]


@pytest.mark.parametrize("options", [["--max-features", "5"], [*_CLASS_NORM, "--min-df", "2"]])
def test_models_that_are_fitted_for_each_document(run, options: list[str], tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA)
    code, _, err = run("evaluate", "data.csv", "--loo", *options)
    names = "--max-features, binary-complement" if "--max-features" in options else "--class-norm, multinomial"
    assert (code, err) == (0, f"with {names} is fitted for each of 12 documents: --folds 5 fits it 5 times\n")
    assert run("evaluate", "data.csv", "--folds", "3", *options).err == ""


def test_class_norm_of_all_words_is_not_fitted_for_each_document(run) -> None:
    Path("data.csv").write_text(DATA)
    assert run("evaluate", "data.csv", "--loo", *_CLASS_NORM).err == ""


@pytest.mark.parametrize("how", [["evaluate", "--loo"], ["evaluate", "--folds", "2"], ["compare"], ["audit"]])
def test_a_classifier_that_has_learned_nothing(run, how: list[str], tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA)
    run("learn", "d.bunrui", "data.csv")
    run("unlearn", "d.bunrui", "data.csv")
    found = run(how[0], "d.bunrui", *how[1:])
    assert found == (1, "", "error: there are no documents to be read: nothing was done\n")


@pytest.mark.parametrize("how", [["evaluate", "--loo"], ["evaluate", "--folds", "2"], ["compare", "--folds", "2"]])
def test_a_classifier_that_has_learned_texts_and_tokens(run, how: list[str], tmp_path: Path) -> None:
    from bunrui import store

    with store.create("d.bunrui", analyzer="words") as clf:
        clf.learn(["cheap pills", "lunch at noon", "pills"] * 2, ["spam", "ham", "spam"] * 2)
        clf.learn([["cheap", "pills"], ["noon"]] * 2, ["spam", "ham"] * 2)
    found = run(how[0], "d.bunrui", *how[1:], "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out).get("n", 10) == 10


# --- too many to keep


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for ten probabilities."""
    from bunrui.cli import evaluate

    monkeypatch.setattr(evaluate, "_MOST_PROBABILITIES", 10)


@pytest.mark.parametrize("options", [[], ["--html", "a.html"], ["--positive", "spam"], ["--json"]])
def test_metrics_of_many_documents(run, mail: Path, few: None, options: list[str]) -> None:
    Path("data.csv").write_text(DATA)
    code, out, err = run("evaluate", "mail.bunrui", "data.csv", *options)
    told = "12 documents of 2 labels have too many probabilities to measure: no --positive, and no page\n"
    assert code == 0 and err == told
    assert json.loads(out)["n"] == 12 if "--json" in options else out.startswith("accuracy ")
    assert not Path("a.html").exists()


@pytest.mark.parametrize("how", [["--loo"], ["--folds", "2"]])
def test_many_documents_that_predict_each_other(run, few: None, how: list[str], tmp_path: Path) -> None:
    Path("data.csv").write_text(DATA)
    assert run("evaluate", "data.csv", *how) == (
        *(1, ""),
        "error: 12 documents of 2 labels have too many probabilities to measure: learn some of them into a FILE, and "
        "'bunrui evaluate FILE' the others\n",
    )


# --- pages


@pytest.fixture
def letters(run, tmp_path: Path) -> Path:
    """Forty mails of two labels, in letters.csv; two of them have the wrong label."""
    rows = [["cheap pills no", "spam"], ["lunch at noon", "ham"]] * 20
    names = [label for _, label in rows]
    names[24], names[25] = names[25], names[24]
    # What is unlike in each keeps them from being copies of each other.
    lines = [
        f"{text} {k} {97 * k % 41:041b},{name}" for k, ((text, _), name) in enumerate(zip(rows, names, strict=True))
    ]
    (tmp_path / "letters.csv").write_text("\n".join(["text,label", *lines, ""]))
    return tmp_path / "letters.csv"


def sections(path: str) -> list[str]:
    import re

    return re.findall("<h2 id=[^>]*>([^<]*)</h2>", Path(path).read_text(encoding="utf-8"))


ALL = ["Summary", "Confusion", "Labels", "Calibration", "Rankings", "Learning curve", "Telling words", "Mistakes"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (["--loo"], "each document by all the others"),
        (["--folds", "4"], "each of 4 parts by the others"),
        (["--folds", "4", "--by", "order"], "each of 4 parts by those before it"),
    ],
)
def test_a_page_of_documents_that_predict_each_other(run, letters: Path, how: list[str], said: str) -> None:
    code, out, err = run("evaluate", "letters.csv", *how, "--html", "a.html", "--json")
    assert (code, err) == (0, "wrote a.html\n") and sections("a.html") == ALL
    page = Path("a.html").read_text(encoding="utf-8")
    assert f"<bdi>{said}</bdi>" in page and f"{100 * json.loads(out)['accuracy']:.1f} %" in page
    assert "letters.csv, line 26" in page and "<h1>letters.csv</h1>" in page


def test_a_page_of_test_documents(run, mail: Path, letters: Path) -> None:
    assert run("evaluate", "mail.bunrui", "letters.csv", "--html", "a.html", "--positive", "spam").code == 0
    assert sections("a.html") == [name for name in ALL if name != "Learning curve"]  # of four mails there is none
    run("learn", "more.bunrui", "letters.csv")
    before = Path("more.bunrui").read_bytes()
    code, out, err = run("evaluate", "more.bunrui", "mail.csv", "--html", "a.html", "--model", "multinomial")
    assert (code, err) == (0, "wrote a.html\n") and out.startswith("accuracy ")
    assert "Learning curve" in sections("a.html") and Path("more.bunrui").read_bytes() == before
    assert "<bdi>multinomial</bdi>" in Path("a.html").read_text(encoding="utf-8")


def test_a_page_of_a_trained_model_has_no_curve(run, letters: Path) -> None:
    assert run("evaluate", "letters.csv", "--folds", "2", "--model", "nbsvm", "--html", "a.html").code == 0
    assert sections("a.html") == [name for name in ALL if name not in ("Learning curve", "Telling words")]


def test_a_page_of_tables(run, tmp_path: Path) -> None:
    Path("t.csv").write_text("age,colour,label\n1,red,x\n2,blue,y\n3,red,x\n4,blue,y\n")
    Path("u.csv").write_text("age,colour,label\n1,red,y\n2,blue,y\n")
    run("learn", "t.bunrui", "t.csv", "--columns")
    assert run("evaluate", "t.bunrui", "u.csv", "--html", "a.html").code == 0
    assert "u.csv, line 2" in Path("a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "err"),
    [
        (["--html", "no/a.html"], 1, "error: no/a.html: there is no folder no: make it, or check the path\n"),
        (["--html", "."], 1, "error: .: this is a folder: name a file in it\n"),
        (
            ["--html", "letters.csv"],
            2,
            "error: --html writes a page: give a name that ends in .html, not 'letters.csv'.\n",
        ),
    ],
)
def test_pages_that_cannot_be_written(run, letters: Path, arguments: list[str], code: int, err: str) -> None:
    before = letters.read_bytes()
    found = run("evaluate", "letters.csv", "--loo", *arguments)
    assert (found.code, found.out) == (code, "") and found.err.startswith(err) and letters.read_bytes() == before


def test_label_sets_have_no_page(run, mail: Path) -> None:
    found = run("evaluate", "mail.bunrui", "mail.csv", "--labels", "--html", "a.html")
    assert found.code == 2 and found.err.startswith("error: --positive and --html go with one label for each document")
    assert not Path("a.html").exists()


def test_text_out_of_html_has_another_name_here(run, tmp_path: Path) -> None:
    Path("a.csv").write_text("text,label\n<b>pills</b>,spam\npills,spam\n<b>noon</b>,ham\nnoon,ham\n")
    assert json.loads(run("evaluate", "a.csv", "--loo", "--from-html", "--json").out)["accuracy"] == 1


def test_a_limit_of_size_leaves_the_page_that_was_there(shell, letters: Path) -> None:
    Path("a.html").write_text("the one before")
    code, out, err = shell("evaluate", "letters.csv", "--loo", "--html", "a.html", python=small_files(5000))
    assert code == 1 and out.startswith("accuracy")
    assert err == (
        "error: a.html: the file would be larger than the system allows: raise the limit, or write elsewhere\n"
    )
    assert Path("a.html").read_text() == "the one before" and not list(Path().glob(".*unfinished"))
