"""The options of a classifier ↔ what its file says of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

from bunrui.analysis import AnalyzerSpec
from bunrui.analysis.analyzer import sharing
from bunrui.calibration import Calibration
from bunrui.choice import Choice
from bunrui.classifier import SETTINGS, AnyClassifier, TextClassifier
from bunrui.errors import BunruiError, DataError, MismatchError, MissingExtraError, Option, OptionError, check_whole
from bunrui.labels import plain, type_of
from bunrui.models import DEFAULT_MODEL
from bunrui.models.kinds import is_kept
from bunrui.store.creation import check_folder, publish_when_done, temporary_beside
from bunrui.store.store import Store
from bunrui.store.transaction import Transaction
from bunrui.store.weights import Heading, Rows, stamp_weights, write_weights
from bunrui.unlabelled import PoolWeight

_NEW = {"class_norm": False, "against_rest": False, "m": 1}  # which files from before do not have


def new_store(
    path: str,
    like: AnyClassifier,
    keep: str,
    pruned: int = 1,
    name: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Store:
    """A new file for a classifier with these options; `name` is what it will be called."""
    spec = AnalyzerSpec(name=like.analyzer) if isinstance(like.analyzer, str) else like.analyzer
    if not isinstance(spec, AnalyzerSpec):
        raise OptionError("a file cannot keep a function: use the name of an analyzer, or an AnalyzerSpec")
    return Store.create(
        path,
        keep=keep,
        analyzer=asdict(spec),
        fingerprint=like.counts.fingerprint,
        settings=settings_of(like.settings if settings is None else settings),
        pruned=pruned,
        name=name,
    )


def settings_of(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON can have them: keys there are strings, so that the labels of a prior stand in pairs.

    >>> settings_of({"alpha": 1, "prior": {-1: 0.4, 1: 0.6}})
    {'alpha': 1, 'prior': [[-1, 0.4], [1, 0.6]]}
    """
    prior = settings["prior"]
    if not isinstance(prior, Mapping) or type_of(prior) in (str, None):
        return settings
    return settings | {"prior": [[plain(label), share] for label, share in prior.items()]}


def options_of(store: Store) -> dict[str, Any]:
    """The options of the classifier in a file."""
    settings = _NEW | store.settings()
    for name in ("max_features", "prior"):
        value = settings.get(name)
        if isinstance(value, list):
            is_pairs = all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], int) for pair in value)
            settings[name] = dict(value) if is_pairs else tuple(value)
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in store.analyzer.items()}
    if not isinstance(fields.get("stop_words"), tuple):
        raise store.unpacker().damaged("its stop words are no list")  # a string would be the path of a file
    try:
        return {"analyzer": AnalyzerSpec(**fields), **{name: settings[name] for name in ("model", *SETTINGS)}}
    except (KeyError, TypeError, ValueError, AttributeError, BunruiError) as error:
        raise store.unpacker().damaged(f"its options cannot be read ({error})") from error


def classifier_of(store: Store) -> TextClassifier:
    """A classifier in memory with the options of a file, which has learned nothing yet.

    Raises
    ------
    DamagedError
        If the options do not fit together: that is the fault of the file.
    MismatchError
        If the analyzer makes other features here than the file has.
    """
    options = options_of(store)
    try:
        new = TextClassifier(**options)
    except MissingExtraError:
        raise
    except (BunruiError, TypeError, ValueError, AttributeError) as error:
        raise store.unpacker().damaged(f"its options make no sense ({error})") from error
    if new.counts.fingerprint != store.fingerprint:
        raise MismatchError(
            f"{store.path} was made where the analyzer gave other features (another version of bunrui, of its "
            "dictionary or of Python's Unicode tables): open it there, or learn the documents again here"
        )
    return new


def hashing_of(classifier: AnyClassifier, n_used: int) -> dict[str, Any] | None:
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


def choice_of(store: Store) -> Choice | None:
    """What `auto` stands for in a file, if that was chosen; a choice that this version does not know is none."""
    try:
        return Choice.from_dict(store.settings().get("choice"))
    except DataError:
        return None


def pool_weight_of(store: Store) -> PoolWeight | None:
    """How much the texts without a label count in a file, if that was weighed; one of another version is none."""
    try:
        return PoolWeight.from_dict(store.settings().get("pool_weight"))
    except DataError:
        return None


def summary_of(classifier: AnyClassifier, calibration: Calibration, n_changed: int) -> dict[str, Any]:
    """What a calibration is worth, and how many documents were learned or unlearned since."""
    names = ("model", "n_docs", "ece_before", "ece_after", "log_loss_before", "log_loss_after")
    return {
        **{name: getattr(calibration, name) for name in names},
        "applies": classifier.is_calibrated,
        "changed_since": n_changed,
    }


def check_slim(classifier: AnyClassifier, min_df: Any, *, has_memory: bool = False) -> None:
    """Refuse what cannot be; with `has_memory`, the copy is to be made within some memory."""
    check_whole("min_df", min_df)
    if classifier.pool_weight is not None and classifier.pool_weight.weight:
        raise OptionError(
            "texts without a label help this classifier, and a slim copy keeps none, so that it would answer otherwise",
            hint="copy the file, and let them go there first",
        )
    if not classifier.needs_documents or (is_kept(classifier.model) and not has_memory):
        return
    hint: Any = "first choose a model that reads counts, such as ", Option("model", DEFAULT_MODEL)
    if is_kept(classifier.model):
        hint = "leave ", Option("memory"), " out, so that the copy gets weights"
    raise OptionError(f"{classifier.model} is trained from documents, and a slim copy keeps none", hint=hint)


def write_slim(
    name: str,
    like: AnyClassifier,
    pruned: int,
    min_df: int,
    fill: Callable[[Transaction], int],
    weights: tuple[Heading, Rows] | None = None,
) -> int:
    """Make the copy; `fill` writes its counts, and returns the number of their documents.

    `like` has the options, `pruned` is the number of documents that a word had to be in before, and `weights` are those
    of a trained model.  Returns the number for the copy.
    """
    least = max(min_df, pruned)
    with publish_when_done(name) as temporary:
        # What was chosen stays: the copy has no documents to choose by.
        store = new_store(temporary, like, "nothing", least, name, like.effective_settings)
        with closing(store), store.writing():
            transaction = store.transaction("slim")
            transaction.n_docs = fill(transaction)
            transaction.finish()
            if weights is not None:
                write_weights(store, *weights)
                stamp_weights(store, weights[0])
            if like.calibration is not None and min_df <= like.min_df:  # else the copy is another model
                known = replace(like.calibration, tx=transaction.number).to_dict()
                store.save_settings(store.settings() | {"calibration": known})
    return least


def save_counts(path: str, classifier: AnyClassifier, **note: Any) -> None:
    """Write a file with the counts of a classifier and no documents, in the place of one that may be there.

    It answers as the classifier does, and its log has the note.
    """
    check_slim(classifier, min_df := int(classifier.min_df))
    check_folder(path)
    with classifier.memory.lock.read():
        counts = classifier.counts.pruned(min_df)

    def fill(transaction: Transaction) -> int:
        transaction.note |= note
        transaction.snapshot(counts, transaction.number)
        return counts.n_docs

    with temporary_beside(path) as temporary:
        write_slim(temporary, classifier, 1, min_df, fill)
        os.replace(temporary, path)
