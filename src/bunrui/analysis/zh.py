"""Chinese words by jieba (rjieba).

Parts of speech are jieba's: `n` noun, `nr` person, `ns` place, `v` verb, `a` adjective, `eng` Latin letters, ...;
`"n*"` keeps all nouns.  Chinese words have no inflection, so there are no base forms.

jieba cuts everything that is neither Han nor ASCII into single characters (П р и в е т, caf é, Ａ Ｂ Ｃ).  Neighbours
of letters, digits and marks without a Han character are joined again, with the part of speech of the first: Привет,
café, ＡＢＣ (its token is abc).  Compatibility and rare ideographs are not in the dictionary and stay single or join
their neighbours, as jieba guesses.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

from bunrui.analysis.dictionary import DictionaryAnalyzer, Morpheme, load
from bunrui.errors import OptionError

__all__ = ["Chinese"]

_TAGS = """
a ad ag an b c d df dg e eng f g h i j k l m mg mq n ng nr nrfg nrt ns nt nz o p q r rg rr rz s t tg u ud ug uj ul
uv uz v vd vg vi vn vq x y z zg
"""


@dataclass(frozen=True)
class Chinese(DictionaryAnalyzer):
    """Chinese words; the options are those of `DictionaryAnalyzer`, `base_forms` must be False."""

    name: ClassVar[str] = "zh"
    distributions: ClassVar[tuple[str, ...]] = ("rjieba",)
    tags: ClassVar[frozenset[str]] = frozenset(_TAGS.split())

    def __post_init__(self) -> None:
        if self.base_forms:
            raise OptionError("the analyzer 'zh' has no base forms, since Chinese has no inflection: leave them off")
        super().__post_init__()

    def morphemes(self, piece: str) -> Iterator[Morpheme]:
        start = 0
        foreign, foreign_tag = "", ""
        for word, tag in self._cut(piece):
            if _is_foreign(word):
                foreign_tag = foreign_tag if foreign else tag
                foreign += word
                continue
            if foreign:
                yield foreign, foreign_tag, start, start + len(foreign)
                start += len(foreign)
                foreign = ""
            yield word, tag, start, start + len(word)
            start += len(word)
        if foreign:
            yield foreign, foreign_tag, start, start + len(foreign)

    def _cut(self, piece: str) -> Iterator[tuple[str, str]]:
        # Words with tags take three times as long as words alone.
        return ((word, "") for word in _jieba().cut(piece)) if self.pos is None else iter(_jieba().tag(piece))


_HAN = re.compile("[\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


@cache
def _jieba() -> Any:
    """One for all threads: cutting changes nothing in it.  Our own: words that others add to rjieba's stay out."""
    return load("zh", "rjieba").Jieba()


@lru_cache(1 << 16)
def _is_foreign(word: str) -> bool:
    if word.isascii():
        return word.isalnum()
    return not _HAN.search(word) and all(char.isalnum() or unicodedata.category(char)[0] == "M" for char in word)
