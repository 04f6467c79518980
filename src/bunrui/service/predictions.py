"""Predict a file: it is kept on disk, a job predicts it, and its answers are read page by page and downloaded.

POST /v1/files            the file                ──► a folder
GET  /v1/files/ID         its columns, its first rows
POST /v1/predictions      a job: an Arrow file in the folder, with texts, whole rows, labels and probabilities
GET  /v1/predictions/ID   pages: sorted in memory by two numbers of a row; texts only of the rows shown
GET  /v1/downloads/ID     all columns of the file, label and probability: CSV, .xlsx, Parquet
"""

from __future__ import annotations

import io
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import Query, Request, Response
from starlette.responses import StreamingResponse

from bunrui.analysis.texts import are_blank
from bunrui.classifier import AnyClassifier
from bunrui.documents.spreadsheet import SheetWriter, as_strings, to_json
from bunrui.documents.validation import STRING, each_once
from bunrui.engines.labelgroups import check_new, label_sets
from bunrui.engines.stream import rank, slices, texts_of
from bunrui.labels import plain
from bunrui.phrases import excerpt
from bunrui.service import schemas
from bunrui.service.admission import BYTES
from bunrui.service.errors import Problem
from bunrui.service.intake import Encoding, Given, Guessed, GuessedHeader, Intake, Name, SkipBad, upload_of
from bunrui.service.jobs import Job
from bunrui.service.predict import MOST_BYTES
from bunrui.service.schemas import Api, answer
from bunrui.service.service import Service, call_of
from bunrui.service.spool import Files, Folder
from bunrui.service.uploads import Upload, all_apart

FILES = "/v1/files"
"""The route whose bodies go to the disk."""

Integers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Order = Literal["file", "unsure", "sure", "label"]

_LONGEST_SHOWN = 300
_MOST_LABELS = 1000
_FEW_KEYS = 100
_MOST_KEYS = 1000
_LONGEST_KEY = 1000  # characters
_MOST_CELLS = 1 << 22  # of JSON lines, in memory at a time
_OTHERS = "other columns"
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}

# --- answers


class Answers:
    """The predictions of a file.

    Attributes
    ----------
    labels : list of labels
        In the order in which they were met.
    best : array of int32, (n_docs,)
        The predicted label of each document; the likeliest one where it may have several.
    shares : array of float64, (n_docs,)
        How sure that is.  A text with nothing in it has no label, -1, and NaN.
    """

    def __init__(self, folder: Folder, id: str, several: bool, options: Sequence[Any] = ()) -> None:
        self.folder, self.is_several, self._options = folder, several, options
        self._path = os.path.join(folder.path, f"{id}.arrow")
        self._lock = threading.RLock()  # pages are read, and rows corrected, in several threads
        self._n_bytes = 0
        self.labels: list[Any] = []
        self.best: Integers = np.empty(0, np.int32)
        self.shares: Floats = np.empty(0, np.float64)
        self._given: dict[int, list[Any]] = {}
        self._found: tuple[Any, npt.NDArray[np.int64]] | None = None
        self._ends: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def remove(self) -> None:
        """Delete their file, as soon as nobody reads it."""

        def delete() -> None:
            with suppress(OSError):
                os.remove(self._path)
            self.folder.grow(-self._n_bytes)
            self._n_bytes = 0

        self.folder.when_free(delete)

    # Making them

    def predict(self, classifier: AnyClassifier, messages: Generator[Any], job: Job, files: Files) -> dict[str, Any]:
        """Predict the documents that another process reads; the result of the job."""
        numbers: dict[Any, int] = {}
        counts: Counter[int] = Counter()
        found: list[_Predicted] = []
        ends: list[int] = []
        told: dict[str, Any] = {}
        writer: Any = None
        with closing(messages), ExitStack() as stack:
            for message in messages:
                if isinstance(message, dict):
                    told = message
                    job.total = max(job.done, round(job.done / max(1e-9, told["share"])))
                    continue
                sets = []
                for part in slices(texts_of(message), len(classifier.counts.labels), MOST_BYTES):
                    predicted, columns = self._predict(classifier, part, numbers)
                    found.append(predicted)
                    sets.append(columns)
                    job.add(len(part))
                labels, shares = map(pa.concat_arrays, zip(*sets, strict=True))
                for value in pc.value_counts(labels.flatten()).to_pylist():
                    counts[value["values"]] += value["counts"]
                batch = pa.record_batch(_kept(message) | {"labels": labels, "shares": shares})
                writer = writer or stack.enter_context(pa.ipc.new_file(self._path, batch.schema))
                writer.write_batch(batch)
                ends.append(job.done)
                self._n_bytes += batch.nbytes
                self.folder.grow(batch.nbytes)
                files.make_room(self.folder)
        if not job.done:
            raise Problem("invalid", "there are no documents in the file: give one with rows", cause="no-rows")
        self.labels = list(numbers)
        self.best, self.shares = map(np.concatenate, zip(*found, strict=True))
        self._ends = np.array(ends)
        job.total = job.done
        return {
            "documents": job.done,
            "blank": int((self.best < 0).sum()),
            "several": self.is_several,
            "labels": {self.labels[number]: n for number, n in counts.most_common(_MOST_LABELS)},
            "n_labels": len(counts),
            "skipped": told.get("skipped", 0),
            "problems": told.get("problems", []),
            "causes": told.get("causes", []),
        }

    def _predict(
        self, classifier: AnyClassifier, texts: Any, numbers: dict[Any, int]
    ) -> tuple[_Predicted, tuple[pa.Array, pa.Array]]:
        """The best labels of some texts; all labels of each, with their shares."""
        is_blank = are_blank(texts)
        if self.is_several:
            classes, odds = classifier.classes_.tolist(), classifier.label_odds(texts)
            order = (-odds).argsort(axis=1, kind="stable")
            above = np.take_along_axis((odds > 0) & ~is_blank[:, None], order, axis=1)
            places, best = order[above], odds.argmax(axis=1)
            every = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
            shares = np.take_along_axis(every, order, axis=1)[above]
            sure, sizes = np.maximum(every, 1 - every).min(axis=1), above.sum(axis=1)
        else:
            ranking = rank(classifier, texts)
            classes, best, sure, sizes = ranking.classes, ranking.best, ranking.confidence, ~is_blank
            places, shares = best[~is_blank], sure[~is_blank]
        own = np.array([numbers.setdefault(plain(name), len(numbers)) for name in classes], np.int32)
        ends = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
        sets = (pa.ListArray.from_arrays(ends, pa.array(values)) for values in (own[places], shares))
        return _Predicted(np.where(is_blank, np.int32(-1), own[best]), np.where(is_blank, np.nan, sure)), tuple(sets)

    # Reading them

    def page(self, order: Order, label: Any, find: str, offset: int, limit: int) -> schemas.PredictedRows:
        """Some rows of those that have a label, and a text with some words."""
        with self.folder.in_use(), self._lock:
            rows = self._select(order, label, find)
            return {"rows": self._rows(rows[offset : offset + limit].tolist()), "total": len(rows)}

    def row(self, row: int) -> schemas.PredictedRow:
        """One row, with all of its text."""
        if row >= len(self.best):
            raise Problem("not-found", f"there is no row {row}: the file has {len(self.best):,}")
        with self.folder.in_use(), self._lock:
            return self._rows([row], longest=None)[0]

    def correct(self, row: int, labels: list[Any] | None) -> schemas.PredictedRow:
        """Give a row other labels; None for those that were predicted."""
        if labels is not None and len(labels) != 1 and not self.is_several:
            raise Problem("invalid", f"labels: a document of this classifier has one label, and not {len(labels)}")
        with self._lock:
            if labels:
                found = label_sets([labels], 1, dict.fromkeys(self.labels, 0))  # an error for labels of another type
                check_new([name for name in found.labels if name not in self.labels])
            self.row(row)
            if labels is None:
                self._given.pop(row, None)
            else:
                self._given[row] = labels
                self.labels += [name for name in dict.fromkeys(labels) if name not in self.labels]
            self._found = None
            return self.row(row)

    def take_over(self, older: Answers) -> None:
        """Correct the rows that were corrected before, if they are the same rows."""
        if (older._options, older.is_several, len(older.best)) == (self._options, self.is_several, len(self.best)):
            with older._lock:
                given = dict(older._given)
            for row, labels in given.items():
                self.correct(row, labels)

    def _corrected(self) -> _Predicted:
        """The best labels and their shares, as they were corrected."""
        best, shares = self.best.copy(), self.shares.copy()
        places = {label: place for place, label in enumerate(self.labels)}
        for row, labels in self._given.items():
            best[row] = places[labels[0]] if labels else best[row]
            shares[row] = 1
        return _Predicted(best, shares)

    def _select(self, order: Order, label: Any, find: str) -> npt.NDArray[np.int64]:
        key = order, label, find
        if self._found is not None and self._found[0] == key:
            return self._found[1]
        best, shares = self._corrected()
        rows = np.arange(len(best)) if label is None else self._with_label(label)
        if find:
            rows = rows[self._have(find)[rows]]
        if order in ("unsure", "sure"):
            sign = 1 if order == "unsure" else -1
            rows = rows[np.argsort(sign * shares[rows], kind="stable")]
        elif order == "label":
            place = np.full(len(self.labels) + 1, len(self.labels))  # those without a label, -1, come last
            place[sorted(range(len(self.labels)), key=self.labels.__getitem__)] = np.arange(len(self.labels))
            rows = rows[np.lexsort((shares[rows], place[best[rows]]))]
        self._found = key, rows
        return rows

    def _with_label(self, label: Any) -> npt.NDArray[np.int64]:
        has = np.zeros(len(self.best), bool)
        number = self.labels.index(label) if label in self.labels else -1
        start = 0
        for batch in _batches(self._path, ["labels"]):
            sets = batch["labels"]
            rows = pc.list_parent_indices(sets).to_numpy()[sets.flatten().to_numpy() == number]
            has[start + rows] = True
            start += len(sets)
        for row, labels in self._given.items():
            has[row] = label in labels
        return np.flatnonzero(has)

    def _have(self, words: str) -> npt.NDArray[np.bool_]:
        """Which texts have some words."""
        found = [
            pc.match_substring(batch["text"], words, ignore_case=True).to_numpy(zero_copy_only=False)
            for batch in _batches(self._path, ["text"])
        ]
        return np.concatenate(found)

    def _rows(self, rows: list[int], longest: int | None = _LONGEST_SHOWN) -> list[schemas.PredictedRow]:
        """Rows with their texts: of the file, only the pages are read on which these stand."""
        found: list[schemas.PredictedRow] = []
        with pa.memory_map(self._path) as file:
            opened = pa.ipc.open_file(file)
            for row in rows:
                k = int(np.searchsorted(self._ends, row, side="right"))
                place = row - (int(self._ends[k - 1]) if k else 0)
                document = opened.get_batch(k).slice(place, 1).to_pylist()[0]
                labels, shares = [self.labels[number] for number in document["labels"]], document["shares"]
                if row in self._given:
                    labels, shares = self._given[row], [1.0] * len(self._given[row])
                found.append(
                    {
                        "row": row,
                        "line": document["line"],
                        "text": document["text"] if longest is None else excerpt(document["text"], longest),
                        "labels": labels,
                        "probabilities": shares,
                        "corrected": row in self._given,
                    }
                )
        return found

    # All of them

    def tables(self) -> Iterator[tuple[pa.Table, pa.Array | None]]:
        """All columns of the file, and those of the answers; of spreadsheets, the kinds of cells."""
        with self._lock:  # a row that is corrected from now on stays as it is in these
            labels, (best, shares), given = list(self.labels), self._corrected(), dict(self._given)
        keys, has_others = self._json_keys()
        start = 0
        for whole in _batches(self._path):
            step = max(1, _MOST_CELLS // len(keys)) if keys else max(1, whole.num_rows)
            for place in range(0, whole.num_rows, step):
                batch = whole.slice(place, step)
                end = start + batch.num_rows
                columns = _columns(batch, keys, has_others)
                if self.is_several:
                    columns += zip(("labels", "probabilities"), _set_columns(batch, start, labels, given), strict=True)
                else:
                    is_blank = best[start:end] < 0
                    columns.append(("label", pa.array(labels).take(pa.array(best[start:end], mask=is_blank))))
                    columns.append(("probability", pa.array(shares[start:end], mask=is_blank)))
                if given:
                    columns.append(("corrected", pa.array([row in given for row in range(start, end)])))
                kinds = batch["kinds"] if "kinds" in batch.schema.names else None
                names, values = zip(*columns, strict=True)
                yield pa.table(list(values), names=each_once(list(names))), kinds
                start = end

    def _json_keys(self) -> tuple[dict[str, None], bool]:
        """The columns of JSON lines, where each row has its own, and whether some keys get no column.

        There are at most as many as a row has bytes: where each row has keys of its own, cells outnumber the file.
        """
        most = min(_MOST_KEYS, max(_FEW_KEYS, self._n_bytes // len(self.best)))
        keys: dict[str, None] = {}
        has_others = False
        for batch in _batches(self._path):
            if "row" not in batch.schema.names or not pa.types.is_string(batch["row"].type):
                break
            for key in chain.from_iterable(map(json.loads, batch["row"].to_pylist())):
                if key not in keys and len(keys) < most and len(key) <= _LONGEST_KEY:
                    keys[key] = None
                has_others = has_others or key not in keys
        return keys, has_others


class _Predicted(NamedTuple):
    """The label of each document, by its number, and how sure it is."""

    best: Integers
    shares: Floats


def _batches(path: str, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Batches of an Arrow file, one after the other, without keeping the file in memory."""
    with pa.OSFile(path) as file:
        options = pa.ipc.IpcReadOptions()
        if columns is not None:
            names = pa.ipc.open_file(file).schema.names
            options = pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in columns])
        opened = pa.ipc.open_file(file, options=options)
        for k in range(opened.num_record_batches):
            yield opened.get_batch(k)


def _kept(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """The columns of a batch that are kept: texts as strings, and the columns of rows without dictionaries."""
    columns = {name: batch[name] for name in ("text", "line", "id", "row", "kinds") if name in batch.schema.names}
    columns["text"] = as_strings(batch["text"])
    if "row" in columns and pa.types.is_struct(columns["row"].type):
        row = columns["row"]
        fields = [_undo_dictionary(column) for column in row.flatten()]
        columns["row"] = pa.StructArray.from_arrays(fields, [field.name for field in row.type])
    return columns


def _undo_dictionary(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _set_columns(batch: pa.RecordBatch, start: int, names: list[Any], given: dict[int, list[Any]]) -> list[Any]:
    labels = [[names[number] for number in row] for row in batch["labels"].to_pylist()]
    shares = batch["shares"].to_pylist()
    for row, own in given.items():
        if start <= row < start + len(labels):
            labels[row - start], shares[row - start] = own, [1.0] * len(own)
    return [pa.array(labels, pa.list_(pa.array(names).type)), pa.array(shares, pa.list_(pa.float64()))]


def _columns(batch: pa.RecordBatch, keys: dict[str, None], has_others: bool) -> list[tuple[str, pa.Array]]:
    """The columns of a file: those of its rows; of mails and lines the text, and the id if there is one.

    Of JSON lines, keys that got no column stand together in the last one, as JSON.
    """
    if "row" not in batch.schema.names:
        has_ids = batch["id"].null_count < batch.num_rows
        return [("text", batch["text"]), *([("id", batch["id"])] if has_ids else [])]
    row = batch["row"]
    if pa.types.is_struct(row.type):
        return list(zip([field.name for field in row.type], row.flatten(), strict=True))
    rows = [json.loads(line) for line in row.to_pylist()]
    columns = [(key, pa.array([_json_cell(found.get(key)) for found in rows], STRING)) for key in keys]
    if has_others:
        others = [{key: value for key, value in found.items() if key not in keys} for found in rows]
        columns.append((_OTHERS, pa.array([to_json(found) if found else None for found in others], STRING)))
    return columns


def _json_cell(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else to_json(value)


# --- downloads


class _Sink(io.RawIOBase):
    """A file whose bytes are sent on as they are written."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def drain(self) -> bytes:
        """The bytes that were written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def download(answers: Answers, format: str) -> Iterator[bytes]:
    """The bytes of a file with all columns and the answers."""
    sink, writer = _Sink(), None
    with answers.folder.in_use():
        for table, kinds in answers.tables():
            if format != "parquet":
                table = pa.table([_flat(column) for column in table.columns], names=table.column_names)
            if format == "csv":
                names = each_once(_tame(pa.array(table.column_names, STRING)).to_pylist())
                table = pa.table([_tame(column) for column in table.columns], names=names)
            if writer is None:
                writer = _open(format, sink, table.schema)
            writer.write_table(table, *([kinds] if format == "xlsx" else []))
            yield sink.drain()
        if writer is not None:
            writer.close()
        yield sink.drain()


def _open(format: str, sink: _Sink, schema: pa.Schema) -> Any:
    if format == "xlsx":
        return SheetWriter(sink, schema)
    if format == "parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(sink, schema)
    import pyarrow.csv

    sink.write(b"\xef\xbb\xbf")  # or spreadsheet programs take it for an encoding of the machine
    return pyarrow.csv.CSVWriter(sink, schema)


def _flat(column: Any) -> Any:
    """A column without lists and other things that text cannot hold: they are JSON."""
    kind = column.type
    is_plain = pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return column if is_plain else pa.chunked_array([as_strings(chunk) for chunk in column.chunks], STRING)


def _tame(column: Any) -> Any:
    """Texts that no spreadsheet takes for formulas: an apostrophe stands before = + - and @, but not before numbers."""
    if not pa.types.is_string(column.type):
        return column
    is_formula = pc.match_substring_regex(column, r"^[=+\-@\t\r\n]")
    is_number = pc.match_substring_regex(column, r"^[+-]?[0-9][0-9.,]*$")
    marked = pc.binary_join_element_wise("'", column, "")
    return pc.if_else(pc.and_not(is_formula, is_number), marked, column)


# --- routes


def _no_answers() -> Problem:
    said = "there are no such predictions, or newer ones: predict the file again"
    return Problem("not-found", said, cause="old-predictions")


def add_predictions(api: Api, service: Service) -> None:
    """Add the routes."""
    files, served = service.files, service.served
    known: dict[str, Answers] = {}

    def known_answers(id: str) -> Answers:
        found = known.get(id)
        if found is None:
            raise _no_answers()
        files.find(found.folder.id)
        return found

    @api.add(f"POST {FILES}", schemas.File, 507, body=(BYTES,), status=201)
    async def send(request: Request, name: Name) -> Response:
        """Send a file."""
        folder = call_of(request).folder
        assert folder is not None
        folder.name = name
        upload_of(service, [folder], "utf-8", True).check_options()
        told = schemas.File(id=folder.id, name=name, bytes=folder.n_bytes)
        return answer(told, 201, {"Location": f"{FILES}/{folder.id}"})

    @api.add(f"GET {FILES}/{{id}}", schemas.Inspected, 404, 422)
    async def inspect(
        id: str,
        request: Request,
        also: Annotated[list[str] | None, Query()] = None,
        text: Guessed = None,
        label: Guessed = None,
        given: Given = None,
        encoding: Encoding = "auto",
        header: GuessedHeader = None,
        whole: bool = True,
    ) -> Response:
        """Look into a file that was sent.

        Parameters
        ----------
        also
            Other files, to be read together.
        whole
            Count all documents and labels, not only look at the first.
        """
        intake = Intake(service, request, "", [id, *(also or ())], encoding, header, given)
        return await intake.look(text, label, whole=whole)

    @api.add(f"DELETE {FILES}/{{id}}", schemas.File, 404, 422)
    async def delete(id: str) -> Response:
        """Delete a file that was sent."""
        folder = files.find(id)
        folder.remove()
        return answer(schemas.File(id=folder.id, name=folder.name, bytes=folder.n_bytes))

    @api.add("POST /v1/predictions", schemas.Job, 404, 409, 422, 507, status=202)
    async def predict(
        request: Request,
        file: str,
        text: Guessed = None,
        encoding: Encoding = "auto",
        header: GuessedHeader = None,
        skip_bad: SkipBad = False,
        model: str | None = None,
    ) -> Response:
        """Predict a file that was sent.

        Parameters
        ----------
        file
            The id of the file.
        model
            Read the counts by this model.
        """
        folder = files.find(file)
        upload = upload_of(service, [folder], encoding, header)
        upload.check_options()
        classifier = served.reading(model)

        def work(job: Job) -> dict[str, Any]:
            totals = classifier.counts.class_totals().values()
            with folder.in_use():
                is_several = sum(n_docs for n_docs, _, _ in totals) > classifier.counts.n_docs
                answers = Answers(folder, job.id, is_several, (text, encoding, header, skip_bad))
                try:
                    messages = all_apart(job, upload, Upload.rows, text, skip_bad)
                    found = answers.predict(classifier, messages, job, files)
                    for other in [other for other in list(known.values()) if other.folder is folder]:
                        answers.take_over(other)
                except BaseException:
                    answers.remove()
                    raise
            for id, other in list(known.items()):
                if other.folder is folder or other.folder.is_removed:
                    known.pop(id).remove()  # these are newer
            known[job.id] = answers
            return found

        return service.start_job(Job("predict", None, is_owners=call_of(request).is_owner), work)

    async def run(request: Request, work: Callable[..., Any], *args: Any) -> Response:
        try:
            return answer(await call_of(request).room.readers.run(work, *args))
        except FileNotFoundError:  # newer ones were made in this moment
            raise _no_answers() from None

    @api.add("GET /v1/predictions/{id}", schemas.PredictedRows, 404, 422)
    async def page(
        id: str,
        request: Request,
        row: Annotated[int | None, Query(ge=0)] = None,
        order: Order = "file",
        label: str | None = None,
        find: Annotated[str, Query(max_length=1000)] = "",
        offset: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    ) -> Response:
        """Some of the predicted rows of a file.

        Parameters
        ----------
        row
            Only this row, with all of its text.
        order
            As in the file; the unsure or the sure first; by label.
        label
            Only rows with this label.
        find
            Only rows whose text has these words.
        """
        answers = known_answers(id)
        if row is not None:
            return await run(request, lambda: {"rows": [answers.row(row)], "total": 1})
        return await run(request, answers.page, order, served.named([label])[0], find, offset, limit)

    @api.add("POST /v1/predictions/{id}", schemas.PredictedRow, 404, body=schemas.Correct)
    async def correct(id: str, request: Request) -> Response:
        """Give a predicted row other labels, in the table."""
        answers = known_answers(id)
        body = await service.body(schemas.Correct, request)
        labels = None if body.labels is None else served.named(body.labels)
        return await run(request, answers.correct, body.row, labels)

    @api.add("GET /v1/downloads/{id}", _MEDIA.values(), 404, 422)
    async def fetch(id: str, format: Literal["csv", "xlsx", "parquet"] = "csv") -> Response:
        """The predicted file, with all of its columns."""
        answers = known_answers(id)
        stem = os.path.splitext(os.path.basename(answers.folder.name))[0]
        name = quote(f"{stem} labelled.{format}", safe="")
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
        return StreamingResponse(download(answers, format), media_type=_MEDIA[format], headers=headers)
