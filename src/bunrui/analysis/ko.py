"""Korean morphemes by Kiwi (kiwipiepy).

Parts of speech are Kiwi's (the Sejong tags with a few more): `NNG` noun, `NNP` name, `VV` verb, `VA` adjective, ...;
`"N*"` keeps nouns, names, numerals and pronouns.

A token is a morpheme, not the letters between its offsets: 갔다 is 가 + 었 + 다, and both 가 and 었 stand at 갔.
Offsets of neighbours may therefore overlap.  A base form adds 다 to the stems of verbs and adjectives: 가다, 예쁘다.

Kiwi knows composed Hangul only: a decomposed word (as file names on macOS have) is one noun, particles and all, so
compose such text (NFC) first.  Full-width and half-width forms and ㅋㅋㅋ are symbols (`SW`) to Kiwi; since they are
letters they are kept when `pos` is None, and normalised: ＡＢＣ is abc.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from bunrui.analysis.dictionary import DictionaryAnalyzer, Morpheme, load
from bunrui.kernel.mutex import Mutex

__all__ = ["Korean"]

_TAGS = """
NNG NNP NNB NR NP VV VV-R VV-I VA VA-R VA-I VX VX-R VX-I VCP VCN MM MAG MAJ IC JKS JKC JKG JKO JKB JKV JKQ JX JC
EP EF EC ETN ETM XPN XSN XSV XSA XSA-R XSA-I XSM XR SF SP SS SSO SSC SE SO SW SL SH SN SB UN W_URL W_EMAIL
W_HASHTAG W_MENTION W_SERIAL W_EMOJI Z_CODA
"""


@dataclass(frozen=True)
class Korean(DictionaryAnalyzer):
    """Korean morphemes; the options are those of `DictionaryAnalyzer`."""

    name: ClassVar[str] = "ko"
    distributions: ClassVar[tuple[str, ...]] = ("kiwipiepy", "kiwipiepy_model")
    tags: ClassVar[frozenset[str]] = frozenset(_TAGS.split())
    limit: ClassVar[int] = 512

    def morphemes(self, piece: str) -> Iterator[Morpheme]:
        for found in _kiwi().tokenize(piece):
            start, end = found.start, found.end
            if start >= end:
                # A coda that Kiwi splits off a syllable may have no length: it belongs to the syllable before.
                start = max(start - 1, 0)
                end = start + 1
            yield found.lemma if self.base_forms else found.form, found.tag, start, end


_lock = Mutex()
_shared: list[Any] = []


def _kiwi() -> Any:
    """One for all threads: analysing changes nothing in it.  It takes 1 s to load and 0.5 GB."""
    if not _shared:
        with _lock:
            if not _shared:
                kiwi = load("ko", "kiwipiepy").Kiwi(num_workers=1)
                kiwi.tokenize("")  # it loads its model at the first call, which must not happen in two threads
                _shared.append(kiwi)
    return _shared[0]
