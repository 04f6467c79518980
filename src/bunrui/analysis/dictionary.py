"""What the analyzers with a dictionary (`ja`, `zh`, `ko`) have in common.

The analyzer sees the text as it was written, so that offsets need no translation: only the *result*, a word or its
base form, is normalised.  Two characters are masked, one for one: NUL (MeCab takes it for the end of the text) by a
space, and lone surrogates (nothing can encode them) by U+FFFD.

Text is analysed line by line, and a longer line than the analyzer can take in pieces that end, where possible, at
white space or the end of a sentence.  On one line, MeCab 0.996 loses what follows 64 KB of white space and crashes on
300,000 times the letter x, for which Kiwi 0.24 needs 50 s.  In pieces both are linear.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

from bunrui.analysis.rewrite import PLACEHOLDERS
from bunrui.analysis.token import Token, normalise
from bunrui.errors import MissingExtraError, OptionError

__all__ = ["DictionaryAnalyzer", "Morpheme", "load", "pieces"]

Morpheme = tuple[str, str, int, int]
"""What a dictionary finds in a piece of text: word or base form, part of speech, start, end."""


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
                raise OptionError(f"the analyzer '{self.name}' has no part of speech {part!r}: {_listed(self.tags)}")

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


def load(extra: str, package: str) -> Any:
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
    # A placeholder; else what is left of the line; else up to the last place to cut; else as much as is allowed.
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


def _listed(tags: frozenset[str]) -> str:
    return ", ".join(sorted({tag.partition("-")[0] for tag in tags}))
