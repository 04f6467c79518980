"""The options of a classifier ↔ what its file says of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from bunrui.analysis import AnalyzerSpec
from bunrui.analysis.analyzer import sharing
from bunrui.calibration import Calibration
from bunrui.classifier import TextClassifier
from bunrui.errors import BunruiError, MismatchError, MissingExtraError, OptionError
from bunrui.learner import SETTINGS
from bunrui.store import Store

__all__ = [
    "alpha_of",
    "calibration_of",
    "check_fingerprint",
    "checked_options",
    "hashing_of",
    "new_store",
    "options_of",
    "settings_of",
    "summary_of",
]

_NEW = {"class_norm": False, "against_rest": False, "m": 1}  # which files from before do not have


def settings_of(classifier: TextClassifier) -> dict[str, Any]:
    """What the file keeps of the options, besides the analyzer."""
    return classifier.settings


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
    settings = _NEW | store.settings()
    for name in ("max_features", "prior"):
        if isinstance(settings.get(name), list):
            settings[name] = tuple(settings[name])
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in store.analyzer.items()}
    if not isinstance(fields.get("stop_words"), tuple):
        raise store.unpacker().damaged("its stop words are no list")  # a string would be the path of a file
    try:
        return {"analyzer": AnalyzerSpec(**fields), **{name: settings[name] for name in ("model", *SETTINGS)}}
    except (KeyError, TypeError, ValueError, AttributeError, BunruiError) as error:
        raise store.unpacker().damaged(f"its options cannot be read ({error})") from error


@contextmanager
def checked_options(store: Store) -> Iterator[dict[str, Any]]:
    """The same, for a block that makes a classifier with them: that they do not fit is the fault of the file."""
    options = options_of(store)
    try:
        yield options
    except MissingExtraError:
        raise
    except (BunruiError, TypeError, ValueError, AttributeError) as error:
        raise store.unpacker().damaged(f"its options make no sense ({error})") from error


def check_fingerprint(store: Store, fingerprint: str) -> None:
    """Refuse a file whose features an analyzer would not make."""
    if fingerprint != store.fingerprint:
        raise MismatchError(
            f"{store.path} was made where the analyzer gave other features (another version of bunrui, of its "
            "dictionary or of Python's Unicode tables): open it there, or learn the documents again here"
        )


def alpha_of(classifier: TextClassifier) -> Any:
    """α as it is, or what the default comes to; None for a smoothing that has none."""
    if classifier.alpha is not None or classifier.smoothing == "mle":
        return classifier.alpha
    return classifier._smoothing.value + (classifier.smoothing == "map")


def hashing_of(classifier: TextClassifier, n_used: int) -> dict[str, Any] | None:
    """How much the buckets of hashed features mix up, as far as can be told; None where features are themselves."""
    bits = getattr(classifier.analyzer, "hash_bits", 0)
    return sharing(n_used, bits)._asdict() if bits else None


def calibration_of(store: Store) -> Calibration | None:
    """The calibration of the classifier in a file, if it has one."""
    known = store.settings().get("calibration")
    try:
        return None if known is None else Calibration.from_dict(known)
    except BunruiError as error:
        raise store.unpacker().damaged(f"its calibration makes no sense ({error})") from error


def summary_of(classifier: TextClassifier, calibration: Calibration, n_changed: int) -> dict[str, Any]:
    """What a calibration is worth, and how many documents were learned or unlearned since."""
    names = ("model", "n_docs", "ece_before", "ece_after", "log_loss_before", "log_loss_after")
    return {
        **{name: getattr(calibration, name) for name in names},
        "applies": classifier.is_calibrated,
        "changed_since": n_changed,
    }
