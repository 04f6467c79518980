"""The options of a classifier ↔ what its file says of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bunrui.analysis import AnalyzerSpec
from bunrui.classifier import TextClassifier
from bunrui.errors import BunruiError, OptionError
from bunrui.store import Store

__all__ = ["SETTINGS", "new_store", "options_of", "settings_of"]

# How the counts are read: may change at any time, unlike the analyzer.
SETTINGS = ("model", "smoothing", "alpha", "prior", "unseen", "min_df", "max_features")


def settings_of(classifier: TextClassifier) -> dict[str, Any]:
    """What the file keeps of the options, besides the analyzer."""
    return {name: getattr(classifier, name) for name in SETTINGS}


def new_store(path: str, like: TextClassifier, keep: str, pruned: int = 1, name: str | None = None) -> Store:
    """A new file for a classifier with these options; `name` is what it will be called."""
    spec = AnalyzerSpec(name=like.analyzer) if isinstance(like.analyzer, str) else like.analyzer
    if not isinstance(spec, AnalyzerSpec):
        raise OptionError("a file cannot keep a function: use the name of an analyzer, or an AnalyzerSpec")
    return Store.create(
        path,
        keep=keep,
        analyzer=asdict(spec),
        fingerprint=like.counts.fingerprint,
        settings=settings_of(like),
        pruned=pruned,
        name=name,
    )


def options_of(store: Store) -> dict[str, Any]:
    """The options of the classifier in a file."""
    settings = store.settings()
    if isinstance(settings.get("max_features"), list):
        settings["max_features"] = tuple(settings["max_features"])
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in store.analyzer.items()}
    if not isinstance(fields.get("stop_words"), tuple):
        raise store.unpacker().damaged("its stop words are no list")  # a string would be the path of a file
    try:
        return {"analyzer": AnalyzerSpec(**fields), **{name: settings[name] for name in SETTINGS}}
    except (KeyError, TypeError, ValueError, AttributeError, BunruiError) as error:
        raise store.unpacker().damaged(f"its options cannot be read ({error})") from error
