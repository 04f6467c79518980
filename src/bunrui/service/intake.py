"""The files of a request: its body, or files that were sent before; how they are read."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any

from fastapi import Query, Request, Response

from bunrui.service.errors import Problem
from bunrui.service.jobs import Job
from bunrui.service.schemas import answer
from bunrui.service.service import GONE, Service, call_of
from bunrui.service.spool import Folder
from bunrui.service.uploads import Upload, all_apart, batches_apart, inspect_apart

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
    known = list(islice(service.served.labels(), _MOST_KNOWN))
    return Upload(files, encoding, service.settings.limits.body, header, given, known)


class Intake:
    """The files that a request brings, or names.

    Attributes
    ----------
    name : str
        Of the first one.
    """

    def __init__(
        self,
        service: Service,
        request: Request,
        name: str,
        ids: list[str] | None,
        encoding: str,
        header: bool | None,
        given: str | None = None,
    ) -> None:
        options = [option for option, _ in request.query_params.multi_items() if option not in ("file", "also")]
        if len(set(options)) < len(options):
            raise Problem("invalid", "an option comes twice in the address: give it once")
        if bool(name) == bool(ids):
            raise Problem("invalid", "name: give the name of the file that is the body, or the ids of files")
        self._files, self._is_body = service.files, not ids
        if ids:
            self._folders = [service.files.find(id) for id in ids]
        else:
            self._folders = [service.files.put(name, call_of(request).body)]
            # Where the job is refused, or is cancelled before it begins, nobody else would delete the body.
            weakref.finalize(self, service.files.remove, self._folders[0])
        self.name = self._folders[0].name
        try:
            self._upload = upload_of(service, self._folders, encoding, header, given)
            self._upload.check_options()
        except Exception:
            if self._is_body:
                service.files.remove(self._folders[0])
            raise

    def batches(self, job: Job, *args: Any) -> list[Any]:
        """All of their documents, by `uploads.batches_apart`."""
        with self._files.in_use(self._folders, remove=self._is_body):
            return list(all_apart(job, batches_apart, self._upload, *args))

    async def look(
        self, service: Service, request: Request, text: str | None, label: str | None, *, whole: bool = True
    ) -> Response:
        """The answer to who looks into them."""

        def work(job: Job) -> Any:
            with self._files.in_use(self._folders, remove=self._is_body):
                return list(all_apart(job, inspect_apart, self._upload, text, label, whole))

        found = await service.while_there(request, work)
        return Response(status_code=GONE) if found is None else answer(found[0])
