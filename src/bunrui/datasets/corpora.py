"""The corpora: corpora.toml has their addresses, terms and sizes; here they are fetched, checked, written and kept.

cache/NAME/
    FILE                  as the publisher has it, unless the user brought a copy
    FILE.sha256           its hash: the official one, or that of the first download; the splits were read from this file
    FILE.part             a download that is not complete
    SPLIT.parquet         label and text, or the columns of a table
    SPLIT-unlabelled.parquet   documents without a label, where the split has some

Files come to be there as a whole or not at all.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files as resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bunrui.datasets.archives import Member, members
from bunrui.datasets.download import VARIABLE, Report, UnreachableError, beside, discard, download, writing
from bunrui.datasets.publishers import READERS, Layout, read_texts
from bunrui.documents.sources import Progress
from bunrui.errors import DataError, OptionError, Sentence, Step


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


# --- get a corpus

_LOCK = ".lock"
_UNLABELLED = "-unlabelled"  # the end of the name of a split's documents without a label
_MOST_BYTES = 1 << 30  # of a file whose size is not known
_STEP = 500  # members between two reports
_FEW_NAMES = 3  # of members, in a message


def folder() -> Path:
    """The folder of all corpora: `BUNRUI_DATASETS`, or one in the user's cache.  It may not be there yet."""
    named = os.environ.get(VARIABLE)
    try:
        return Path(named).expanduser() if named else user_cache(sys.platform, os.environ, Path.home())
    except RuntimeError as error:
        raise DataError(f"there is no home folder for a cache: name a folder with {VARIABLE}") from error


def user_cache(platform: str, environment: Mapping[str, str], home: Path) -> Path:
    """The folder in which the system keeps files that can be had again.

    >>> user_cache("linux", {}, Path("/home/kim")).as_posix()
    '/home/kim/.cache/bunrui/datasets'
    >>> user_cache("linux", {"XDG_CACHE_HOME": "/scratch/kim"}, Path("/home/kim")).as_posix()
    '/scratch/kim/bunrui/datasets'
    >>> user_cache("darwin", {}, Path("/Users/kim")).as_posix()
    '/Users/kim/Library/Caches/bunrui/datasets'
    """
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "bunrui" / "Cache" / "datasets"
    if platform == "darwin":
        return home / "Library" / "Caches" / "bunrui" / "datasets"
    cache = environment.get("XDG_CACHE_HOME", "")
    # Relative paths are to be ignored, says the specification.
    return (Path(cache) if cache.startswith("/") else home / ".cache") / "bunrui" / "datasets"


def fetch(
    name: str,
    source: str | os.PathLike[str] | None = None,
    *,
    report: Report | None = None,
    notice: Callable[[str], None] | None = None,
) -> Path:
    """Download a corpus, or take a copy of it, and write its splits as Parquet.

    Read `CORPORA[name].terms` before.  Files that are there are checked and left as they are; `source` replaces it, and
    files that were downloaded are removed with what was read from them.

    Parameters
    ----------
    name : str
        One of `CORPORA`.
    source : path, optional
        A copy to be read in place of a download: the publisher's file, or a folder with it, or with what it unpacks to.
    report : callable, optional
        Called with the name of the present step, the bytes that are done, and all bytes.
    notice : callable, optional
        Called with what else there is to know, such as a number of documents that is not the expected one.

    Returns
    -------
    Path
        The folder with a file `SPLIT.parquet` for each split.
    """
    corpus = find_corpus(name)
    home = folder() / corpus.name
    notice = notice or (lambda message: None)
    if source is not None:
        given = _find_copy(corpus, Path(source))
        tables = _read_splits(corpus, given, report, notice)
        _notice_of_others(corpus, given, notice)
        with _lock(home):
            _write_splits(corpus, tables, home)
            # Files that the user placed here, and that were not read, stay.
            read = {file.resolve() for file in given}
            with writing(home):
                _remove(corpus, home, lambda file: (home / file.name).resolve() not in read)
        return home
    were_here = (path.exists() or _recall(path) for path in (home / file.name for file in corpus.files))
    if _is_ready(corpus, home) and not any(were_here):
        return home  # read from a copy that the user brought
    if not corpus.has_address:
        names = ", ".join(file.name for file in corpus.files)
        own = f"get it yourself (see {corpus.home}), and ", Step("fetch-from", corpus.name)
        raise DataError(f"no official address of {names} could be verified", hint=own)
    with _lock(home):
        were_read = _is_ready(corpus, home) and all(_recall(home / file.name) for file in corpus.files)
        files = [_obtain(corpus, file, home, report) for file in corpus.files]
        if not were_read:
            try:
                tables = _read_splits(corpus, files, report, notice)
            except DataError as error:
                removed = _remove(corpus, home, lambda file: file.sha256 is None)  # no hash vouches for them
                if removed:
                    error.hint = f"{', '.join(removed)} is removed: fetch again, or see {corpus.home}"
                raise
            _write_splits(corpus, tables, home)
        with writing(home):
            for each in files:
                if _recall(each) is None:  # placed here by the user
                    _remember(each, _hash(each))
    return home


def path(name: str) -> Path:
    """The folder of a corpus that was fetched; in it lies a file `SPLIT.parquet` for each split.

    Raises
    ------
    DataError
        Where it is not there.
    """
    corpus = find_corpus(name)
    home = folder() / corpus.name
    if not _is_ready(corpus, home):
        raise DataError(f"{name} is not in {home}", hint=(Step("fetch", name),))
    return home


def load(name: str, split: str = "all") -> pa.Table:
    """A corpus that was fetched, or a split of it.

    Parameters
    ----------
    name : str
        One of `CORPORA`.
    split : str
        One of the corpus' `splits`, such as "train" or "test"; "all" for all of them together.

    Returns
    -------
    pyarrow.Table
        `label`, a string or a list of strings, and `text`; of tables, `label` and a column for each attribute.
        Documents without a label, which Reuters has, are left out: `path(name)` has them in
        `SPLIT-unlabelled.parquet`.
    """
    import pyarrow.parquet as pq

    corpus, home = find_corpus(name), path(name)
    if split != "all" and split not in corpus.splits:
        choices = dict.fromkeys([*corpus.splits, "all"])
        raise OptionError(f"{name} has no split {split!r}", option="split", value=split, choices=choices)
    splits = corpus.splits if split == "all" else (split,)
    return pa.concat_tables(pq.read_table(home / f"{each}.parquet") for each in splits)


# --- the folder


@contextmanager
def _lock(home: Path) -> Iterator[None]:
    """Make a folder, keep other processes from fetching into it, and remove it if nothing came of it."""
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        lock = open(home / _LOCK, "ab")  # noqa: SIM115
    with lock:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise DataError(f"another process is fetching into {home}: wait until it is done") from error
            except OSError:  # a file system without locks
                pass
        try:
            yield
        except UnreachableError:  # the user was told to place a file there
            raise
        except BaseException:
            if all(file.name == _LOCK for file in home.iterdir()):
                with suppress(OSError):  # Windows removes no file that is open
                    (home / _LOCK).unlink()
                    home.rmdir()
            raise


def _hash(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remember(path: Path, sha256: str) -> None:
    """Write the SHA-256 of a file beside it, as `sha256sum --check` reads it."""
    beside(path, ".sha256").write_text(f"{sha256}  {path.name}\n", encoding="utf-8")


def _recall(path: Path) -> str | None:
    """The SHA-256 that was written beside a file when it came."""
    with suppress(OSError, ValueError, IndexError):
        return beside(path, ".sha256").read_text(encoding="utf-8").split()[0]
    return None


def _remove(corpus: Corpus, home: Path, is_unwanted: Callable[[File], bool]) -> list[str]:
    """Remove some of the files that were downloaded, with their hashes: their names."""
    removed = []
    for file in corpus.files:
        target = home / file.name
        if _recall(target) is not None and is_unwanted(file):
            target.unlink(missing_ok=True)
            beside(target, ".sha256").unlink()
            removed.append(file.name)
    return removed


# --- the publisher's files


def _obtain(corpus: Corpus, file: File, home: Path, report: Report | None) -> Path:
    """A file in its place, checked; downloaded if it is not there."""
    target = home / file.name
    if target.is_file():
        _check(corpus, file, target)
        return target
    try:
        part = download(str(file.url), target, limit=file.n_bytes or _MOST_BYTES, report=report)
    except UnreachableError as error:
        error.hint = _advise(corpus, home)
        raise
    found, expected = _hash(part), file.sha256 or _recall(target)
    if expected not in (None, found):
        discard(target)
        raise DataError(
            f"this is not the file that is expected, and was removed: its SHA-256 is {found}, not {expected}",
            file=file.url,
            hint=f"see {corpus.home}" + ("" if file.sha256 else f"; to take it, delete {target}.sha256"),
        )
    with writing(home):
        _remember(target, found)
        os.replace(part, target)
        discard(target)
    return target


def _advise(corpus: Corpus, home: Path) -> Sentence:
    """Advice where nothing can be downloaded."""
    missing = [file.name for file in corpus.files if not (home / file.name).is_file()]
    if len(corpus.files) == 1:
        place = f"it as {home / missing[0]}"
    else:
        place = f"{'it' if len(missing) == 1 else 'them'} into {home}"
    get = f"download {', '.join(missing)} by other means (see {corpus.home})"
    return f"{get}, and place {place}, or ", Step("fetch-from", corpus.name)


def _check(corpus: Corpus, file: File, target: Path) -> None:
    """Compare a file with the hash that is known; one that we brought and that is damaged is removed."""
    found, before = _hash(target), _recall(target)
    expected = file.sha256 or before
    if expected in (None, found):
        return
    if before is None:
        own = "replace it, or ", Step("fetch-from", corpus.name), ", which takes it as it is"
        other = f"this is not the official file: its SHA-256 is {found}, not {expected}"
        raise DataError(other, file=str(target), hint=own)
    target.unlink()
    changed = f"this has changed since it came (SHA-256 {found}, not {expected}), and was removed"
    raise DataError(changed, file=str(target), hint="fetch it again")


def _find_copy(corpus: Corpus, source: Path) -> list[Path]:
    """The files to be read of a copy that the user has."""
    if not source.exists():
        raise DataError("there is no such file or folder", file=str(source), hint="check the path")
    if not source.is_dir():
        return [source]
    files = [source / file.name for file in corpus.files]
    return files if all(file.is_file() for file in files) else [source]


def _notice_of_others(corpus: Corpus, given: list[Path], notice: Callable[[str], None]) -> None:
    """Say which files have an official name, and are not the official ones."""
    for known in corpus.files:
        for file in given:
            if file.is_file() and file.name == known.name and known.sha256 not in (None, _hash(file)):
                notice(f"{file} is not the official file (its SHA-256 differs); it was taken as it is")


# --- the splits


def _is_ready(corpus: Corpus, home: Path) -> bool:
    """Whether all splits are in a folder."""
    return all((home / f"{split}.parquet").is_file() for split in corpus.splits)


def _read_splits(
    corpus: Corpus, files: list[Path], report: Report | None, notice: Callable[[str], None]
) -> Mapping[str, pa.Table]:
    """The splits of a corpus in their order, read from the publisher's files or a copy of them."""
    names: list[str] = []
    tables = corpus.read(_list_members(files, names, report))
    if missing := [split for split in corpus.splits if split not in tables]:
        raise _missing_error(corpus, files, missing, names)
    for split in corpus.splits:
        found, expected = tables[split].num_rows, corpus.rows.get(split, tables[split].num_rows)
        if found != expected:
            notice(f"{corpus.name}, {split}: {found:,} documents, where the official corpus has {expected:,}")
    return {split: tables[split] for split in corpus.splits}


def _list_members(files: list[Path], names: list[str], report: Report | None) -> Iterator[Member]:
    """The members of all files; the first of their names are put into a list."""
    progress = Progress()
    total = sum(file.stat().st_size for file in files if file.is_file()) or None
    found = (member for file in files for member in members(file, progress))
    for n_members, member in enumerate(found, 1):
        if n_members <= _FEW_NAMES + 1:
            names.append("/".join(member.parts))
        yield member
        if report is not None and n_members % _STEP == 0:
            report("reading", progress.bytes_read, total)


def _missing_error(corpus: Corpus, files: list[Path], missing: list[str], names: list[str]) -> DataError:
    """The error of files without documents of some splits."""
    where = ", ".join(map(str, files))
    what = corpus.name if corpus.splits == ("all",) else f"{corpus.name} ({', '.join(missing)})"
    holds = ", ".join(names[:_FEW_NAMES]) + (" …" if len(names) > _FEW_NAMES else "")
    if not names:
        holds = ", which is empty"
    else:
        holds = "" if [file.name for file in files] == names else f", which holds {holds}"
    return DataError(f"there are no documents of {what} in {where}{holds}", hint=f"give {corpus.expected}")


def _write_splits(corpus: Corpus, tables: Mapping[str, pa.Table], home: Path) -> None:
    """Write all splits under other names, and only then under their own."""
    import pyarrow.parquet as pq

    written: dict[Path, Path] = {}
    try:
        with writing(home):
            for name, table in _split_labelled(tables):
                final = home / f"{name}.parquet"
                written[final] = home / f".{final.name}.{os.getpid()}"
                pq.write_table(table, written[final], compression="zstd")
            for split in corpus.splits:
                (home / f"{split}{_UNLABELLED}.parquet").unlink(missing_ok=True)
            for final, temporary in written.items():
                os.replace(temporary, final)
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def _split_labelled(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, Any]]:
    """Tables by the names of their files; documents without a label, which no classifier takes, have their own."""
    for split, table in tables.items():
        if pa.types.is_list(table["label"].type):
            is_labelled = pc.greater(pc.list_value_length(table["label"]), 0)
            unlabelled = table.filter(pc.invert(is_labelled))
            if unlabelled.num_rows:
                yield f"{split}{_UNLABELLED}", unlabelled
            table = table.filter(is_labelled)
        yield split, table
