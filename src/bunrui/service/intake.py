"""The files of a request: its body, or files that were sent before; how they are read."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import islice
from typing import Annotated, Any

import pyarrow as pa
from fastapi import Depends, Query, Request, Response

from bunrui.service.errors import Problem
from bunrui.service.jobs import Job
from bunrui.service.processes import write_stream
from bunrui.service.schemas import answer
from bunrui.service.service import GONE, Service, call_of
from bunrui.service.spool import Folder
from bunrui.service.uploads import Upload, all_apart

_HEADER = "Whether the first line of CSV, TSV and spreadsheets has the names of the columns"
_MOST_KNOWN = 1000  # labels of the classifier, by which a column of labels is found

Name = Annotated[str, Query(min_length=1, max_length=255, description="Of the file: its suffix tells the format.")]
BodyName = Annotated[
    str, Query(max_length=255, description="Of the file that is the body: its suffix tells the format.")
]
Ids = Annotated[list[str] | None, Query(description="Ids of files that were sent before, in place of a body.")]
Guessed = Annotated[str | None, Query(description="A column; guessed where it is not given.")]
Column = Annotated[str | None, Query(description="A column; the one of this name where it is not given.")]
Given = Annotated[str | None, Query(min_length=1, max_length=200, description="The label of all documents.")]
Encoding = Annotated[str, Query(description="Of CSV, TSV and JSON lines; auto finds it out.")]
SkipBad = Annotated[bool, Query(description="Leave out rows that cannot be read.")]
Header = Annotated[bool, Query(description=f"{_HEADER}; else they are called 1, 2 …")]
GuessedHeader = Annotated[bool | None, Query(description=f"{_HEADER}; guessed where it is not given.")]


def upload_of(
    service: Service, folders: Sequence[Folder], encoding: str, header: bool | None, given: str | None = None
) -> Upload:
    """Folders as files to be read."""
    files = [(folder.name, folder.file) for folder in folders]
    known = [str(label) for label in islice(service.served.labels(), _MOST_KNOWN)]
    return Upload(files, encoding, service.settings.limits.body, header, given, known)


class BatchFile:
    """Batches of documents in a file without a name: in memory is one at a time, however often they are read.

    Attributes
    ----------
    n_docs, n_bytes : int
        Of all batches.

    Examples
    --------
    >>> with closing(BatchFile(None)) as found:
    ...     for texts in (["cheap pills"], ["lunch", "noon"]):
    ...         _ = found.add(pa.record_batch({"text": texts}))
    ...     found.n_docs, [batch["text"].to_pylist() for batch in found]
    (3, [['cheap pills'], ['lunch', 'noon']])
    """

    def __init__(self, folder: str | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._sizes: list[int] = []
        self.n_docs = 0

    @property
    def n_bytes(self) -> int:
        return sum(self._sizes)

    def add(self, batch: pa.RecordBatch) -> int:
        """Write a batch; how many bytes it has.  Each is a stream of its own: files differ in their columns."""
        self._sizes.append(self._file.write(write_stream(pa.Table.from_batches([batch]))))
        self.n_docs += batch.num_rows
        return self._sizes[-1]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        self._file.seek(0)
        for size in self._sizes:
            yield from pa.ipc.open_stream(self._file.read(size)).read_all().to_batches()

    def close(self) -> None:
        """Let go of the file, which is gone then."""
        self._file.close()


class Intake:
    """The files that a request brings, or names; options as for `upload_of`.

    Attributes
    ----------
    name : str
        Of the first one.
    """

    def __init__(self, service: Service, request: Request, name: str, ids: list[str] | None, *options: Any) -> None:
        given = [option for option, _ in request.query_params.multi_items() if option not in ("file", "also")]
        if len(set(given)) < len(given):
            raise Problem("invalid", "an option comes twice in the address: give it once")
        if bool(name) == bool(ids):
            raise Problem("invalid", "name: give the name of the file that is the body, or the ids of files")
        self._service, self._request = service, request
        self._files, self._is_body = service.files, not ids
        self._folders = [service.files.find(id) for id in ids or ()]
        if (body := call_of(request).folder) is not None and not ids:
            body.name = name
            self._folders = [body]
            # Where the job is cancelled before it begins, nobody else would delete the body.
            weakref.finalize(self, body.remove)
        self.name = self._folders[0].name
        self._upload = upload_of(service, self._folders, *options)
        self._upload.check_options()

    @contextmanager
    def batches(self, job: Job, *args: Any) -> Iterator[BatchFile]:
        """All of their documents, by `Upload.batches`, on disk while the block lasts.

        They are read as a whole first, because an error at the end of a file should show before anything is learned.
        """
        folder = self._folders[0]
        with self._files.in_use(self._folders, remove=self._is_body), closing(BatchFile(folder.path)) as found:
            try:
                for batch in all_apart(job, self._upload, Upload.batches, *args):
                    folder.grow(found.add(batch))
                    self._files.make_room(folder)
                yield found
            finally:
                folder.grow(-found.n_bytes)

    async def look(self, text: str | None, label: str | None, *, whole: bool = True) -> Response:
        """The answer to who looks into them."""

        def work(job: Job) -> Any:
            with self._files.in_use(self._folders, remove=self._is_body):
                return list(all_apart(job, self._upload, Upload.inspect, text, label, whole))

        found = await self._service.while_there(self._request, work)
        return Response(status_code=GONE) if found is None else answer(found[0])


Read = Callable[[Job], AbstractContextManager[BatchFile]]


def labelled_files(service: Service) -> Any:
    """Read the files of a request.  Their labels get the type of the classifier's."""

    async def read(
        request: Request,
        name: BodyName = "",
        file: Ids = None,
        text: Column = None,
        label: Column = None,
        given: Given = None,
        encoding: Encoding = "utf-8",
        skip_bad: SkipBad = False,
        header: Header = True,
    ) -> Read:
        intake = Intake(service, request, name, file, encoding, header, given)

        def batches(job: Job) -> AbstractContextManager[BatchFile]:
            kind = service.served.classifier.label_type
            return intake.batches(job, text, label, skip_bad, True, None if kind is None else kind.__name__)

        return batches

    return Depends(read)
