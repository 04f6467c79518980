"""A cluster of several machines, which are processes here, counts and predicts as one process does, bit for bit.

All machines send their results through the object store, however small, so that a machine that is killed takes those
with it that lay there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.classifier import AnyClassifier
from bunrui.cli import main
from bunrui.documents import read
from bunrui.engines.pieces import split
from bunrui.errors import BunruiError, DataError, OptionError

pytest.importorskip("ray", reason="ray is not installed: pip install 'bunrui[ray]'")

import ray.data
from pyarrow.fs import LocalFileSystem
from ray.cluster_utils import Cluster

from bunrui.engines import ray as engine
from bunrui.engines import tasks
from bunrui.engines.tasks import Labels
from tests.blocks import REPOSITORY, blocks_of, run_python
from tests.support.examples import quick
from tests.support.waiting import PATIENCE, wait_until

N_FILES = 7
N_DOCS = 140
WORDS = [*(f"word{n}" for n in range(60)), "料金が無料", "회의", "a-very-long-word-beyond-sixteen-bytes"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head that does nothing but drive, and two machines with one core each."""
    folder = tempfile.mkdtemp(prefix="ray")  # a short name: sockets lie in it
    before = {
        name: os.environ.get(name) for name in ("RAY_TMPDIR", "RAY_ADDRESS", "RAY_USAGE_STATS_ENABLED", "PYTHONPATH")
    }
    os.environ["RAY_TMPDIR"] = folder
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # else threads of Ray log, in whichever test runs next
    os.environ.pop("RAY_ADDRESS", None)
    source = str(Path(bunrui.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, before["PYTHONPATH"]]))
    # Where memory is short, Ray kills workers and begins their tasks again, without end.
    system = {"max_direct_call_object_size": 100, "memory_monitor_refresh_ms": 0}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": system}
    machines = Cluster(initialize_head=True, head_node_args=head | {"object_store_memory": 80 << 20})
    try:
        fill(machines)
        engine.connect(machines.address)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield machines
    finally:
        ray.shutdown()
        machines.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def fill(machines: Cluster) -> None:
    """Two machines with one core each, whatever was killed before."""
    while len(machines.worker_nodes) < 2:
        machines.add_node(num_cpus=1, object_store_memory=80 << 20)
    machines.wait_for_nodes()


@pytest.fixture(scope="module")
def documents() -> pa.Table:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 9)) for _ in range(N_DOCS)]
    return pa.table({"text": texts, "label": rng.choice(["spam", "ham", "迷惑"], N_DOCS)})


@pytest.fixture(scope="module")
def files(documents: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The documents in seven files, as a pattern."""
    folder = tmp_path_factory.mktemp("files")
    size = N_DOCS // N_FILES
    for number in range(N_FILES):
        pq.write_table(documents.slice(number * size, size), folder / f"{number}.parquet")
    return f"file://{folder}/*.parquet"


@pytest.fixture(scope="module")
def one(documents: pa.Table) -> TextClassifier:
    # A cluster keeps no documents to choose a model by.
    return TextClassifier("binary-complement").learn(documents["text"], documents["label"])


class Killer:
    """Kills a machine, without any warning to it, when so many blocks are done."""

    def __init__(self, machines: Cluster, after: int) -> None:
        self._machines, self._left = machines, after
        self.done: list[engine.Done] = []

    def __call__(self, done: engine.Done) -> None:
        self.done.append(done)
        self._left -= 1
        if not self._left:
            self._machines.remove_node(next(iter(self._machines.worker_nodes)), allow_graceful=False)


# --- learning


@pytest.mark.parametrize("n_blocks", quick(1, [7, 2, 1]))
def test_any_number_of_blocks(cluster: Cluster, files: str, one: TextClassifier, n_blocks: int) -> None:
    reader = read(files)
    total = reader.bytes_total
    assert total is not None
    block_bytes = {1: total, 2: total // 2, 7: 1}[n_blocks]
    clf = TextClassifier()
    done = engine.count(clf, reader, block_bytes=block_bytes)
    assert done == (N_DOCS, n_blocks, 2)
    assert clf.counts == one.counts
    asked = [*WORDS, " ".join(WORDS)]
    assert np.array_equal(clf.scores(asked).view(np.int64), one.scores(asked).view(np.int64))


@pytest.mark.slow  # the cluster takes its time to see that a machine is gone
def test_a_machine_dies_while_it_counts(cluster: Cluster, files: str, one: TextClassifier) -> None:
    fill(cluster)
    clf, killer = TextClassifier(), Killer(cluster, after=3)
    done = engine.count(clf, read(files), block_bytes=1, tell=killer)
    assert len(cluster.worker_nodes) == 1  # it did die
    assert done.n_docs == N_DOCS and [block.n_docs for block in killer.done] == [N_DOCS // N_FILES] * N_FILES
    assert clf.counts == one.counts


def test_more_blocks_than_one_addition_takes(cluster: Cluster, documents: pa.Table, one: TextClassifier) -> None:
    fill(cluster)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(20):
            pq.write_table(documents.slice(number * 7, 7), f"{folder}/{number:02d}.parquet")
        clf = TextClassifier()
        assert engine.count(clf, read(f"{folder}/*.parquet"), block_bytes=1).n_blocks == 20
    assert clf.counts == one.counts


def test_learning_more(cluster: Cluster, files: str, one: TextClassifier, tmp_path: Path) -> None:
    """In memory and into a file, beside what was learned before; a mapping gives labels."""
    fill(cluster)
    (tmp_path / "more.txt").write_text("more pills\nand more\n")
    ours = engine.learn(TextClassifier().learn(["before"], ["x"]), files)
    ours = engine.learn(ours, {"spam": tmp_path / "more.txt"}, format="lines")
    theirs = TextClassifier().learn(["before", "more pills", "and more"], ["x", "spam", "spam"]).merge(one)
    assert ours.counts == theirs.counts
    with bunrui.create(tmp_path / "clf.bunrui", keep="nothing") as file:
        assert engine.learn(file, files).counts == one.counts
    for keep in ("text", "digests"):
        with (
            bunrui.create(tmp_path / f"{keep}.bunrui", keep=keep) as file,
            pytest.raises(OptionError, match=rf"{keep}.bunrui keeps {keep} of every document, .*keep='nothing'"),
        ):
            engine.learn(file, tmp_path / "nowhere.csv")  # it is said before anything is read


def test_a_data_set(cluster: Cluster, documents: pa.Table, one: TextClassifier) -> None:
    fill(cluster)
    data = ray.data.from_arrow([documents.slice(start, 40) for start in range(0, N_DOCS, 40)])
    assert engine.learn(TextClassifier(), data).counts == one.counts
    rows = engine.predict(one, data).to_pandas().sort_values("text")
    order = np.argsort(documents["text"].to_pylist())
    assert list(rows.columns) == ["text", "label", "predicted", "probability"]
    assert rows["predicted"].tolist() == one.predict(documents["text"])[order].tolist()
    assert rows["probability"].tolist() == one.predict_proba(documents["text"]).max(axis=1)[order].tolist()
    with pytest.raises(DataError, match="the data set has no column 'label', only 'text': rename one"):
        engine.learn(TextClassifier(), data.drop_columns(["label"]))
    pieces = ray.data.from_arrow(documents.slice(0, 3)).repartition(5)  # two of them have neither rows nor columns
    few = TextClassifier().learn(documents["text"][:3], documents["label"][:3])
    assert engine.learn(TextClassifier(), pieces).counts == few.counts
    assert sorted(row["predicted"] for row in engine.predict(one, pieces).take_all()) == sorted(
        one.predict(documents["text"][:3])
    )
    with pytest.raises(DataError, match="there are no documents to be read"):
        engine.learn(TextClassifier(), pieces.filter(lambda row: False))


@pytest.mark.slow  # a data set is learned and predicted above, too
def test_the_page_about_pipelines(cluster: Cluster) -> None:
    fill(cluster)
    page = (REPOSITORY / "docs" / "pipelines.md").read_text(encoding="utf-8")
    [block] = [block for block in blocks_of(page) if "import ray" in block.code]
    assert run_python(block.code, {}, "docs/pipelines.md", block.line) == 1


# --- predicting


def predicted(folder: Path) -> dict[str, list[Any]]:
    """All rows, in the order of the files."""
    paths = sorted(folder.iterdir())
    assert [path.name for path in paths] == [f"part-{number:06d}.parquet" for number in range(len(paths))]
    return pa.concat_tables(pq.read_table(path) for path in paths).to_pydict()


def check_rows(rows: dict[str, list[Any]], documents: pa.Table, one: AnyClassifier) -> None:
    """Each document once, in the order in which it was given, with the very numbers of one process."""
    assert list(rows) == ["source", "line", "id", "label", "probability"]
    size = N_DOCS // N_FILES
    assert rows["line"] == list(range(1, size + 1)) * N_FILES
    assert [source.rpartition("/")[2] for source in rows["source"][::size]] == [f"{n}.parquet" for n in range(N_FILES)]
    assert rows["label"] == one.predict(documents["text"]).tolist()
    assert rows["probability"] == one.predict_proba(documents["text"]).max(axis=1).tolist()


@pytest.mark.parametrize("n_blocks", quick(1, [7, 1]))
def test_predict(
    cluster: Cluster, files: str, documents: pa.Table, one: TextClassifier, n_blocks: int, tmp_path: Path
) -> None:
    fill(cluster)
    blocks = split(read(files, labelled=False), 1 if n_blocks == 7 else 1 << 30)
    assert engine.predict_blocks(one, blocks, f"file://{tmp_path}/labels") == N_DOCS
    assert len(list((tmp_path / "labels").iterdir())) == n_blocks
    check_rows(predicted(tmp_path / "labels"), documents, one)


@pytest.mark.slow
def test_a_machine_dies_while_it_predicts(
    cluster: Cluster, files: str, documents: pa.Table, one: TextClassifier, tmp_path: Path
) -> None:
    fill(cluster)
    killer = Killer(cluster, after=2)
    blocks = split(read(files, labelled=False), 1)
    assert engine.predict_blocks(one, blocks, str(tmp_path / "labels"), tell=killer) == N_DOCS
    assert len(cluster.worker_nodes) == 1
    check_rows(predicted(tmp_path / "labels"), documents, one)


class Dying(Labels):
    """Ends its process instead of answering for the first time."""

    def __init__(self, classifier: Any, mark: Path) -> None:
        super().__init__(classifier)
        self._mark = mark

    def __call__(self, batches: Any, path: str) -> int:
        if not self._mark.exists():
            self._mark.touch()
            os._exit(1)
        return super().__call__(batches, path)


@pytest.mark.slow  # the cluster takes its time to start another
def test_a_worker_dies_while_it_predicts(
    cluster: Cluster, files: str, documents: pa.Table, one: TextClassifier, tmp_path: Path
) -> None:
    fill(cluster)
    blocks = split(read(files, labelled=False), 1)
    answers = partial(Dying, mark=tmp_path / "died")
    assert engine.predict_blocks(one, blocks, str(tmp_path / "labels"), answers) == N_DOCS
    assert (tmp_path / "died").exists()
    check_rows(predicted(tmp_path / "labels"), documents, one)


def test_a_classifier_in_a_file_predicts(
    cluster: Cluster, files: str, documents: pa.Table, one: TextClassifier, tmp_path: Path
) -> None:
    fill(cluster)
    with bunrui.create(tmp_path / "clf.bunrui") as file:
        file.learn(documents["text"], documents["label"])
        engine.predict(file, files, str(tmp_path / "labels"))
        check_rows(predicted(tmp_path / "labels"), documents, file)


# --- from the shell


def test_commands(
    cluster: Cluster,
    files: str,
    documents: pa.Table,
    one: TextClassifier,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(cluster)
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "clf.bunrui", files, "--engine", "ray"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("learned 140 documents of 3 labels into clf.bunrui in ") and "2 workers" in said
    with bunrui.open("clf.bunrui") as file:
        assert file.counts == one.counts and file.keep == "nothing"
        assert [(entry.kind, entry.note) for entry in file.history()] == [
            ("learn", {"engine": "ray", "workers": 2, "blocks": 1})
        ]
    assert main(["info", "clf.bunrui"]) == 0
    assert "1: by ray, 2 workers" in capsys.readouterr().out
    assert main(["predict", "clf.bunrui", files, "--engine", "ray", "-o", "labels"]) == 0
    assert capsys.readouterr().err.startswith("predicted 140 documents into labels in ")
    check_rows(predicted(tmp_path / "labels"), documents, one)
    question = ["--top", "2", "--log-odds", "spam", "--against", "ham"]
    assert main(["predict", "clf.bunrui", files, *question, "--engine", "ray", "-o", "more"]) == 0
    assert main(["predict", "clf.bunrui", files, *question, "-o", "more.parquet"]) == 0
    assert predicted(tmp_path / "more") == pq.read_table("more.parquet").to_pydict()

    far = (LocalFileSystem(), str(tmp_path / "far"))
    monkeypatch.setattr(tasks, "locate", lambda address: far)
    capsys.readouterr()
    assert main(["predict", "clf.bunrui", files, "--engine", "ray", "-o", "s3://key:secret@bucket/labels"]) == 0
    assert capsys.readouterr().err.startswith("predicted 140 documents into s3://bucket/labels in ")
    assert predicted(tmp_path / "far") == predicted(tmp_path / "labels")

    bunrui.create("texts.bunrui").close()
    capsys.readouterr()
    assert main(["learn", "texts.bunrui", files, "--engine", "ray"]) == 1
    assert capsys.readouterr().err == (
        "error: texts.bunrui: this keeps text of its documents, and on a cluster they stay where they are: learn into "
        "a new file, or without --engine ray\n"
    )


# --- what cannot be done


def test_bad_data_is_told_with_its_place(cluster: Cluster, files: str, tmp_path: Path) -> None:
    fill(cluster)
    (tmp_path / "bad.jsonl").write_text('{"text": "a", "label": "x"}\n{"text": "b"}\n')
    clf = TextClassifier()
    with pytest.raises(DataError, match=r"bad.jsonl, line 2: there is no column 'label'"):
        engine.learn(clf, [files, tmp_path / "bad.jsonl"])
    assert clf.counts.n_docs == 0
    assert engine.learn(clf, tmp_path / "bad.jsonl", skip_bad=True).counts.n_docs == 1


def test_a_bad_block_leaves_no_files(
    cluster: Cluster, files: str, documents: pa.Table, one: TextClassifier, tmp_path: Path
) -> None:
    fill(cluster)
    (tmp_path / "bad.jsonl").write_text("{\n")
    done: list[engine.Done] = []
    blocks = split(read([files, tmp_path / "bad.jsonl"], labelled=False), 1)
    assert len(blocks) == N_FILES + 1
    with pytest.raises(DataError, match=r"bad.jsonl, line 1"):
        engine.predict_blocks(one, blocks, str(tmp_path / "labels"), tell=done.append)
    assert done and list((tmp_path / "labels").iterdir()) == []
    engine.predict(one, files, str(tmp_path / "labels"))
    check_rows(predicted(tmp_path / "labels"), documents, one)


def test_who_is_interrupted_works_no_more(cluster: Cluster, files: str, one: TextClassifier, tmp_path: Path) -> None:
    """The first to begin sleeps, the second fails; a third, which gets the core of the second, would sleep as well."""
    fill(cluster)
    begun, sleepers = tmp_path / "begun", tmp_path / "sleepers"
    sleepers.mkdir()

    def answers(_: TextClassifier) -> Any:
        def answer(reader: Any, path: str) -> int:
            with begun.open("ab") as file:  # whichever blocks the cluster takes first: each adds a byte
                file.write(b".")
                file.flush()
                turn = file.tell()
            if turn == 2:
                until = time.monotonic() + PATIENCE
                while not any(sleepers.iterdir()) and time.monotonic() < until:
                    time.sleep(0.01)
                raise DataError("the second one fails")
            (sleepers / str(os.getpid())).touch()
            time.sleep(PATIENCE)
            return 0

        return answer

    with pytest.raises(DataError, match="the second one fails"):
        engine.predict_blocks(one, split(read(files, labelled=False), 1), str(tmp_path / "labels"), answers)
    wait_until(lambda: not any(Path("/proc", pid.name).exists() for pid in sleepers.iterdir()))


def test_nothing_to_read(cluster: Cluster, tmp_path: Path) -> None:
    fill(cluster)
    (tmp_path / "empty.csv").write_text("text,label\n")
    with pytest.raises(DataError, match="there are no documents to be read"):
        engine.learn(TextClassifier(), tmp_path / "empty.csv")


def test_what_is_refused(cluster: Cluster, files: str, one: TextClassifier, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    with pytest.raises(OptionError, match="is there already, and not empty"):
        engine.predict(one, files, str(tmp_path / "full"))
    with pytest.raises(OptionError, match="x is a file"):
        engine.predict(one, files, str(tmp_path / "full" / "x"))
    with pytest.raises(OptionError, match="predict needs output="):
        engine.predict(one, files)
    with pytest.raises(OptionError, match="nbsvm is trained from documents"):
        engine.learn(TextClassifier("nbsvm"), files)
    with (tmp_path / "full" / "x").open("rb") as stream, pytest.raises(OptionError, match="is a stream"):
        engine.learn(TextClassifier(), stream)
    with pytest.raises(BunruiError, match="nothing has been learned yet"):
        engine.predict(TextClassifier(), files, str(tmp_path / "labels"))
