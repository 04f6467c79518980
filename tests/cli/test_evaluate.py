from __future__ import annotations

import json
from pathlib import Path

import pytest

TEST = "text,label\npills,spam\nnoon,ham\nteam,ham\nlunch,spam\n"


def test_tables(run, mail: Path) -> None:
    Path("test.csv").write_text(TEST)
    code, out, err = run("evaluate", "mail.bunrui", "test.csv")
    assert (code, err) == (0, "") and out.startswith("accuracy 0.750 of 4 documents\n")
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
