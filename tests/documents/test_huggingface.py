"""Datasets of Hugging Face, by the real package: in memory, as it saves them, and from the shell without it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bunrui import TextClassifier, documents
from bunrui.cli import main
from bunrui.documents.columnar import batches_of
from bunrui.errors import DataError

datasets = pytest.importorskip("datasets", reason="datasets is not installed: pip install 'bunrui[pipelines]'")

TEXTS = [f"{word} film number {n}" for n in range(20) for word in ("bad", "good")]
CODES = [0, 1] * 20
NAMES = ["neg", "pos"] * 20


@pytest.fixture(scope="module", autouse=True)
def quiet() -> None:
    datasets.disable_progress_bars()


def make(texts: list[str] = TEXTS, codes: list[Any] = CODES, kind: Any = None) -> Any:
    """A dataset whose labels have names."""
    kind = kind or datasets.ClassLabel(names=["neg", "pos"])
    features = datasets.Features({"text": datasets.Value("string"), "label": kind})
    return datasets.Dataset.from_dict({"text": texts, "label": codes}, features=features)


def labels_of(source: Any, **options: Any) -> list[Any]:
    """All labels that are read."""
    return [label for batch in documents.read(source, **options) for label in batch["label"].to_pylist()]


# --- in memory


@pytest.mark.parametrize("kind", ["Dataset", "IterableDataset"])
def test_columns_are_texts_and_labels(kind: str) -> None:
    data = make() if kind == "Dataset" else make().to_iterable_dataset()
    learned = TextClassifier().learn(data["text"], data["label"])
    assert learned.counts == TextClassifier().learn(TEXTS, CODES).counts
    assert learned.classes_.tolist() == [0, 1]
    assert learned.score(make()["text"], make()["label"]) == 1.0


def test_a_dataset_is_read_with_the_names_of_its_labels() -> None:
    reader = documents.read(make())
    assert [labels_of(make()), labels_of(make())] == [NAMES, NAMES]
    assert [batch["text"].to_pylist() for batch in reader] == [TEXTS] == [batch["text"].to_pylist() for batch in reader]
    assert labels_of(make().select([1, 0, 3])) == ["pos", "neg", "pos"]
    assert labels_of(make().to_iterable_dataset(num_shards=4)) == NAMES
    assert labels_of(datasets.IterableDataset.from_generator(lambda: iter([{"text": "a", "label": "x"}]))) == ["x"]


def test_rows_in_another_order_are_read_in_few_batches() -> None:
    def same(row: dict[str, Any]) -> dict[str, Any]:
        return dict(row)

    data = make([f"film {n}" for n in range(3000)], [n % 2 for n in range(3000)])
    shuffled, kept = data.shuffle(seed=1), data.filter(lambda row: row["label"] == 0)
    mapped = data.to_iterable_dataset().map(same)
    generated = datasets.IterableDataset.from_generator(lambda: map(same, data))
    for source, n_batches in ((shuffled, 3), (kept, 2), (mapped, 3), (generated, 3)):
        batches = list(documents.read(source))
        assert len(batches) == n_batches
        assert [text for batch in batches for text in batch["text"].to_pylist()] == [row["text"] for row in source]
    assert labels_of(shuffled) == [["neg", "pos"][code] for code in shuffled["label"]]


def test_a_stream_that_knows_its_features_has_the_names_of_its_labels() -> None:
    stream, features, rows = make().to_iterable_dataset(), make().features, list(make())
    assert labels_of(stream.filter(lambda row: row["label"] == 1)) == ["pos"] * 20
    assert labels_of(stream.map(lambda row: row, features=features)) == NAMES
    assert labels_of(datasets.IterableDataset.from_generator(lambda: iter(rows), features=features)) == NAMES
    assert labels_of(stream.map(lambda row: row)) == ["0", "1"] * 20
    assert labels_of(stream.filter(lambda row: False)) == []


def test_rows_of_more_than_2_gib_stay_apart() -> None:
    picture = pa.StructArray.from_arrays([pa.array([bytes(1 << 26)])], ["bytes"])
    table = pa.table({"image": pa.chunked_array([picture] * 33)})  # the same bytes, 33 times
    assert [len(batch) for batch in batches_of(table)] == [1] * 33


def test_several_labels_have_names_too() -> None:
    data = make(["a", "b", "c"], [[0, 1], [1], [0]], datasets.List(datasets.ClassLabel(names=["neg", "pos"])))
    assert labels_of(data.select([1, 2])) == [["pos"], ["neg"]]
    assert labels_of(data) == [["neg", "pos"], ["pos"], ["neg"]]


def test_a_row_without_a_label_is_bad() -> None:
    data = make(["a", "b", "c"], [0, -1, 1])  # as the test sets of competitions have it
    with pytest.raises(DataError, match=r"^Dataset, row 2: the label is missing \(null\)"):
        labels_of(data)
    assert labels_of(data, skip_bad=True) == ["neg", "pos"]


def test_an_integer_without_a_name_is_an_error() -> None:
    table = pa.table({"text": ["a"], "label": [2]}).replace_schema_metadata(make().data.schema.metadata)
    with pytest.raises(DataError, match="the column 'label' has the label 2, and names only for 0 to 1: correct"):
        labels_of(table)


def test_other_tables_are_read_too() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"text": ["a", "b"], "label": ["x", "y"]}
    for table in (pa.table(columns), pandas.DataFrame(columns), polars.DataFrame(columns)):
        assert labels_of(table) == ["x", "y"]
    with pytest.raises(DataError, match="there is no column 'label', only 'text', 'topic'"):
        labels_of(pa.table({"text": ["a"], "topic": ["x"]}))


def test_a_dataset_for_each_label() -> None:
    given = make().remove_columns("label")
    assert sorted(set(labels_of({"spam": given, "ham": given}))) == ["ham", "spam"]


def test_splits_are_named() -> None:
    with pytest.raises(DataError, match=r"the splits train, test: give one, such as dataset\['train'\]"):
        documents.read(datasets.DatasetDict(train=make(), test=make()))


# --- map


def test_map_annotates() -> None:
    classifier = TextClassifier().learn(TEXTS, NAMES)
    shares = classifier.predict_proba(TEXTS).max(axis=1).tolist()
    for data in (make(), make().with_format("arrow"), make().to_iterable_dataset()):
        found = list(data.map(classifier.annotate, batched=True, batch_size=7).with_format(None))
        assert [row["predicted"] for row in found] == NAMES and [row["probability"] for row in found] == shares
        assert list(found[0]) == ["text", "label", "predicted", "probability"]
    for kind in ("pandas", "polars"):
        pytest.importorskip(kind)
        for data in (make(), make().to_iterable_dataset()):
            mapped = data.with_format(kind).map(classifier.annotate, batched=True, batch_size=7)
            found = list(mapped.with_format(None))
            assert [row["predicted"] for row in found] == NAMES and [row["probability"] for row in found] == shares
            assert list(found[0]) == ["text", "label", "predicted", "probability"]
    renamed = make().rename_column("text", "body")
    found = renamed.map(classifier.annotate, batched=True, fn_kwargs={"text": "body"})
    assert found["predicted"][:] == NAMES
    with pytest.raises(DataError, match="no column 'text', only 'body', 'label': name another with text"):
        renamed.map(classifier.annotate, batched=True)
    with pytest.raises(DataError, match="call map with batched=True"):
        make().map(classifier.annotate)


def test_a_data_frame_stays_one() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    classifier = TextClassifier().learn(["bad", "good"], [0, 1])
    columns = {"id": [7, 8], "text": ["good", "bad"], "predicted": [0, 0]}
    frame = classifier.annotate(pandas.DataFrame(columns, index=[5, 5]))
    assert frame.index.tolist() == [5, 5] and frame["predicted"].tolist() == [1, 0]
    other = classifier.annotate(polars.DataFrame(columns))
    assert other["predicted"].to_list() == [1, 0]
    assert list(frame.columns) == other.columns == ["id", "text", "predicted", "probability"]
    for empty in (frame[:0], other[:0]):
        assert list(classifier.annotate(empty).dtypes) == list(empty.dtypes)
    for data in (pandas.DataFrame({"body": []}), polars.DataFrame({"body": []})):
        with pytest.raises(DataError, match="no column 'text', only 'body': name another with text"):
            classifier.annotate(data)


# --- files


@pytest.mark.parametrize("form", ["folder", "parquet", "json"])
def test_saved_datasets_are_read_from_the_shell(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, file = tmp_path / f"saved.{form}", tmp_path / "film.bunrui"
    if form == "folder":
        make().save_to_disk(saved, num_shards=3)
    else:
        getattr(make(), f"to_{form}")(saved)
    monkeypatch.setitem(sys.modules, "datasets", None)  # to import it is an error now
    assert main(["learn", str(file), str(saved)]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(file), str(saved), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["n"], report["accuracy"]) == (40, 1.0)
    labels = [str(each["label"]) for each in report["per_class"]]
    assert labels == (["0", "1"] if form == "json" else ["neg", "pos"])  # JSON lines have no features


def test_a_folder_of_splits_says_which_there_are(tmp_path: Path) -> None:
    datasets.DatasetDict(train=make(), test=make()).save_to_disk(tmp_path / "saved")
    with pytest.raises(DataError, match=r"has the splits train, test: give the folder of one, such as .*saved.train$"):
        documents.read(tmp_path / "saved")
    assert labels_of(tmp_path / "saved" / "test") == NAMES


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"_data_files": [{"filename": "../other.arrow"}]}', "the file '../other.arrow', which is not in the folder"),
        ('{"_data_files": [{"filename": ".."}]}', "the file '..', which is not in the folder"),
        ('{"_data_files": [{"filename": "gone.arrow"}]}', "the file 'gone.arrow', which is not in the folder"),
        ('{"_data_files": []}', "this dataset has no rows"),
        ('{"_data_fi', "state.json does not list the files of this dataset"),
    ],
)
def test_a_folder_names_its_own_files(tmp_path: Path, content: str, problem: str) -> None:
    make().save_to_disk(tmp_path / "saved")
    (tmp_path / "saved" / "state.json").write_text(content)
    with pytest.raises(DataError, match=re.escape(problem)):
        documents.read(tmp_path / "saved")
