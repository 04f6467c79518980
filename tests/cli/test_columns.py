"""`bunrui learn --columns` and what follows: tables through the command line."""

from __future__ import annotations

import csv
import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bunrui

NAMES = ["年齢", "job", "note", "since", "zip", "empty", "income"]
LEARNED = "learned {} documents of 2 labels into t.bunrui in T\n"
TRAINING = "training columns from {} documents that the file keeps\n"


def table(seed: int, n: int = 80) -> list[dict[str, Any]]:
    """People: numbers, categories, texts, dates, codes with zeros in front, and nothing."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        rich = bool(rng.random() < 0.4)
        note = " ".join(rng.choice(["golf", "tax", "boat"] if rich else ["bus", "rent", "tax"], 3).tolist())
        rows.append(
            {
                "年齢": int(rng.normal(50 if rich else 30, 8)) if rng.random() < 0.9 else None,
                "job": str(rng.choice(["boss", "clerk"] if rich else ["clerk", "cook"])),
                "note": f"{note} n{k}" if rng.random() < 0.9 else None,
                "since": f"20{10 + k % 15}-{rng.integers(1, 7) if rich else rng.integers(6, 13):02d}-01",
                "zip": f"{rng.integers(20):02d}",
                "empty": None,
                "income": "high" if rich else "low",
            }
        )
    return rows


def write_csv(path: str, rows: list[dict[str, Any]], missing: str = "?", delimiter: str = ",") -> None:
    with open(path, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerow(NAMES)
        writer.writerows([[missing if value is None else value for value in row.values()] for row in rows])


def write_jsonl(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def people(run) -> Path:
    """A classifier of 80 people in t.bunrui; they are in train.csv, and others in test.csv."""
    write_csv("train.csv", table(0))
    write_csv("test.csv", table(1))
    result = run("learn", "t.bunrui", "train.csv", "--columns", "--label", "income")
    assert result == (0, "", LEARNED.format(80))
    return Path("t.bunrui")


def frames() -> tuple[Any, Any]:
    """The same tables as data frames: dates are dates, and codes strings."""
    import pandas as pd

    read = {"dtype": {"zip": str}, "na_values": ["?"], "parse_dates": ["since"]}
    return pd.read_csv("train.csv", **read), pd.read_csv("test.csv", **read)


# --- answers


def test_answers_are_those_of_the_estimator(run, people: Path) -> None:
    train, test = frames()
    columns = [name for name in NAMES if name != "income"]
    pytest.importorskip("sklearn")
    estimator = bunrui.ColumnsNB().fit(train[columns], train["income"])
    assert sorted(set(estimator.columns_.values())) == ["categorical", "date", "gaussian", "skip", "text"]
    expected, shares = estimator.predict(test[columns]), estimator.predict_proba(test[columns]).max(axis=1)
    lines = [f"{label}\t{share:.4f}\n" for label, share in zip(expected, shares, strict=True)]
    assert run("predict", "t.bunrui", "test.csv") == (0, "".join(lines), TRAINING.format(80))
    metrics = json.loads(run("evaluate", "t.bunrui", "test.csv", "--label", "income", "--json").out)
    assert metrics["accuracy"] == pytest.approx(np.mean(expected == test["income"]))
    known = json.loads(run("info", "t.bunrui", "--json").out)
    assert known["columns"] == estimator.columns_ and known["model"] == "columns"
    assert known["columns"] == {
        "年齢": "gaussian",
        "job": "categorical",
        "note": "text",
        "since": "date",
        "zip": "categorical",
        "empty": "skip",
    }


def test_aode_reads_columns(run, people: Path) -> None:
    """Numbers and dates are cut, and m is that of the estimator."""
    train, test = frames()
    columns = [name for name in NAMES if name != "income"]

    def array(frame: Any) -> Any:
        days = (frame["since"] - np.datetime64("1970-01-01")).dt.days
        return frame[columns].assign(since=days).astype(object).to_numpy()

    for m in (1, 5):
        pytest.importorskip("sklearn")
        estimator = bunrui.AODE(m=m, discretise=[0, 3]).fit(array(train), train["income"])
        shares = estimator.predict_proba(array(test)).max(axis=1)
        lines = [f"{a}\t{b:.4f}\n" for a, b in zip(estimator.predict(array(test)), shares, strict=True)]
        found = run("predict", "t.bunrui", "test.csv", "--model", "aode", "--m", str(m))
        assert found == (0, "".join(lines), TRAINING.replace("columns", "aode").format(80))
    assert run("set", "t.bunrui", "--model", "aode", "--m", "5").code == 0
    assert run("predict", "t.bunrui", "test.csv").out == "".join(lines)
    assert "\nm             5\n" in run("info", "t.bunrui").out
    assert (
        run("set", "t.bunrui", "--m", "0").err
        == "error: --m should be a number of rows, above 0, not 0.0\nTry 'bunrui set --help'.\n"
    )


def test_the_automatic_choice_for_tables(run, people: Path) -> None:
    assert run("learn", "auto.bunrui", "train.csv", "--columns", "--label", "income", "--model", "auto").code == 0
    assert json.loads(run("info", "auto.bunrui", "--json").out)["model"] == "columns"
    for command in ("set auto.bunrui", "predict auto.bunrui test.csv", "evaluate auto.bunrui --loo"):
        refused = run(*command.split(), "--model", "auto")
        assert refused.code == 2 and "auto.bunrui reads tables, for which no model is chosen" in refused.err


def test_calibrated_probabilities_of_tables(run, people: Path) -> None:
    """No row is empty: nothing is asked of one."""
    before = run("predict", "t.bunrui", "test.csv").out.splitlines()
    assert run("calibrate", "t.bunrui").code == 0
    after = run("predict", "t.bunrui", "test.csv").out.splitlines()
    assert [line.split("\t")[0] for line in after] == [line.split("\t")[0] for line in before] and after != before
    rows = [json.dumps(row) for row in table(1)]
    with bunrui.open("t.bunrui") as clf:
        for model, calibration in (("columns", clf.calibration), ("binary", None)):
            twin = clf.with_model(model)
            twin.set_calibration(calibration or bunrui.selection.calibration_for(twin))
            found = twin.predict_proba(rows)
            assert twin.is_calibrated and np.allclose(found.sum(axis=1), 1) and not np.isnan(found).any()


def test_maximum_likelihood(run, people: Path) -> None:
    train, test = frames()
    columns = [name for name in NAMES if name != "income"]
    pytest.importorskip("sklearn")
    estimator = bunrui.ColumnsNB(smoothing="mle").fit(train[columns], train["income"])
    found = run("predict", "t.bunrui", "test.csv", "--smoothing", "mle")
    assert [line.partition("\t")[0] for line in found.out.splitlines()] == estimator.predict(test[columns]).tolist()


def test_every_format_gives_the_same_answers(run, people: Path) -> None:
    expected = run("predict", "t.bunrui", "test.csv").out
    rows = table(1)
    write_csv("test.tsv", rows, missing="", delimiter="\t")
    write_jsonl("test.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows), "test.parquet")
    with pa.ipc.new_file("test.arrow", pa.Table.from_pylist(rows).schema) as writer:
        writer.write_table(pa.Table.from_pylist(rows))
    for name in ("test.tsv", "test.jsonl", "test.parquet", "test.arrow"):
        assert run("predict", "t.bunrui", name).out == expected, name


def test_tables_learned_from_other_formats(run, people: Path) -> None:
    expected = run("predict", "t.bunrui", "test.csv").out
    rows = table(0)
    write_jsonl("train.jsonl", rows)
    columns = {name: [row[name] for row in rows] for name in NAMES}
    columns["since"] = pa.array(columns["since"]).cast(pa.date32())
    pq.write_table(pa.table(columns), "train.parquet")
    for source in ("train.jsonl", "train.parquet"):
        file = f"{source}.bunrui"
        assert run("learn", file, source, "--columns", "--label", "income").code == 0
        assert run("predict", file, "test.csv").out == expected, source


def test_the_standard_input_and_lines(run, people: Path) -> None:
    head = "".join(Path("test.csv").read_text(encoding="utf-8").splitlines(keepends=True)[:3])
    expected = run("predict", "t.bunrui", "-", "--format", "csv", stdin=head).out
    assert len(expected.splitlines()) == 2
    assert run("predict", "t.bunrui", stdin=head).out == expected
    row = json.dumps({name: value for name, value in table(1)[0].items() if name != "income"}, ensure_ascii=False)
    assert run("predict", "t.bunrui", stdin=row + "\n").out == expected.splitlines(keepends=True)[0]
    assert run("predict", "t.bunrui", "--line", row).out == expected.splitlines(keepends=True)[0]


def test_explain_shows_columns(run, people: Path) -> None:
    cells = {name: value for name, value in table(1)[1].items() if name != "income"}
    row = json.dumps(cells, ensure_ascii=False)
    code, out, err = run("explain", "t.bunrui", row)
    assert (code, err) == (0, TRAINING.format(80))
    assert f"年齢={cells['年齢']}" in out and f"zip={cells['zip']}" in out and "since=" in out
    found = json.loads(run("explain", "t.bunrui", row, "--json").out)
    total = found["bias"] + sum(part["value"] for part in found["contributions"])
    assert total == pytest.approx(found["score"] - found["against_score"])
    assert run("explain", "t.bunrui", "golf") == (
        1,
        "",
        TRAINING.format(80) + "error: this is not JSON (Expecting value at character 1): a row of a table looks like "
        '{"age": 39, "job": "clerk"}\n',
    )


def test_other_models_and_words(run, people: Path) -> None:
    result = run("evaluate", "t.bunrui", "test.csv", "--label", "income", "--model", "multinomial", "--json")
    assert json.loads(result.out)["accuracy"] > 0.7
    assert "job=boss" in run("words", "t.bunrui", "high", "--model", "multinomial").out
    assert run("words", "t.bunrui", "high").err == TRAINING.format(80) + (
        "error: the model 'columns' has no weights of words: explain shows what the columns of a row add, and a model "
        "that reads counts, such as multinomial, has weights\nTry 'bunrui words --help'.\n"
    )
    assert run("set", "t.bunrui", "--model", "multinomial").code == 0
    assert run("predict", "t.bunrui", "test.csv").err == ""
    assert run("learn", "n.bunrui", "train.csv", "--columns", "--label", "income", "--model", "binary").code == 0
    assert "model         binary\n" in run("info", "n.bunrui").out


# --- changes


def test_a_file_knows_that_it_reads_tables(run, people: Path) -> None:
    before = run("predict", "t.bunrui", "test.csv").out
    write_csv("more.csv", table(2, 10))
    assert run("learn", "t.bunrui", "more.csv", "--label", "income") == (0, "", LEARNED.format(10))
    assert run("predict", "t.bunrui", "test.csv").out != before
    result = run("unlearn", "t.bunrui", "more.csv", "--label", "income")
    assert result == (0, "", "unlearned 10 documents of 2 labels from t.bunrui in T\n")
    assert run("predict", "t.bunrui", "test.csv").out == before
    assert run("learn", "t.bunrui", "more.csv", "--label", "income", "--columns").code == 0
    assert run("undo", "t.bunrui").code == 0
    assert run("predict", "t.bunrui", "test.csv").out == before
    assert run("check", "t.bunrui").code == 0
    assert '{"年齢":' in run("log", "t.bunrui", "--documents").out


def test_relabel(run, people: Path) -> None:
    row = next(row for row in table(0) if row["income"] == "high")
    write_csv("wrong.csv", [row])
    result = run("relabel", "t.bunrui", "wrong.csv", "--to", "low", "--label", "income")
    assert result.err == "relabelled 1 document: t.bunrui has learned 80 documents of 2 labels now\n"
    assert "this was never learned" in run("relabel", "t.bunrui", "wrong.csv", "--to", "low").err
    with bunrui.open("t.bunrui", read_only=True) as clf:
        assert sum(document.labels == ["low"] for document in clf.documents()) > sum(
            row["income"] == "low" for row in table(0)
        )


def test_merge(run, people: Path) -> None:
    expected = run("predict", "t.bunrui", "test.csv").out
    for name, rows in (("a", table(0)[:30]), ("b", table(0)[30:])):
        write_csv(f"{name}.csv", rows)
        assert run("learn", f"{name}.bunrui", f"{name}.csv", "--columns", "--label", "income").code == 0
    assert run("merge", "ab.bunrui", "a.bunrui", "b.bunrui").code == 0
    assert run("predict", "ab.bunrui", "test.csv").out == expected


def test_ids(run) -> None:
    Path("a.csv").write_text("key,a,label\nk1,1,x\nk2,5,y\n")
    assert run("learn", "t.bunrui", "a.csv", "--columns", "--id", "key").code == 0
    assert json.loads(run("info", "t.bunrui", "--json").out)["columns"] == {"a": "gaussian"}
    # A column that was not learned is no trouble later.
    assert run("predict", "t.bunrui", "a.csv").code == 0
    assert run("unlearn", "t.bunrui", "--by-id", "k1").err == "unlearned 1 document from t.bunrui\n"
    assert run("unlearn", "t.bunrui", "--by-id", "k2").code == 0
    code, out, err = run("info", "t.bunrui")
    assert (code, err) == (0, "") and "columns  " not in out


def test_columns_with_other_names_are_told(run, people: Path) -> None:
    Path("more.csv").write_text("Age,job,note,since,zip,empty,income\n40,cook,,,,,low\n", encoding="utf-8")
    assert run("learn", "t.bunrui", "more.csv", "--label", "income").err == (
        "warning: these rows lack '年齢' and have 'Age', which was not there; 'bunrui undo' takes them back\n"
        "learned 1 document of 1 label into t.bunrui in T\n"
    )


# --- kinds


def test_kinds(run) -> None:
    write_csv("train.csv", table(0))
    write_csv("test.csv", table(1))
    kinds = {"年齢": "binned", "zip": "skip", "job": "text"}
    options = [option for column, kind in kinds.items() for option in ("--kind", f"{column}={kind}")]
    assert run("learn", "t.bunrui", "train.csv", "--columns", "--label", "income", *options).code == 0
    out = run("info", "t.bunrui").out
    assert re.search(r"^columns +6\n +binned +年齢\n +text +job\n", out, re.MULTILINE)
    assert "analyzer      columns, job=text, zip=skip, 年齢=binned\n" in out
    train, test = frames()
    columns = [name for name in NAMES if name != "income"]
    pytest.importorskip("sklearn")
    estimator = bunrui.ColumnsNB(columns=kinds).fit(train[columns], train["income"])
    found = [line.partition("\t")[0] for line in run("predict", "t.bunrui", "test.csv").out.splitlines()]
    assert found == estimator.predict(test[columns]).tolist()
    more = ["learn", "t.bunrui", "test.csv", "--label", "income", "--columns"]
    assert run(*more, *options).code == 0
    assert run(*more, "--kind", "job=skip").err == (
        "error: t.bunrui was made with another analyzer (columns, job=text, zip=skip, 年齢=binned): leave the options "
        "of the analyzer out, or learn into another file\nTry 'bunrui learn --help'.\n"
    )


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (
            ["--kind", "job=number"],
            2,
            "there is no kind 'number' of column: choose one of text, categorical, numeric, ",
        ),
        (
            ["--kind", "jop=text"],
            2,
            "--kind names the column 'jop', and there are only '年齢', 'job', 'note', 'since', ",
        ),
        (["--kind", "job=binned"], 1, "train.csv, line 2: the column 'job' is binned and should have numbers, not '"),
        (
            ["--kind", "job=date"],
            1,
            "train.csv, line 2: the column 'job' is date and should have dates such as 2026-01-",
        ),
        (["--kind", "job"], 2, "--kind takes a column and its kind, such as age=binned, not 'job'."),
        (["--kind", "=text"], 2, "--kind takes a column and its kind, such as age=binned, not '=text'."),
        (["--kind", "job=text", "--kind", "job=skip"], 2, "--kind names the column 'job' twice: give it one kind."),
        (
            ["--text", "note"],
            2,
            "--columns reads all columns of tables: leave --text and the options of the analyzer out.",
        ),
        (
            ["--analyzer", "ja"],
            2,
            "--columns reads all columns of tables: leave --text and the options of the analyzer out.",
        ),
        (
            ["--words", "2", "--html"],
            2,
            "--columns reads all columns of tables: leave --text and the options of the analyzer out.",
        ),
        (
            ["--label", "wage"],
            1,
            "train.csv: there is no column 'wage', only '年齢', 'job', 'note', 'since', 'zip', 'emp",
        ),
        (["--keep", "digests"], 2, "columns is trained from documents, and t.bunrui keeps digests of them"),
        (["--min-df", "2"], 2, "the model 'columns' reads all columns: leave --min-df out"),
        (
            ["--format", "lines"],
            1,
            "train.csv (lines) has no columns: a table is csv, tsv, tab, xlsx, jsonl, parquet or arrow",
        ),
    ],
)
def test_what_does_not_go_together(run, options: list[str], code: int, message: str) -> None:
    write_csv("train.csv", table(0))
    result = run("learn", "t.bunrui", "train.csv", "--columns", "--label", "income", *options)
    assert (result.code, result.out) == (code, "") and result.err.startswith(f"error: {message}")
    assert not Path("t.bunrui").exists()


def test_kinds_and_columns_belong_together(run, mail: Path) -> None:
    message = "error: --kind goes with --columns.\nTry 'bunrui learn --help'.\n"
    assert run("learn", "t.bunrui", "mail.csv", "--kind", "a=text") == (2, "", message)


# --- tables and text


def test_text_files_read_no_tables(run, mail: Path) -> None:
    assert run("learn", "mail.bunrui", "mail.csv", "--columns").err.startswith(
        "error: mail.bunrui was made with another analyzer (universal, 1–2-grams"
    )
    assert run("predict", "mail.bunrui", "mail.csv", "--model", "columns").err == (
        "error: the model 'columns' reads tables, not text: learn the table into a new file, with --columns\n"
        "Try 'bunrui predict --help'.\n"
    )
    assert run("relabel", "mail.bunrui", "mail.csv", "--to", "x", "--label", "label").err.startswith(
        "error: --label is for tables, and mail.bunrui reads text, and no labels: leave it out."
    )


def test_table_files_read_no_text(run, people: Path) -> None:
    message = "error: FILE reads tables with all columns: leave --text out.\nTry 'bunrui predict --help'.\n"
    assert run("predict", "t.bunrui", "test.csv", "--text", "note") == (2, "", TRAINING.format(80) + message)
    Path("a.txt").write_text("__label__low a b\n")
    assert run("learn", "t.bunrui", "a.txt").err == (
        "error: a.txt (fasttext) has no columns: a table is csv, tsv, tab, xlsx, jsonl, parquet or arrow\n"
    )
    assert run("predict", "t.bunrui", "--line", "golf").err == TRAINING.format(80) + (
        "error: this is not JSON (Expecting value at character 1): a row of a table looks like "
        '{"age": 39, "job": "clerk"}\n'
    )


# --- bad tables

BAD = {
    "ragged": ("a,b,label\n1,2,x\n1,y\n", "a.csv, line 3: 3 columns expected ('a', 'b', 'label'), 2 found: put quotes"),
    "two of a name": ("a,a,label\n1,2,x\n", "a.csv: there are 2 columns 'a': keep one"),
    "no label": ("a,b\n1,2\n", "a.csv: there is no column 'label', only 'a', 'b': choose another with --label"),
    "only the label": ("label\nx\n", "a.csv has no column but 'label': there is nothing to classify by"),
    "no name": (",label\n1,x\n", "a.csv: column 1 has no name: give it one, or take it out"),
    "NUL in a label": ("a,label\n1,x\0\n", "a.csv, line 2: the label 'x\\x00' has a NUL: give it another name"),
    "empty": ("", "a.csv: the file is empty: give one with documents"),
    "no rows": ("a,label\n", "there are no documents to be read: nothing was changed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables(run, name: str) -> None:
    content, message = BAD[name]
    Path("a.csv").write_text(content)
    result = run("learn", "t.bunrui", "a.csv", "--columns")
    assert (result.code, result.out) == (1, "") and result.err.startswith(f"error: {message}")
    assert not Path("t.bunrui").exists()


def test_bad_rows_are_skipped_where_that_is_wanted(run) -> None:
    Path("a.csv").write_text("a,label\n1,x\n1,2,3\n5,y\n")
    assert run("learn", "t.bunrui", "a.csv", "--columns", "--skip-bad").err.startswith(
        "learned 2 documents of 2 labels"
    )


def test_nul_and_line_breaks_in_cells(run) -> None:
    Path("a.csv").write_text('a,label\n"x\0y",x\n"x\ny",y\n"x\0y",x\n"x\ny",y\n')
    assert run("learn", "t.bunrui", "a.csv", "--columns").code == 0
    assert [line[0] for line in run("predict", "t.bunrui", "a.csv").out.splitlines()] == ["x", "y", "x", "y"]
    assert run("check", "t.bunrui").code == 0


def test_rows_that_do_not_fit_what_was_learned(run, people: Path) -> None:
    Path("less.csv").write_text("job,note\nboss,golf\n")
    assert run("predict", "t.bunrui", "less.csv").err == TRAINING.format(80) + (
        "error: less.csv, line 2: the column '年齢' is missing: every row that was learned has '年齢', 'job', 'note', "
        "'since', 'zip'; null where there is no value\n"
    )
    rows = table(1)[:3]
    rows[1]["年齢"] = "forty"
    write_csv("wrong.csv", rows)
    for command in (["predict", "t.bunrui", "wrong.csv"], ["evaluate", "t.bunrui", "wrong.csv", "--label", "income"]):
        assert run(*command).err.endswith(
            "error: wrong.csv, line 3: the column '年齢' has numbers in the learned rows, not 'forty': leave the cell "
            "empty, or learn the column as categorical or text\n"
        )
    rows[1]["年齢"] = None
    rows[1]["job"] = "astronaut"  # a new category
    write_csv("new.csv", [row | {"zip": "99"} for row in rows])
    assert run("predict", "t.bunrui", "new.csv").code == 0


# --- a public table

ADULT = """age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,
capital-loss,hours-per-week,native-country,income""".replace("\n", "")


@pytest.mark.slow
@pytest.mark.data
def test_adult(run, data_folder: Path) -> None:
    """The official split; labels of the test rows end with a point there."""
    import pandas as pd

    path = data_folder / "uci" / "uci.tar.xz"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    with tarfile.open(path) as archive:
        for part in ("train", "test"):
            file = archive.extractfile(f"uci_adult/adult-{part}.csv")
            assert file is not None
            lines = [line.removesuffix(".") for line in io.TextIOWrapper(file).read().splitlines() if "," in line]
            Path(f"{part}.csv").write_text("\n".join([ADULT, *lines, ""]))
    assert run("learn", "t.bunrui", "train.csv", "--columns", "--label", "income").code == 0
    found = [line.partition("\t")[0] for line in run("predict", "t.bunrui", "test.csv").out.splitlines()]
    read = {"skipinitialspace": True, "na_values": ["?"]}
    train, test = pd.read_csv("train.csv", **read), pd.read_csv("test.csv", **read)
    y, expected = train.pop("income"), test.pop("income")
    pytest.importorskip("sklearn")
    assert found == bunrui.ColumnsNB().fit(train, y).predict(test).tolist()
    assert np.mean(np.array(found) != expected) == pytest.approx(0.1701, abs=2e-3)
