"""The page of the benchmarks: a small run, and what is said of one that fell behind the record."""

from __future__ import annotations

import copy
import doctest
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from bunrui import datasets

REPOSITORY = Path(__file__).resolve().parents[2]
N_DOCS = 40
FRESH = {
    "runs": 3,
    "rows": [{"run": "first learn", "ms": 500.0, "processor ms": 400.0, "ratio": 3.5, "processor ratio": 3.0}],
    "build s": {"seconds": 60.0, "processor": 80.0},
    "install s": {"seconds": 20.0, "processor": 10.0},
    "wheel MB": 1.4,
    "installed MB": 480.0,
    "compilers": [],
    "packages MB": {"pyarrow": 170.0, "bunrui": 4.0},
}


@pytest.fixture(scope="module")
def page(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("page")


@pytest.fixture(scope="module")
def run(page: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Learned and predicted by scikit-learn and bunrui, each in a process of its own."""
    folder = tmp_path_factory.mktemp("corpora")
    (folder / "imdb").mkdir()
    rows = {"label": ["good", "bad"] * (N_DOCS // 2), "text": ["a fine film", "a dull film"] * (N_DOCS // 2)}
    for split in ("train", "test"):
        pq.write_table(pa.table(rows), folder / "imdb" / f"{split}.parquet")
    names = ("scikit-learn", "bunrui, Arrow")
    rows_, versions = page.speed.measure([("imdb", "words")], names, folder=str(folder), repeats=2)
    one = {"corpus": "imdb", "classes": 2, "learned before": 0, "learn ms": 1.0, "predict ms": 2.0}
    return {
        **page.table.as_dict(rows_, versions),
        "latency": [{"peer": "river", **one}, {"peer": "bunrui, multinomial", **one}],
        "stream": {"megabytes": 500.0, "features": 9, "learn peak MB": 250.0, "predict peak MB": 240.0},
        "analyzers": page.threads.measure("imdb", [2], runs=1, sample=False, folder=str(folder)),
        "fresh": FRESH,
    }


def printed(show: Any, *args: Any) -> tuple[Any, str]:
    out = io.StringIO()
    return show(*args, Console(file=out, width=140)), out.getvalue()


def test_examples(page: ModuleType) -> None:
    for module, n_examples in ((page.regression, 6), (page.table, 3)):
        assert doctest.testmod(module) == doctest.TestResults(0, n_examples)


def test_the_page(page: ModuleType, run: dict[str, Any]) -> None:
    _, text = printed(page.show, run)
    assert "scikit-learn " + run["versions"]["scikit-learn"] in text
    lines = [line for line in text.splitlines() if "bunrui, Arrow" in line]
    assert len(lines) == 1 and "1.0000" in lines[0]
    assert "peak 250 MB while learned" in text
    assert "imdb   │ universal │ learn" in text and "× words" in text
    assert "compilers in it: none" in text


def test_the_record_is_the_run(page: ModuleType, run: dict[str, Any]) -> None:
    read = json.loads(page.written(run))
    assert read == run
    assert {figure.kind for figure in page.regression.figures(read)} == {
        "learn, times scikit-learn",
        "predict, times scikit-learn",
        "accuracy",
        "memory, scikit-learn's over ours",
        "learn one, river's time over ours",
        "predict one, river's time over ours",
        "memory",
    }


def test_what_fell_counts_on_the_same_machine(page: ModuleType, run: dict[str, Any]) -> None:
    assert printed(page.compare, run, run) == (False, "7 of 7 recorded figures compared, 0 fell; 0 are new.\n")
    slower = copy.deepcopy(run)
    for row in slower["rows"]:
        if row["peer"] == "bunrui, Arrow" and row["task"] == "learn":
            row["ratio"] /= 2
    falls, text = printed(page.compare, slower, run)
    assert falls and "fell learn, times scikit-learn: imdb, words, bunrui, Arrow" in text
    for other in ({"machine": run["machine"] | {"processor": "another"}}, {"versions": {"scikit-learn": "9.9"}}):
        falls, text = printed(page.compare, slower | other, run)
        assert not falls and "another machine or other versions" in text and "fell learn" in text


def test_accuracy_counts_anywhere(page: ModuleType, run: dict[str, Any]) -> None:
    worse = copy.deepcopy(run)
    worse["machine"] = run["machine"] | {"cores": -1}
    for row in worse["rows"]:
        if row["accuracy"] is not None:
            row["accuracy"] -= 0.01
    falls, text = printed(page.compare, worse, run)
    assert falls and "accuracy: imdb, words, bunrui, Arrow: 0.99, recorded 1" in text


def test_what_is_no_longer_measured_counts(page: ModuleType, run: dict[str, Any]) -> None:
    without = {**run, "latency": [row for row in run["latency"] if row["peer"] != "river"]}
    falls, text = printed(page.compare, without, run)
    assert falls and "not measured learn one, river's time over ours" in text
    assert printed(page.compare, run, without) == (False, "5 of 5 recorded figures compared, 0 fell; 2 are new.\n")


def test_records_that_are_none(page: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(page, "RECORD", tmp_path / "recorded.json")
    assert page.recorded() is None
    assert "there is no recorded.json" in capsys.readouterr().err
    for text in ("{", "{}", "[]", '{"rows": [{}]}'):
        page.RECORD.write_text(text)
        with pytest.raises(SystemExit, match="is not a run of this script"):
            page.recorded()


def test_the_record_that_is_kept(page: ModuleType) -> None:
    then = page.recorded()
    assert len(page.regression.figures(then)) > 50
    assert {"imdb", "20news", "livedoor", "zipf_en", "zipf_ja"} <= {row["corpus"] for row in then["rows"]}


def test_the_readme_has_the_figures_of_the_record(page: ModuleType, script: Callable[[str], ModuleType]) -> None:
    readme = script("readme")
    for name in readme.READMES:
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        assert readme.write(text, name, page.recorded()) == text, "run python benchmarks/readme.py"
        without_river = re.sub(r"(?m)^\| river.*\n", "", text)
        old = re.sub(r"(2–3-grams?\D+)\d+", r"\g<1>0", without_river)
        assert len({old, without_river, text}) == 3 and readme.write(old, name, page.recorded()) == text


def test_a_corpus_that_was_fetched(page: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_DATASETS", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError, match=r"bunrui.datasets.fetch\('sms'\)"):
        page.speed.corpora.load("sms_spam", tmp_path / "none")
    with zipfile.ZipFile(tmp_path / "sms.zip", "w") as archive:
        archive.writestr("SMSSpamCollection", "ham\tsee you at noon\nspam\tfree pills\n" * 10)
    datasets.fetch("sms", source=tmp_path / "sms.zip")
    corpus = page.speed.corpora.load("sms_spam", tmp_path / "none")
    assert (corpus.train.num_rows, corpus.test.num_rows) == (16, 4)
    assert set(corpus.train["text"].to_pylist()) == {"see you at noon", "free pills"}
