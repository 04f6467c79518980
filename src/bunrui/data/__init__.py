"""The demonstration corpus: short news-like sentences in four languages, each with its label.

    demo     400 sentences, 20 for each of five labels (society, politics, world, sports, science) in each of four
             languages (en, ja, zh, ko); rows 1 to 20 hold one of each kind, so do 21 to 40, and so on
    queries  12 further sentences, three for each language, to be predicted

No person, team or event in them is real.
"""

from __future__ import annotations

import json
from importlib.resources import files

__all__ = ["NAMES", "read"]

NAMES = ("demo", "queries")


def read(name: str) -> list[dict[str, str]]:
    """The rows of one file, in its order; each has a label, a language and a text.

    >>> rows = read("demo")
    >>> len(rows), list(rows[0])
    (400, ['label', 'lang', 'text'])
    >>> sorted({row["label"] for row in rows})
    ['politics', 'science', 'society', 'sports', 'world']
    >>> next(row["text"] for row in read("queries") if row["lang"] == "zh")
    '小区电动车充电时起火，消防员疏散居民四十余人，一名老人因吸入浓烟被送往医院。'
    >>> read("news")
    Traceback (most recent call last):
    ValueError: there is no demonstration file 'news': choose demo or queries
    """
    if name not in NAMES:
        raise ValueError(f"there is no demonstration file {name!r}: choose {' or '.join(NAMES)}")
    text = files(__name__).joinpath(f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]
