from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

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
    assert (code, json.loads(out)["accuracy"], err) == (0, 1.0, "warning: never learned, so always mistaken: news\n")


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
    assert (code, out) == (1, "") and "tells labels from each other" in err


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
        (["data.csv", "--by", "id"], "give --folds K"),
        (["data.csv", "--loo", "--by", "id"], "give --folds K"),
        (["data.csv", "--loo", "--separator", ""], "--separator is empty"),
        (["data.csv", "--loo", "--model", "nbsvm"], "give --folds K in place of --loo"),
        (["data.csv", "--folds", "2", "--by", "id"], "a document has no id"),
        (["data.csv", "--loo", "--labels"], "--labels goes with a classifier"),
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
    assert "(7.7%) are copies" in run("evaluate", "data.csv", "--loo").err


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
        (["--folds", "4", "--by", "order"], "each of 4 parts by the others, cut by order"),
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
        (["--html", "no/a.html"], 1, "error: no/a.html: cannot be written: there is no such folder\n"),
        (["--html", "."], 1, "error: .: is a folder: name a file in it\n"),
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
    assert found.code == 2 and found.err.startswith("error: --html goes with one label for each document")
    assert not Path("a.html").exists()


def test_text_out_of_html_has_another_name_here(run, tmp_path: Path) -> None:
    Path("a.csv").write_text("text,label\n<b>pills</b>,spam\npills,spam\n<b>noon</b>,ham\nnoon,ham\n")
    assert json.loads(run("evaluate", "a.csv", "--loo", "--from-html", "--json").out)["accuracy"] == 1


def test_a_full_disk_leaves_the_page_that_was_there(shell, letters: Path) -> None:
    import resource

    Path("a.html").write_text("the one before")
    small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))}
    code, out, err = shell("evaluate", "letters.csv", "--loo", "--html", "a.html", **small)
    assert code == 1 and out.startswith("accuracy") and err == "error: a.html: cannot be written: File too large\n"
    assert Path("a.html").read_text() == "the one before" and not list(Path().glob(".*unfinished"))
