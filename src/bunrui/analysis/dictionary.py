"""Words by a dictionary: Japanese, Chinese, Korean.

The analyzer reads the original text, so offsets need no translation; only the *result*, a word or its base form, is
normalised.  Two characters are replaced, one for one: NUL by a space (MeCab takes NUL for the end of the text), and a
lone surrogate by U+FFFD (nothing can encode it).

Text is analysed line by line.  A line that is too long for the analyzer is cut into pieces, if possible at white space
or at the end of a sentence.  On one line, MeCab 0.996 loses the text after 64 KB of white space and crashes on 300,000
times the letter x, for which Kiwi 0.24 needs 50 s.  In pieces both are linear.
"""

from __future__ import annotations

import csv
import importlib
import importlib.metadata
import re
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, ClassVar

from bunrui.analysis.rewrite import PLACEHOLDERS
from bunrui.analysis.texts import Token, normalise
from bunrui.errors import MissingExtraError, OptionError
from bunrui.kernel.slices import Mutex

Morpheme = tuple[str, str, int, int]
"""A find of a dictionary in a piece of text: word or base form, part of speech, start, end."""


@dataclass(frozen=True)
class DictionaryAnalyzer(ABC):
    """Words of a language without spaces, or with endings, by a dictionary.

    Parameters
    ----------
    pos : tuple of str, optional
        Keep only these parts of speech, in the words of the dictionary.  A name keeps its subdivisions as well
        (`"名詞"` keeps `名詞-固有名詞-一般`, `"VV"` keeps `VV-I`); a `*` at the end stands for anything (`"N*"`).
        None keeps every token with a letter or a digit in it, whatever its part of speech, and so no punctuation,
        symbols, emoji and white space.  Placeholders of the rewriter are always kept, each as a token.
    base_forms : bool
        Give the dictionary form of a word in place of the written one.
    """

    pos: tuple[str, ...] | None = None
    base_forms: bool = False

    name: ClassVar[str]
    distributions: ClassVar[tuple[str, ...]]
    tags: ClassVar[frozenset[str]]
    limit: ClassVar[int] = 4096

    def __post_init__(self) -> None:
        given: Any = self.pos
        if given is None:
            return
        if isinstance(given, str) or not given:
            raise OptionError(option="pos", value=given, expected="a tuple of parts of speech, or None for all words")
        object.__setattr__(self, "pos", tuple(sorted(set(given))))
        for part in given:
            if not any(_matches(part, tag) for tag in self.tags):
                raise OptionError(f"the analyzer '{self.name}' has no part of speech {part!r}: {_main_tags(self.tags)}")

    @abstractmethod
    def morphemes(self, piece: str) -> Iterator[Morpheme]:
        """All morphemes of a short text without line breaks; tags may be empty if `pos` is None."""

    def tokens(self, text: str) -> list[Token]:
        """The words of a text, normalised (NFKC, then case folding), with offsets in `text`."""
        found = []
        for offset, piece in pieces(text, self.limit):
            if piece in PLACEHOLDERS:
                found.append(Token(piece, offset, offset + 1))
                continue
            for word, tag, start, end in self.morphemes(piece):
                if _is_word(word) if self.pos is None else _keeps(self.pos, tag):
                    found.append(Token(normalise(word), offset + start, offset + end))
        return found

    def identity(self) -> dict[str, object]:
        """All that the tokens depend on: options, and versions of the packages and their dictionaries.

        Not the version of Unicode: NFKC and case folding of a character never change once it is assigned.
        """
        options = {"pos": None if self.pos is None else list(self.pos), "base_forms": self.base_forms}
        return {"name": self.name, "revision": 1, **options, "versions": self._versions()}

    def _versions(self) -> dict[str, str]:
        versions = {}
        for distribution in self.distributions:
            try:
                versions[distribution] = importlib.metadata.version(distribution)
            except importlib.metadata.PackageNotFoundError as error:
                raise MissingExtraError(self.name, distribution) from error
        return versions


def _load(extra: str, package: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtraError(extra, package.replace("_", "-")) from error


def pieces(text: str, limit: int) -> Iterator[tuple[int, str]]:
    """Offset and text of each stretch for the analyzer, and of each placeholder alone; line breaks are left out.

    >>> list(pieces("a b c\\nd", limit=3))
    [(0, 'a '), (2, 'b c'), (6, 'd')]
    """
    for match in _pieces(limit).finditer(_UNSAFE.sub(_mask, text)):
        yield match.start(), match.group()


_WORD = re.compile(r"[^\W_]")
_UNSAFE = re.compile("[\0\ud800-\udfff]")


def _mask(unsafe: re.Match[str]) -> str:
    return " " if unsafe.group() == "\0" else "\ufffd"


@cache
def _pieces(limit: int) -> re.Pattern[str]:
    marks = "".join(PLACEHOLDERS)
    run = rf"[^\n{marks}]{{1,{limit}}}"
    # A placeholder; else the rest of the line; else up to the last place to cut; else as much as is allowed.
    return re.compile(rf"[{marks}]|{run}(?![^\n{marks}])|{run}(?<=[\s。！？])|{run}")


@lru_cache(1 << 16)
def _is_word(text: str) -> bool:
    return _WORD.search(text) is not None


@cache
def _keeps(pos: tuple[str, ...], tag: str) -> bool:
    return any(_matches(part, tag) for part in pos)


def _matches(part: str, tag: str) -> bool:
    if part.endswith("*"):
        return tag.startswith(part[:-1])
    return tag == part or tag.startswith(part + "-")


def _main_tags(tags: frozenset[str]) -> str:
    return ", ".join(sorted({tag.partition("-")[0] for tag in tags}))


# --- Japanese

_UNIDIC = """
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
    """Japanese words by MeCab (fugashi) and the dictionary UniDic (unidic-lite).

    Parts of speech are UniDic's, joined by hyphens: `名詞`, `名詞-固有名詞`, `動詞`, `形容詞`, ...

    A base form is UniDic's *orthBase* (書字形基本形), the dictionary form in the writer's own spelling: 走っ gives
    走る. Not its *lemma* (語彙素), which joins spellings (ネコ and 猫) but does not read as a word where it is not one
    the writer used: ある gives 有る, パソコン gives パソコン-personal computer, 安倍 gives アベ.  Words that are not in
    the dictionary stay as they are.

    Half-width kana are not in the dictionary: a run of them is one noun, ﾊﾟｿｺﾝ, and its token パソコン.  The same holds
    for Latin letters and for digits; a run of more than 24 is cut into single characters, by MeCab.  Kana with a
    combining voicing mark (か + U+3099, as file names on macOS have) are cut before the mark: compose such text (NFC)
    first.

    The options are those of `DictionaryAnalyzer`.
    """

    name: ClassVar[str] = "ja"
    distributions: ClassVar[tuple[str, ...]] = ("fugashi", "unidic-lite")
    tags: ClassVar[frozenset[str]] = frozenset(_UNIDIC.split())

    def morphemes(self, piece: str) -> Iterator[Morpheme]:
        asked = self.base_forms or self.pos is not None
        end = 0
        for node in _tagger()(piece):
            word = node.surface
            start = end + len(node.white_space)
            end = start + len(word)
            tag, base = _unidic(node.feature_raw) if asked else ("", "")
            yield (base or word) if self.base_forms else word, tag, start, end


# As text and cached: fugashi's `node.feature` takes 1.7 times as long as MeCab itself (300 KB of livedoor news).
@lru_cache(1 << 16)
def _unidic(raw: str) -> tuple[str, str]:
    """Part of speech, and base form where the word is in the dictionary."""
    fields = next(csv.reader([raw])) if '"' in raw else raw.split(",")
    return "-".join(field for field in fields[:4] if field != "*"), fields[10] if len(fields) > 10 else ""


_local = threading.local()


def _tagger() -> Any:
    """The tagger of this thread: one keeps its last sentence, so threads cannot share it.  A second one costs 1 ms."""
    if not hasattr(_local, "tagger"):
        fugashi = _load("ja", "fugashi")
        folder = _load("ja", "unidic_lite").DICDIR
        # By name, since fugashi on its own would take the larger dictionary `unidic` where that is installed.
        _local.tagger = fugashi.Tagger(f'-r "{folder}/mecabrc" -d "{folder}"')
    return _local.tagger


# --- Chinese

_JIEBA = """
a ad ag an b c d df dg e eng f g h i j k l m mg mq n ng nr nrfg nrt ns nt nz o p q r rg rr rz s t tg u ud ug uj ul
uv uz v vd vg vi vn vq x y z zg
"""


@dataclass(frozen=True)
class Chinese(DictionaryAnalyzer):
    """Chinese words by jieba (rjieba).

    Parts of speech are jieba's: `n` noun, `nr` person, `ns` place, `v` verb, `a` adjective, `eng` Latin letters, ...;
    `"n*"` keeps all nouns.  Chinese words have no inflection, so there are no base forms.

    jieba cuts everything that is neither Han nor ASCII into single characters (П р и в е т, caf é, Ａ Ｂ Ｃ).
    Neighbours of letters, digits and marks without a Han character are joined again, with the part of speech of the
    first: Привет, café, ＡＢＣ (its token is abc).  Compatibility and rare ideographs are not in the dictionary and
    stay single or join their neighbours, as jieba guesses.

    The options are those of `DictionaryAnalyzer`; `base_forms` must be False.
    """

    name: ClassVar[str] = "zh"
    distributions: ClassVar[tuple[str, ...]] = ("rjieba",)
    tags: ClassVar[frozenset[str]] = frozenset(_JIEBA.split())

    def __post_init__(self) -> None:
        if self.base_forms:
            raise OptionError("the analyzer 'zh' has no base forms, since Chinese has no inflection: leave them off")
        super().__post_init__()

    def morphemes(self, piece: str) -> Iterator[Morpheme]:
        start = 0
        for is_foreign, run in groupby(self._cut(piece), lambda found: _is_foreign(found[0])):
            words = list(run)
            if is_foreign:
                words = [("".join(word for word, _ in words), words[0][1])]
            for word, tag in words:
                yield word, tag, start, start + len(word)
                start += len(word)

    def _cut(self, piece: str) -> Iterator[tuple[str, str]]:
        # Words with tags take three times as long as words alone.
        return ((word, "") for word in _jieba().cut(piece)) if self.pos is None else iter(_jieba().tag(piece))


_HAN = re.compile("[\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


@cache
def _jieba() -> Any:
    """One for all threads: cutting changes nothing in it.  Our own: words that others add to rjieba's stay out."""
    return _load("zh", "rjieba").Jieba()


@lru_cache(1 << 16)
def _is_foreign(word: str) -> bool:
    if word.isascii():
        return word.isalnum()
    return not _HAN.search(word) and all(char.isalnum() or unicodedata.category(char)[0] == "M" for char in word)


# --- Korean

_SEJONG = """
NNG NNP NNB NR NP VV VV-R VV-I VA VA-R VA-I VX VX-R VX-I VCP VCN MM MAG MAJ IC JKS JKC JKG JKO JKB JKV JKQ JX JC
EP EF EC ETN ETM XPN XSN XSV XSA XSA-R XSA-I XSM XR SF SP SS SSO SSC SE SO SW SL SH SN SB UN W_URL W_EMAIL
W_HASHTAG W_MENTION W_SERIAL W_EMOJI Z_CODA
"""


@dataclass(frozen=True)
class Korean(DictionaryAnalyzer):
    """Korean morphemes by Kiwi (kiwipiepy).

    Parts of speech are Kiwi's (the Sejong tags with a few more): `NNG` noun, `NNP` name, `VV` verb, `VA` adjective,
    ...; `"N*"` keeps nouns, names, numerals and pronouns.

    A token is a morpheme, not the letters between its offsets: 갔다 is 가 + 었 + 다, and both 가 and 었 stand at 갔.
    Offsets of neighbours may therefore overlap.  A base form adds 다 to the stems of verbs and adjectives: 가다,
    예쁘다.

    Kiwi knows composed Hangul only: a decomposed word (as file names on macOS have) is one noun, particles and all, so
    compose such text (NFC) first.  Full-width and half-width forms and ㅋㅋㅋ are symbols (`SW`) to Kiwi; since they
    are letters they are kept when `pos` is None, and normalised: ＡＢＣ is abc.

    The options are those of `DictionaryAnalyzer`.
    """

    name: ClassVar[str] = "ko"
    distributions: ClassVar[tuple[str, ...]] = ("kiwipiepy", "kiwipiepy_model")
    tags: ClassVar[frozenset[str]] = frozenset(_SEJONG.split())
    limit: ClassVar[int] = 512

    def morphemes(self, piece: str) -> Iterator[Morpheme]:
        for found in _kiwi().tokenize(piece):
            start, end = found.start, found.end
            if start >= end:
                # A coda that Kiwi splits off a syllable may have no length: it belongs to the syllable before.
                start = max(start - 1, 0)
                end = start + 1
            yield found.lemma if self.base_forms else found.form, found.tag, start, end


_loading = Mutex()
_shared: list[Any] = []


def _kiwi() -> Any:
    """One for all threads: analysing changes nothing in it.  It takes 1 s to load and 0.5 GB."""
    with _loading:
        if not _shared:
            kiwi = _load("ko", "kiwipiepy").Kiwi(num_workers=1)
            kiwi.tokenize("")  # it loads its model at the first call, which must not happen in two threads
            _shared.append(kiwi)
    return _shared[0]


LANGUAGES: dict[str, type[DictionaryAnalyzer]] = {cls.name: cls for cls in (Japanese, Chinese, Korean)}
"""The languages by the names of their analyzers."""
