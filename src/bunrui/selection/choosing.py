"""The best of a stream of rows, however long it is: keys in memory, rows in a temporary file.

    rows, keys ──► those above the floor ──► file ──► at the end, the rows of the best keys, in the order they came

The floor is the key of the last row that would be chosen if the stream ended here.  In a stream without order, k rows
of n are found after writing about k (1 + log n / k) of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.kernel.logs import log

__all__ = ["Best", "Gumbel"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Rows to be gathered beyond those that are wanted, before the worst are dropped.
_SLACK = 1 << 12

# When more than so many times the rows that are wanted are in the file, it is written anew.
_STALE = 4


class Gumbel:
    """Numbers of the Gumbel distribution: log-weights plus these, the k largest are a sample without replacement.

    The numbers of a seed come in one order, however many are asked for at a time.  Vieira (2014), Gumbel-max trick and
    weighted reservoir sampling; Kool, van Hoof, Welling (2019), Stochastic beams and where to find them.

    Examples
    --------
    >>> some = Gumbel(7)
    >>> (np.concatenate([some.draw(2), some.draw(3)]) == Gumbel(7).draw(5)).all()
    np.True_
    """

    def __init__(self, seed: int) -> None:
        # The bits of this generator are the same in all versions of NumPy; what is made of them elsewhere may change.
        self._bits = np.random.PCG64(seed)

    def draw(self, n: int) -> Floats:
        """The next `n` numbers."""
        uniform = ((self._bits.random_raw(n) >> np.uint64(11)) + 0.5) * 2.0**-53  # never 0 and never 1
        return -log(-log(uniform))


class Best:
    """The `k` rows with the largest keys; of equal keys, those that came first.  A key of -inf is never chosen.

    Parameters
    ----------
    k : int
    folder : str, optional
        Where the temporary file is; by default where the system has them.

    Examples
    --------
    >>> with Best(2) as best:
    ...     best.add(np.array([3.0, 1.0]), pa.table({"x": ["a", "b"]}))
    ...     best.add(np.array([2.0, 9.0, -np.inf]), pa.table({"x": ["c", "d", "e"]}))
    ...     pa.concat_tables(best.rows())["x"].to_pylist()
    ['a', 'd']
    """

    def __init__(self, k: int, folder: str | None = None) -> None:
        self._k, self._folder = k, folder
        self._keys: list[Floats] = []
        self._places: list[Integers] = []  # of the rows in the file
        self._n_keys = 0
        self._floor = -np.inf
        self._file = _Spilled(folder)

    def wanted(self, keys: Floats) -> npt.NDArray[np.bool_]:
        """Which rows may be among the best, given what came before."""
        return np.asarray(keys > self._floor)

    def add(self, keys: Floats, rows: pa.Table) -> None:
        """Take rows, all or those that are wanted; the next ones come behind them."""
        kept = np.flatnonzero(self.wanted(keys))
        if not len(kept):
            return
        self._keys.append(keys[kept])
        self._places.append(np.arange(len(kept)) + self._file.n_rows)
        self._file.write(rows if len(kept) == rows.num_rows else rows.take(pa.array(kept)))
        self._n_keys += len(kept)
        if self._n_keys >= 2 * self._k + _SLACK:
            self._prune()

    def _prune(self) -> None:
        keys, places = np.concatenate([np.empty(0), *self._keys]), np.concatenate([np.empty(0, int), *self._places])
        if len(keys) > self._k:
            # Stable: of equal keys the first stay.
            kept = np.sort(np.argsort(-keys, kind="stable")[: self._k])
            keys, places = keys[kept], places[kept]
            self._floor = float(keys.min(initial=np.inf))
        if self._file.n_rows > _STALE * self._k + 2 * _SLACK:
            fresh = _Spilled(self._folder)
            for rows in self._file.read(places):
                fresh.write(rows)
            self._file.close()
            self._file, places = fresh, np.arange(len(places))
        self._keys, self._places, self._n_keys = [keys], [places], len(keys)

    def rows(self) -> Iterator[pa.Table]:
        """The chosen rows, in the order in which they came."""
        self._prune()
        return self._file.read(self._places[0])

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def __enter__(self) -> Best:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class _Spilled:
    """Tables in a temporary file, each with columns of its own."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._file: Any = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed in close)
        self._bounds = [0]
        self._n_rows = [0]

    @property
    def n_rows(self) -> int:
        """Rows in the file."""
        return self._n_rows[-1]

    def write(self, table: pa.Table) -> None:
        """Add rows."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        try:
            self._file.write(sink.getvalue())
            self._file.flush()
        except OSError as error:
            what = f"a temporary file cannot be written: {error.strerror}"
            raise OSError(error.errno, what, self._folder or tempfile.gettempdir()) from error
        self._bounds.append(self._file.tell())
        self._n_rows.append(self.n_rows + table.num_rows)

    def read(self, places: Integers) -> Iterator[pa.Table]:
        """The rows at some places, ascending."""
        cuts = np.searchsorted(places, self._n_rows)
        for at in range(len(self._n_rows) - 1):
            some = places[cuts[at] : cuts[at + 1]] - self._n_rows[at]
            if len(some):
                self._file.seek(self._bounds[at])
                data = self._file.read(self._bounds[at + 1] - self._bounds[at])
                table = pa.ipc.open_stream(data).read_all()
                yield table if len(some) == table.num_rows else table.take(pa.array(some))
        self._file.seek(0, 2)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
