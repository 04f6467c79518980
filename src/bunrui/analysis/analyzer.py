"""`analyzer_of`: makes an analyzer from a spec or a user's function.  All analyzers have one protocol.

documents(texts)   the text buffers for the kernels; texts that only Python can fold are folded here
recipe             tells the kernels how to read these buffers
given              the recipe for documents that come as tokens or counts
features(text)     the features of one text with their places in it, for `explain`
written(feature)   the feature as it is written in the counts
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from bunrui.analysis import texts as inputs
from bunrui.analysis.spec import AnalyzerSpec, digest, function_fingerprint
from bunrui.analysis.texts import Token, fold
from bunrui.errors import DataError, OptionError
from bunrui.kernel import reference, unicode
from bunrui.kernel.analyze import BUCKETS, GIVEN, UNIVERSAL, WORDS, Documents, Recipe
from bunrui.kernel.universal import Characters
from bunrui.kernel.workspace import new_recipe

if TYPE_CHECKING:
    from bunrui.analysis.rewrite import Rewriter


class Analyzer(Protocol):
    """The protocol of all analyzers."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def recipe(self) -> Recipe: ...

    @property
    def given(self) -> Recipe: ...

    def documents(self, texts: pa.Array | list[str]) -> Documents: ...

    def features(self, text: str) -> list[Token]: ...

    def written(self, feature: str) -> str: ...

    def describe(self) -> str: ...


class Plain:
    """Features that are written as they are."""

    @property
    def given(self) -> Recipe:
        return given_recipe()

    def written(self, feature: str) -> str:
        return feature


class KernelAnalyzer(Plain):
    """`universal` and `words`: the kernels do all the work."""

    def __init__(self, spec: AnalyzerSpec) -> None:
        self.spec = spec
        self.fingerprint = spec.fingerprint
        self._rewriter = _rewriter(spec)

    def describe(self) -> str:
        return self.spec.describe()

    @cached_property
    def recipe(self) -> Recipe:
        spec = self.spec
        assert spec.words is not None
        stop = spec.stop_words
        if spec.name == "words":
            return new_recipe(WORDS, order=spec.words, lower=_lower_words(self._rewriter is not None), stop=stop)
        orders = [spec.words, spec.punctuation, spec.across, *spec.kana_han, *spec.hangul, *spec.unspaced]
        return new_recipe(
            UNIVERSAL,
            order=spec.words,
            nfkc=unicode.nfkc_table(),
            characters=_make_characters()._replace(orders=np.array(orders, np.int64)),
            stop=stop,
        )

    def documents(self, texts: pa.Array | list[str]) -> Documents:
        if self._rewriter is not None:
            texts = inputs.strings([self._rewriter.apply(text) for text in inputs.to_list(texts)])
        docs = inputs.buffers(texts)
        if isinstance(texts, list) and all(map(str.isascii, texts)):
            return docs  # ten microseconds saved, of a hundred for a short text
        return fold(docs, self.recipe)

    def features(self, text: str) -> list[Token]:
        return _read_rewritten(text, self._rewriter, self._features)

    def _features(self, text: str) -> list[Token]:
        spec = self.spec
        assert spec.words is not None
        stop = frozenset(spec.stop_words)
        if spec.name == "words":
            return [Token(*feature) for feature in reference.words(text, spec.words, stop, self._rewriter is not None)]
        scripts = {unicode.KANA_HAN: spec.kana_han, unicode.HANGUL: spec.hangul, unicode.UNSPACED: spec.unspaced}
        orders = reference.Orders(spec.words, spec.punctuation, spec.across, scripts)
        return [Token(*feature) for feature in reference.universal(text, orders, stop)]


def _read_rewritten(text: str, rewriter: Rewriter | None, read: Callable[[str], list[Token]]) -> list[Token]:
    """The tokens of a text after it was rewritten, with their places in the original."""
    if rewriter is None:
        return read(text)
    rewritten, starts, ends = rewriter.apply_aligned(text)
    return [Token(token.text, starts[token.start], ends[token.end - 1]) for token in read(rewritten)]


class FunctionAnalyzer(Plain):
    """Tokens from Python: a dictionary, or a function of the user's."""

    def __init__(
        self,
        tokens: Callable[[str], Iterable[str | Token]],
        *,
        name: str,
        fingerprint: str,
        words: int = 1,
        stop: Iterable[str] = (),
        rewriter: Rewriter | None = None,
    ) -> None:
        self.fingerprint, self.recipe = fingerprint, given_recipe()
        self._tokens, self._name, self._words = tokens, name, words
        self._stop, self._rewriter = frozenset(stop), rewriter

    def describe(self) -> str:
        return self._name

    def documents(self, texts: pa.Array | list[str]) -> Documents:
        return inputs.given([[token.text for token in self.features(text)] for text in inputs.to_list(texts)])

    def features(self, text: str) -> list[Token]:
        return list(self._ngrams(_read_rewritten(text, self._rewriter, self._place)))

    def _place(self, text: str) -> list[Token]:
        """Tokens with offsets; plain strings are searched in the text from left to right."""
        placed = []
        at = 0
        for token in self._tokens(text):
            if isinstance(token, tuple) and len(token) == 3:
                found = Token(*token)
            elif not isinstance(token, str):
                raise DataError(f"an analyzer should give strings or (text, start, end), not {token!r}")
            elif (start := text.find(token, at)) >= 0:
                found = Token(token, start, start + len(token))
                at = found.end
            else:  # a token that is not in the text as it stands (a stem, say) is explained by the whole text
                found = Token(token, 0, len(text))
            if found.text not in self._stop:
                placed.append(found)
        return placed

    def _ngrams(self, tokens: list[Token]) -> Iterable[Token]:
        for i, last in enumerate(tokens):
            for n in range(1, min(i + 1, self._words) + 1):
                run = tokens[i - n + 1 : i + 1]
                yield Token(" ".join(t.text for t in run), run[0].start, last.end)


class HashedAnalyzer:
    """Hashes the features of another analyzer into 2 ** bits buckets; a bucket is then a feature.

    So the number of features is bounded.  Counts of buckets are integers like others: they are added and subtracted
    exactly.  But the features of one bucket cannot be told apart.
    """

    def __init__(self, inner: Analyzer, bits: int, fingerprint: str) -> None:
        self._inner = inner
        self._bits = bits
        self.fingerprint = fingerprint
        self.recipe = self._into_buckets(inner.recipe)
        self.given = self._into_buckets(given_recipe())

    def _into_buckets(self, recipe: Recipe) -> Recipe:
        params = recipe.params.copy()
        params[BUCKETS] = self._bits
        return recipe._replace(params=params)

    def describe(self) -> str:
        return f"{self._inner.describe()}, hashed to 2**{self._bits} buckets"

    def documents(self, texts: pa.Array | list[str]) -> Documents:
        return self._inner.documents(texts)

    def features(self, text: str) -> list[Token]:
        return self._inner.features(text)

    def written(self, feature: str) -> str:
        return reference.bucket(feature, self._bits)


def analyzer_of(analyzer: str | AnalyzerSpec | Callable[[str], Iterable[Any]]) -> Analyzer:
    """The analyzer for a name, a spec or a function.

    Examples
    --------
    >>> [token.text for token in analyzer_of("words").features("New York, NEW")]
    ['new', 'york', 'new']
    >>> [token.text for token in analyzer_of(str.split).features("as it is")]
    ['as', 'it', 'is']
    """
    if isinstance(analyzer, str):
        analyzer = AnalyzerSpec(name=analyzer)
    if isinstance(analyzer, AnalyzerSpec):
        return _of_spec(analyzer)
    if callable(analyzer):
        name = f"{getattr(analyzer, '__module__', '')}.{getattr(analyzer, '__qualname__', type(analyzer).__qualname__)}"
        return FunctionAnalyzer(analyzer, name=name, fingerprint=function_fingerprint(analyzer))
    raise OptionError(option="analyzer", value=analyzer, expected="a name, an AnalyzerSpec or a function")


@cache
def _of_spec(spec: AnalyzerSpec) -> Analyzer:
    if spec.hash_bits:
        inner = _of_spec(spec.replace(hash_bits=0))
        fingerprint = digest({"spec": spec.fingerprint, "inner": inner.fingerprint})
        return HashedAnalyzer(inner, spec.hash_bits, fingerprint)
    if spec.name in ("universal", "words"):
        return KernelAnalyzer(spec)
    if spec.name == "columns":
        from bunrui.analysis.tablerows import ColumnsAnalyzer

        return ColumnsAnalyzer(spec)
    from bunrui.analysis.dictionary import LANGUAGES

    dictionary = LANGUAGES[spec.name](pos=spec.pos, base_forms=spec.base_forms)
    return FunctionAnalyzer(
        dictionary.tokens,
        name=spec.describe(),
        fingerprint=digest({"spec": spec.fingerprint, "dictionary": dictionary.identity()}),
        words=spec.words or 1,
        stop=spec.stop_words,
        rewriter=_rewriter(spec),
    )


def _rewriter(spec: AnalyzerSpec) -> Rewriter | None:
    if not (spec.html or spec.urls or spec.mentions or spec.numbers):
        return None
    from bunrui.analysis.rewrite import Rewriter

    return Rewriter(html=spec.html, urls=spec.urls, mentions=spec.mentions, numbers=spec.numbers)


def check_given(analyzer: Analyzer) -> None:
    """Refuse tokens and counts if the documents should be rows of tables."""
    if getattr(analyzer, "reads_rows", False):
        raise DataError(
            "rows of tables come as JSON strings, not as lists or mappings, which are tokens and counts: json.dumps "
            "makes one of a dict; ColumnsNB reads data frames and dicts as they are"
        )


def documents_of(analyzer: Analyzer, texts: Any, *, is_checked: bool = False) -> tuple[Documents, Recipe]:
    """The buffers of texts, token lists or word counts, and the recipe for reading them.

    `is_checked`: texts come from `bunrui.analysis.texts.strings`.
    """
    if inputs.is_given(texts):
        check_given(analyzer)
        return inputs.given(texts), analyzer.given
    return analyzer.documents(texts if is_checked else inputs.strings(texts)), analyzer.recipe


def n_docs_of(docs: Documents) -> int:
    """The number of documents."""
    return max(len(docs.lists) if len(docs.lists) else len(docs.offsets), 1) - 1


def distinct(analyzer: Analyzer, texts: Any) -> list[list[str]]:
    """The features of each document, each once, in the order of its text; of equally written ones, the first.

    Models of presence count a word once.  The kernels do this for learned words; for new words they have no place to
    note it.
    """
    if inputs.is_given(texts):
        inputs.given(texts)  # for its checks
        words = [[w for w in d if not isinstance(d, Mapping) or d[w]] for d in texts]
    else:
        words = [[token.text for token in analyzer.features(text)] for text in inputs.to_list(inputs.strings(texts))]
    return [_drop_repeats(analyzer, document) for document in words]


def alike(analyzer: Analyzer, documents: list[Any]) -> list[Any]:
    """The documents; if some were learned as texts and others as tokens or counts, all as tokens."""
    if len({issubclass(kind, str) for kind in set(map(type, documents))}) < 2:
        return documents
    features = analyzer.features
    return [[token.text for token in features(d)] if isinstance(d, str) else d for d in documents]


def _drop_repeats(analyzer: Analyzer, words: list[str]) -> list[str]:
    firsts: dict[str, str] = {}
    for word in words:
        firsts.setdefault(analyzer.written(word), word)
    return list(firsts.values())


@cache
def given_recipe() -> Recipe:
    """For documents whose features are given."""
    return new_recipe(GIVEN)


@cache
def _lower_words(signs: bool) -> Any:
    """For every code point its lower-case form if that is one word character, 0 if it separates.

    Texts with İ and Σ, which have no such form, come in lower case already.
    """
    codes = unicode.lower_table().codes
    is_word = reference.word_characters(signs)
    itself = np.arange(unicode.N_CODES, dtype=np.uint32)
    out = np.where(is_word, itself, 0)
    # Only 1,433 of 1.1 million code points change: to look up all of them takes 10 ms, at every start.
    changing = np.flatnonzero(codes != itself)
    lower = np.where(codes[changing] >> unicode.KIND_SHIFT == unicode.PLAIN, codes[changing], 0)
    out[changing] = np.where(is_word[lower], lower, 0)
    return out


@cache
def _make_characters() -> Characters:
    emoticons = sorted(set(reference.EMOTICONS), key=lambda e: (ord(e[0]), -len(e), e))
    firsts = np.array([ord(e[0]) for e in emoticons])
    return Characters(
        classes=unicode.char_class(),
        emoticon_index=np.searchsorted(firsts, np.arange(130)).astype(np.int32),
        emoticon_starts=np.cumsum([0, *map(len, emoticons)]).astype(np.int32),
        emoticon_codes=np.array([ord(c) for e in emoticons for c in e], np.uint32),
        orders=np.zeros(9, np.int64),
    )


# --- buckets


class Sharing(NamedTuple):
    """The number of features that share a bucket, estimated from the number of used buckets.

    Attributes
    ----------
    n_buckets, n_used : int
    n_features : int
        The estimated number of hashed features; a lower bound if no bucket is free.
    share : float
        The estimated share of features that share their bucket.
    """

    n_buckets: int
    n_used: int
    n_features: int
    share: float


def sharing(n_used: int, bits: int) -> Sharing:
    """Estimate the number of features that share a bucket, from the number of used buckets.

    Of n features in B buckets, a share u = 1 - (1 - 1 / B) ** n of the buckets is expected to be in use, so that n is
    about -B log(1 - u).  A feature shares its bucket with probability 1 - (1 - 1 / B) ** (n - 1): about u itself.

    >>> sharing(412_200, 20)
    Sharing(n_buckets=1048576, n_used=412200, n_features=523...
    """
    n_buckets = 1 << bits
    free = max(n_buckets - n_used, 0.5)  # if all are in use, there are many features, and nothing else is known
    return Sharing(n_buckets, n_used, round(-n_buckets * math.log(free / n_buckets)), n_used / n_buckets)
