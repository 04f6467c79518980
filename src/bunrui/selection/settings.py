"""`Settings`: the options of a classifier, and how simple they are; `analyzers_for`: suitable analyzers for texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bunrui.analysis import AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.choice import Candidate
from bunrui.classifier import TextClassifier
from bunrui.errors import MissingExtraError, OptionError
from bunrui.kernel import unicode
from bunrui.models import DEFAULT_MODEL, kind_of
from bunrui.models.scorer import smoothing_of

_USUAL = AnalyzerSpec()
_HEAD_ALPHA = 0.5  # the default of nbsvm and arow

_SAMPLE_DOCS = 2000
_SAMPLE_CHARACTERS = 2000  # of a document
_KANA = (0x3041, 0x30FF)
_MUCH = 0.2  # of the letters: worth an analyzer of its own
_JAPANESE = 0.05  # of kana and han: less kana is Chinese with a borrowed word


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Options of `TextClassifier`, with its defaults.

    Examples
    --------
    >>> settings = Settings(model="binary", alpha=0.03, min_df=2)
    >>> settings.describe()
    'binary, alpha 0.03, universal, min_df 2'
    >>> settings.changed()
    {'model': 'binary', 'alpha': 0.03, 'min_df': 2}
    """

    analyzer: AnalyzerSpec = _USUAL
    model: str = DEFAULT_MODEL
    smoothing: str = "eap"
    alpha: float | None = None
    prior: str = "empirical"
    unseen: str = "ignore"
    min_df: int = 1
    max_features: int | None = None
    class_norm: bool = False
    against_rest: bool = False

    @property
    def is_trained(self) -> bool:
        """Whether the model is trained from documents."""
        return kind_of(self.model).needs_documents

    @property
    def lam(self) -> float | None:
        """λ; None for a trained model whose own default it has."""
        return self.alpha if self.is_trained else smoothing_of(self.smoothing, self.alpha, self._default_lam).value

    @property
    def _default_lam(self) -> float:
        return kind_of(self.model).default_alpha(class_norm=self.class_norm)

    @classmethod
    def automatic(cls, texts: Any, labels: Any, analyzer: AnalyzerSpec) -> tuple[Settings, str]:
        """The choice of `auto` for some documents, and why nothing was chosen, if so."""
        choice = TextClassifier(analyzer=analyzer).learn(texts, labels).choice
        assert choice is not None
        found = cls(analyzer=analyzer, **choice.options)
        found = found.replace(alpha=None) if found.alpha == found._default_lam else found
        return found, "" if choice.evidence else choice.reason

    @property
    def candidate(self) -> Candidate:
        """The same as a model that counts, with its λ."""
        assert self.lam is not None
        return Candidate(self.model, self.lam, self.class_norm, self.against_rest)

    def replace(self, **changes: Any) -> Settings:
        """The same with some of them changed."""
        return replace(self, **changes)

    def options(self) -> dict[str, Any]:
        """All but the analyzer, as arguments of `with_model`."""
        return {name: value for name, value in vars(self).items() if name != "analyzer"}

    def classifier(self) -> TextClassifier:
        """A new one, which has learned nothing."""
        return TextClassifier(analyzer=self.analyzer, **self.options())

    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults, the analyzer by its fields, in the types of JSON."""
        found = {name: value for name, value in vars(self).items() if value != getattr(Settings, name)}
        return found | ({"analyzer": analyzer_fields(self.analyzer)} if "analyzer" in found else {})

    def simplicity(self, n_features: int) -> tuple[Any, ...]:
        """Simpler settings sort first; the module `tune` defines the order."""
        usual = _HEAD_ALPHA if self.is_trained else self._default_lam
        strength = 1.0 if self.lam is None else self.lam / usual  # λ as a multiple of the default
        return self.is_trained, len(self.changed()), n_features, -strength

    def describe(self) -> str:
        """In a few words."""
        parts = [self.model]
        if self.smoothing != "eap":
            parts.append(self.smoothing)
        elif self.lam is not None:
            parts.append(f"alpha {self.lam:g}")
        parts.append(analyzer_name(self.analyzer))
        told = ("analyzer", "model", "smoothing", "alpha")
        rest = ((name, value) for name, value in self.changed().items() if name not in told)
        return ", ".join([*parts, *(name if value is True else f"{name} {value}" for name, value in rest)])


def analyzer_fields(spec: AnalyzerSpec) -> dict[str, Any]:
    """The name of a spec, and the fields that are not the usual ones.

    >>> analyzer_fields(AnalyzerSpec(name="words", words=2))
    {'name': 'words', 'words': 2}
    """
    usual, given = asdict(AnalyzerSpec(name=spec.name)), asdict(spec)
    return {"name": spec.name} | {name: value for name, value in given.items() if value != usual[name]}


def analyzer_name(spec: AnalyzerSpec) -> str:
    """A spec in a word or two: `universal` is the default one, its variants name the difference.

    >>> [analyzer_name(AnalyzerSpec(**fields)) for fields in ({}, {"words": 3}, {"kana_han": (1, 4)})]
    ['universal', 'universal words 1–3', 'universal han 1–4']
    >>> [analyzer_name(AnalyzerSpec(name="words", words=n)) for n in (1, 2)]
    ['words 1', 'words 1–2']
    """
    fields = analyzer_fields(spec)
    name = fields.pop("name")
    parts = [name]
    if name != "universal":
        words = fields.pop("words", 1)
        parts = [f"{name} 1–{words}" if words > 1 else f"{name} 1" if name == "words" else name]
    for field, value in fields.items():
        if field == "words":
            parts.append("words 1" if value == 1 else f"words 1–{value}")
        elif field in ("kana_han", "hangul", "unspaced"):
            parts.append(f"{'han' if field == 'kana_han' else field} {value[0]}–{value[1]}")
        elif field == "stop_words":
            parts.append(f"{len(value)} stop words")
        else:
            parts.append(field if value is True else f"{field} {value}")
    return " ".join(parts)


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
        raise OptionError(option="analyzers", value=name, expected="names, perhaps with a number as in words:2")
    spec = AnalyzerSpec(name=kind, words=int(words) if words else None)
    if spec.name == "columns":
        raise OptionError("the analyzer 'columns' reads tables", option="analyzers", hint="choose one that reads text")
    return spec
