"""`select`: finds the documents of a large collection (raw) that look like those of a small one (target).

target ──► count ─┐
raw ─────► count ─┴► ratio ──► score raw again ──► above a threshold · the best · a sample ──► rows as they stood

`Best` finds the best rows of a stream of any length: keys stay in memory, rows in a temporary file.

    rows, keys ──► those above the floor ──► file ──► at the end, the rows of the best keys, in the order they came

The floor is the key of the last row that would be chosen if the stream ended here.  In a stream without order, k rows
of n are found after writing about k (1 + log n / k) of them.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bunrui.analysis import AnalyzerSpec
from bunrui.documents import Reader, read
from bunrui.engines.stream import ahead, texts_of
from bunrui.errors import DataError, Option, OptionError, StoreError, check_whole
from bunrui.kernel.arithmetic import log
from bunrui.selection.ratio import HASH_BITS, Ratio
from bunrui.sparse import Floats, Integers

_MOST_PARTS = 10**9  # the denominator of a share: .07 is 7 / 100, and not the float next to it, which is larger

# Rows to be gathered beyond those that are wanted, before the worst are dropped.
_SLACK = 1 << 12

# The file is written anew when it has this many times the rows that are wanted.
_STALE = 4


class Rows(NamedTuple):
    """Some of the selected rows.

    Attributes
    ----------
    rows : array of structs, or of strings
        Formats with columns give structs of all columns, and JSON lines the lines as they stood.  Other formats give
        structs of text, id, source and line.
    log_ratio : (n_rows,) float64
    """

    rows: pa.Array
    log_ratio: Floats


def select(
    target: Any,
    raw: Any,
    *,
    threshold: float | None = None,
    top: int | float | None = None,
    sample: int | None = None,
    seed: int = 0,
    analyzer: str | AnalyzerSpec | Callable[[str], Any] = "universal",
    hash_bits: int = HASH_BITS,
    fit_on: int | None = None,
    folder: str | None = None,
    bar: Callable[[Any], AbstractContextManager[Any]] | None = None,
    **reading: Any,
) -> Selection:
    """Select the documents of `raw` that are likelier in `target`, by `Ratio`.

    Documents without features are never selected.

    Parameters
    ----------
    target, raw : path, iterable of paths, or Reader
        Files that `bunrui.documents.read` reads, or a reader of them.  Raw is read twice, so it cannot be a stream.
    threshold : float
        Select documents with a larger ratio.
    top : int or float
        Select this number of documents with the largest ratios, or this share of raw, above 0 and at most 1.0; of
        equal ones the first.
    sample : int
        Draw this number of documents without replacement, with probabilities in proportion to exp(ratio).
    seed : int
        The same seed draws the same sample.
    analyzer, hash_bits
        Options of `Ratio`.
    fit_on : int, optional
        Estimate P(f | raw) from this number of documents, from the beginning of each file; by default from all.
    folder : str, optional
        The folder for rows until the best are known; by default the system's temporary folder.
    bar : function, optional
        Shows progress: takes a reader, returns a context manager with a method `add(n_docs)`.
    reading
        Options of `bunrui.documents.read`, for target and raw where they are paths.

    Returns
    -------
    Selection
        An iterable of `Rows`, in the order of raw; the work is done during iteration.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "good.txt").write_text("a film of few words\\nthe best film of the year\\n")
    >>> _ = (folder / "raw.jsonl").write_text('{"text": "rain on Monday"}\\n{"text": "the year in film", "n": 7}\\n')
    >>> for rows in select(folder / "good.txt", folder / "raw.jsonl", top=1):
    ...     print(rows.rows.to_pylist(), rows.log_ratio.round(2))
    ['{"text": "the year in film", "n": 7}'] [-0.98]
    """
    _check(threshold, top, sample, fit_on)
    targets, raws = (
        given if isinstance(given, Reader) else read(given, labelled=False, **reading) for given in (target, raw)
    )
    for source in raws.sources:
        if source.path is None or not (source.size is not None or os.path.isdir(source.path)):
            twice = "this is a stream, and raw is read twice"
            raise DataError(twice, file=source.name, hint="write it to a file first")
    new_ratio = partial(Ratio, analyzer, hash_bits=hash_bits)
    return Selection(targets, raws, new_ratio, threshold, top, sample, seed, fit_on, folder, bar or _no_bar)


def _check(threshold: Any, top: Any, sample: Any, fit_on: Any) -> None:
    if sum(way is not None for way in (threshold, top, sample)) != 1:
        ways = Option("threshold"), ", ", Option("top"), " and ", Option("sample")
        raise OptionError(("give one of ", *ways, ", to say what is selected"))
    if threshold is not None and not math.isfinite(threshold):
        raise OptionError(option="threshold", value=threshold, expected="a number")
    if isinstance(top, float):
        if not 0 < top <= 1:
            raise OptionError(option="top", value=top, expected="a whole number, or a share above 0 and at most 1.0")
        if fit_on is not None:
            known = "a share of raw is known when all of it is counted: leave "
            raise OptionError((known, Option("fit_on"), " out, or give a number"))
        top = None
    for name, number in (("top", top), ("sample", sample), ("fit_on", fit_on)):
        check_whole(name, number, or_none=True)


def _no_bar(reader: Any) -> AbstractContextManager[Any]:
    return nullcontext(SimpleNamespace(add=lambda n_docs: None))


@dataclass(eq=False, repr=False)
class Selection:
    """The documents that `select` finds: an iterable of `Rows`.

    Attributes
    ----------
    targets : Reader
    raws : Reader
        Raw, as it is scored: with whole rows.
    ratio : Ratio
        The ratio of the last pass, like `n_raw` and `n_selected`.
    n_raw, n_selected : int
        Documents that were scored, and those that were selected.
    """

    targets: Reader
    raws: Reader
    _new_ratio: Callable[[], Ratio]
    _threshold: float | None
    _top: int | float | None
    _sample: int | None
    _seed: int
    _fit_on: int | None
    _folder: str | None
    _bar: Callable[[Any], AbstractContextManager[Any]]

    def __post_init__(self) -> None:
        self._counted, self.raws = self.raws, Reader(self.raws.sources, replace(self.raws.options, rows=True))
        self.ratio = self._new_ratio()
        self.n_raw = self.n_selected = 0

    def __iter__(self) -> Iterator[Rows]:
        self.ratio = ratio = self._new_ratio()
        self.n_raw = self.n_selected = 0
        self._learn(ratio.learn_target, self.targets)
        if not ratio.has_target:
            raise DataError("the target has no words: nothing can look like it")
        if self._fit_on is None:
            self._learn(ratio.learn_raw, self._counted)
        else:
            sources, options = self._counted.sources, self._counted.options
            for source in sources:
                self._learn(ratio.learn_raw, Reader([source], options), -(-self._fit_on // len(sources)))
        if not ratio.n_raw:
            raise DataError("there are no documents in raw: nothing was selected")
        for rows in self._best() if self._threshold is None else self._above(self._threshold):
            self.n_selected += len(rows.log_ratio)
            yield rows

    def _learn(self, learn: Callable[[Any], Ratio], reader: Reader, most: int | None = None) -> None:
        """Learn the documents of a reader, or the first of them."""
        left = most
        with self._bar(reader) as bar, closing(ahead(reader)) as batches:  # type: ignore[type-var]
            for batch in batches:
                part = batch.slice(0, left)
                learn(texts_of(part))
                bar.add(part.num_rows)
                if left is not None:
                    left -= part.num_rows
                    if not left:
                        return

    def schema(self) -> pa.Schema | None:
        """The columns of all files of raw together; None where a file has no columns with types.

        Raises
        ------
        DataError
            If a column has types that cannot be joined.
        """
        from bunrui.documents.columnar import schema_of

        schemas = [schema_of(source) for source in self.raws.sources]
        if None in schemas:
            return None
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException as error:
            raise DataError(f"the files have a column of the same name with different types: {error}") from error

    def _scored(self) -> Iterator[tuple[pa.Array, Floats]]:
        """Rows with the ratios of their documents; -inf without features."""
        with self._bar(self.raws) as bar, closing(ahead(self.raws)) as batches:  # type: ignore[type-var]
            for batch in batches:
                ratios, lengths = self.ratio.read(texts_of(batch))
                self.n_raw += len(ratios)
                yield _rows(batch), np.where(lengths > 0, ratios, -np.inf)
                bar.add(len(ratios))

    def _above(self, threshold: float) -> Iterator[Rows]:
        for rows, ratios in self._scored():
            chosen = ratios > threshold
            if chosen.any():
                yield Rows(rows.filter(pa.array(chosen)), ratios[chosen])

    def _best(self) -> Iterator[Rows]:
        noise = None if self._sample is None else Gumbel(self._seed)
        wanted = self._sample or self._top or 0
        if isinstance(wanted, float):
            wanted = max(1, math.ceil(Fraction(wanted).limit_denominator(_MOST_PARTS) * self.ratio.n_raw))
        with closing(Best(wanted, self._folder)) as best:
            for rows, ratios in self._scored():
                keys = ratios if noise is None else ratios + noise.draw(len(ratios))
                best.add(keys, pa.table({"rows": rows, "log_ratio": ratios}))
            for table in best.rows():
                yield Rows(table["rows"].combine_chunks(), table["log_ratio"].to_numpy())


def _rows(batch: pa.RecordBatch) -> pa.Array:
    """The rows of documents as they stood; for formats without columns: text, id, source and line."""
    if "row" in batch.schema.names:
        return batch["row"]
    columns = {name: batch[name] for name in ("text", "id", "source", "line")}
    return pa.record_batch(columns | {"source": columns["source"].dictionary_decode()}).to_struct_array()


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
        # The bits of this generator are the same in all versions of NumPy; its distributions may change.
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
    >>> with closing(Best(2)) as best:
    ...     best.add(np.array([3.0, 1.0]), pa.table({"x": ["a", "b"]}))
    ...     best.add(np.array([2.0, 9.0, -np.inf]), pa.table({"x": ["c", "d", "e"]}))
    ...     pa.concat_tables(best.rows())["x"].to_pylist()
    ['a', 'd']
    """

    def __init__(self, k: int, folder: str | None = None) -> None:
        self._k, self._folder = k, folder
        self._keys, self._places = [np.empty(0)], [np.empty(0, np.int64)]  # of the rows in the file, by batch
        self._n_keys = 0
        self._floor = -np.inf
        self._file = _Spilled(folder)

    def add(self, keys: Floats, rows: pa.Table) -> None:
        """Take those of the next rows that may be among the best."""
        is_wanted = keys > self._floor
        if not is_wanted.any():
            return
        self._keys.append(keys[is_wanted])
        self._places.append(np.arange(len(self._keys[-1])) + self._file.n_rows)
        self._n_keys += len(self._keys[-1])
        self._file.write(rows if is_wanted.all() else rows.filter(pa.array(is_wanted)))
        if self._n_keys >= 2 * self._k + _SLACK:
            self._prune()

    def _prune(self) -> Integers:
        """Keep the best rows; their places in the file."""
        keys, places = np.concatenate(self._keys), np.concatenate(self._places)
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
        return places

    def rows(self) -> Iterator[pa.Table]:
        """The chosen rows, in the order in which they came."""
        places = self._prune()
        return self._file.read(places)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


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
            raise StoreError.of_system(error, self._folder or tempfile.gettempdir()) from error
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
