"""The steps for datatrove in real pipelines, beside its own fastText filter."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bunrui import store
from bunrui.errors import OptionError

pytest.importorskip("datatrove", reason="datatrove is not installed: pip install 'bunrui[pipelines]'")

import multiprocess
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.filters import FastTextClassifierFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter

from bunrui.integrations.datatrove import BunruiClassifierFilter, BunruiLabeller
from tests.support.real_fasttext import train_real

WORDS = {"spam": "pills cheap win money", "ham": "meeting noon lunch team"}
DOCUMENTS = [
    {"text": f"{WORDS[label]}\n{WORDS[label]}", "id": f"{label}-{n}"} for n in range(100) for label in ("spam", "ham")
]
SPAM, HAM = (sorted(row["id"] for row in DOCUMENTS if row["id"].startswith(label)) for label in ("spam", "ham"))


@pytest.fixture(autouse=True)
def no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the process that datatrove would fork: in a process with threads, a child may wait for ever for a lock."""
    monkeypatch.setattr(multiprocess, "Manager", multiprocess.get_context("spawn").Manager)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the documents and a classifier."""
    folder = tmp_path_factory.mktemp("datatrove")
    (folder / "in").mkdir()
    for part in range(2):
        lines = [json.dumps(row) for row in DOCUMENTS[part::2]]
        (folder / "in" / f"{part}.jsonl").write_text("\n".join(lines))
    with store.create(folder / "mail.bunrui") as classifier:
        classifier.learn([row["text"] for row in DOCUMENTS], [row["id"].partition("-")[0] for row in DOCUMENTS])
    return folder


def run(folder: Path, out: Path, make: Callable[[Any], Any], **options: Any) -> tuple[list[Any], list[Any]]:
    """The documents that a pipeline keeps, and those that it removes."""
    step = make(JsonlWriter(str(out / "removed"), compression=None))
    pipeline = [JsonlReader(str(folder / "in")), step, JsonlWriter(str(out / "kept"), compression=None)]
    LocalPipelineExecutor(pipeline, logging_dir=str(out / "logs"), **options).run()
    kept, removed = (
        [json.loads(line) for path in sorted((out / name).glob("*.jsonl")) for line in path.read_text().splitlines()]
        for name in ("kept", "removed")
    )
    return kept, removed


def ids(rows: list[Any]) -> list[str]:
    return sorted(row["id"] for row in rows)


@pytest.mark.parametrize("way", ["keep_labels", "remove_labels"])
def test_the_filter_does_as_the_fasttext_filter(
    way: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.utils._cache_assets.HF_ASSETS_CACHE", str(tmp_path / "cache"))
    train, binary = tmp_path / "train.txt", tmp_path / "mail.bin"
    lines = [f"__label__{row['id'].partition('-')[0]} {row['text'].replace(chr(10), ' ')}" for row in DOCUMENTS]
    train.write_text("\n".join(lines) + "\n")
    train_real(train, binary)
    options = {way: [("spam", 0.5)], "newline_replacement": " "}
    theirs = run(
        folder,
        tmp_path / "theirs",
        lambda writer: FastTextClassifierFilter(str(binary), exclusion_writer=writer, **options),
        workers=1,
    )
    ours = run(
        folder,
        tmp_path / "ours",
        lambda writer: BunruiClassifierFilter(str(folder / "mail.bunrui"), exclusion_writer=writer, **options),
        workers=1,
    )
    assert [ids(rows) for rows in ours] == ([SPAM, HAM] if way == "keep_labels" else [HAM, SPAM])
    for mine, other in zip(ours, theirs, strict=True):
        assert ids(mine) == ids(other)
        assert [set(row["metadata"]) for row in mine] == [set(row["metadata"]) for row in other]
    assert {"__label__spam", "__label__ham"} <= set(ours[0][0]["metadata"])
    assert [row["text"] for row in ours[0]] == [row["text"] for row in theirs[0]]
    assert {row["text"] for row in ours[1]} == {row["text"] for row in DOCUMENTS if row["id"] == ours[1][0]["id"]}


def test_tasks_in_processes_label_all_documents(folder: Path, tmp_path: Path) -> None:
    options = {"tasks": 2, "workers": 2}
    kept, _ = run(folder, tmp_path, lambda _: BunruiLabeller(str(folder / "mail.bunrui"), batch_size=30), **options)
    assert ids(kept) == sorted(SPAM + HAM)
    assert all(row["metadata"]["predicted"] == row["id"].partition("-")[0] for row in kept)
    assert all(0.5 < row["metadata"]["probability"] <= 1 for row in kept)


def filtered(folder: Path, texts: list[str], **options: Any) -> list[Document]:
    step = BunruiClassifierFilter(str(folder / "mail.bunrui"), **options)
    return list(step.run(Document(text, str(n)) for n, text in enumerate(texts)))


def test_scores_are_probabilities(folder: Path) -> None:
    texts = ["pills", "noon", "lunch money"]
    with store.open(folder / "mail.bunrui", read_only=True) as classifier:
        shares = classifier.predict_proba(texts).tolist()
    found = filtered(folder, texts)  # with neither labels to keep nor to remove
    assert [list(document.metadata.values()) for document in found] == shares
    assert [document.metadata for document in filtered(folder, texts, save_labels_in_metadata=False)] == [{}] * 3
    assert [document.metadata for document in filtered(folder, texts, batch_size=1)] == [d.metadata for d in found]


def test_paragraphs_are_judged_by_themselves(folder: Path) -> None:
    text = "team lunch\ncheap pills\n\nmeeting at noon"
    [kept] = filtered(folder, [text, "win money"], keep_labels=("ham", 0.5), filter_mode="PARAGRAPH")
    assert kept.text == "team lunch\nmeeting at noon"


def test_labels_that_are_booleans(tmp_path: Path) -> None:
    with store.create(tmp_path / "mail.bunrui") as classifier:
        classifier.learn([row["text"] for row in DOCUMENTS], [row["id"].startswith("spam") for row in DOCUMENTS])
    for label in (True, "true"):
        [kept] = filtered(tmp_path, ["pills", "noon"], keep_labels=(label, 0.5))
        assert kept.text == "pills" and list(kept.metadata) == ["__label__false", "__label__true"]


def test_wrong_labels_are_errors(folder: Path) -> None:
    with pytest.raises(OptionError, match=r"mail\.bunrui has no label 'eggs', only 'ham', 'spam'"):
        filtered(folder, ["pills"], remove_labels=[("eggs", 0.5)])
    with pytest.raises(ValueError, match="only supply one of `keep_labels` or `remove_labels`"):
        filtered(folder, ["pills"], keep_labels=("ham", 0.5), remove_labels=("spam", 0.5))
