"""AODE beside naive Bayes on the UCI tables, as Webb, Boughton and Wang (2005) compare them; see ../aode.py."""

from __future__ import annotations

from collections.abc import Iterator

import aode
import numpy as np

from reproduction.rows import UNVERIFIED, Row

SPLIT = "5 × 2 folds, stratified, seeds 0–4"


def run(folder: str | None) -> Iterator[Row]:
    """Rows: mean errors, then wins, ties and losses."""
    errors = [aode.errors(table) for table in aode.tables(folder)]
    for name in aode.MODELS:
        mean = float(np.mean([row[name] for row in errors]))
        yield Row("aode", f"{name}, {len(errors)} tables", SPLIT, "mean error", UNVERIFIED, (mean,))
    for name in ("AODE m=30", "AODE m=1"):
        found = aode.against(errors, name, "NB")
        score, chance = (found["wins"], found["ties"], found["losses"]), f"sign test: p = {found['p']:.2g}"
        yield Row("aode", f"{name} against NB", SPLIT, "wins / ties / losses", UNVERIFIED, score, comment=chance)
