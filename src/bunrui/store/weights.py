"""The weights of a trained model ↔ the rows of a file.

They are never the truth: a file without them trains the model from its log, and gives the same bits.  One row, the
heading, names their origin, and the others hold the arrays:

    options, version         of the model, and of bunrui
    generation, tx, n_docs   the state of the log, and its documents
    n_ids, vocabulary        how many features there were, and a digest of them in the order of their ids
    facts, arrays            numbers and names of the model, as JSON; the type and the shape of every array

When weights are dropped, the heading stays without features and arrays: it tells when they are due again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bunrui.classifier import SETTINGS
from bunrui.counts import Counts
from bunrui.errors import DamagedError
from bunrui.kernel.slices import in_turn
from bunrui.memory import Parameters
from bunrui.store.codec import Unpacker, pack, pack_json
from bunrui.store.schema import insert

if TYPE_CHECKING:
    from bunrui.store.store import State, Store

_HEADING = "heading"
_PART_BYTES = 1 << 21  # threads unpack the parts of an array
_MOST_PART_BYTES = 1 << 26  # as older versions wrote them
_TYPES = {name: np.dtype(name) for name in ("<f8", "<i8", "<i4", "<i2", "|i1")}

Rows = list[tuple[str, int, bytes]]


@dataclass(frozen=True)
class Heading:
    """The origin of weights: documents, options, features; `vocabulary` is empty where they were dropped."""

    n_docs: int
    options: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    generation: int = 0
    tx: int = 0
    n_ids: int = 0
    vocabulary: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, list[Any]] = field(default_factory=dict)

    def is_of(self, options: Mapping[str, Any], counts: Counts, *, any_version: bool) -> bool:
        """Whether they are weights of a model with these options, of the features of these counts."""
        return (
            bool(self.vocabulary)
            and self.options == key_of(options)
            and (any_version or self.version == _version())
            and self.n_ids <= counts.n_ids
            and self.vocabulary == counts.digest(self.n_ids)
        )


def key_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a model, but for the analyzer, as the file has them."""
    named = {name: options[name] for name in ("model", *SETTINGS)}
    known: dict[str, Any] = json.loads(json.dumps(named, default=float))
    return known


def is_due(heading: Heading | None, options: Mapping[str, Any], n_docs: int, snapshot: int) -> bool:
    """Whether a change is to train the model: the first one, and where documents have doubled or halved since.

    And `arow`, where its weights are behind the snapshot: it cannot go on from them, for changes were joined since.
    """
    if heading is None or heading.options != key_of(options) or heading.version != _version():
        return True
    is_behind = options["model"] == "arow" and bool(heading.vocabulary) and heading.tx < snapshot
    return is_behind or n_docs >= 2 * heading.n_docs or 2 * n_docs <= heading.n_docs


def pack_weights(weights: Parameters, options: Mapping[str, Any], counts: Counts, state: State) -> tuple[Heading, Rows]:
    """The heading and the rows of some weights."""
    rows: Rows = []
    arrays: dict[str, list[Any]] = {}
    for name, array in weights.arrays.items():
        stored = _narrow(array)
        arrays[name] = [array.dtype.str, stored.dtype.str, list(array.shape)]
        content = np.ascontiguousarray(stored).reshape(-1).view(np.uint8).data
        for part, start in enumerate(range(0, max(len(content), 1), _PART_BYTES)):
            rows.append((name, part, pack(content[start : start + _PART_BYTES])))
    n_ids = counts.n_ids
    made = Heading(
        counts.n_docs, key_of(options), _version(), *state, n_ids, counts.digest(n_ids), weights.facts, arrays
    )
    return made, rows


def write_weights(store: Store, heading: Heading | None, rows: Rows) -> None:
    """Put weights of the file as it is now in the place of those that are there; call while writing."""
    first = [] if heading is None else [(_HEADING, 0, _stamped(store, heading))]
    store.db.execute("DELETE FROM weights")
    insert(store.db, "weights", "name, part, content", [*first, *rows])


def drop_weights(store: Store) -> None:
    """Take weights away; the heading tells when they are due again.  Call while writing."""
    heading = None
    with suppress(DamagedError):
        heading = read_heading(store)
    write_weights(store, heading and Heading(heading.n_docs, heading.options, heading.version), [])


def stamp_weights(store: Store, heading: Heading | None) -> None:
    """Mark weights as trained from the file as it is now, or take them away; call while writing."""
    if heading is None:
        write_weights(store, None, [])
    else:
        store.db.execute("UPDATE weights SET content = ? WHERE name = ?", (_stamped(store, heading), _HEADING))


def _stamped(store: Store, heading: Heading) -> bytes:
    return pack_json(asdict(heading) | store.state()._asdict())


def carry_weights(store: Store, before: State) -> None:
    """Mark weights as valid in this generation, if they were so in the one before; call while writing."""
    with suppress(DamagedError):
        heading = read_heading(store)
        if heading is not None and heading.generation == before.generation:
            known = asdict(heading) | {"generation": store.state().generation}
            store.db.execute("UPDATE weights SET content = ? WHERE name = ?", (pack_json(known), _HEADING))


def are_weights_of(store: Store, tx: int) -> bool:
    """Whether a file has weights from before the changes after a number."""
    with suppress(DamagedError):
        heading = read_heading(store)
        return heading is not None and bool(heading.vocabulary) and heading.tx <= tx
    return False


def read_heading(store: Store) -> Heading | None:
    """The heading of the weights of a file; None where it has none."""
    row = store.db.execute("SELECT content FROM weights WHERE name = ? AND part = 0", (_HEADING,)).fetchone()
    if row is None:
        return None
    unpacker = unpacker_of(store)
    known = unpacker.json(row[0])
    with suppress(TypeError):
        heading = Heading(**known)
        unpacker.check_whole(heading.n_docs, heading.generation, heading.tx, heading.n_ids)
        if all(isinstance(known, dict) for known in (heading.options, heading.facts, heading.arrays)):
            return heading
    raise unpacker.damaged("the heading of its weights cannot be read")


def unpacker_of(store: Store) -> Unpacker:
    """For the weights of a file."""
    advice = f"Train its model again with 'bunrui train {store.path}'"
    if store.keep != "text":
        advice = "Make this copy again, from the file that has the documents"
    return Unpacker(store.path, store.budget(), advice)


def read_rows(store: Store) -> Rows:
    """The rows of the arrays, as they are."""
    query = "SELECT name, part, content FROM weights WHERE name != ? ORDER BY name, part"
    return store.db.execute(query, (_HEADING,)).fetchall()


def read_weights(store: Store, heading: Heading) -> Parameters:
    """Weights whose arrays are read when somebody asks for them."""
    return Parameters(heading.facts, _StoredArrays(store, heading))


class _StoredArrays(Mapping[str, npt.NDArray[Any]]):
    """The arrays of a file, unpacked one by one: answers need half of those that learning more needs."""

    def __init__(self, store: Store, heading: Heading) -> None:
        self._store = store
        self._said = heading.arrays
        self._unpacker = unpacker_of(store)

    def __len__(self) -> int:
        return len(self._said)

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        unpacker = self._unpacker
        dtype, stored, shape = _shape(self._said[name], unpacker)
        found = self._store.db.execute("SELECT part, content FROM weights WHERE name = ? ORDER BY part", (name,))
        parts = list(in_turn(lambda row: (row[0], unpacker.unpack(row[1], _MOST_PART_BYTES)), found))
        content = parts[0][1] if len(parts) == 1 else b"".join(content for _, content in parts)
        in_order = [part for part, _ in parts] == list(range(len(parts)))
        if not in_order or len(content) != stored.itemsize * int(np.prod(shape, dtype=object)):
            raise unpacker.damaged(f"its weights have another length of {name!r} than they say")
        array = np.frombuffer(content, stored).reshape(shape)
        unpacker.charge(array.size * dtype.itemsize)
        return array.astype(dtype, copy=False)


def _shape(said: Any, unpacker: Unpacker) -> tuple[np.dtype[Any], np.dtype[Any], tuple[int, ...]]:
    """The type of an array, its type in the file, and its shape."""
    if not (isinstance(said, list) and len(said) == 3 and isinstance(said[2], list) and len(said[2]) <= 2):
        raise unpacker.damaged("its weights do not name their shapes")
    unpacker.check_whole(*said[2])
    dtype, stored = (_TYPES.get(name) if isinstance(name, str) else None for name in said[:2])
    if dtype is None or stored is None or dtype.kind != stored.kind:
        raise unpacker.damaged("its weights are of a type that no weights have")
    return dtype, stored, tuple(said[2])


def _narrow(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers in as few bytes as they need."""
    if array.dtype.kind != "i":
        return array
    least, most = int(array.min(initial=0)), int(array.max(initial=0))
    return array.astype(np.result_type(np.min_scalar_type(min(least, -1)), np.min_scalar_type(min(-1, -1 - most))))


def _version() -> str:
    from bunrui import __version__

    return __version__
