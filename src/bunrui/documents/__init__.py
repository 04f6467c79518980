"""Files and streams → Arrow record batches of documents with their labels.

    files ──► sources ──► bytes ──► UTF-8 ──► blocks of whole rows ──► rows ──► record batches
         reader      sources   encodings     lines          lines · delimited    validation

    label   string, or list<string> if a row of the batch has several; absent with `labelled=False`
    text    string, list<string> (tokens) or map<string, int64> (counts of words); with `columns=True` a JSON object
    id      string or null: the column `id=`, a mail's Message-ID, a file's path in its folder
    source  the file, as it was given
    line    the line where the row begins; the row in spreadsheets, Parquet and Arrow files; null for whole files

Formats by suffix; a compressed file has `.gz`, `.bz2`, `.xz` or `.zst` behind it:

    csv, tsv      RFC 4180: a header, quoted fields may hold line breaks          .csv .tsv
    tab           tabs between columns, quotes are plain characters               (only by name)
    xlsx          the first sheet with cells; a header                            .xlsx .xlsm
    jsonl         one JSON object a line                                          .jsonl .ndjson .json
    parquet       Parquet                                                         .parquet .pq
    arrow         Arrow IPC, file or stream; Feather 2                            .arrow .arrows .ipc .feather
    fasttext      `__label__spam __label__ad text` lines                          .txt, recognised
    lines         one document a line                                             .txt
    eml, mbox     mail                                             .eml .mbox, recognised without a suffix
    maildir       a folder with cur and new                                       recognised
    folder        a folder for each class, a file for each document               a folder

A folder that Hugging Face's `datasets` saved is its Arrow files; tables in memory are read like Arrow files, too.

No file is held in memory as a whole, except a file that is one document.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bunrui.documents.reader import FORMATS, Reader, read

__all__ = ["FORMATS", "Reader", "read"]


def __getattr__(name: str) -> Any:
    # Imported when they are used: the parsers of files take 45 ms, and `bunrui deliver` needs none of them.
    if name in __all__:
        return getattr(import_module("bunrui.documents.reader"), name)
    raise AttributeError(f"module 'bunrui.documents' has no attribute {name!r}")
