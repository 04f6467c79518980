"""`Settings`: one way to make a classifier, and how simple it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from bunrui.analysis import AnalyzerSpec
from bunrui.classifier import TextClassifier
from bunrui.models import DEFAULT_MODEL, MODELS
from bunrui.models.base import smoothing_of
from bunrui.trained.names import kind_of

__all__ = ["Settings", "analyzer_fields", "analyzer_name"]

_USUAL = AnalyzerSpec()
_HEAD_ALPHA = 0.5  # the default of nbsvm and arow


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
        if self.is_trained:
            return self.alpha
        return smoothing_of(self.smoothing, self.alpha, self._default_lam).value

    @property
    def strength(self) -> float:
        """λ as a multiple of the default: how much is smoothed."""
        if self.is_trained:
            return 1.0 if self.alpha is None else self.alpha / _HEAD_ALPHA
        return smoothing_of(self.smoothing, self.alpha, self._default_lam).value / self._default_lam

    @property
    def _default_lam(self) -> float:
        return MODELS[self.model].default_alpha(class_norm=self.class_norm)

    def replace(self, **changes: Any) -> Settings:
        """The same with some of them changed."""
        return replace(self, **changes)

    def options(self) -> dict[str, Any]:
        """All but the analyzer, as arguments of `with_model`."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "analyzer"}

    def classifier(self) -> TextClassifier:
        """A new one, which has learned nothing."""
        return TextClassifier(analyzer=self.analyzer, **self.options())

    def changed(self) -> dict[str, Any]:
        """What differs from the defaults, the analyzer by its fields, in the types of JSON."""
        usual = Settings()
        names = [field.name for field in fields(self)]
        found = {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}
        return found | ({"analyzer": analyzer_fields(self.analyzer)} if "analyzer" in found else {})

    def simplicity(self, n_features: int) -> tuple[Any, ...]:
        """Simpler settings sort first: the module `search` says what is simpler."""
        return self.is_trained, len(self.changed()), n_features, -self.strength

    def describe(self) -> str:
        """In a few words."""
        parts = [self.model]
        if self.smoothing != "eap":
            parts.append(self.smoothing)
        elif self.lam is not None:
            parts.append(f"alpha {self.lam:g}")
        parts.append(analyzer_name(self.analyzer))
        rest = self.changed()
        for name in ("analyzer", "model", "smoothing", "alpha"):
            rest.pop(name, None)
        parts += [name if value is True else f"{name} {value}" for name, value in rest.items()]
        return ", ".join(parts)


def analyzer_fields(spec: AnalyzerSpec) -> dict[str, Any]:
    """The name of a spec, and the fields that are not the usual ones.

    >>> analyzer_fields(AnalyzerSpec(name="words", words=2))
    {'name': 'words', 'words': 2}
    """
    usual, given = asdict(AnalyzerSpec(name=spec.name)), asdict(spec)
    return {"name": spec.name} | {name: value for name, value in given.items() if value != usual[name]}


def analyzer_name(spec: AnalyzerSpec) -> str:
    """A spec in a word or two: `universal` is the default one, its variants name what differs.

    >>> [analyzer_name(AnalyzerSpec(**fields)) for fields in ({}, {"words": 3}, {"kana_han": (1, 4)})]
    ['universal', 'universal words 1–3', 'universal han 1–4']
    >>> [analyzer_name(AnalyzerSpec(name="words", words=n)) for n in (1, 2)]
    ['words 1', 'words 1–2']
    """
    fields = analyzer_fields(spec)
    name = fields.pop("name")
    if name != "universal":
        words = fields.pop("words", 1)
        parts = [f"{name} 1–{words}" if words > 1 else f"{name} 1" if name == "words" else name]
    else:
        parts = [name]
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
