"""Get a corpus, check it, and write it as Parquet.

cache/NAME/
    FILE                  as the publisher has it, unless the user brought a copy
    FILE.sha256           its hash: the official one, or that of the first download; the splits were read from this file
    FILE.part             a download that is not complete
    SPLIT.parquet         label and text, or the columns of a table
    SPLIT-unlabelled.parquet   documents without a label, where the split has some
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from bunrui.datasets import cache
from bunrui.datasets.catalogue import CORPORA
from bunrui.datasets.download import Report, UnreachableError, download, forget
from bunrui.datasets.registry import Corpus, File, named
from bunrui.datasets.splits import is_ready, read_splits, write_splits
from bunrui.errors import DataError, OptionError

__all__ = ["fetch", "load", "path"]

_MOST_BYTES = 1 << 30
"""Of a file whose size is not known."""


def fetch(
    name: str,
    source: str | os.PathLike[str] | None = None,
    *,
    report: Report | None = None,
    notice: Callable[[str], None] | None = None,
) -> Path:
    """Download a corpus, or take a copy of it, and write its splits as Parquet.

    Read `CORPORA[name].terms` before.  What is there already is checked and left as it is; `source` replaces it, and
    files that were downloaded are removed with what was read from them.

    Parameters
    ----------
    name : str
        One of `CORPORA`.
    source : path, optional
        A copy to be read in place of a download: the publisher's file, or a folder with it, or with what it unpacks to.
    report : callable, optional
        Called with what is being done, and how many bytes of how many are done.
    notice : callable, optional
        Called with what else there is to know, such as a number of documents that is not the expected one.

    Returns
    -------
    Path
        The folder with a file `SPLIT.parquet` for each split.
    """
    corpus = named(CORPORA, name)
    home = cache.folder() / corpus.name
    notice = notice or (lambda message: None)
    if source is not None:
        given = _given(corpus, Path(source))
        tables = read_splits(corpus, given, report, notice)
        _notice_of_others(corpus, given, notice)
        with cache.locked(home), _tidied(home):
            write_splits(corpus, tables, home)
            _remove_others(corpus, home, given)
        return home
    if is_ready(corpus, home) and not any(_came(home / file.name) for file in corpus.files):
        return home  # read from a copy that the user brought
    if not corpus.has_address:
        names = ", ".join(file.name for file in corpus.files)
        raise DataError(
            f"no official address of {names} could be verified: get it yourself (see {corpus.home}), and give it with "
            f"'bunrui datasets fetch {corpus.name} --from PATH'"
        )
    with cache.locked(home), _tidied(home):
        were_read = is_ready(corpus, home) and all(cache.remembered(home / file.name) for file in corpus.files)
        files = [_obtain(corpus, file, home, report) for file in corpus.files]
        if not were_read:
            try:
                tables = read_splits(corpus, files, report, notice)
            except DataError as error:
                raise _useless(corpus, home, error) from error
            write_splits(corpus, tables, home)
        with cache.writing(home):
            for each in files:
                if cache.remembered(each) is None:  # placed here by the user
                    cache.remember(each, cache.digest(each))
    return home


def path(name: str) -> Path:
    """The folder of a corpus that was fetched; in it lies a file `SPLIT.parquet` for each split.

    Raises
    ------
    DataError
        Where it is not there.
    """
    corpus = named(CORPORA, name)
    home = cache.folder() / corpus.name
    if not is_ready(corpus, home):
        raise DataError(f"{name} is not in {home}: get it with 'bunrui datasets fetch {name}'")
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

    corpus, home = named(CORPORA, name), path(name)
    if split != "all" and split not in corpus.splits:
        known = "it has no official split" if corpus.splits == ("all",) else f"it has {', '.join(corpus.splits)}"
        raise OptionError(f"{name} has no split {split!r}: {known}; 'all' is all of it")
    splits = corpus.splits if split == "all" else (split,)
    return pa.concat_tables(pq.read_table(home / f"{each}.parquet") for each in splits)


@contextmanager
def _tidied(home: Path) -> Iterator[None]:
    """Remove the folder if nothing came of it, unless the user was told to place a file there."""
    try:
        yield
    except UnreachableError:
        raise
    except BaseException:
        cache.remove_empty(home)
        raise


# --- the publisher's files


def _came(target: Path) -> bool:
    """Whether a file was downloaded or placed here, also if it is gone."""
    return target.exists() or cache.remembered(target) is not None


def _obtain(corpus: Corpus, file: File, home: Path, report: Report | None) -> Path:
    """A file in its place, checked; downloaded if it is not there."""
    target = home / file.name
    if target.is_file():
        _check(corpus, file, target)
        return target
    try:
        part = download(str(file.url), target, limit=file.n_bytes or _MOST_BYTES, report=report)
    except UnreachableError as error:
        raise UnreachableError(f"{error}. {_by_hand(corpus, home)}") from error
    found, expected = cache.digest(part), file.sha256 or cache.remembered(target)
    if expected not in (None, found):
        forget(target)
        raise DataError(
            f"{file.url} is not the file that is expected: its SHA-256 is {found}, not {expected}. It was removed: try "
            f"again later, or see {corpus.home}" + ("" if file.sha256 else f"; to take it, delete {target}.sha256")
        )
    with cache.writing(home):
        cache.remember(target, found)
        os.replace(part, target)
        forget(target)
    return target


def _by_hand(corpus: Corpus, home: Path) -> str:
    """What to do where nothing can be downloaded."""
    missing = [file.name for file in corpus.files if not (home / file.name).is_file()]
    get = f"Download {', '.join(missing)} by other means (see {corpus.home}), and place"
    give = f"'bunrui datasets fetch {corpus.name} --from PATH'"
    if len(corpus.files) == 1:
        return f"{get} it as {home / missing[0]}, or give it with {give}"
    return f"{get} {'it' if len(missing) == 1 else 'them'} into {home}, or give a folder with all of it with {give}"


def _check(corpus: Corpus, file: File, target: Path) -> None:
    """Compare a file with the hash that is known; one that we brought and that is damaged is removed."""
    found, before = cache.digest(target), cache.remembered(target)
    expected = file.sha256 or before
    if expected in (None, found):
        return
    if before is None:
        raise DataError(
            f"{target} is not the official file: its SHA-256 is {found}, not {expected}. Replace it, or give your copy "
            f"with 'bunrui datasets fetch {corpus.name} --from PATH', which takes it as it is"
        )
    target.unlink()
    raise DataError(
        f"{target} has changed since it came (SHA-256 {found}, not {expected}): it was removed, fetch again"
    )


def _useless(corpus: Corpus, home: Path, error: DataError) -> DataError:
    """The error of files that cannot be read; those that we brought, and that no hash vouches for, are removed."""
    removed = []
    for file in corpus.files:
        target = home / file.name
        if file.sha256 is None and cache.remembered(target) is not None:
            target.unlink(missing_ok=True)
            cache.forget(target)
            removed.append(file.name)
    hint = f". What was downloaded is removed ({', '.join(removed)}): fetch again, or see {corpus.home}"
    return DataError(f"{error}{hint if removed else ''}")


def _given(corpus: Corpus, source: Path) -> list[Path]:
    """What to read of a copy that the user has."""
    if not source.exists():
        raise DataError(f"there is no file or folder {str(source)!r}: check the path")
    if not source.is_dir():
        return [source]
    files = [source / file.name for file in corpus.files]
    return files if all(file.is_file() for file in files) else [source]


def _remove_others(corpus: Corpus, home: Path, given: list[Path]) -> None:
    """Remove files that the splits are no longer read from; those that the user placed and that were not read stay."""
    kept = {file.resolve() for file in given}
    with cache.writing(home):
        for file in corpus.files:
            target = home / file.name
            if cache.remembered(target) is not None and target.resolve() not in kept:
                target.unlink(missing_ok=True)
                cache.forget(target)


def _notice_of_others(corpus: Corpus, given: list[Path], notice: Callable[[str], None]) -> None:
    """Say which files have an official name, and are not the official ones."""
    for known in corpus.files:
        for file in given:
            if file.is_file() and file.name == known.name and known.sha256 not in (None, cache.digest(file)):
                notice(f"{file} is not the official file (its SHA-256 differs); it was taken as it is")
