"""The corpora; corpora.toml has their addresses, terms and sizes."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files as resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bunrui.datasets.publishers import READERS, Layout, read_texts
from bunrui.errors import OptionError, Step

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.datasets.archives import Member

__all__ = ["CORPORA", "Corpus", "File", "find_corpus"]


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
        Users call it so; also the name of its folder in the cache.
    title : str
    language : str
        A code such as `ja`; `-` for tables.
    licence : str
        In a few words.
    terms : str
        The publisher's conditions, to be read before the download.
    home : str
        The page of its publisher.
    files : tuple of File
    inside : str
        The files that documents are read from, as messages name them: files in an archive or a folder.
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
    read: Callable[[Iterator[Member]], dict[str, pa.Table]] = field(repr=False, compare=False)
    splits: tuple[str, ...] = ("all",)
    rows: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    n_labels: int | None = None

    @property
    def n_bytes(self) -> int | None:
        """Bytes of all files, None where the size of one is not known."""
        sizes = [file.n_bytes for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def has_address(self) -> bool:
        """Whether it can be downloaded."""
        return all(file.url for file in self.files)

    @property
    def expected(self) -> str:
        """A description of a good copy, for messages."""
        packed = [file.name for file in self.files if file.name not in self.inside]
        if len(packed) > 1:
            return f"a folder with the official {', '.join(packed)} in it, or with {self.inside}"
        if packed:
            return f"the official {packed[0]}, or another archive or a folder with {self.inside} in it"
        alone = f"{self.inside}, or " if self.splits == ("all",) else ""
        return f"{alone}an archive or a folder with {'it' if alone else self.inside} in it"


def find_corpus(name: str) -> Corpus:
    """The corpus of a name.

    >>> find_corpus("imbd")
    Traceback (most recent call last):
    bunrui.errors.OptionError: there is no corpus 'imbd': did you mean imdb? bunrui.datasets.CORPORA has all of them
    """
    if name in CORPORA:
        return CORPORA[name]
    near = difflib.get_close_matches(name.replace("_", "").replace("-", ""), CORPORA, n=3)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise OptionError(f"there is no corpus {name!r}", option="name", value=name, hint=(meant, Step("list-corpora")))


# --- corpora.toml


def _corpora() -> Iterator[Corpus]:
    """Texts first, then tables."""
    known = tomllib.loads(resources("bunrui.datasets").joinpath("corpora.toml").read_text(encoding="utf-8"))
    for entry in known["corpus"]:
        files = tuple(File(file["url"].rpartition("/")[2], **file) for file in entry.pop("files"))
        splits, rows = tuple(entry.pop("splits", ("all",))), MappingProxyType(entry.pop("rows"))
        if columns := entry.pop("columns", ()):
            names = {file.name: split for file, split in zip(files, splits, strict=True)}
            read: Callable[..., Any] = Layout(names, names=tuple(columns))
        else:
            read = partial(read_texts, READERS[entry["name"]])
        yield Corpus(**entry, files=files, read=read, splits=splits, rows=rows)
    for name, table in known["uci"]["tables"].items():
        yield _official(name, known["uci"], **table)
    for name in known["uci"]["brought"]:
        file = File(f"{name}.arff", None)
        yield _table(name, known["uci"], known["uci"]["weka"], (file,), Layout({file.name: "all"}), ("all",))


def _official(name: str, uci: Mapping[str, Any], files: list[str], leave_out: Any = (), **layout: Any) -> Corpus:
    splits = ("train", "test") if len(files) == 2 else ("all",)
    known = tuple(File(path.rpartition("/")[2], f"{uci['address']}/{path}", uci["sha256"].get(path)) for path in files)
    names = {file.name: split for file, split in zip(known, splits, strict=True)}
    names |= {f"{name}.{split}.arff".replace(".all.", "."): split for split in splits}
    return _table(name, uci, uci["home"], known, Layout(names, leave_out=tuple(leave_out), **layout), splits)


def _table(
    name: str, uci: Mapping[str, Any], home: str, files: tuple[File, ...], layout: Layout, splits: tuple[str, ...]
) -> Corpus:
    rows, arff = ([file for file in layout.files if file.endswith(".arff") == is_arff] for is_arff in (False, True))
    inside = " or ".join(" and ".join(kind) for kind in (rows, arff) if kind)
    title = f"{name}, a table of UCI"
    return Corpus(f"uci-{name}", title, "-", uci["licence"], uci["terms"], home, files, inside, layout, splits)


CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in _corpora()}
"""All corpora by name."""
