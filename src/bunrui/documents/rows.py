"""Rows → record batches: what a row may hold is said here, once.

Formats have a quick way for blocks in which nothing is unusual (`tidy`), and a slow way, row by row (`Rows`), that
knows what is wrong and where.  The slow way decides; the quick way must agree with it or step back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bunrui.documents.reading import Reading, RowError
from bunrui.errors import Option
from bunrui.labels import LONGEST_LABEL, unfit

__all__ = ["COUNTS", "LABELS", "STRING", "TOKENS", "Object", "Rows", "Written", "assemble", "shown", "tidy"]

STRING = pa.string()
TOKENS = pa.list_(STRING)
COUNTS = pa.map_(STRING, pa.int64())
LABELS = pa.list_(STRING)
_KINDS = {"string": STRING, "tokens": TOKENS, "counts": COUNTS}
_SAID = {"string": "a string", "tokens": "a list of tokens", "counts": "an object of counts"}
_MOST = (1 << 63) - 1


class Written(str):
    """A number that is kept as it was written."""


class Object(dict[str, Any]):
    """A JSON object that knows if a key came twice."""

    repeated: frozenset[str] = frozenset()


class Rows:
    """Gather rows of Python values, refuse the bad ones, and make a batch of the rest.

    Examples
    --------
    >>> from bunrui.documents.reading import Options, Progress, Source
    >>> rows = Rows(Reading(Source("a.jsonl", "a.jsonl"), Options(), Progress()))
    >>> rows.add(["good"], 5, None, line=1)
    >>> rows.add(["bad"], ["x", "y"], None, line=2)
    >>> rows.batch().select(["label", "text", "line"]).to_pylist()
    [{'label': ['5'], 'text': 'good', 'line': 1}, {'label': ['x', 'y'], 'text': 'bad', 'line': 2}]
    >>> rows.add(["good"], "", None, line=3)
    Traceback (most recent call last):
    bunrui.errors.DataError: a.jsonl, line 3: the label is empty: give it a name, or leave the row out
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._clear()

    def _clear(self) -> None:
        self._texts: list[Any] = []
        self._labels: list[Any] = []
        self._ids: list[str | None] = []
        self._sources: list[str | None] = []
        self._lines: list[int | None] = []
        self.n_bytes = 0

    def add(
        self, parts: Sequence[Any], label: Any, id: Any, *, line: int | None = None, source: str | None = None
    ) -> None:
        """Add a row, given the values of its text columns, unless it is bad."""
        reading = self._reading
        try:
            if reading.options.columns:
                kind, text = "string", _whole(parts[0], "the row")
            else:
                kind, text = _text(parts, reading.options.text)
            if reading.kind and kind != reading.kind:
                raise RowError(f"the text is {_SAID[kind]}, and {_SAID[reading.kind]} before: keep to one in a file")
            label = _label(label, _longest(reading)) if reading.wants_label or label is not None else None
            id = _id(id) if reading.options.id or id is not None else None
        except RowError as bad:
            reading.bad(bad.problem, line, source)
            return
        reading.kind = kind
        self._texts.append(text)
        self._labels.append(label)
        self._ids.append(id)
        self._sources.append(source)
        self._lines.append(line)
        self.n_bytes += len(text) if isinstance(text, str) else sum(map(len, text))

    @property
    def is_full(self) -> bool:
        """Whether it is time for a batch."""
        return self.n_bytes >= self._reading.options.batch_bytes

    def batch(self) -> pa.RecordBatch | None:
        """The rows so far as a batch, None if there are none; then begin anew."""
        reading, texts, labels = self._reading, self._texts, self._labels
        if not texts:
            return None
        text = pa.array([list(t.items()) for t in texts] if reading.kind == "counts" else texts, _KINDS[reading.kind])
        label = None
        if reading.wants_label or labels[0] is not None:
            if any(isinstance(value, list) for value in labels):
                label = pa.array([value if isinstance(value, list) else [value] for value in labels], LABELS)
            else:
                label = pa.array(labels, STRING)
        names = [source or reading.source.name for source in self._sources] if any(self._sources) else None
        batch = assemble(reading, text, label, pa.array(self._ids, STRING), pa.array(self._lines, pa.int64()), names)
        self._clear()
        return batch


def assemble(
    reading: Reading, text: pa.Array, label: pa.Array, id: pa.Array, lines: Any, sources: list[str] | None = None
) -> pa.RecordBatch:
    """Arrays → a batch with the columns that all batches have."""
    n = len(text)
    columns: dict[str, pa.Array] = {}
    if reading.options.labelled:
        columns["label"] = label if reading.source.label is None else pa.repeat(pa.scalar(reading.source.label), n)
    columns["text"] = text
    columns["id"] = pa.nulls(n, STRING) if id is None else id
    if sources is None:
        zeros = pa.array(np.zeros(n, np.int32))
        columns["source"] = pa.DictionaryArray.from_arrays(zeros, pa.array([shown(reading.source.name)]))
    else:
        columns["source"] = pa.array([shown(source) for source in sources], STRING).dictionary_encode()
    columns["line"] = lines if isinstance(lines, pa.Array) else pa.array(lines, pa.int64())
    return pa.record_batch(columns)


def tidy(reading: Reading, texts: list[pa.Array], label: pa.Array, id: pa.Array, lines: Any) -> pa.RecordBatch | None:
    """Arrays of whole columns → a batch, or None if a row of them needs a closer look.

    Parameters
    ----------
    reading : Reading
    texts : list of arrays
        The text columns: strings, or one list of strings, or one map from string to int64.
    label, id : array or None
        Strings, or lists of strings for the label.
    lines : array of int64, (n_docs,)
    """
    kind = "tokens" if texts[0].type == TOKENS else "counts" if texts[0].type == COUNTS else "string"
    if reading.kind not in ("", kind) or any(array.null_count for array in texts):
        return None
    if kind == "tokens" and texts[0].flatten().null_count:
        return None
    if kind == "counts" and not _are_counts(texts[0]):
        return None
    if kind != "string" and len(texts) > 1:
        return None
    if reading.wants_label and not _are_labels(label, _longest(reading)):
        return None
    if id is not None and (id.null_count or pc.any(pc.equal(id, "")).as_py()):
        return None
    reading.kind = kind
    text = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, "\n")
    return assemble(reading, text, label, id, lines)


def _longest(reading: Reading) -> int | None:
    """Characters of a label; any number where it will be cut at a separator."""
    return None if reading.options.separator else LONGEST_LABEL


def _are_labels(label: pa.Array, longest: int | None) -> bool:
    if label.null_count:
        return False
    if label.type == LABELS:
        if len(label) and not pc.min(pc.list_value_length(label)).as_py():
            return False
        label = label.flatten()
    blank = pc.or_(pc.equal(label, ""), pc.utf8_is_space(label))
    wrong = pc.or_(blank, pc.match_substring(label, "\0"))
    if longest is not None:
        wrong = pc.or_(wrong, pc.greater(pc.utf8_length(label), longest))
    return not label.null_count and not pc.any(wrong).as_py()


def _are_counts(text: pa.Array) -> bool:
    counts = text.items
    smallest = pc.min(counts).as_py()
    return not counts.null_count and (smallest is None or smallest >= 0)


# --- one value


def _text(parts: Sequence[Any], columns: Sequence[str]) -> tuple[str, Any]:
    if len(parts) > 1:
        for part, column in zip(parts, columns, strict=True):
            if not isinstance(part, str) or isinstance(part, Written):
                raise RowError(f"{_called(column)} is {_said(part)}: columns that are joined hold strings")
        return "string", _whole("\n".join(parts), "the text")
    text, name = parts[0], _called(columns[0])
    if isinstance(text, str) and not isinstance(text, Written):
        return "string", _whole(text, name)
    if isinstance(text, list):
        for token in text:
            if not isinstance(token, str) or isinstance(token, Written):
                raise RowError(f"{name} has the token {_short(token)}: tokens are strings")
            _whole(token, name)
        return "tokens", text
    if isinstance(text, dict):
        return "counts", _counts(text, name)
    if text is None:
        raise RowError(f"{name} is missing (null): fill it with an empty string, or leave the row out")
    raise RowError(f"{name} is {_said(text)}: give a string, a list of tokens, or an object from word to count")


def _counts(text: dict[str, Any], name: str) -> dict[str, int]:
    if isinstance(text, Object) and text.repeated:
        raise RowError(f"{name} counts {_short(min(text.repeated))} twice: keep one")
    for word, count in text.items():
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST:
            raise RowError(f"{name} counts {_short(word)} {_short(count)} times: counts are whole numbers from 0 up")
        _whole(word, name)
    return text


def _label(label: Any, longest: int | None) -> str | list[str]:
    if isinstance(label, list):
        if not label:
            raise RowError("the list of labels is empty: give at least one, or leave the row out")
        return [_one_label(name, longest) for name in label]
    return _one_label(label, longest)


def _one_label(label: Any, longest: int | None) -> str:
    if label is None:
        raise RowError("the label is missing (null): give one, or leave the row out")
    name = _scalar(label)
    if name is None:
        raise RowError(f"the label is {_said(label)}: give a string, a number, or a list of them")
    if why := unfit(name, longest):
        raise RowError(f"the label {why}, or leave the row out")
    if "\0" in name:
        raise RowError(f"the label {_short(name)} has a NUL: give it another name")
    return _whole(name, "the label")


def _id(id: Any) -> str:
    name = _scalar(id)
    if not name:
        raise RowError(("the id is missing: give one, or read without ", Option("id")))
    return _whole(name, "the id")


def _scalar(value: Any) -> str | None:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None


def _whole(text: str, name: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            lone = f"\\u{ord(text[error.start]):04x}"
            raise RowError(f"{name} has {lone}, half of a character, at character {error.start + 1}: mend it") from None
    return text


def _called(column: str) -> str:
    return "the text" if column == "text" else f"the text {column!r}"


def _said(value: Any) -> str:
    if value is None:
        return "missing (null)"
    if isinstance(value, (bool, int, float, Written)):
        return f"{'true' if value is True else 'false' if value is False else value}, not a string"
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else f"{value!r}"


def _short(value: Any) -> str:
    shown = "null" if value is None else str(value) if isinstance(value, Written) else repr(value)
    return shown if len(shown) <= 40 else shown[:40] + "…"


def shown(name: str) -> str:
    """File names may be bytes in any encoding; Arrow's strings may not."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
