"""Files that are damaged, or made to harm: each is used as far as it goes, or refused by an error that names it.

Nothing else may come of them: no other exception, no crash, no hang, no memory beyond a bound.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import bunrui
from bunrui.store.codec import pack
from tests.store.probing import Outcome, Prober, reseal
from tests.support.examples import examples, quick

# Each file is used in a forked process, whose memory is known from /proc.
pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")

PAGE = 4096
SEEDS = sorted((Path(__file__).parent / "fuzz_seeds").glob("*.sql"))
NUMBERS = [-1, 0, 1, 2**31, 2**62, 2**63 - 1, -(2**63)]
TEXTS = ["", "x", "null", "[]", "3", "\0", "9" * 5000, "1e400", '{"label": 3}']
CONTENTS = [b"", b"\xff" * 40, b"\x01" * 6, b"\0" * 5, b"\xff" * 7 + b"\x7f", b"[]", b"null", b"[" * 100_000]
VALUES = [None, 3, -1, 0, 1.5, 1e308, 10**30, True, "x", "", [], [1], ["a"], ["chi2", 3], ["chi2", "x"], [[]]]
VALUES += [{}, {"a": 1}, {"a": "x"}, {"a": None}, {"spam": []}, float("nan"), "/dev/zero", ["/dev/zero"]]

# One case of so many in every run, all of them in a long one.
EVERY = pytest.mark.parametrize("every", quick(1, [97, 1]))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with something in every table and every column."""
    path = tmp_path_factory.mktemp("good") / "good.bunrui"
    with bunrui.create(path) as clf:
        clf.learn(
            ["cheap pills now", "meeting at noon", "料金が無料", "lunch at noon?", "🙂 free pills"],
            ["spam", "ham", "spam", "ham", "spam"],
            ids=["1", None, "3", None, "5"],
            sources=["a.csv", "a.csv", None, "b.csv", None],
        )
        clf.compact()
        clf.learn([["given", "tokens"], ["noon"]], [["x", "ham"], "ham"])
        clf.learn([{"word": 2}], ["x"])
        clf.learn(["gone", "meeting at noon"], ["ham", "ham"])
        clf.unlearn(["gone"], ["ham"])
        clf.learn_unlabelled(["pills at noon", "no label"]).learn_unlabelled([["tokens"]])
        clf.unlearn_unlabelled(["no label"])
        clf.learn(["undone"], ["y"])
        clf.undo()
    return path


@pytest.fixture(scope="module")
def trained(good: Path) -> Path:
    """The same with the weights of a trained model: to use it takes half as long again."""
    path = Path(shutil.copy(good, good.with_name("trained.bunrui")))
    with bunrui.open(path) as clf:
        clf.configure(model="arow")
    return path


@pytest.fixture(scope="module")
def prober() -> Iterator[Prober]:
    prober = Prober()
    yield prober
    prober.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: thousands of files are made, and none of them must last."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


def use(prober: Prober, path: Path) -> Outcome:
    """Use a file, then remove everything that came of it."""
    outcome = prober.use(str(path))
    for name in path.parent.glob(f"{path.name}*"):
        name.unlink()
    return outcome


@pytest.mark.parametrize("is_trained", [False, True])
def test_a_good_file_raises_nothing(is_trained: bool, good: Path, trained: Path, folder: Path, prober: Prober) -> None:
    outcome = use(prober, Path(shutil.copy(trained if is_trained else good, folder / "copy.bunrui")))
    assert (outcome.failures, outcome.errors) == ([], [])


# --- bytes


def flip(data: bytearray, at: float, payload: bytes) -> None:
    data[int(at * (len(data) - 1))] ^= 1 << (payload[0] & 7)


def overwrite(data: bytearray, at: float, payload: bytes) -> None:
    place = int(at * (len(data) - 1))
    data[place : place + len(payload)] = payload[: len(data) - place]


def truncate(data: bytearray, at: float, payload: bytes) -> None:
    del data[int(at * len(data)) :]


def swap_pages(data: bytearray, at: float, payload: bytes) -> None:
    n = max(1, len(data) // PAGE)
    one, two = int(at * (n - 1)) * PAGE, payload[0] % n * PAGE
    data[one : one + PAGE], data[two : two + PAGE] = data[two : two + PAGE], data[one : one + PAGE]


def repeat_page(data: bytearray, at: float, payload: bytes) -> None:
    n = max(1, len(data) // PAGE)
    one, two = int(at * (n - 1)) * PAGE, payload[0] % n * PAGE
    data[one : one + PAGE] = data[two : two + PAGE]


def noise(data: bytearray, at: float, payload: bytes) -> None:
    """Random bytes after SQLite's header."""
    place = 100 + int(at * 1000)
    data[place:] = (payload * (1 + len(data) // len(payload)))[: max(0, len(data) - place)]


Damage = tuple[Callable[[bytearray, float, bytes], None], float, bytes]
DAMAGES = st.lists(
    st.tuples(
        st.sampled_from([flip, flip, flip, overwrite, overwrite, truncate, swap_pages, repeat_page, noise]),
        st.floats(0, 1),
        st.binary(min_size=1, max_size=40),
    ),
    min_size=1,
    max_size=4,
)


@settings(
    max_examples=examples(150),
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(damages=DAMAGES)
@example(damages=[(truncate, 0.5, b"\0")])
@example(damages=[(noise, 0.0, b"\xff")])
@example(damages=[(swap_pages, 0.0, b"\1")])
def test_damaged_bytes(damages: list[Damage], good: Path, prober: Prober, folder: Path) -> None:
    data = bytearray(good.read_bytes())
    for damage, at, payload in damages:
        if data:
            damage(data, at, payload)
    path = folder / "damaged.bunrui"
    path.write_bytes(data)
    assert use(prober, path).failures == []


@EVERY
def test_every_byte_of_the_records(every: int, good: Path, prober: Prober, folder: Path) -> None:
    """The bytes that say of which type and length the values of a row are."""
    whole = good.read_bytes()
    failures: dict[str, tuple[int, int]] = {}
    path = folder / "damaged.bunrui"
    places = [at + byte for at in _records(good, whole) for byte in range(2, 12)]
    for place, value in islice(product(places, (0, 1, 8, 13)), 0, None, every):
        data = bytearray(whole)
        data[place] = value
        path.write_bytes(data)
        for failure in use(prober, path).failures:
            failures.setdefault(failure, (place, value))
    assert failures == {}


def _records(good: Path, whole: bytes) -> Iterator[int]:
    """Where the rows of the tables begin."""
    db = sqlite3.connect(good)
    roots = [root for (root,) in db.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'table'")]
    db.close()
    for root in roots:
        page = whole[(root - 1) * PAGE : root * PAGE]
        for cell in range(int.from_bytes(page[3:5], "big")):
            yield (root - 1) * PAGE + int.from_bytes(page[8 + 2 * cell : 10 + 2 * cell], "big")


# --- rows and tables


def changed(good: Path, path: Path, *statements: Any) -> Path:
    """A copy in which SQL was run; a statement may come with values."""
    shutil.copy(good, path)
    db = sqlite3.connect(path, isolation_level=None)
    db.create_function("pack", 1, lambda content: pack(content if isinstance(content, bytes) else content.encode()))
    db.create_function("repeat", 2, lambda text, n: text * n)
    try:
        for statement in statements:
            if isinstance(statement, tuple):
                db.execute(*statement)
            else:
                db.executescript(statement)
    finally:
        db.close()
    reseal(path)
    return path


def columns(good: Path) -> list[tuple[str, str, str]]:
    """(table, column, type) of all columns."""
    query = (
        "SELECT m.name, p.name, p.type FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS p "
        "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY m.name, p.cid"
    )
    db = sqlite3.connect(good)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def row_cases(good: Path, table: str) -> Iterator[tuple[str, Any]]:
    """Statements that put wrong values into a column: into all rows, the first, the last."""
    blobs = [column for name, column, kind in columns(good) if name == table and kind == "BLOB"]
    places = [""]
    if table != "meta":
        places += [f" WHERE rowid = (SELECT {least}(rowid) FROM {table})" for least in ("min", "max")]
    for name, column, kind in columns(good):
        if name != table:
            continue
        values: list[Any] = NUMBERS if kind == "INTEGER" else TEXTS
        if kind == "BLOB":
            values = [b"", *(pack(content) for content in CONTENTS)]
        for place in places:
            for value in values:
                yield (
                    f"{column} = {value!r:.30}{place}",
                    (f"UPDATE OR IGNORE {table} SET {column} = ?{place}", (value,)),
                )
            for other in blobs if kind == "BLOB" else []:
                yield f"{column} = {other}{place}", f"UPDATE {table} SET {column} = {other}{place}"


def table_cases(good: Path, table: str) -> Iterator[tuple[str, Any]]:
    """Statements that change a table as a whole."""
    names = [column for name, column, _ in columns(good) if name == table]
    away = f"ALTER TABLE {table} RENAME TO other"
    counting = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
    loose = f"{away}; CREATE TABLE {table} ({', '.join(names)}); INSERT INTO {table} SELECT * FROM other"
    yield "gone", f"DROP TABLE {table}"
    yield "empty", f"DELETE FROM {table}"
    yield "view", f"{away}; CREATE VIEW {table} AS SELECT * FROM other"
    yield (
        "endless view",
        f"{away}; CREATE VIEW {table} AS {counting} SELECT {', '.join(f'x AS {name}' for name in names)} FROM c",
    )
    yield (
        "trigger",
        f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN {'DELETE FROM cells'}; END",
    )
    yield (
        "endless trigger",
        f"CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN SELECT * FROM ({counting} SELECT max(x) FROM c); END",
    )
    yield (
        "generated column",
        f"{away}; CREATE TABLE {table} ({', '.join(names[:-1])}, {names[-1]} AS (hex(zeroblob(1000000))))",
    )
    yield "index", f"CREATE INDEX i ON {table} (hex({names[-1]}))"
    yield "twice", f"{loose}; INSERT INTO {table} SELECT * FROM other"
    for name in names:
        for value in ("NULL", "'x'", "x'00'", "1.5", "-1"):
            yield f"loose {name} = {value}", f"{loose}; UPDATE {table} SET {name} = {value}"


TABLES = ["cells", "deltas", "documents", "labels", "meta", "removals", "transactions", "unlabelled", "weights"]


def failing(cases: Iterable[tuple[str, Any]], good: Path, prober: Prober, folder: Path) -> dict[str, str]:
    """The failures, each with the first case that has it."""
    failures: dict[str, str] = {}
    for name, statement in cases:
        path = changed(good, folder / "changed.bunrui", statement)
        for failure in use(prober, path).failures:
            failures.setdefault(failure, name)
    return failures


def test_all_tables_are_changed(good: Path) -> None:
    assert sorted({table for table, _, _ in columns(good)}) == TABLES


@EVERY
@pytest.mark.parametrize("table", TABLES)
def test_hostile_rows(table: str, every: int, good: Path, trained: Path, prober: Prober, folder: Path) -> None:
    file = trained if table == "weights" else good
    assert failing(islice(row_cases(file, table), 0, None, every), file, prober, folder) == {}


@EVERY
@pytest.mark.parametrize("table", TABLES)
def test_hostile_tables(table: str, every: int, good: Path, trained: Path, prober: Prober, folder: Path) -> None:
    file = trained if table == "weights" else good
    assert failing(islice(table_cases(file, table), 0, None, every), file, prober, folder) == {}


def option_cases(good: Path, key: str) -> Iterator[tuple[str, Any]]:
    db = sqlite3.connect(good)
    (text,) = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    db.close()
    update = "UPDATE meta SET value = ? WHERE key = ?"
    whole = json.loads(text)
    for value in VALUES:
        yield f"{key} = {value!r}", (update, (json.dumps(value), key))
    yield f"no {key}", ("DELETE FROM meta WHERE key = ?", (key,))
    if not isinstance(whole, dict):
        return
    for name in [*whole, "unknown"]:
        for value in VALUES:
            yield f"{name} = {value!r}", (update, (json.dumps({**whole, name: value}), key))
        less = {other: value for other, value in whole.items() if other != name}
        yield f"no {name}", (update, (json.dumps(less), key))


@EVERY
@pytest.mark.parametrize("key", ["analyzer", "created", "fingerprint", "generation", "keep", "pruned", "settings"])
def test_hostile_options(key: str, every: int, good: Path, prober: Prober, folder: Path) -> None:
    assert failing(islice(option_cases(good, key), 0, None, every), good, prober, folder) == {}


@pytest.mark.parametrize("table", quick(1, TABLES))
@pytest.mark.parametrize("case", ["view", "endless view", "trigger", "endless trigger", "generated column", "index"])
def test_a_schema_of_another_is_refused(case: str, table: str, good: Path, prober: Prober, folder: Path) -> None:
    path = changed(good, folder / "changed.bunrui", dict(table_cases(good, table))[case])
    steps = [error.split(": ")[0] for error in use(prober, path).errors]
    assert steps == ["open to read", "open"]


# --- what was found before


@pytest.mark.parametrize("seed", quick(3, SEEDS), ids=[path.stem for path in SEEDS])
def test_seeds(seed: Path, good: Path, prober: Prober, folder: Path) -> None:
    path = changed(good, folder / "seed.bunrui", seed.read_text(encoding="utf-8"))
    assert use(prober, path).failures == []
