"""Rows → record batches.  Only this module checks the values of a row.

Formats have a fast path for blocks without anything unusual (`tidy`), and a slow path, row by row (`Rows`), which names
the error and its place.  The slow path decides; the fast path must agree with it or return None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bunrui.documents.encodings import AUTO, detect, encoding_error, transcoder
from bunrui.documents.sources import Progress, Source
from bunrui.errors import DataError, EncodingError, LabelError, Option
from bunrui.labels import fits, label_of, text_of
from bunrui.phrases import LONGEST_LABEL, excerpt, some, unfit

STRING = pa.string()
TOKENS = pa.list_(STRING)
COUNTS = pa.map_(STRING, pa.int64())
_KINDS = {"string": STRING, "tokens": TOKENS, "counts": COUNTS}
_SAID = {"string": "a string", "tokens": "a list of tokens", "counts": "an object of counts"}
_MOST = (1 << 63) - 1
_T = TypeVar("_T")
_MESSAGES = 20  # about skipped rows, that are kept


Row = tuple[Sequence[Any], Any, Any]
"""The values of the text columns, the label and the id of a row."""


@dataclass(frozen=True)
class Options:
    """The arguments of `read`, checked."""

    text: tuple[str, ...] = ("text",)
    label: str = "label"
    id: str | None = None
    encoding: str = "utf-8"
    skip_bad: bool = False
    labelled: bool = True
    batch_bytes: int = 16 << 20
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    separator: str | None = None
    columns: bool = False  # then `text` is empty, until the columns of a table are known
    header: bool = True  # whether CSV and TSV begin with the names of the columns
    rows: bool = False  # whether batches have the whole rows, too
    label_type: type | None = str  # of all labels; None: that of the first


@dataclass
class Reading:
    """One source while it is read.

    >>> reading = Reading(Source("a.csv", "a.csv"), Options(skip_bad=True), Progress())
    >>> reading.refuse(DataError("the label is empty"), line=7)
    >>> print(*reading.progress.skipped)
    a.csv, line 7: the label is empty
    """

    source: Source
    options: Options
    progress: Progress
    bytes_before: int = 0  # read from the sources before this one
    unit: str = "line"
    kind: str = ""  # of text: "string", "tokens" or "counts", once the first row is read
    several: bool = False  # whether other files are read, too, which may have other encodings
    label_type: type = str  # of the labels where they stand

    @property
    def wants_label(self) -> bool:
        """Whether labels are to be found in the rows."""
        return self.options.labelled and self.source.label is None

    @property
    def longest_label(self) -> int | None:
        """Characters of a label; any number where it will be cut at a separator."""
        return None if self.options.separator else LONGEST_LABEL

    @property
    def columns(self) -> list[str]:
        """The columns to be found in the rows, each once."""
        options = self.options
        names = [*options.text, *([options.label] if self.wants_label else []), *([options.id] if options.id else [])]
        return list(dict.fromkeys(names))

    def pick(self, row: Mapping[str, _T]) -> tuple[list[_T], _T | None, _T | None]:
        """The text columns, the label and the id of a row, or of many."""
        options = self.options
        label = row[options.label] if self.wants_label else None
        return [row[name] for name in options.text], label, row[options.id] if options.id else None

    def place(self, line: int | None = None, source: str | None = None) -> dict[str, Any]:
        """The place of a row, as fields of an error."""
        return {"file": source or self.source.name, "line": line, "unit": self.unit}

    def settle_type(self, label: Any = None) -> None:
        """Labels have the type of the first one, unless another was asked for; `label` is one as it stands."""
        if self.progress.label_type is None and self.options.labelled:
            given = label if self.source.label is None else self.source.label
            self.progress.label_type = bool_or_int(given) or self.label_type

    def encoding_of(self, data: bytes) -> str:
        """The encoding of a file that is read now; `auto` is found out from its bytes, a megabyte of them or all."""
        if self.options.encoding != AUTO:
            return self.options.encoding
        found = detect(data)
        if found != "utf-8":
            self.progress.encodings[found] += 1
        return found

    def encoding_error(self, error: UnicodeDecodeError, line: int | None = None) -> EncodingError:
        """An error about bytes of a row that are not valid UTF-8."""
        encoding = self.options.encoding
        if transcoder(encoding, "strict") is None:
            place = self.place(line)
            return encoding_error(bytes(error.object), error.start, "utf-8", several=self.several, **place)
        return EncodingError(f"some bytes are not valid {encoding}", **self.place(line))  # what they were is gone

    def refuse(self, error: DataError, line: int | None = None, source: str | None = None) -> None:
        """Raise an error about one row, or count it; the error gets the place of the row if it has none."""
        if error.file is None:
            error.file, error.line, error.unit = source or self.source.name, line, self.unit
        if not self.options.skip_bad:
            raise error
        self.progress.n_skipped += 1
        if len(self.progress.skipped) < _MESSAGES:
            self.progress.skipped.append(error)

    def lacks(self, there: Collection[str]) -> tuple[str | Option, ...]:
        """A sentence about all missing columns; nothing if none is missing."""
        known = set(there)
        missing = [name for name in self.columns if name not in known]
        if not missing:
            return ()
        say = f"there is {' and '.join(f'no column {name!r}' for name in missing)}"
        only = f", only {listing(there)}" if there else ""
        known_as = {self.options.id: "id", self.options.label: "label"} | dict.fromkeys(self.options.text, "text")
        alike = {name.casefold(): name for name in there}  # a column that differs in case alone is named
        first, *others = dict.fromkeys(Option(known_as[name], alike.get(name.casefold(), ...)) for name in missing)
        more = [part for option in others for part in (" and ", option)]
        return f"{say}{only}: choose {'others' if missing[1:] else 'another'} with ", first, *more

    def check_columns(self, there: list[str], hint: tuple[str | Option, ...] = ()) -> None:
        """Refuse a file whose columns lack one that is wanted, or have it twice."""
        if lacks := self.lacks(there):
            raise DataError((*lacks, *hint), file=self.source.name, cause="no-column")
        options = self.options
        has_label = options.label in there and options.label not in self.columns
        if has_label and options.labelled and not options.columns:
            self.progress.unread_labels.append(self.source.name)
        times = Counter(there)
        for column in self.columns:
            if times[column] > 1:
                several = f"there are {times[column]} columns {column!r}"
                raise DataError(several, file=self.source.name, hint="keep one", cause="column-twice")


Batches = Iterator[pa.RecordBatch | None]
"""The batches of a source; None, or an empty one, where no row is good."""


def each_once(names: Sequence[str]) -> list[str]:
    """Names that differ.

    >>> each_once(["a", "b", "a", "a"])
    ['a', 'b', 'a (2)', 'a (3)']
    """
    found: dict[str, None] = {}
    for name in names:
        times, own = 1, name
        while own in found:
            times += 1
            own = f"{name} ({times})"
        found[own] = None
    return list(found)


def listing(names: Iterable[str]) -> str:
    """Names of columns in a message.

    >>> listing(["title", "body"])
    "'title', 'body'"
    """
    return some(repr(excerpt(name, 40)) for name in names)


class Written(str):
    """A number that is kept as it was written."""


class Object(dict[str, Any]):
    """A JSON object, made of pairs, that knows the keys that came twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        times = Counter(name for name, _ in pairs) if len(self) < len(pairs) else {}
        self.repeated = frozenset(name for name, n in times.items() if n > 1)


class Rows:
    """Gather rows of Python values, refuse the bad ones, and make a batch of the rest.

    Examples
    --------
    >>> from bunrui.documents.sources import Progress, Source
    >>> rows = Rows(Reading(Source("a.jsonl", "a.jsonl"), Options(), Progress()))
    >>> rows.add([(1, 5), (2, ["x", "y"])], lambda label: (["a text"], label, None))
    >>> rows.batch().select(["label", "text", "line"]).to_pylist()
    [{'label': ['5'], 'text': 'a text', 'line': 1}, {'label': ['x', 'y'], 'text': 'a text', 'line': 2}]
    >>> rows.add([(3, "")], lambda label: (["a text"], label, None))
    Traceback (most recent call last):
    bunrui.errors.DataError: a.jsonl, line 3: the label is empty: give it a name, or leave the row out
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.n_bytes = 0
        self._rows: list[tuple[Any, Any, str | None, int | None, str | None]] = []

    def add(
        self, found: Iterable[tuple[int | None, _T]], parse: Callable[[_T], Row | None], source: str | None = None
    ) -> None:
        """Add rows, given their lines, unless they are bad.

        `parse` makes a row of what was found, or None if there is nothing; it raises a DataError for a bad row.
        """
        for line, written in found:
            try:
                row = parse(written)
                if row is not None:
                    self._rows.append((*self._check(*row), line, source))
            except UnicodeDecodeError as error:
                self.reading.refuse(self.reading.encoding_error(error, line), line, source)
            except DataError as error:
                self.reading.refuse(error, line, source)

    def _check(self, parts: Sequence[Any], label: Any, id: Any) -> tuple[Any, Any, str | None]:
        reading = self.reading
        if reading.options.columns:
            kind, text = "string", _check_whole(parts[0], "the row")
        else:
            kind, text = _check_text(parts, reading.options.text)
        if reading.kind and kind != reading.kind:
            raise DataError(f"the text is {_SAID[kind]}, and {_SAID[reading.kind]} before: keep to one in a file")
        name = _check_label(label, reading.longest_label) if reading.wants_label or label is not None else None
        id = _check_id(id) if reading.options.id or id is not None else None
        reading.kind = kind
        reading.settle_type(label)
        self.n_bytes += len(text) if isinstance(text, str) else sum(map(len, text))
        return text, name, id

    @property
    def is_full(self) -> bool:
        """Whether it is time for a batch."""
        return self.n_bytes >= self.reading.options.batch_bytes

    def batch(self) -> pa.RecordBatch | None:
        """The rows so far as a batch, None if there are none; then begin anew."""
        if not self._rows:
            return None
        reading, (texts, labels, ids, lines, sources) = self.reading, zip(*self._rows, strict=True)
        self._rows, self.n_bytes = [], 0
        text = pa.array([list(t.items()) for t in texts] if reading.kind == "counts" else texts, _KINDS[reading.kind])
        label = None
        if reading.wants_label or labels[0] is not None:
            if any(isinstance(value, list) for value in labels):
                label = pa.array([value if isinstance(value, list) else [value] for value in labels], TOKENS)
            else:
                label = pa.array(labels, STRING)
        names = [source or reading.source.name for source in sources] if any(sources) else None
        return _assemble(reading, text, label, pa.array(ids, STRING), lines, names)


def _assemble(
    reading: Reading, text: pa.Array, label: pa.Array, id: pa.Array, lines: Any, sources: list[str] | None = None
) -> pa.RecordBatch:
    """Arrays → a batch with the columns that all batches have."""
    n = len(text)
    columns: dict[str, pa.Array] = {}
    if reading.options.labelled:
        given = reading.source.label
        columns["label"] = label if given is None else pa.repeat(pa.scalar(text_of(given)), n)
    columns["text"] = text
    columns["id"] = pa.nulls(n, STRING) if id is None else id
    if sources is None:
        zeros = pa.array(np.zeros(n, np.int32))
        columns["source"] = pa.DictionaryArray.from_arrays(zeros, pa.array([decode_name(reading.source.name)]))
    else:
        columns["source"] = pa.array([decode_name(source) for source in sources], STRING).dictionary_encode()
    columns["line"] = pa.array(lines, pa.int64())
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
    if reading.wants_label and not _are_labels(label, reading.longest_label):
        return None
    if id is not None and (id.null_count or pc.any(pc.equal(id, "")).as_py()):
        return None
    reading.kind = kind
    reading.settle_type()
    text = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, "\n")
    return _assemble(reading, text, label, id, lines)


def _are_labels(label: pa.Array, longest: int | None) -> bool:
    if label.null_count:
        return False
    if label.type == TOKENS:
        if len(label) and not pc.min(pc.list_value_length(label)).as_py():
            return False
        label = label.flatten()
    names = label.unique().to_pylist()
    return not any(name is None or "\0" in name or unfit(name, longest) for name in names)


def _are_counts(text: pa.Array) -> bool:
    counts = text.items
    smallest = pc.min(counts).as_py()
    return not counts.null_count and (smallest is None or smallest >= 0)


def _flatten(label: pa.Array) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """All labels of a column of labels or of lists of labels, and the row of each."""
    if pa.types.is_list(label.type):
        return label.flatten(), pc.list_parent_indices(label).to_numpy()
    return label, np.arange(len(label))


def _to_lists(labels: pa.Array, sizes: npt.NDArray[np.int64]) -> pa.Array:
    """Lists of labels, given how many each row has."""
    return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(sizes)), pa.int32()), labels)


def _with_labels(batch: pa.RecordBatch, label: pa.Array) -> pa.RecordBatch:
    return batch.set_column(batch.schema.get_field_index("label"), "label", label)


def split_labels(batch: pa.RecordBatch, reading: Reading) -> pa.RecordBatch:
    """The batch with labels cut at the separator, those of lists too; spaces around them are left out."""
    separator = reading.options.separator
    if not separator or reading.source.label is not None:
        return batch
    labels, rows = _flatten(batch["label"])
    parts = pc.split_pattern(labels, separator)
    names = pc.utf8_trim_whitespace(parts.flatten())
    there = pc.not_equal(names, "")
    rows = rows[pc.list_parent_indices(parts).filter(there).to_numpy()]
    sizes = np.bincount(rows, minlength=batch.num_rows)
    batch = _with_labels(batch, _to_lists(names.filter(there), sizes))
    missing = f"there is no label between the separators {separator!r}: give one"
    empty = np.flatnonzero(sizes == 0).tolist()
    return _without(batch, dict.fromkeys(empty, LabelError(missing, cause="empty-label")), reading)


def _without(batch: pa.RecordBatch, bad: Mapping[int, LabelError], reading: Reading) -> pa.RecordBatch:
    """Refuse rows, by their places in a batch; the batch of the others."""
    if not bad:
        return batch
    lines, sources = batch["line"].to_pylist(), batch["source"].to_pylist()
    for row in sorted(bad):
        reading.refuse(DataError(str(bad[row]), cause=bad[row].cause), lines[row], sources[row])
    return batch.filter(pa.array(~np.isin(np.arange(batch.num_rows), list(bad))))


_ARROW = {int: pa.int64(), bool: pa.bool_()}


def give_type(batch: pa.RecordBatch, reading: Reading) -> pa.RecordBatch:
    """The batch with labels of the type that all of them get: until now they are strings."""
    kind = reading.progress.label_type
    if kind is None or kind is str:
        return batch
    labels, rows = _flatten(batch["label"])
    names = labels.dictionary_encode()
    values, why = [], {}
    for name in names.dictionary.to_pylist():
        try:
            values.append(label_of(name, kind))
        except LabelError as error:
            why[len(values)] = error
            values.append(None)
    found = pa.array(values, _ARROW[kind]).take(names.indices)
    if why:
        # Backwards, so that the first bad label of a row is the one that is named.
        places = np.flatnonzero(found.is_null())[::-1]
        codes = names.indices.to_numpy()[places].tolist()
        bad = {row: why[code] for row, code in zip(rows[places].tolist(), codes, strict=True)}
        may_change = reading.options.label_type is None and not reading.progress.has_given_type
        if reading.options.skip_bad and may_change and 2 * len(bad) > batch.num_rows:
            reading.progress.label_type = str  # the first label happened to be a number
            return batch
        return give_type(_without(batch, bad, reading), reading)
    reading.progress.has_given_type = True
    if pa.types.is_list(batch["label"].type):
        found = _to_lists(found, pc.list_value_length(batch["label"]).to_numpy())
    return _with_labels(batch, found)


def label_type(kind: pa.DataType) -> type:
    """The type of the labels in a column.

    >>> label_type(pa.list_(pa.int8())), label_type(pa.dictionary(pa.int8(), pa.string()))
    (<class 'int'>, <class 'str'>)
    """
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    return int if pa.types.is_integer(kind) else bool if pa.types.is_boolean(kind) else str


def bool_or_int(label: Any) -> type | None:
    """The type of a label, or of those in a list, that is no string; None for strings, and for what does not fit."""
    if isinstance(label, list):
        label = next(iter(label), None)
    if isinstance(label, bool):
        return bool
    return int if isinstance(label, int) and fits(label) else None


# --- one value


def _check_text(parts: Sequence[Any], columns: Sequence[str]) -> tuple[str, Any]:
    if len(parts) > 1:
        for part, column in zip(parts, columns, strict=True):
            if type(part) is not str:
                raise DataError(f"{_name_text(column)} is {_describe(part)}: columns that are joined hold strings")
        return "string", _check_whole("\n".join(parts), "the text")
    text, name = parts[0], _name_text(columns[0])
    if type(text) is str:
        return "string", _check_whole(text, name)
    if isinstance(text, list):
        for token in text:
            if type(token) is not str:
                raise DataError(f"{name} has the token {_shorten(token)}: tokens are strings")
            _check_whole(token, name)
        return "tokens", text
    if isinstance(text, dict):
        return "counts", _check_counts(text, name)
    if text is None:
        missing = f"{name} is missing (null): fill it with an empty string, or leave the row out"
        raise DataError(missing, cause="empty-text")
    raise DataError(f"{name} is {_describe(text)}: give a string, a list of tokens, or an object from word to count")


def _check_counts(text: dict[str, Any], name: str) -> dict[str, int]:
    if isinstance(text, Object) and text.repeated:
        raise DataError(f"{name} counts {_shorten(min(text.repeated))} twice: keep one")
    for word, count in text.items():
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST:
            raise DataError(
                f"{name} counts {_shorten(word)} {_shorten(count)} times: counts are whole numbers from 0 up"
            )
        _check_whole(word, name)
    return text


def _check_label(label: Any, longest: int | None) -> str | list[str]:
    if isinstance(label, list):
        if not label:
            raise DataError("the list of labels is empty: give at least one, or leave the row out", cause="empty-label")
        return [_check_one_label(name, longest) for name in label]
    return _check_one_label(label, longest)


def _check_one_label(label: Any, longest: int | None) -> str:
    if label is None:
        raise DataError("the label is missing (null): give one, or leave the row out", cause="empty-label")
    name = _to_string(label)
    if name is None:
        raise DataError(f"the label is {_describe(label)}: give a string, a number, or a list of them")
    if why := unfit(name, longest):
        cause = "long-label" if name.strip() else "empty-label"
        raise DataError(f"the label {why}, or leave the row out", cause=cause)
    if "\0" in name:
        raise DataError(f"the label {_shorten(name)} has a NUL: give it another name")
    return _check_whole(name, "the label")


def _check_id(id: Any) -> str:
    name = _to_string(id)
    if not name:
        raise DataError(("the id is missing: give one, or read without ", Option("id")))
    return _check_whole(name, "the id")


def _to_string(value: Any) -> str | None:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None


def _check_whole(text: str, name: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            lone = f"\\u{ord(text[error.start]):04x}"
            raise DataError(
                f"{name} has {lone}, half of a character, at character {error.start + 1}: mend it"
            ) from None
    return text


def _name_text(column: str) -> str:
    return "the text" if column == "text" else f"the text {column!r}"


def _describe(value: Any) -> str:
    if value is None:
        return "missing (null)"
    if isinstance(value, (bool, int, float, Written)):
        return f"{'true' if value is True else 'false' if value is False else value}, not a string"
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else f"{value!r}"


def _shorten(value: Any) -> str:
    text = "null" if value is None else str(value) if isinstance(value, Written) else repr(value)
    return excerpt(text, 40)


def decode_name(name: str) -> str:
    """File names may be bytes in any encoding; Arrow's strings may not."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
