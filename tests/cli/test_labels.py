"""Labels that are integers or booleans on the command line: the file says what the texts stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bunrui
from tests.cli.conftest import Run

TEXTS = ["cheap pills now", "win money fast", "meeting at noon", "lunch with the team at noon"]
INTEGERS = [10, 10, -1, -1]


def write(name: str, labels: list[Any]) -> str:
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, labels, strict=True)]
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), name)
    elif name.endswith(".csv"):
        Path(name).write_text("text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows))
    else:
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


@pytest.fixture
def file(run: Run) -> str:
    assert run("learn", "a.bunrui", write("a.jsonl", INTEGERS)).code == 0
    return "a.bunrui"


def classes(file: str) -> list[Any]:
    with bunrui.open(file, read_only=True) as clf:
        return list(clf.classes_.tolist())


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a.jsonl", "b.csv", [-1, 10]),  # the file has integers: "10" is 10
        ("a.parquet", "b.csv", [-1, 10]),
        ("a.csv", "b.parquet", ["-1", "10"]),  # CSV has texts, and so has the file: 10 is "10"
        ("a.csv", "b.jsonl", ["-1", "10"]),
    ],
)
@pytest.mark.parametrize("options", [(), ("--memory", "1GB")], ids=["", "memory"])
def test_the_file_decides_and_the_first_document_where_it_is_new(
    run: Run, first: str, second: str, expected: list[Any], options: tuple[str, ...]
) -> None:
    for name in (first, second):
        assert run("learn", "x.bunrui", write(name, INTEGERS), *options).code == 0
    assert classes("x.bunrui") == expected
    assert run("unlearn", "x.bunrui", second).code == 0
    known = json.loads(run("info", "x.bunrui", "--json").out)
    assert (known["labels"], known["label_type"]) == ({"-1": 2, "10": 2}, type(expected[0]).__name__)
    assert json.loads(run("evaluate", "x.bunrui", first, "--json").out)["accuracy"] == 1.0


def test_answers_are_numbers_in_json_and_tables(run: Run, file: str) -> None:
    answer = json.loads(run("predict", file, "--line", "pills", "--json", "--top", "2").out)
    assert answer["label"] == 10 and list(answer["probabilities"]) == ["10", "-1"]
    assert run("predict", file, "--line", "pills").out.startswith("10\t")
    run("predict", file, "a.jsonl", "--output", "out.parquet", "--top", "1")
    table = pq.read_table("out.parquet")
    assert table["label"].to_pylist() == INTEGERS and table.schema.field("label").type == pa.int64()
    why = json.loads(run("explain", file, "pills", "--label", "-1", "--against", "10", "--json").out)
    assert (why["label"], why["against"]) == (-1, 10)
    assert json.loads(run("words", file, "--json", "--", "-1").out)[0]["counts"] == {"-1": 2}
    found = json.loads(run("evaluate", "a.jsonl", "--loo", "--positive", "10", "--json").out)
    assert [one["label"] for one in found["per_class"]] == [-1, 10]
    assert run("predict", file, "--line", "pills", "--log-odds", "10").out.count("+") == 1
    assert json.loads(run("log", file, "--documents", "--json").out.splitlines()[0])["labels"] == [10]


def test_labels_of_options_are_read_as_the_file_has_them(run: Run, file: str) -> None:
    assert run("relabel", file, "--to", "7", "-", stdin=TEXTS[0]).err.splitlines()[1] == "7 is a new label"
    assert "stands behind --, as in 'bunrui words FILE -- -1'" in run("label", "rename", file, "7", "-30").err
    assert run("label", "rename", file, "--", "7", "-30").code == 0 and classes(file) == [-30, -1, 10]
    assert run("label", "move", file, "--", "-30", "10").code == 0 and classes(file) == [-1, 10]
    assert run("learn", file, "-", "--as", "3", "--format", "lines", stdin="tea\n").code == 0
    assert run("teach", file, "a.csv", "--labels", "4", stdin="q").code == 1  # there is no such file
    Path("b.txt").write_text("black tea\ngreen tea\n")
    assert run("teach", file, "b.txt", "--labels", "4", stdin="4nx\nn5\nq").code == 0
    assert classes(file) == [-1, 3, 4, 5, 10]
    assert run("label", "drop", file, "spam").err == (
        "error: the label 'spam' is no integer, and the other labels are integers: give one such as 3 or -1, or all "
        "labels as strings\n"
    )
    write("bad.jsonl", [1, 2, "spam", 3])
    refused = run("learn", file, "bad.jsonl")
    assert refused.code == 1 and "bad.jsonl, line 3: the label 'spam' is no integer" in refused.err
    mail = "Subject: black tea\n\nand green tea\n"
    assert run("deliver", file, "--train", "3", stdin=mail).err == f"learned 1 document of 3 into {file}\n"
    assert run("deliver", file, "--positive", "3", stdin=mail).out.startswith("X-Bunrui-Label: 3\n")
    assert run("check", file).code == 0


def test_labels_look_the_same_everywhere(run: Run, file: str) -> None:
    write("b.jsonl", [True, False, True, False])
    assert run("learn", "b.bunrui", "b.jsonl").code == 0
    found = run("evaluate", "b.bunrui", "--loo", "--positive", "true", "--html", "b.html").out
    assert "\ntrue: 1 − ROCA" in found and "\nfalse " in found
    page = Path("b.html").read_text()
    assert 'data-value="false"><bdi>false</bdi>' in page and "true, predicted as false" in page
    shown = found + page + run("explain", "b.bunrui", "pills").out
    assert "True" not in shown and "False" not in shown
    assert "labels        2, booleans\n" in run("info", "b.bunrui").out
    assert "labels        2, integers\n" in run("info", file).out
    label = classes(file)[-1]
    assert run("label", "rename", file, str(label), "77").err.startswith(f"renamed {label} to 77 (")


# The commands that show labels.
SHOWN = [
    ["predict", "a.bunrui", "a.jsonl", "--top", "2"],
    ["explain", "a.bunrui", TEXTS[0]],
    ["words", "a.bunrui"],
    ["words", "a.bunrui", "\x1b[31mred\x07"],
    ["evaluate", "a.bunrui", "a.jsonl"],
    ["evaluate", "a.bunrui", "--loo", "--positive", "\x1b[31mred\x07"],
    ["audit", "a.bunrui"],
    ["info", "a.bunrui"],
    ["log", "a.bunrui"],
    ["log", "a.bunrui", "--documents"],
    ["label", "rename", "a.bunrui", "\x1b[31mred\x07", "\x1b[32mgreen"],
    ["teach", "a.bunrui", "more.txt"],
]


@pytest.mark.parametrize("arguments", SHOWN, ids=" ".join)
def test_no_label_acts_on_a_terminal(run: Run, arguments: list[str]) -> None:
    """Escapes, a bell, the one-byte CSI and a mark that turns the direction are shown as pictures."""
    write("a.jsonl", ["\x1b[31mred\x07", "\x9b2J\u202e"] * 2)
    Path("more.txt").write_text("tea at noon\n")
    assert run("learn", "a.bunrui", "a.jsonl").code == 0
    found = run(*arguments, stdin="q")
    assert found.code == 0
    assert not set(found.out + found.err) & set("\x1b\x07\x9b\u202e")
    assert arguments == ["log", "a.bunrui"] or "␛[3" in found.out + found.err


def test_fixes_and_files_of_two_types(run: Run, file: str) -> None:
    write("b.jsonl", [True, False, True, False])
    assert run("learn", "b.bunrui", "b.jsonl").code == 0 and classes("b.bunrui") == [False, True]
    assert run("predict", "b.bunrui", "--line", "pills").out.startswith("true\t")
    merged = run("merge", "c.bunrui", file, "b.bunrui")
    assert merged.code == 1 and "the labels of b.bunrui are booleans, and those of a.bunrui are integers" in merged.err
    run("audit", "b.bunrui", "--output", "fixes.csv")
    lines = Path("fixes.csv").read_text().splitlines()
    row = next(k for k, line in enumerate(lines) if TEXTS[2] in line)
    lines[row] = lines[row].replace(",true,true,", ",FALSE,true,")
    Path("fixes.csv").write_text("\n".join(lines))
    assert run("audit", "b.bunrui", "--apply", "fixes.csv").out == "1\ttrue → false\n"
    with bunrui.open("b.bunrui", read_only=True) as clf:
        assert [document.labels for document in clf.documents() if document.text == TEXTS[2]] == [[False]]
