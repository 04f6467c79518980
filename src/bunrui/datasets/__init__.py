"""Named public corpora: official addresses, checked files, and their official splits as tables.

    fetch("sms")            downloads it, or reads a copy that you have: fetch("sms", "smsspamcollection.zip")
    load("sms")             an Arrow table of label and text
    load("imdb", "train")   a split
    path("imdb")            the folder with train.parquet and test.parquet
    CORPORA["imdb"].terms   what its publishers ask of you: read it before you fetch it

They are kept in the folder `BUNRUI_DATASETS`, or in the user's cache.  Nothing but `fetch` uses the network.

    registry.py    what a corpus is                  catalogue.py   the corpora
    cache.py       the folder and its files          tables.py      the tables of UCI
    download.py    HTTP, with parts and ranges       texts.py       readers of texts
    archives.py    tar, zip and folders, unpacked    reuters.py     SGML
                   in memory alone                   columns.py     rows and ARFF
    splits.py      files → Parquet                   fetching.py    all of it together
"""

from __future__ import annotations

from bunrui.datasets.cache import folder
from bunrui.datasets.catalogue import CORPORA
from bunrui.datasets.fetching import fetch, load, path
from bunrui.datasets.registry import Corpus, File

__all__ = ["CORPORA", "Corpus", "File", "fetch", "folder", "load", "path"]
