"""Addresses such as `s3://bucket/key.parquet`: files on every file system that pyarrow knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pyarrow as pa

from bunrui.documents.reading import Source
from bunrui.errors import DataError

__all__ = ["FarSource", "Found", "files_at", "find_files", "is_address", "located", "unreachable", "without_secret"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# A slash in a secret should be %2F, but an address that is refused for it is shown, too; host:8020/ is a port.
_SECRET = re.compile(r"(?<=://)[^/@:]*:(?!\d*[/?])[^@\s]*@|(?<=[?&])(?:client_secret|sig)=[^&\s']*&?")
_CREDENTIALS = {
    "s3": "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; ?region= behind the address",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET",
}


class Found(NamedTuple):
    """A file: its address, where it is, and how long."""

    name: str
    filesystem: Any
    key: str
    size: int | None


@dataclass(frozen=True)
class FarSource(Source):
    """A file that is not opened by its path, which is its address.

    Attributes
    ----------
    filesystem : pyarrow.fs.FileSystem
    key : str
        The path in the file system.
    """

    filesystem: Any = None
    key: str = ""

    def open_stream(self) -> Any:
        """To be read from the beginning to the end."""
        try:
            return self.filesystem.open_input_stream(self.key, compression=None)
        except OSError as error:
            raise unreachable(self.name, error) from error

    def open_file(self) -> Any:
        """To be read in any order."""
        try:
            return self.filesystem.open_input_file(self.key)
        except OSError as error:
            raise unreachable(self.name, error) from error


def is_address(path: str) -> bool:
    """Whether a path is an address.

    >>> is_address("s3://bucket/*.parquet"), is_address("mail.csv"), is_address("C:\\\\mail.csv")
    (True, False, False)
    """
    return _SCHEME.match(path) is not None


def find_files(address: str) -> list[Found]:
    """The file at an address; where that has a star, all files that match, in the order of their names.

    A star stands for characters of one name, not for slashes.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> [(folder / name).write_text("text") for name in ("b.csv", "a.csv", "c.txt")]
    [4, 4, 4]
    >>> [(found.name.removeprefix(f"file://{folder}"), found.size) for found in find_files(f"file://{folder}/*.csv")]
    [('/a.csv', 4), ('/b.csv', 4)]
    >>> find_files("http://example.org/a.csv")
    Traceback (most recent call last):
    bunrui.errors.DataError: http://example.org/a.csv: files are not read by http: give file, s3, gs, abfs or hdfs, ...
    """
    return files_at(without_secret(address), *located(address))


def files_at(address: str, filesystem: Any, key: str) -> list[Found]:
    """The same for a path in a file system."""
    try:
        if "*" in address:
            found = list(_matching(address, filesystem, key))
            if not found:
                raise DataError(f"no file matches {address}: check the pattern; * stands for no slash")
            return found
        info = filesystem.get_file_info(key)
    except OSError as error:
        raise unreachable(address, error) from error
    _refuse_missing(address, info)
    return [Found(address, filesystem, key, info.size)]


def _refuse_missing(address: str, info: Any) -> None:
    from pyarrow.fs import FileType

    if info.type == FileType.NotFound:
        raise DataError(f"there is no file {address}: check the address")
    if info.type == FileType.Directory:
        raise DataError(f"{address} is a folder: give the files in it, such as {address.rstrip('/')}/*.parquet")


def located(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    from pyarrow.fs import FileSystem

    try:
        return FileSystem.from_uri(address)  # type: ignore[no-any-return]
    except pa.ArrowInvalid as error:
        address, scheme = without_secret(address), _scheme(address)
        if "Unrecognized filesystem" in str(error):
            raise DataError(
                f"{address}: files are not read by {scheme}: give file, s3, gs, abfs or hdfs, or get the file "
                f"first, as with curl -LO {address}"
            ) from error
        raise DataError(
            f"{address} is no address ({_line(error)}): write a space as %20, other signs than letters likewise"
        ) from error
    except OSError as error:
        raise unreachable(without_secret(address), error) from error


def without_secret(address: str) -> str:
    """An address as it may be shown, or a message with addresses.

    >>> without_secret("s3://key:secret@bucket/a.csv"), without_secret("abfs://container@account/a.csv")
    ('s3://bucket/a.csv', 'abfs://container@account/a.csv')
    >>> without_secret("s3://key:sec/ret@bucket/a.csv"), without_secret("hdfs://host:8020/a@b.csv")
    ('s3://bucket/a.csv', 'hdfs://host:8020/a@b.csv')
    >>> without_secret("abfs://box/a.csv?client_secret=secret&tenant_id=7")
    'abfs://box/a.csv?tenant_id=7'
    """
    return _SECRET.sub("", address)


def unreachable(address: str, error: Exception) -> DataError:
    """What to say when a file system does not answer, or not as it should."""
    known = _CREDENTIALS.get(_scheme(address), "")
    rights = f"the rights to read it ({known})" if known else "the rights to read it"
    return DataError(f"{address} cannot be read: {_line(error)}. Check the address, the network and {rights}")


def _scheme(address: str) -> str:
    match = _SCHEME.match(address)
    return match[1].lower() if match else ""


def _line(error: Exception) -> str:
    """The first line of a message, without its end."""
    return without_secret(str(error).partition("\n")[0].rstrip(" .:"))


def _matching(address: str, filesystem: Any, key: str) -> Iterator[Found]:
    """Name by name: what a star cannot match is never listed."""
    from pyarrow.fs import FileSelector, FileType

    names = key.split("/")
    first = next(at for at, name in enumerate(names) if "*" in name)
    root = "/".join(names[:first])
    shown = address[: address.index("*")].rpartition("/")[0]
    folders = [root]
    for depth, pattern in enumerate(names[first:], first + 1):
        is_last = depth == len(names)
        inside = []
        for folder in folders:
            for info in filesystem.get_file_info(FileSelector(folder, allow_not_found=True)):
                wanted = FileType.File if is_last else FileType.Directory
                if info.type != wanted or not fnmatchcase(info.base_name, pattern):
                    continue
                if info.base_name.startswith(".") and not pattern.startswith("."):
                    continue
                inside.append(info)
        folders = sorted(info.path for info in inside)
        if is_last:
            for info in sorted(inside, key=lambda info: str(info.path)):
                name = f"{shown}/{str(info.path).removeprefix(root).lstrip('/')}"
                yield Found(name, filesystem, info.path, info.size)
