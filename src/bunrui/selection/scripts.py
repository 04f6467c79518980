"""Texts → the scripts that they are written in, and the analyzers that suit those."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bunrui.analysis import AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.errors import MissingExtraError, OptionError
from bunrui.kernel import unicode

__all__ = ["Scripts", "analyzer_named", "analyzers_for", "scripts_of"]

_SAMPLE_DOCS = 2000
_SAMPLE_CHARACTERS = 2000  # of a document
_KANA = (0x3041, 0x30FF)
_MUCH = 0.2  # of the letters: worth an analyzer of its own
_JAPANESE = 0.05  # of kana and han: less kana is Chinese with a borrowed word


class Scripts(NamedTuple):
    """Shares of the letters, which add up to 1 where there are any; `kana` is a part of `kana_han`."""

    spaced: float
    kana_han: float
    hangul: float
    unspaced: float
    kana: float

    @property
    def dictionary(self) -> str | None:
        """The language whose dictionary would read most of the text, if there is one."""
        if self.hangul > 0.5:
            return "ko"
        if self.kana_han <= 0.5:
            return None
        return "ja" if self.kana > _JAPANESE * self.kana_han else "zh"

    @property
    def has_spaces(self) -> bool:
        """Whether much of the text has spaces between words."""
        return self.spaced + self.hangul >= _MUCH

    @property
    def ordered(self) -> list[str]:
        """The scripts of much of the text, the most frequent first: fields of this, but for kana."""
        shares = sorted(zip(self._fields[:4], self[:4], strict=True), key=lambda pair: -pair[1])
        return [name for name, share in shares if share >= _MUCH]


def scripts_of(texts: Any) -> Scripts:
    """The shares of scripts in texts, from at most 2,000 of them.

    Examples
    --------
    >>> [scripts_of([text]).dictionary for text in ("日本語のテキスト", "中文文本分类", "text")]
    ['ja', 'zh', None]
    >>> scripts_of(["text, 日本語のテキスト"]).ordered
    ['kana_han', 'spaced']
    """
    rows = np.linspace(0, len(texts) - 1, min(len(texts), _SAMPLE_DOCS)).astype(np.int64)
    sample = "".join(text[:_SAMPLE_CHARACTERS] for text in inputs.pick(texts, rows))
    codes = np.frombuffer(sample.encode("utf-32-le", "replace"), np.uint32)
    classes = np.bincount(unicode.char_class()[codes], minlength=unicode.KEYCAP + 1)
    kana = int(((codes >= _KANA[0]) & (codes <= _KANA[1])).sum())
    letters = [int(classes[c]) for c in (unicode.WORD, unicode.KANA_HAN, unicode.HANGUL, unicode.UNSPACED)]
    total = max(sum(letters), 1)
    spaced, kana_han, hangul, unspaced = (n / total for n in letters)
    return Scripts(spaced, kana_han, hangul, unspaced, kana / total)


def analyzers_for(texts: Any) -> list[AnalyzerSpec]:
    """Analyzers that are worth a comparison: `universal`; words and their pairs where there are spaces; a dictionary
    where one is installed for the language that most of the text is in.

    Examples
    --------
    >>> [(spec.name, spec.words) for spec in analyzers_for(["cheap pills", "lunch at noon"])]
    [('universal', 2), ('words', 1), ('words', 2)]
    """
    found = [AnalyzerSpec()]
    if inputs.is_given(texts):
        return found
    scripts = scripts_of(texts)
    if scripts.has_spaces:
        found += [AnalyzerSpec(name="words", words=n) for n in (1, 2)]
    if scripts.dictionary is not None:
        spec = AnalyzerSpec(name=scripts.dictionary)
        try:
            analyzer_of(spec)
        except MissingExtraError:
            return found
        found.append(spec)
    return found


def analyzer_named(name: str | AnalyzerSpec) -> AnalyzerSpec:
    """The spec that a name stands for; a number after it is the longest n-gram of words.

    Examples
    --------
    >>> analyzer_named("words:2").describe()
    'words, 1–2-grams'
    """
    if isinstance(name, AnalyzerSpec):
        return name
    kind, _, words = name.partition(":")
    if words and not words.isdecimal():
        raise OptionError(f"an analyzer is a name, and perhaps a number as in words:2, not {name!r}")
    spec = AnalyzerSpec(name=kind, words=int(words) if words else None)
    if spec.name == "columns":
        raise OptionError("the analyzer 'columns' reads tables: choose one that reads text")
    return spec
