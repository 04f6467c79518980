"""Japanese words by MeCab (fugashi) and the dictionary UniDic (unidic-lite).

Parts of speech are UniDic's, joined by hyphens: `名詞`, `名詞-固有名詞`, `動詞`, `形容詞`, ...

A base form is UniDic's *orthBase* (書字形基本形), the dictionary form in the writer's own spelling: 走っ gives 走る.
Not its *lemma* (語彙素), which joins spellings (ネコ and 猫) but does not read as a word where it is not one the writer
used: ある gives 有る, パソコン gives パソコン-personal computer, 安倍 gives アベ.  Words that are not in the dictionary
stay as they are.

Half-width kana are not in the dictionary: a run of them is one noun, ﾊﾟｿｺﾝ, and its token パソコン.  The same holds for
Latin letters and for digits; a run of more than 24 is cut into single characters, by MeCab.  Kana with a combining
voicing mark (か + U+3099, as file names on macOS have) are cut before the mark: compose such text (NFC) first.
"""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from bunrui.analysis.dictionary import DictionaryAnalyzer, Morpheme, load

__all__ = ["Japanese"]

_TAGS = """
代名詞 副詞 助動詞 助詞-係助詞 助詞-副助詞 助詞-接続助詞 助詞-格助詞 助詞-準体助詞 助詞-終助詞 動詞-一般
動詞-非自立可能 名詞-助動詞語幹 名詞-固有名詞-一般 名詞-固有名詞-人名-一般 名詞-固有名詞-人名-名
名詞-固有名詞-人名-姓 名詞-固有名詞-地名-一般 名詞-固有名詞-地名-国 名詞-数詞 名詞-普通名詞-サ変可能
名詞-普通名詞-サ変形状詞可能 名詞-普通名詞-一般 名詞-普通名詞-副詞可能 名詞-普通名詞-助数詞可能
名詞-普通名詞-形状詞可能 形容詞-一般 形容詞-非自立可能 形状詞-タリ 形状詞-一般 形状詞-助動詞語幹 感動詞-フィラー
感動詞-一般 接尾辞-動詞的 接尾辞-名詞的-サ変可能 接尾辞-名詞的-一般 接尾辞-名詞的-副詞可能 接尾辞-名詞的-助数詞
接尾辞-形容詞的 接尾辞-形状詞的 接続詞 接頭辞 空白 補助記号-一般 補助記号-句点 補助記号-括弧閉 補助記号-括弧開
補助記号-読点 補助記号-ＡＡ-一般 補助記号-ＡＡ-顔文字 記号-一般 記号-文字 連体詞
"""


@dataclass(frozen=True)
class Japanese(DictionaryAnalyzer):
    """Japanese words; the options are those of `DictionaryAnalyzer`."""

    name: ClassVar[str] = "ja"
    distributions: ClassVar[tuple[str, ...]] = ("fugashi", "unidic-lite")
    tags: ClassVar[frozenset[str]] = frozenset(_TAGS.split())

    def morphemes(self, piece: str) -> Iterator[Morpheme]:
        asked = self.base_forms or self.pos is not None
        end = 0
        for node in _tagger()(piece):
            word = node.surface
            start = end + len(node.white_space)
            end = start + len(word)
            tag, base = _features(node.feature_raw) if asked else ("", "")
            yield (base or word) if self.base_forms else word, tag, start, end


# As text and cached: fugashi's `node.feature` takes 1.7 times as long as MeCab itself (300 KB of livedoor news).
@lru_cache(1 << 16)
def _features(raw: str) -> tuple[str, str]:
    """Part of speech, and base form where the word is in the dictionary."""
    fields = next(csv.reader([raw])) if '"' in raw else raw.split(",")
    return "-".join(field for field in fields[:4] if field != "*"), fields[10] if len(fields) > 10 else ""


_local = threading.local()


def _tagger() -> Any:
    """The tagger of this thread: one keeps its last sentence, so threads cannot share it.  A second one costs 1 ms."""
    if not hasattr(_local, "tagger"):
        fugashi = load("ja", "fugashi")
        folder = load("ja", "unidic_lite").DICDIR
        # By name, since fugashi on its own would take the larger dictionary `unidic` where that is installed.
        _local.tagger = fugashi.Tagger(f'-r "{folder}/mecabrc" -d "{folder}"')
    return _local.tagger
