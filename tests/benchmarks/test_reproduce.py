"""`benchmarks/reproduce.py` on corpora of a few documents, whose classes have words of their own."""

from __future__ import annotations

import doctest
import io
import json
import re
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bunrui import datasets

EXAMPLES = {"enron": 1, "reuters": 2, "rows": 4}
NAMES = ("livedoor", "twitter", "aozora", "enron", "reuters", "20news", "imdb", "adult", "aode")
N_ROWS = {"livedoor": 7, "twitter": 13, "aozora": 6, "enron": 5, "reuters": 12, "20news": 16, "imdb": 12, "adult": 5,
          "aode": 5}  # fmt: skip


@pytest.fixture(scope="module")
def reproduce(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("reproduce")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All corpora, small."""
    home = tmp_path_factory.mktemp("corpora")
    write(home / "twitter_samples", train=tweets(20), test=tweets(5))
    authors = [("夏目漱石", "猫", "吾輩は猫である"), ("太宰治", "走れ", "メロスは激怒した")]
    works = [{"label": author, "title": title, "text": text * 3} for author, title, text in authors]
    write(home / "aozora", train=works * 2, test=works)
    write(home / "enron_spam", **{f"enron{user}": mails(80, 50) for user in range(1, 7)})
    topics = [{"label": ["grain"], "text": "wheat and corn"}, {"label": ["oil"], "text": "crude barrels"}]
    topics += [{"label": ["grain", "oil"], "text": "wheat corn crude barrels"}]
    write(home / "reuters", train=topics * 5, test=topics)
    news = [
        {"label": "sci", "text": "From: a\n\norbit of moons"},
        {"label": "rec", "text": "From: b\n\ngoals and teams"},
    ]
    write(home / "20news", train=news * 6, test=news * 3)
    reviews = [{"label": "pos", "text": "a fine film"}, {"label": "neg", "text": "a dull mess"}]
    write(home / "imdb", train=reviews * 4, test=reviews)
    pack(home / "livedoor" / "livedoor.tar.xz", articles(10))
    pack(home / "uci" / "uci.tar.xz", tables())
    return home


def write(home: Path, **parts: list[dict[str, Any]]) -> None:
    home.mkdir()
    for name, rows in parts.items():
        pq.write_table(pa.Table.from_pylist(rows), home / f"{name}.parquet")


def pack(path: Path, files: dict[str, str]) -> None:
    path.parent.mkdir()
    with tarfile.open(path, "w:xz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))


def tweets(n: int) -> list[dict[str, str]]:
    return [{"label": "positive", "text": f"@a glad {k} :)"} for k in range(n)] + [
        {"label": "negative", "text": f"@b alas {k} :("} for k in range(n)
    ]


def mails(n_ham: int, n_spam: int) -> list[dict[str, str]]:
    ham = [{"label": "ham", "text": f"Subject: gas\r\nplease review deal {k}"} for k in range(n_ham)]
    return ham + [{"label": "spam", "text": f"Subject: pills\r\nbuy cheap pills {k}"} for k in range(n_spam)]


def articles(n: int) -> dict[str, str]:
    bodies = {"sports-watch": "野球の試合と選手", "movie-enter": "映画の監督と俳優"}
    head = "http://example.com\n2012-01-01T00:00:00+0900\n"
    files = {
        f"text/{label}/{label}-{k}.txt": f"{head}題{k}\n{body}" for label, body in bodies.items() for k in range(n)
    }
    return files | {"text/README.txt": "none of the articles\n\n\n"}


def tables() -> dict[str, str]:
    rich = "50, Private, 1, Masters, 14, Married, Exec, Husband, White, Male, 9999, 0, 40, Japan, >50K"
    poor = "20, Private, 1, 9th, 5, Never, Sales, Own-child, White, Male, 0, 0, 20, Japan, <=50K"
    unknown = "20, ?, 1, 9th, 5, Never, ?, Own-child, White, Male, 0, 0, 20, Japan, >50K"
    arff = "@relation t\n@attribute a {x,y}\n@attribute b {u,v}\n@attribute class {p,q}\n@data\n"
    return {
        "uci_adult/adult-train.csv": "\n".join([rich, poor] * 20 + [unknown]) + "\n\n",
        "uci_adult/adult-test.csv": "\n".join(f"{row}." for row in [rich, poor, unknown]) + "\n\n",
        "uci_arff/classification/toy.arff": arff + "x,u,p\ny,v,q\n" * 20,
    }


def run(reproduce: ModuleType, folder: Path, name: str, tmp_path: Path) -> list[dict[str, Any]]:
    file = tmp_path / "rows.json"
    reproduce.main(["--data", str(folder), "--only", name, "--json", str(file)])
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return rows


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BUNRUI_DATA", "set by main, and set back")
    monkeypatch.setenv("BUNRUI_DATASETS", str(tmp_path / "fetched"))


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment(reproduce: ModuleType, folder: Path, name: str, tmp_path: Path) -> None:
    if name in ("livedoor", "aozora"):
        pytest.importorskip("fugashi")
    check(name, run(reproduce, folder, name, tmp_path))


def check(name: str, rows: list[dict[str, Any]]) -> None:
    assert len(rows) == N_ROWS[name]
    assert {row["experiment"] for row in rows} == {name}
    for row in rows:
        if "error" in row["measure"]:
            # aode keeps the row with unknown values, whose label is a wrong one; adult leaves it out.
            assert row["ours"] == [0.0] if name == "adult" else 0 < row["ours"][0] < 0.05
        elif name == "reuters":  # two topics at once are beyond a fixed threshold
            assert all(0 < value <= 1 for value in row["ours"])
        elif row["measure"] == "λ(w)":
            word = row["setting"].removeprefix("the word ")
            assert row["ours"][0] > 0 if word in (":)", "glad") else row["ours"][0] < 1e-12
        elif row["measure"] == "wins / ties / losses":
            assert row["ours"] == [0, 2, 0]
        else:
            assert row["ours"] == [1.0] * len(row["ours"])


SGML = '<REUTERS TOPICS="YES" LEWISSPLIT="{}"><TOPICS>{}</TOPICS><TEXT><BODY>{}</BODY></TEXT></REUTERS>\n'


def official() -> dict[str, dict[str, str]]:
    """The same small corpora as their publishers have them, by the names of `bunrui datasets`."""
    grain, oil = ("<D>grain</D>", "wheat and corn"), ("<D>oil</D>", "crude barrels")
    both = (grain[0] + oil[0], "wheat corn crude barrels")
    train = [grain, oil, both] * 5 + [("", "no topic"), ("<D>tea</D>", "only in the training set")]
    tables_ = tables()
    adult = {"adult.data": tables_["uci_adult/adult-train.csv"], "adult.test": tables_["uci_adult/adult-test.csv"]}
    return {
        "enron": {
            f"enron{user}/{mail['label']}/{k:03}.txt": mail["text"]
            for user in range(1, 7)
            for k, mail in enumerate(mails(80, 50))
        },
        "reuters": {
            "reut2-000.sgm": "".join(SGML.format("TRAIN", *each) for each in train)
            + "".join(SGML.format("TEST", *each) for each in (grain, oil, both))
        },
        "adult": adult,
        "uci-labor": {"labor.arff": tables_["uci_arff/classification/toy.arff"]},
        "livedoor": articles(10),
    }


@pytest.mark.parametrize(
    ("name", "brought"),
    [
        ("enron", ["enron"]),
        ("reuters", ["reuters"]),
        ("adult", ["adult"]),
        ("aode", ["adult", "uci-labor"]),
        ("livedoor", ["livedoor"]),
    ],
)
def test_what_was_fetched(reproduce: ModuleType, name: str, brought: list[str], tmp_path: Path) -> None:
    if name == "livedoor":
        pytest.importorskip("fugashi")
    (missing,) = run(reproduce, tmp_path, name, tmp_path)
    assert missing["comment"].startswith(f"left out: its corpus is not in {tmp_path}; `bunrui datasets fetch ")
    for each in brought:
        for file, text in official()[each].items():
            path = tmp_path / "copies" / each / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        datasets.fetch(each, tmp_path / "copies" / each)
    rows = run(reproduce, tmp_path, name, tmp_path)
    check(name, rows)
    if name == "reuters":
        assert {row["split"] for row in rows} == {"ModApte, 17 / 3", "ModApte, 90 topics, 15 / 3"}


def test_the_ways_to_get_a_corpus(reproduce: ModuleType) -> None:
    assert set(reproduce.WAYS) == set(NAMES)
    fetched = [re.search("datasets fetch ([\\w-]+)", way) for way in reproduce.WAYS.values()]
    assert {found[1] for found in fetched if found} <= set(datasets.CORPORA)


def test_table(reproduce: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = []
    for _ in range(2):
        reproduce.main(["--data", str(folder), "--only", "twitter"])
        tables.append(capsys.readouterr())
    assert tables[0].out == tables[1].out
    head, rule, first, *_ = tables[0].out.splitlines()
    assert [cell.strip() for cell in head.strip("|").split("|")] == list(reproduce.HEADINGS)
    assert set(rule) == {"|", "-"}
    assert len(head) == len(rule) == len(first)
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells[:2] + cells[3:6] == ["twitter", "log-odds λ=1, words and emoticons", "accuracy", ".9940", "1.0000"]
    assert tables[0].err.startswith("twitter: log-odds λ=1, words and emoticons: 1.0000 (")


def test_missing_corpora_have_a_line(reproduce: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce.main(["--data", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split()[1] for line in lines] == list(NAMES)
    assert all(f"left out: its corpus is not in {tmp_path}" in line for line in lines)


def test_a_table_that_is_missing(reproduce: ModuleType, tmp_path: Path) -> None:
    pack(tmp_path / "uci" / "uci.tar.xz", {"other.txt": ""})
    (row,) = run(reproduce, tmp_path, "adult", tmp_path)
    assert row["comment"].startswith("left out") and row["figures"] == "–"


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(reproduce: ModuleType, name: str) -> None:
    assert doctest.testmod(sys.modules[f"reproduction.{name}"]) == doctest.TestResults(0, EXAMPLES[name])


def test_order_of_the_files(reproduce: ModuleType, folder: Path) -> None:
    corpora, splits = sys.modules["corpora"], sys.modules["reproduction.splits"]
    table = splits.in_order(corpora.load("livedoor", folder))
    assert table["label"].to_pylist() == ["movie-enter"] * 10 + ["sports-watch"] * 10
    tweets = splits.in_order(corpora.load("twitter_samples", folder))
    stored = [pq.read_table(folder / "twitter_samples" / f"{part}.parquet")["text"] for part in ("train", "test")]
    assert tweets["text"].to_pylist() == [text for part in stored for text in part.to_pylist()]


def test_cut_is_that_of_the_benchmarks(reproduce: ModuleType, folder: Path) -> None:
    corpora, splits = sys.modules["corpora"], sys.modules["reproduction.splits"]
    corpus = corpora.load("livedoor", folder)
    texts = np.array(splits.in_order(corpus)["text"].to_pylist())
    X = np.eye(len(texts), dtype=np.int64)
    task = splits.cut(X, texts, seed=0)
    assert task.y.tolist() == corpus.train["text"].to_pylist()
    assert task.truth.tolist() == corpus.test["text"].to_pylist()
    assert task.X.shape[1] == len(task.y)  # each row has a column of its own: those of test rows are gone
    assert not task.Q.any()


def test_attributes(reproduce: ModuleType) -> None:
    enron = sys.modules["reproduction.enron"]
    df = np.array([[5.0, 10, 0, 3], [5, 0, 2, 2]])  # of ten documents each: says nothing, all, rare, hardly anything
    chosen = enron.attributes(df, np.array([20, 10, 2, 5]), np.array([10, 10]))
    assert chosen.tolist() == [0, 1, 3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enron, "ATTRIBUTES", 1)
        assert enron.attributes(df, np.array([20, 10, 2, 5]), np.array([10, 10])).tolist() == [1]
