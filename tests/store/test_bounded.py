"""Learning within bounded memory gives the same file: its counts, its log, its predictions."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bunrui
from bunrui import AnalyzerSpec, StoredClassifier, TextClassifier
from bunrui.engines import partitions as spilling
from bunrui.errors import BunruiError, DamagedError, DuplicateError, OptionError, StoreError
from bunrui.store import sessions as learning_sessions
from bunrui.store.sessions import Learning, bytes_of, creating_bounded, least_memory, open_bounded, slim_bounded
from tests.store.probing import reseal
from tests.support.examples import examples
from tests.support.files import sql
from tests.support.processes import patience_with
from tests.support.waiting import PATIENCE

WORDS = ["cheap", "pills", "noon", "lunch", "料金", "無料です", "회의", "a-very-long-word-beyond-sixteen-bytes", "?"]
LABELS = ["spam", "ham", "迷惑"]

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
labels = st.one_of(st.sampled_from(LABELS), st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True))
sessions = st.lists(
    st.lists(st.lists(st.tuples(texts, labels), min_size=1, max_size=5), min_size=1, max_size=4), min_size=1, max_size=3
)

Documents = Sequence[tuple[str, str | list[str]]]


@contextmanager
def tiny(piece: int = 1, group: int = 2) -> Iterator[int]:
    """Room for no piece, and pieces of a few features; the memory to ask for."""
    with patch.multiple(spilling, PIECE=piece, _GROUP=group), patch.object(learning_sessions, "_LEAST_ROOM", 50_000):
        yield least_memory()


@contextmanager
def bounded(path: str, memory: int, **options: Any) -> Iterator[Learning]:
    """Learn into a file, which is made with these options if it is not there."""
    is_new = not os.path.lexists(path)
    file = creating_bounded(path, memory, **options) if is_new else closing(open_bounded(path, memory))
    with file as target, target.learning() as session:
        yield session


def learn(path: str, sessions: Sequence[Sequence[Documents]], memory: int, keep: str, analyzer: str) -> None:
    """Each session in one transaction, each of its batches by itself."""
    options = {"model": "binary-complement", "keep": keep, "analyzer": analyzer}
    for batches in sessions:
        with bounded(path, memory, **options) as session:
            for batch in batches:
                session.add([text for text, _ in batch], [label for _, label in batch])
        options = {}


def learn_in_memory(path: str, sessions: Sequence[Sequence[Documents]], keep: str, analyzer: str) -> None:
    with bunrui.create(path, "binary-complement", keep=keep, analyzer=analyzer) as clf:
        for batches in sessions:
            with clf.learning() as session:
                for batch in batches:
                    session.add([text for text, _ in batch], [label for _, label in batch])


def notes(clf: StoredClassifier) -> list[tuple[str, int, dict[str, object]]]:
    return [(entry.kind, entry.n_docs, entry.note) for entry in clf.history()]


@settings(max_examples=examples(20))
@given(sessions, st.sampled_from(["text", "digests", "nothing"]), st.sampled_from(["universal", "words"]))
def test_the_same_file(sessions: list[list[Documents]], keep: str, analyzer: str) -> None:
    with tempfile.TemporaryDirectory() as folder, tiny(piece=3, group=5) as memory:
        one, other = os.path.join(folder, "one.bunrui"), os.path.join(folder, "other.bunrui")
        learn(one, sessions, memory, keep, analyzer)
        learn_in_memory(other, sessions, keep, analyzer)
        assert sorted(os.listdir(folder)) == ["one.bunrui", "other.bunrui"]
        with bunrui.open(one) as a, bunrui.open(other) as b:
            assert a.counts == b.counts and a.counts.fingerprint == b.counts.fingerprint
            assert a.check().is_right and a.check().right == b.check().right
            assert notes(a) == notes(b)
            assert (
                a.scores([" ".join(WORDS), "pills 料金"]).tobytes()
                == b.scores([" ".join(WORDS), "pills 料金"]).tobytes()
            )
            if keep != "nothing":
                assert [(d.digest, d.labels) for d in a.documents()] == [(d.digest, d.labels) for d in b.documents()]
            last = [document for batch in sessions[-1] for document in batch]
            a.unlearn([text for text, _ in last], [label for _, label in last])
            b.undo()
            assert a.counts == b.counts


def test_it_is_written_without_being_read(tmp_path: Path) -> None:
    path = str(tmp_path / "mail.bunrui")
    with tiny() as memory:
        with creating_bounded(path, memory, "multinomial", keep="digests") as target:
            with target.learning(note={"from": "here"}) as session:
                session.add(["a b", "b c"], ["x", "y"], ids=["1", "2"], sources=["s", None])
            assert (target.n_runs, target.n_features, target.learned.n_docs) == (1, 5, 2)
            assert target.classifier.counts.n_docs == 0
            assert not os.path.exists(path)
        with closing(open_bounded(path, memory)) as target:
            with target.learning() as session:
                session.add(["b c", "c d"], ["z", "x"])
                assert session.n_duplicates == 1
            assert target.classifier.counts.n_docs == 0 and target.classifier.model == "multinomial"
    with bunrui.open(path) as clf:
        assert clf.counts == TextClassifier().learn(["a b", "b c", "b c", "c d"], ["x", "y", "z", "x"]).counts
        assert [entry.note for entry in clf.history()] == [{"from": "here"}, {"duplicates": 1}]
        assert [(d.id, d.source) for d in clf.documents()][:2] == [("1", "s"), ("2", None)]
        assert clf.undo() == ("learn", 2)
        assert clf.classes_.tolist() == ["x", "y"]


def test_readers_take_it_in(tmp_path: Path) -> None:
    path = str(tmp_path / "mail.bunrui")
    with bunrui.create(path) as clf, tiny() as memory:
        clf.learn(["a b"], ["x"])
        with bounded(path, memory) as session:
            session.add(["b c"], ["y"])
        assert clf.refresh()
        assert clf.counts == TextClassifier().learn(["a b", "b c"], ["x", "y"]).counts
        clf.learn(["d"], ["x"])
        assert clf.check().is_right


def test_what_fails_changes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "mail.bunrui")
    with tiny() as memory:
        with pytest.raises(RuntimeError), bounded(path, memory) as session:
            session.add(["a b"], ["x"])
            raise RuntimeError
        assert os.listdir(tmp_path) == []
        bunrui.create(path).learn(["a b"], ["x"]).close()
        with closing(open_bounded(path, memory)) as target:
            with pytest.raises(DuplicateError), target.learning(unique=True) as session:
                session.add(["c d", "e f"], ["y", "y"])
                session.add(["a b"], ["x"])
            with pytest.raises(BunruiError, match="a batch of this session failed"), target.learning() as session:
                session.add(["c d"], ["y"])
                with pytest.raises(BunruiError):
                    session.add(["e f"], ["y", "y"])
            with target.learning() as session:
                session.add([], [])
    assert os.listdir(tmp_path) == ["mail.bunrui"]
    with bunrui.open(path) as clf:
        assert clf.counts == TextClassifier().learn(["a b"], ["x"]).counts
        assert [entry.n_docs for entry in clf.history()] == [1]
        assert clf.classes_.tolist() == ["x"]


def test_documents_whose_digests_take_all_memory(tmp_path: Path) -> None:
    path = str(tmp_path / "mail.bunrui")
    error = pytest.raises(
        StoreError, match="the digests of 2,084 documents take all of the memory: give more with memory=, or"
    )
    with tiny() as memory, error, bounded(path, memory, keep="digests") as session:
        session.add([f"{number}" for number in range(1000)], ["x"] * 1000)
        session.add([f"{number}" for number in range(1084)], ["x"] * 1084)
    assert os.listdir(tmp_path) == []
    with tiny() as memory, bounded(path, memory, keep="nothing") as session:
        session.add([f"{number}" for number in range(3000)], ["x"] * 3000)


def test_files_that_it_refuses(tmp_path: Path) -> None:
    path, slim = str(tmp_path / "mail.bunrui"), str(tmp_path / "slim.bunrui")
    with bunrui.create(path, keep="nothing") as clf:
        clf.learn(["a b"], ["x"])
        clf.slim(slim, min_df=2)
    memory = least_memory()
    with pytest.raises(StoreError, match="lacks the words of fewer than 2 documents"), bounded(slim, memory):
        pass
    nothing = pytest.raises(StoreError, match="keeps nothing of its documents")
    with closing(open_bounded(path, memory)) as target, nothing, target.learning(unique=True):
        pass
    with pytest.raises(StoreError, match="there is no classifier"):
        open_bounded(str(tmp_path / "nowhere"), memory)


@settings(max_examples=examples(15))
@given(sessions, st.integers(1, 3))
def test_slim_copies(sessions: list[list[Documents]], min_df: int) -> None:
    with tempfile.TemporaryDirectory() as folder, tiny(piece=3, group=5) as memory:
        whole, one, other = (os.path.join(folder, f"{name}.bunrui") for name in ("whole", "one", "other"))
        learn_in_memory(whole, sessions, "nothing", "universal")
        with bunrui.open(whole) as clf:
            clf.configure(model="multinomial")
            clf.slim(other, min_df=min_df)
        slim_bounded(whole, one, memory, min_df=min_df)
        with bunrui.open(one) as a, bunrui.open(other) as b:
            assert a.counts == b.counts and a.model == b.model == "multinomial"
            assert a.check().is_right and a.check().right == b.check().right
            assert notes(a) == notes(b) and a.info()["pruned"] == b.info()["pruned"] == min_df
            with pytest.raises(StoreError, match=r"cannot be undone|cannot undo"):
                a.undo()


def test_slim_copies_that_it_refuses(tmp_path: Path) -> None:
    path, copy, memory = str(tmp_path / "mail.bunrui"), str(tmp_path / "copy.bunrui"), least_memory()
    with bunrui.create(path) as clf:
        clf.learn(["a b", "c"], ["x", "y"])
        clf.unlearn(["a b"], ["x"])
    with pytest.raises(StoreError, match="documents were unlearned since this was compacted"):
        slim_bounded(path, copy, memory)
    with bunrui.open(path) as clf:
        clf.compact()
    with pytest.raises(OptionError, match="min_df should be a whole number, at least 1"):
        slim_bounded(path, copy, memory, min_df=0)
    slim_bounded(path, copy, memory)
    with pytest.raises(StoreError, match="is there already"):
        slim_bounded(path, copy, memory)
    with bunrui.open(path) as clf:
        clf.configure(model="nbsvm")
    with pytest.raises(OptionError, match="nbsvm is trained from documents"):
        slim_bounded(path, str(tmp_path / "other.bunrui"), memory)
    assert sorted(os.listdir(tmp_path)) == ["copy.bunrui", "mail.bunrui"]


def test_a_piece_that_was_changed(tmp_path: Path) -> None:
    path = str(tmp_path / "mail.bunrui")
    with bunrui.create(path, keep="nothing") as clf:
        clf.learn(["a b", "c"], ["x", "y"])
    sql(path, "UPDATE deltas SET n_terms = n_terms + 1")
    reseal(path)
    with pytest.raises(DamagedError, match="the totals are not those of the features"):
        slim_bounded(path, str(tmp_path / "copy.bunrui"), least_memory())
    assert os.listdir(tmp_path) == ["mail.bunrui"]


@pytest.mark.parametrize("memory", ["2", "lots", "", "2 gigabytes", "-2GB", 2.5, True, None])
def test_sizes_that_are_none(memory: object) -> None:
    with pytest.raises(OptionError, match="memory should be a size with its unit, such as 2GB or 800MB, not"):
        bytes_of(memory)  # type: ignore[arg-type]


def test_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_THREADS", "2")
    assert [bytes_of(size) for size in ("2gb", "2GiB", "1.5 G", "3000m", 10**9)] == [
        2 * 10**9, 2 << 30, 1_500_000_000, 3 * 10**9, 10**9,
    ]  # fmt: skip
    with pytest.raises(OptionError, match="memory should be at least 800MB for 2 threads, not '799MB': give more"):
        bytes_of("799MB")
    assert bytes_of("800MB") == least_memory()


# --- kills and full disks, in processes of their own

WORK = """
import os, sys
from contextlib import closing
from bunrui.engines import partitions as spill
from bunrui.store import sessions

spill.PIECE, sessions._LEAST_ROOM = 1, 50_000
where = sys.argv[1], sessions.least_memory()
file = closing(sessions.open_bounded(*where)) if os.path.exists(where[0]) else sessions.creating_bounded(*where)
with file as target, target.learning() as session:
    for number in range(1_000):
        session.add([f"w{number} all", f"{number} w{number // 7}"], ["x", "y"])
        if number > 20:
            print(number, flush=True)
"""


def spawn(path: str, code: str = WORK) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("is_new", [True, False])
def test_a_kill_in_the_middle(tmp_path: Path, is_new: bool) -> None:
    path = str(tmp_path / "mail.bunrui")
    if not is_new:
        bunrui.create(path).learn(["a b"], ["x"]).close()
    with spawn(path) as process, patience_with(process):
        assert process.stdout is not None and process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    (left,) = {name.removesuffix("-wal").removesuffix("-shm") for name in os.listdir(tmp_path)}
    if is_new:
        assert re.fullmatch(rf"\.mail\.bunrui\.[0-9a-f]{{8}}-{process.pid}-[0-9a-f]{{8}}\.unfinished", left)
        bunrui.create(path).close()
        assert os.listdir(tmp_path) == ["mail.bunrui"]
    else:
        assert left == "mail.bunrui"
        with bunrui.open(path) as clf:
            assert clf.counts == TextClassifier().learn(["a b"], ["x"]).counts
            assert clf.check().is_right
        assert os.listdir(tmp_path) == ["mail.bunrui"]


def test_no_room_for_the_runs(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="needs the limits of Unix")
    path = str(tmp_path / "mail.bunrui")
    bunrui.create(path, keep="nothing").learn(["a b"], ["x"]).close()
    code = WORK.replace("import os, sys", "import os, resource, sys").replace(
        "with file",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\nspill.PIECE = 4000\nwith file",
    )
    with spawn(path, code) as process:
        _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert f"{tmp_path}: counts do not fit into memory, and cannot be put aside here (File too large)" in error
    assert os.listdir(tmp_path) == ["mail.bunrui"]
    with bunrui.open(path) as clf:
        assert clf.counts == TextClassifier().learn(["a b"], ["x"]).counts


def test_many_features(tmp_path: Path) -> None:
    """Compiled, on several threads, with pieces of their usual size."""
    path, rng = str(tmp_path / "mail.bunrui"), np.random.default_rng(0)
    spec = AnalyzerSpec(name="words", words=2)
    clf = TextClassifier(analyzer=spec)
    with (
        patch.object(learning_sessions, "_LEAST_ROOM", 0),
        bounded(path, least_memory(), analyzer=spec, keep="nothing") as session,
    ):
        for _ in range(3):
            words = rng.zipf(1.1, 500_000) % 10**7
            documents = [" ".join(f"w{word}" for word in some.tolist()) for some in np.split(words, 1000)]
            labels = [f"label{number}" for number in rng.integers(5, size=1000)]
            session.add(documents, labels)
            clf.learn(documents, labels)
    with bunrui.open(path) as stored:
        assert stored.counts.n_features > 3 * spilling._GROUP
        assert stored.counts == clf.counts


OPEN = """
import re, resource, sys
from pathlib import Path
from bunrui import store
from bunrui.errors import StoreError

store.open(sys.argv[2]).close()
size = int(re.search(r"VmSize:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (size + (40 << 20), -1))
try:
    store.open(sys.argv[1])
except StoreError as error:
    print(error)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="asks Linux how much memory it has")
def test_a_file_that_does_not_fit_into_memory(tmp_path: Path) -> None:
    path, small = str(tmp_path / "mail.bunrui"), str(tmp_path / "small.bunrui")
    bunrui.create(small).learn(["a b"], ["x"]).close()
    with bunrui.create(path, analyzer="words", keep="nothing") as clf:
        for start in range(0, 600_000, 200_000):
            clf.learn([" ".join(f"word{number}" for number in range(start, start + 200_000))], ["x"])
    command = [sys.executable, "-c", OPEN, path, small]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == (
        f"{path}: this does not fit into memory: make a smaller copy with "
        f"`bunrui slim {path} COPY --min-df 2 --memory 2GB`\n"
    ), done.stderr
