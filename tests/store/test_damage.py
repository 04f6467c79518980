"""One bit that has changed: the file is refused, `check` finds it, or all answers are what they were.

And rows that are gone: whoever needs them says that the file is damaged, on one line.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bunrui
from bunrui import StoredClassifier
from bunrui.errors import BunruiError, DamagedError
from bunrui.memory import document_digests
from bunrui.selection import calibrate
from bunrui.store import connection
from bunrui.store.codec import pack, pack_numbers
from tests.store.probing import reseal
from tests.support.examples import quick
from tests.support.files import opened, sql

TEXTS = [f"cheap pills {k % 7} x{k % 5}" if k % 2 else f"meeting at noon {k % 3} z{k % 4}" for k in range(40)]
LABELS = ["spam" if k % 2 else "ham" for k in range(40)]
QUERIES = ["cheap pills", "noon meeting both", "third one", "zzz"]


@pytest.fixture(scope="module", params=quick(1, ["text", "digests", "nothing"]))
def good(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A calibrated file with something in every table."""
    folder = tmp_path_factory.mktemp("good")
    with bunrui.create(folder / "texts.bunrui") as clf:
        clf.learn(TEXTS, LABELS)
        calibrate(clf)
        calibration = clf.calibration
    with bunrui.create(folder / "good.bunrui", keep=request.param) as clf:
        clf.learn(TEXTS, LABELS, ids=[str(k) for k in range(40)])
        clf.set_calibration(calibration)
        clf.learn(["both of them", "third one", "gone"], [["spam", "ham"], "third", "ham"])
        clf.unlearn(["gone"], ["ham"])
        clf.learn(["undone"], ["no"])
        clf.undo()
        clf.configure(prior="uniform")
        clf.configure(prior="empirical")
        assert clf.is_calibrated
    return folder / "good.bunrui"


def answers(path: Path) -> dict[str, Any]:
    """All that a file says."""
    with bunrui.open(path, read_only=True) as clf:
        info = clf.info()
        del info["size"]
        return {
            "probabilities": clf.predict_proba(QUERIES).tolist(),
            "words": [clf.words(name, top=5) for name in clf.classes_],
            "info": info,
            "history": clf.history(),
            "documents": [] if clf.keep == "nothing" else list(clf.documents()),
        }


def is_right(path: Path) -> bool:
    try:
        with bunrui.open(path, read_only=True) as clf:
            return clf.check().is_right
    except BunruiError as error:
        assert "\n" not in str(error)
        return False


def values(path: Path) -> Iterator[bytes]:
    """What the small tables say in words."""
    db = sqlite3.connect(path)
    for query in ("SELECT value FROM meta", "SELECT name FROM labels", "SELECT note FROM transactions"):
        yield from (text.encode() for (text,) in db.execute(query))
    db.close()


def in_values(path: Path, data: bytes, every: int) -> Iterator[int]:
    """Bits of them."""
    for value in values(path):
        start = data.find(value)  # a long one goes on in another page
        if start >= 0:
            yield from range(8 * start, 8 * (start + len(value)), every)


def in_all(data: bytes, every: int) -> Iterator[int]:
    """Bits of all that is not empty."""
    bits = [8 * place + bit for place, byte in enumerate(data) if byte for bit in range(8)]
    yield from bits[::every]


@pytest.mark.parametrize(
    ("where", "every"),
    [
        ("values", 521),
        ("all", 1597),
        pytest.param("values", 131, marks=pytest.mark.slow),
        pytest.param("all", 11, marks=pytest.mark.slow),
    ],
)
def test_a_bit_that_has_changed(good: Path, where: str, every: int, tmp_path: Path) -> None:
    data, expected = good.read_bytes(), answers(good)
    assert is_right(good)
    bits = in_values(good, data, every) if where == "values" else in_all(data, every)
    path = tmp_path / "flipped.bunrui"
    wrong = []
    for bit in bits:
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        if is_right(path) and answers(path) != expected:
            wrong.append(bit)
        for name in ("flipped.bunrui-wal", "flipped.bunrui-shm"):
            (tmp_path / name).unlink(missing_ok=True)
    assert wrong == []


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:5000], lambda data: data[:44] + b"\0\0\0\7" + data[48:], lambda data: data[:4096]],
    ids=["cut", "format", "one page"],
)
def test_a_file_that_is_refused_has_nothing_beside_it(
    tmp_path: Path, read_only: bool, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "mail.bunrui"
    bunrui.create(path).close()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DamagedError) as caught:  # whoever holds the error holds what it was raised from
        bunrui.open(path, read_only=read_only)
    assert str(path) in str(caught.value) and os.listdir(tmp_path) == ["mail.bunrui"]
    assert not any(other.path == str(path) for other in connection._open)


# --- rows that are gone


def edited(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()
    reseal(path)


@pytest.mark.parametrize("model", ["nbsvm", "arow", "twcnb", "aode"])
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM documents",
        "DELETE FROM documents WHERE block = 1",
        "DELETE FROM documents WHERE block = 2",
        "DELETE FROM removals",
        "UPDATE documents SET label_sets = (SELECT label_sets FROM documents WHERE block = 2) WHERE block = 3",
    ],
)
def test_a_model_is_not_trained_from_what_is_left_of_a_log(tmp_path: Path, model: str, statement: str) -> None:
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path, model=model) as clf:
        clf.learn(TEXTS[:4], LABELS[:4])
        clf.learn(["third kind"], ["third"])
        clf.learn(["bad"], ["ham"])
        clf.unlearn(TEXTS[:1], LABELS[:1])
    edited(path, statement)
    with bunrui.open(path) as clf:
        for ask in (clf.predict, clf.predict_proba, clf.scores):
            with pytest.raises(DamagedError, match="its log has other documents than its counts"):
                ask(QUERIES)


def test_no_model_is_chosen_by_a_log_with_other_labels(tmp_path: Path) -> None:
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path, "binary") as clf:
        clf.learn(TEXTS[:4], LABELS[:4])
        clf.learn(["gone"], ["third"])
    edited(path, "DELETE FROM cells WHERE delta = 2", "DELETE FROM deltas WHERE delta = 2")
    with bunrui.open(path) as clf, pytest.raises(DamagedError, match="its log has other documents than its counts"):
        clf.with_model("auto")


def changes(clf: StoredClassifier) -> None:
    """Seven changes: the fourth has two deltas, the sixth and the seventh have none, and the last of all is undone."""
    clf.learn(["one", "two"], ["x", "x"]).learn(["three"], ["y"]).learn(["four", "five"], ["x", "z"])
    clf.move_label("y", "z")
    clf.learn(["six"], ["x"])
    clf.rename_label("z", "w")
    clf.configure(prior="uniform")
    clf.learn(["seven"], ["x"]).undo()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM deltas WHERE delta = 1", "a delta is missing: there are 5, and the last one has number 6"),
        ("DELETE FROM deltas WHERE delta = 3", "a delta is missing: there are 5, and the last one has number 6"),
        ("DELETE FROM deltas WHERE delta = 6", "the last delta is missing: there were 6, and there are 5"),
        ("DELETE FROM deltas WHERE tx = 5", "the last delta is missing: there were 6, and there are 5"),
        ("DELETE FROM transactions WHERE tx = 3", "a change is missing: there are 7, and the last one has number 8"),
        ("DELETE FROM transactions WHERE tx >= 7", "the last change is missing: there were 8, and there are 6"),
        ("DELETE FROM transactions WHERE tx >= 5", "the last change is missing: there were 8, and there are 4"),
        ("UPDATE transactions SET undone = time WHERE tx = 2", "change 2 was undone, and its delta is there"),
    ],
)
@pytest.mark.parametrize("is_noted", [True, False])
def test_a_change_that_is_gone(tmp_path: Path, statement: str, problem: str, is_noted: bool) -> None:
    """Also where older versions have made the changes, as far as the rest can tell."""
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path, "multinomial", keep="nothing") as clf:
        changes(clf)
    assert is_right(path)
    if not is_noted:
        edited(path, "DELETE FROM meta WHERE key = 'end'")
        assert is_right(path)
    by_tx = "DELETE FROM deltas WHERE tx NOT IN (SELECT tx FROM transactions)"
    edited(path, statement, by_tx, "DELETE FROM cells WHERE delta NOT IN (SELECT delta FROM deltas)")
    with bunrui.open(path, read_only=True) as clf:
        wrong = clf.check().wrong
    if is_noted or not problem.startswith("the last"):
        assert wrong == [f"the chain of changes: {problem}"]
    elif "WHERE tx = 5" in statement or "delta = 6" in statement:
        assert wrong == ["the chain of changes: the delta of change 5 is missing"]


def fold_alone(clf: StoredClassifier) -> None:
    """A session without documents is no change, and folds the deltas of those before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bunrui.store.store._MOST_DELTAS", 2)
        with clf.learning():
            pass


@pytest.mark.parametrize(
    "change",
    [
        lambda clf: clf.learn(["more"], ["x"]),
        lambda clf: clf.undo(),
        lambda clf: clf.undo_to(4),
        lambda clf: clf.undo_to(4) and clf.learn(["more"], ["x"]),
        lambda clf: clf.compact(),
        fold_alone,
    ],
)
def test_older_versions_do_not_note_the_end(tmp_path: Path, change: Callable[[StoredClassifier], Any]) -> None:
    """What this version has noted before their changes stays."""
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path, "multinomial", keep="nothing") as clf:
        changes(clf)
        ((noted,),) = sql(path, "SELECT value FROM meta WHERE key = 'end'")
        change(clf)
        ((end,),) = sql(path, "SELECT value FROM meta WHERE key = 'end'")
    assert noted != end and is_right(path)
    sql(path, "UPDATE meta SET value = ? WHERE key = 'end'", noted)
    reseal(path)
    assert is_right(path)


@pytest.mark.parametrize("end", ["7", "[1, 2]", '[0, 0, "7"]', "[0, 0, -1]"])
def test_an_end_that_makes_no_sense(tmp_path: Path, end: str) -> None:
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path) as clf:
        clf.learn(["one"], ["x"])
    edited(path, f"UPDATE meta SET value = '{end}' WHERE key = 'end'")
    with bunrui.open(path) as clf:
        assert ["is damaged" in problem for problem in clf.check().wrong] == [True]


@pytest.mark.parametrize(
    "use",
    [
        lambda clf: clf.unlearn(["then 3"], ["y"]),
        lambda clf: clf.relabel("z", texts=["then 3"]),
        lambda clf: clf.relabel("z", ids=["3"]),
        lambda clf: clf.drop_label("y"),
        lambda clf: clf.labels_of(document_digests(["then 3"])),
        lambda clf: clf.browse("then", limit=3),
        lambda clf: clf.browse(label="y", limit=1),
        lambda clf: list(clf.documents()),
        lambda clf: clf.compact(),
    ],
)
def test_two_blocks_of_one_number(tmp_path: Path, use: Callable[[StoredClassifier], Any]) -> None:
    """Whatever is found in one of them is looked for in the other."""
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path) as clf:
        clf.learn(["first"], ["x"])
        clf.learn([f"then {k}" for k in range(4)], ["y"] * 4, ids=list("0123"))
    renumber_second(path, "documents", 1)
    assert not is_right(path)
    with bunrui.open(path) as clf, pytest.raises(DamagedError, match="two blocks of the log have the same number"):
        use(clf)


def test_a_block_that_is_not_where_it_should_be(tmp_path: Path) -> None:
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path) as clf:
        clf.learn(["cheap pills", "lunch at noon"], ["x", "y"])
        clf.learn_unlabelled(["pills"]).learn_unlabelled(["noon"])
    renumber_second(path, "unlabelled", 0)
    with bunrui.open(path) as clf:
        clf.compact()  # nobody looks for a block by its number
        assert sorted(clf.memory.pool.texts().values()) == ["noon", "pills"]
    assert is_right(path)


def test_compacting_hides_no_damage_of_texts_without_a_label(tmp_path: Path) -> None:
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path) as clf:
        clf.learn(["cheap pills", "lunch at noon"], ["x", "y"]).learn_unlabelled(["pills"])
    sql(path, "UPDATE unlabelled SET digests = ?", pack(b"\1" * 16))
    with bunrui.open(path) as clf, pytest.raises(DamagedError, match="do not fit their digests"):
        clf.compact()
    assert not is_right(path)


def test_sizes_that_together_are_larger_than_a_file_may_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, n, n_blocks = tmp_path / "mail.bunrui", 400_000, 12
    with bunrui.create(path) as clf:
        for k in range(n_blocks):
            clf.learn([f"more {k}"], ["x"])
    sql(path, "UPDATE documents SET n_docs = ?, sizes = ?", n, pack_numbers(np.ones(n, np.int64)))
    reseal(path)
    monkeypatch.setattr("bunrui.store.store._LEAST_BUDGET", 0)
    assert 8 * n < 100 * path.stat().st_size < 8 * n * n_blocks  # each block alone is small enough
    with opened(path) as store, pytest.raises(DamagedError, match="far more"):
        dict(store.log.sizes())


def renumber_second(path: Path, table: str, number: int) -> None:
    """Give the second row of a small table another number, where it stands."""
    db = sqlite3.connect(path)
    ((page_size,),) = db.execute("PRAGMA page_size")
    ((root,),) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
    db.close()
    data = bytearray(path.read_bytes())
    start = (root - 1) * page_size
    at = start + int.from_bytes(data[start + 10 : start + 12], "big")
    while data[at] & 0x80:  # its length
        at += 1
    assert data[at + 1] == 2
    data[at + 1] = number
    path.write_bytes(data)


@pytest.mark.parametrize("note", [{"engine": "ray"}, {"engine": 3}])
def test_an_engine_without_its_workers(tmp_path: Path, note: dict[str, Any]) -> None:
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path) as clf:
        clf.learn(TEXTS, LABELS)
    edited(path, f"UPDATE transactions SET note = '{json.dumps(note)}'")
    with bunrui.open(path) as clf, pytest.raises(DamagedError, match="names its engine without"):
        clf.info()


def test_a_broken_schema_is_told_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "mail.bunrui"
    bunrui.create(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_schema SET sql = replace(sql, '(', '[') WHERE name = 'transactions'")
    db.commit()
    db.close()
    with pytest.raises(DamagedError) as caught:
        bunrui.open(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


# --- files of the format without checksums


def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(Path(__file__).parent / "formats" / "1.bunrui", tmp_path / "old.bunrui"))


def unknown(clf: StoredClassifier) -> list[str]:
    report = clf.check()
    assert report.is_right
    return report.unknown


def test_an_older_file_gets_checksums_when_it_is_opened_to_be_changed(tmp_path: Path) -> None:
    path = old(tmp_path)
    with bunrui.open(path, read_only=True) as clf:
        assert "checksums" in unknown(clf)[0] and clf.history(limit=1)[0].number == 6
        assert clf.info()["transactions"] == 6
    with bunrui.open(path) as clf:
        assert unknown(clf) == []
    edited_by_nobody = sqlite3.connect(path, isolation_level=None)
    edited_by_nobody.execute("UPDATE meta SET value = replace(value, '0.5', '0.7') WHERE key = 'settings'")
    edited_by_nobody.close()
    with pytest.raises(DamagedError, match="a row of its table meta does not match its checksum"):
        bunrui.open(path)


def test_two_that_open_an_older_file_at_once(tmp_path: Path) -> None:
    from bunrui.store.schema import OF_STRINGS, connect, migrate, version_of

    path = os.fspath(old(tmp_path))
    one, two = connect(path, read_only=False), connect(path, read_only=False)
    versions = [version_of(db, path) for db in (one, two)]
    migrate(one, versions[0])
    migrate(two, versions[1])
    assert [version_of(db, path) for db in (one, two)] == [OF_STRINGS, OF_STRINGS]
    one.close()
    two.close()


def test_checksums_do_not_depend_on_the_tables_of_python(tmp_path: Path) -> None:
    """`repr` shows a character that its Python knows, and spells out one that it does not: 🫨 came with 3.12."""
    path = str(tmp_path / "mail.bunrui")
    with bunrui.create(path) as clf:
        clf.learn(["shaking"], ["🫨"])
    (label, name, tx, checksum), *_ = sqlite3.connect(path).execute("SELECT label, name, tx, checksum FROM labels")
    assert checksum == zlib.crc32(rf"({label}, '\U0001fae8', {tx})".encode())
    assert name == "🫨"
