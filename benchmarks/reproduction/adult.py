"""adult (census income): naive Bayes over numbers and categories in one table.

Published are the errors of adult.names, of runs of MLC++ on the original split without rows that have unknown values.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import Any

import aode
import corpora
import numpy as np
from corpora import data_folder

from bunrui import AODE, ColumnsNB
from reproduction.rows import NONE, Row

COLUMNS = 15
NUMERIC = [0, 2, 4, 10, 11, 12]
# Name: estimator, published, comment.
MODELS: dict[str, tuple[Any, str, str]] = {
    "NB, numbers cut by description length": (AODE(discretise=NUMERIC, m=aode.MODELS["NB"]), "16.12", ""),
    "NB, numbers normal": (ColumnsNB(), NONE, ""),
    "NB, numbers cut at quantiles": (ColumnsNB(numeric="binned"), NONE, ""),
    "NB, normal or cut by column": (ColumnsNB(numeric="choose"), NONE, ""),
    "AODE, numbers cut by description length": (AODE(discretise=NUMERIC), NONE, "adult.names has NBTree 14.10"),
}


def run(folder: str | None) -> Iterator[Row]:
    """Rows."""
    (X, y), (Q, truth) = (read(folder, part) for part in ("train", "test"))
    split = f"official, no unknowns, {len(y):,} / {len(truth):,}"
    for name, (clf, published, comment) in MODELS.items():
        wrong = float((clf.fit(X, y).predict(Q) != truth).mean())
        yield Row("adult", name, split, "error, %", published, (wrong,), percent=True, comment=comment)


def read(folder: str | None, part: str) -> tuple[Any, Any]:
    """Rows without unknown values, and their labels."""
    path = data_folder(folder) / "uci" / "uci.tar.xz"
    if not path.is_file():
        table = aode.of_columns("adult", corpora.load_fetched("adult", part).drop_null())
        return table.X, table.y
    with tarfile.open(path) as archive:
        try:
            file = archive.extractfile(f"uci_adult/adult-{part}.csv")
        except KeyError as error:
            raise FileNotFoundError(str(error)) from error
        assert file is not None
        lines = file.read().decode().splitlines()
    rows = [[cell.strip() for cell in line.rstrip(".").split(",")] for line in lines]
    X = np.array([row for row in rows if len(row) == COLUMNS and "?" not in row], object)
    for column in NUMERIC:
        X[:, column] = X[:, column].astype(float)
    return X[:, :-1], X[:, -1].astype(str)
