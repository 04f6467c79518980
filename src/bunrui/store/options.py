"""The options of a classifier ↔ the settings of its file; the choices in it, and the sample to choose by."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any, TypeVar

import numpy as np

from bunrui.analysis import AnalyzerSpec
from bunrui.analysis.analyzer import sharing
from bunrui.calibration import Calibration
from bunrui.choice import Choice
from bunrui.classifier import SETTINGS, AnyClassifier, Chosen, TextClassifier
from bunrui.counts import Counts
from bunrui.errors import BunruiError, DataError, MismatchError, MissingExtraError, Option, OptionError, check_whole
from bunrui.labels import plain, type_of
from bunrui.memory import key_words
from bunrui.models import DEFAULT_MODEL, kind_of
from bunrui.models.kinds import is_kept
from bunrui.sample import Drawn, find_lowest
from bunrui.store.creation import check_folder, publish_when_done, temporary_beside
from bunrui.store.store import KEEPS, Store
from bunrui.store.transaction import Transaction, now
from bunrui.store.weights import Heading, Rows, write_weights
from bunrui.unlabelled import PoolWeight

Path = str | os.PathLike[str]
T = TypeVar("T")

_NEW = {"class_norm": False, "against_rest": False, "m": 1}  # older files do not have these options


def new_store(
    path: str, name: str, like: AnyClassifier, keep: str, pruned: int = 1, settings: dict[str, Any] | None = None
) -> Store:
    """A new file for a classifier with these options; `name` is its final name."""
    spec = AnalyzerSpec(name=like.analyzer) if isinstance(like.analyzer, str) else like.analyzer
    if not isinstance(spec, AnalyzerSpec):
        raise OptionError("a file cannot keep a function: use the name of an analyzer, or an AnalyzerSpec")
    meta = {
        "analyzer": asdict(spec),
        "created": now(),
        "fingerprint": like.counts.fingerprint,
        "generation": 0,
        "keep": keep,
        "pruned": pruned,
        "settings": settings_of(like.settings if settings is None else settings),
    }
    return Store.create(path, name, meta)


@contextmanager
def creating_store(path: Path, model: str, keep: str, options: dict[str, Any]) -> Iterator[Store]:
    """A new file that appears under its name when the block ends without an error, if its options make sense."""
    name = os.fspath(path)
    if keep not in KEEPS:
        raise OptionError(option="keep", value=keep, expected=f"one of {', '.join(reversed(KEEPS))}")
    check_keeps(model, keep, name)
    like = TextClassifier(model, **options)
    with publish_when_done(name) as temporary, closing(new_store(temporary, name, like, keep)) as store:
        yield store


def open_with(path: Path, make: Callable[[Store], T], *, read_only: bool) -> T:
    """Open a file, and give it to a function; if that fails, close the file again."""
    store = Store.open(os.fspath(path), read_only=read_only)
    try:
        return make(store)
    except BaseException:
        store.close()
        raise


def check_keeps(model: str, keep: str, path: str) -> None:
    """Refuse a model that needs documents where they are not kept."""
    if kind_of(model).needs_documents and keep != "text":
        problem = f"{model} is trained from documents, and {path} keeps {keep} of them"
        raise OptionError(problem, hint="learn into a file that keeps text, or choose a model that reads counts")


def settings_of(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON can have them: keys there are strings, so that the labels of a prior stand in pairs.

    >>> settings_of({"alpha": 1, "prior": {-1: 0.4, 1: 0.6}})
    {'alpha': 1, 'prior': [[-1, 0.4], [1, 0.6]]}
    """
    prior = settings.get("prior")
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
        why = "another version of bunrui, of its dictionary or of Python's Unicode tables"
        problem = f"{store.path} was made where the analyzer gave other features ({why})"
        raise MismatchError(problem, hint="open it there, or learn the documents again here")
    return new


def reader_of(store: Store) -> TextClassifier:
    """The same, with the model that was chosen and the calibration; call while reading."""
    new = classifier_of(store)
    new.take_on(*chosen_of(store))
    return new


def hashing_of(classifier: AnyClassifier, n_used: int) -> dict[str, Any] | None:
    """How much the buckets of hashed features mix up, as far as can be told; None where features are themselves."""
    bits = getattr(classifier.analyzer, "hash_bits", 0)
    return sharing(n_used, bits)._asdict() if bits else None


def check_slim(classifier: AnyClassifier, min_df: Any, *, has_memory: bool = False) -> None:
    """Refuse a slim copy that could not answer; with `has_memory`, the copy is to be made within some memory."""
    check_whole("min_df", min_df)
    if classifier.pool_weight is not None and classifier.pool_weight.weight:
        problem = "texts without a label help this classifier, and a slim copy keeps none"
        raise OptionError(problem, hint="copy the file, and let them go there first")
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
    content: Counts | Callable[[Transaction], int],
    weights: tuple[Heading, Rows] | None = None,
    **note: Any,
) -> int:
    """Make the copy; where its counts do not fit into memory, a function writes them, and returns their documents.

    `like` has the options, `pruned` is the number of documents that a word had to be in before, `weights` are those of
    a trained model, and `note` is for the log.  Returns the number for the copy.
    """
    least = max(min_df, pruned)
    with publish_when_done(name) as temporary:
        # The chosen model stays: the copy has no documents to choose by.
        store = new_store(temporary, name, like, "nothing", least, like.effective_settings)
        with closing(store), store.writing():
            transaction = Transaction(store, "slim", note)
            if isinstance(content, Counts):
                transaction.snapshot(content, transaction.number)
                transaction.n_docs = content.n_docs
            else:
                transaction.n_docs = content(transaction)
            transaction.finish()
            if weights is not None:
                write_weights(store, *weights)
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
    with temporary_beside(path) as temporary:
        write_slim(temporary, classifier, 1, min_df, counts, **note)
        os.replace(temporary, path)


def chosen_of(store: Store, settings: Mapping[str, Any] | None = None) -> Chosen:
    """The choices in a file; this version may not know a model or a weight that another one has chosen."""
    settings = store.settings() if settings is None else settings
    choice = weight = None
    known = settings.get("calibration")
    with suppress(DataError):
        choice = Choice.from_dict(settings.get("choice"))
    with suppress(DataError):
        weight = PoolWeight.from_dict(settings.get("pool_weight"))
    try:
        return Chosen(choice, None if known is None else Calibration.from_dict(known), weight)
    except DataError as error:
        raise store.unpacker().damaged(f"its calibration makes no sense ({error})") from error


def draw(store: Store, n_classes: int) -> Drawn:
    """A sample of the documents of a log, for this number of classes."""
    names, log = store.labels(), store.log
    ranks = np.empty(len(names), np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    sizes = dict(log.sizes())
    single: list[Any] = []  # the documents with one label
    for number, block, alive in log.headings():
        labels = np.array([ids[0] if len(ids) == 1 else -1 for ids in block.label_sets], np.int64)[block.codes]
        rows = alive[labels[alive] >= 0]
        keys = key_words(block.digests)[rows]
        single.append((keys, labels[rows], sizes[number][rows], np.full(len(rows), number), rows))
    if not single:
        return Drawn([], [], np.empty(0, np.int64), np.empty(0, bool))
    keys, codes, lengths, numbers, places = map(np.concatenate, zip(*single, strict=True))
    found = find_lowest(keys, ranks[codes], lengths, n_classes, np.ones(len(keys), np.int64))
    taken = found.rows[found.is_taken]
    texts: list[Any] = [None] * len(taken)
    for number in np.unique(numbers[taken]).tolist():
        mine = np.flatnonzero(numbers[taken] == number)
        for k, text in zip(mine.tolist(), log.block(number).pick(places[taken][mine]).documents(), strict=True):
            texts[k] = text
    labels_of = [names[code] for code in codes[taken].tolist()]
    return Drawn(texts, labels_of, found.copies[found.is_taken], found.is_common[found.is_taken])
