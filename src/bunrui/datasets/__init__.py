"""Named public corpora: official addresses, checked files, and their official splits as tables.

    fetch("sms")            downloads it, or reads a copy that you have: fetch("sms", "smsspamcollection.zip")
    load("sms")             an Arrow table of label and text
    load("imdb", "train")   a split
    path("imdb")            the folder with train.parquet and test.parquet
    CORPORA["imdb"].terms   the conditions of its publishers: read them before you fetch it

They are kept in the folder `BUNRUI_DATASETS`, or in the user's cache.  Nothing but `fetch` uses the network.

    corpora.py     the corpora, from corpora.toml    download.py    HTTP, with parts and ranges
    cache.py       fetch, load, path: all of it      archives.py    tar, zip and folders, unpacked
                   together, and the folder                         in memory alone
    publishers.py  readers of the publishers' files
"""

from __future__ import annotations

from bunrui.datasets.corpora import CORPORA, Corpus, File, fetch, folder, load, path

__all__ = ["CORPORA", "Corpus", "File", "fetch", "folder", "load", "path"]
