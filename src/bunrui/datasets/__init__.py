"""Named public corpora: official addresses, checked files, and their official splits as tables.

    fetch("sms")            downloads it, or reads a copy that you have: fetch("sms", "smsspamcollection.zip")
    load("sms")             an Arrow table of label and text
    load("imdb", "train")   a split
    path("imdb")            the folder with train.parquet and test.parquet
    CORPORA["imdb"].terms   the conditions of its publishers: read them before you fetch it

The corpora are kept in the folder `BUNRUI_DATASETS`, or in the user's cache.  Only `fetch` uses the network.
"""

from __future__ import annotations

from bunrui.datasets.corpora import CORPORA, Corpus, File, fetch, folder, load, path

__all__ = ["CORPORA", "Corpus", "File", "fetch", "folder", "load", "path"]
