"""What a corpus is: where it comes from, under which terms, and who reads it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from bunrui.errors import OptionError

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.datasets.archives import Member

__all__ = ["Corpus", "File", "named"]

Reader = Callable[["Iterator[Member]"], "dict[str, pa.Table]"]
"""The files of a corpus → a table for each split."""


@dataclass(frozen=True)
class File:
    """A file as its publisher names it.

    Attributes
    ----------
    name : str
    url : str or None
        The official address; None where none could be verified: the user brings the file.
    sha256 : str or None
        None where it is not known: then that of the first download is remembered.
    n_bytes : int or None
    """

    name: str
    url: str | None
    sha256: str | None = None
    n_bytes: int | None = None


@dataclass(frozen=True)
class Corpus:
    """A public corpus.

    Attributes
    ----------
    name : str
        What users call it; also the name of its folder in the cache.
    title : str
    language : str
        A code such as `ja`; `-` for tables.
    licence : str
        In a few words.
    terms : str
        What to know before it is downloaded.
    home : str
        The page of its publisher.
    files : tuple of File
    inside : str
        What documents are read from, as messages name it: files in an archive or a folder.
    read : callable
        Members of archives and folders → a table for each split.
    splits : tuple of str
        The official ones; `("all",)` where there are none.
    rows : mapping of str to int
        How many documents each split has, where that is known.
    n_labels : int or None
    """

    name: str
    title: str
    language: str
    licence: str
    terms: str
    home: str
    files: tuple[File, ...]
    inside: str
    read: Reader = field(repr=False, compare=False)
    splits: tuple[str, ...] = ("all",)
    rows: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    n_labels: int | None = None

    @property
    def n_bytes(self) -> int | None:
        """Bytes of all files, None where that of one is not known."""
        sizes = [file.n_bytes for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def has_address(self) -> bool:
        """Whether it can be downloaded."""
        return all(file.url for file in self.files)

    @property
    def expected(self) -> str:
        """What a copy of it is, for messages."""
        packed = [file.name for file in self.files if file.name not in self.inside]
        if len(packed) > 1:
            return f"a folder with the official {', '.join(packed)} in it, or with {self.inside}"
        if packed:
            return f"the official {packed[0]}, or another archive or a folder with {self.inside} in it"
        alone = f"{self.inside}, or " if self.splits == ("all",) else ""
        return f"{alone}an archive or a folder with {'it' if alone else self.inside} in it"


def named(corpora: Mapping[str, Corpus], name: str) -> Corpus:
    """The corpus of a name.

    >>> named({}, "imbd")
    Traceback (most recent call last):
    bunrui.errors.OptionError: there is no corpus 'imbd': 'bunrui datasets list' shows those that there are
    """
    if name in corpora:
        return corpora[name]
    near = difflib.get_close_matches(name.replace("_", "").replace("-", ""), corpora, n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise OptionError(f"there is no corpus {name!r}: {hint}'bunrui datasets list' shows those that there are")
