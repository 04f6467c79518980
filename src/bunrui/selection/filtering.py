"""Select from a large collection the documents that look like those of a small one.

target ──► count ─┐
raw ─────► count ─┴► ratio ──► score raw again ──► above a threshold · the best · a sample ──► rows as they stood
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.analysis import AnalyzerSpec
from bunrui.documents import Reader, read
from bunrui.engines.batches import texts_of
from bunrui.engines.stream import ahead
from bunrui.errors import DataError, Option, OptionError
from bunrui.selection.choosing import Best, Gumbel
from bunrui.selection.originals import Batch, Originals
from bunrui.selection.ratio import HASH_BITS, Ratio

__all__ = ["Ratio", "Rows", "Selection", "select"]

Floats = npt.NDArray[np.float64]

_MOST_PARTS = 10**9  # of raw, in a share: .07 is 7 / 100, and not the float next to it, which is larger


class Rows(NamedTuple):
    """Some of the selected rows.

    Attributes
    ----------
    rows : array of structs, or of strings
        Of Parquet and Arrow files all columns, of JSON lines and CSV files lines with JSON objects; `originals.py`.
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
    """Select documents of `raw` by how much likelier they are in `target`: by `Ratio`.

    Documents without features are never selected.

    Parameters
    ----------
    target, raw : path, iterable of paths, or Reader
        What `bunrui.documents.read` reads, or gives.  Raw is read twice, so it cannot be a stream.
    threshold : float
        Those whose ratio is above.
    top : int or float
        So many with the largest ratios, or that share of raw, above 0 and at most 1.0; of equals the first.
    sample : int
        So many, drawn without replacement with probabilities in the ratio exp(ratio).
    seed : int
        Of the sample: the same seed, the same documents.
    analyzer, hash_bits
        Of `Ratio`.
    fit_on : int, optional
        Estimate P(f | raw) from so many documents: as many from the beginning of each file.  By default, from all.
    folder : str, optional
        Where rows are kept until it is known which are the best; by default where the system has temporary files.
    bar : function, optional
        From a reader to a context manager with a method `add(n_docs)`, to show progress.
    reading
        Options of `bunrui.documents.read`, for target and raw where they are paths.

    Returns
    -------
    Selection
        An iterable of `Rows`, in the order of raw.  The work is done when it is gone through.

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
            raise DataError(f"{source.name} is a stream, and raw is read twice: write it to a file first")

    def new_ratio() -> Ratio:
        return Ratio(analyzer, hash_bits=hash_bits)

    new_ratio()  # for its checks
    return Selection(targets, raws, new_ratio, _Choice(threshold, top, sample, seed), fit_on, folder, bar or _NoBar)


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
        if number is not None and (isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1):
            raise OptionError(option=name, value=number, expected="a whole number above 0")


class _Choice(NamedTuple):
    threshold: float | None
    top: int | float | None
    sample: int | None
    seed: int

    def n_rows(self, n_raw: int) -> int:
        """How many rows are wanted, without a threshold."""
        if isinstance(self.top, float):
            return max(1, math.ceil(Fraction(self.top).limit_denominator(_MOST_PARTS) * n_raw))
        return int(self.sample if self.top is None else self.top)  # type: ignore[arg-type]


class _NoBar:
    """No progress is shown."""

    def __init__(self, reader: Any) -> None:
        pass

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def add(self, n_docs: int) -> None:
        """So many more documents are done."""


class Selection:
    """What `select` finds: an iterable of `Rows`.

    Attributes
    ----------
    targets : Reader
    originals : Originals
        Raw, as it is scored.
    ratio : Ratio
        Of the last pass, as `n_raw` and `n_selected`.
    n_raw, n_selected : int
        Documents that were scored, and that were selected.
    """

    def __init__(
        self,
        targets: Reader,
        raws: Reader,
        new_ratio: Callable[[], Ratio],
        choice: _Choice,
        fit_on: int | None,
        folder: str | None,
        bar: Callable[[Any], AbstractContextManager[Any]],
    ) -> None:
        self.targets = targets
        self.originals = Originals(raws)
        self.ratio = new_ratio()
        self.n_raw = self.n_selected = 0
        self._raws, self._new_ratio, self._choice = raws, new_ratio, choice
        self._fit_on, self._folder, self._bar = fit_on, folder, bar

    def __iter__(self) -> Iterator[Rows]:
        self.ratio = ratio = self._new_ratio()
        self.n_raw = self.n_selected = 0
        self._learn(ratio.learn_target, self.targets)
        if not ratio.has_target:
            raise DataError("the target has no words: nothing can look like it")
        if self._fit_on is None:
            self._learn(ratio.learn_raw, self._raws)
        else:
            sources = self._raws.sources
            for source in sources:
                self._learn(ratio.learn_raw, Reader([source], self._raws.options), -(-self._fit_on // len(sources)))
        if not ratio.n_raw:
            raise DataError("there are no documents in raw: nothing was selected")
        threshold = self._choice.threshold
        for rows in self._best() if threshold is None else self._above(threshold):
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

    def _scored(self) -> Iterator[tuple[Batch, Floats]]:
        """Batches with the ratios of their documents; -inf without features."""
        with self._bar(self.originals) as bar, closing(ahead(self.originals)) as batches:  # type: ignore[type-var]
            for batch in batches:
                ratios, lengths = self.ratio.read(texts_of(batch.documents))
                self.n_raw += len(ratios)
                yield batch, np.where(lengths > 0, ratios, -np.inf)
                bar.add(len(ratios))

    def _above(self, threshold: float) -> Iterator[Rows]:
        for batch, ratios in self._scored():
            chosen = ratios > threshold
            if chosen.any():
                yield Rows(batch.rows(chosen), ratios[chosen])

    def _best(self) -> Iterator[Rows]:
        noise = None if self._choice.sample is None else Gumbel(self._choice.seed)
        with Best(self._choice.n_rows(self.ratio.n_raw), self._folder) as best:
            for batch, ratios in self._scored():
                keys = ratios if noise is None else ratios + noise.draw(len(ratios))
                wanted = best.wanted(keys)
                if wanted.any():
                    best.add(keys[wanted], pa.table({"rows": batch.rows(wanted), "log_ratio": ratios[wanted]}))
            for table in best.rows():
                yield Rows(table["rows"].combine_chunks(), table["log_ratio"].to_numpy())
