"""Labels → groups of documents with the same labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.analysis.texts import whole
from bunrui.counts import Label
from bunrui.errors import DataError, LabelError, Option
from bunrui.labels import check_types, fits, plain
from bunrui.phrases import counted, unfit

Integers = npt.NDArray[np.int64]

_KINDS = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_integer, pa.types.is_boolean),
)
MOST_COPIES = 10**9
_NUMBERS = "biufUO"  # NumPy's kinds: strings and objects may be numbers
_UNFIT = re.compile("[\0\ud800-\udfff]").search


class LabelSets(NamedTuple):
    """The labels of each document: group g has labels[indices[k]] for members[g] <= k < members[g + 1]."""

    labels: list[Label]
    groups: Integers  # (n_docs,)
    members: Integers  # (n_groups + 1,)
    indices: Integers
    copies: Integers | None = None  # (n_docs,): how often each document counts; None: once

    @property
    def is_single(self) -> bool:
        """True if every group is one label, in the same order."""
        n = len(self.labels)
        return len(self.members) - 1 == len(self.indices) == n and self.indices.tolist() == list(range(n))

    @property
    def names(self) -> list[list[Label]]:
        """The labels of every group."""
        members = [self.labels[k] for k in self.indices.tolist()]
        return [members[a:b] for a, b in pairwise(self.members.tolist())]

    def by_label(self, by_group: Integers) -> Integers:
        """Sums over groups → over the labels that they have, on the last axis."""
        out = np.zeros((*by_group.shape[:-1], len(self.labels)), np.int64)
        for g, count in enumerate(np.moveaxis(by_group, -1, 0)):
            out[..., self.indices[self.members[g] : self.members[g + 1]]] += count[..., None]
        return out

    def subset(self, rows: Integers) -> LabelSets:
        """The same for some of the documents."""
        copies = None if self.copies is None else self.copies[rows]
        return self._replace(groups=self.groups[rows], copies=copies)


def label_sets(labels: Any, n_docs: int, known: Mapping[Label, int]) -> LabelSets:
    """Labels of documents: strings, integers or booleans, all of one type, or collections of them.

    They come back as Python's own types: `np.int64(3)` is 3.

    Known labels come first, in the order of their ids, so that counts are added without sorting.
    """
    if type(labels) is not list:
        _check_listed(labels)
    values, codes, sets = _encode(whole(labels))
    check_types(values, known)
    for value in values:
        # NumPy's strings drop NUL at the end, and nothing encodes a lone surrogate: another label would come back.
        if isinstance(value, str) and _UNFIT(value):
            raise LabelError(f"a label is {value!r}, with a NUL or a lone surrogate: give it another name")
    if len(codes) != n_docs:
        are = "there is" if n_docs == 1 else "there are"
        raise DataError(
            f"{are} {counted(n_docs, 'text')} and {counted(len(codes), 'label')}: give one label for each text"
        )
    order = sorted(range(len(values)), key=lambda v: (known.get(values[v], len(known)), values[v]))
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    names = [values[v] for v in order]
    if sets is None:
        every = np.arange(len(values) + 1, dtype=np.int64)
        return LabelSets(names, rank[codes], every, every[:-1])
    members = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
    indices = np.array([rank[v] for s in sets for v in sorted(s, key=rank.__getitem__)], np.int64)
    return LabelSets(names, codes, members, indices)


def _check_listed(labels: Any) -> None:
    """Refuse what is no list of labels."""
    if isinstance(labels, str):
        raise LabelError("labels should be a list with one for each text, not one string")
    if isinstance(labels, (Mapping, Set)) or not any(
        hasattr(labels, name) for name in ("__iter__", "__arrow_c_array__")
    ):
        raise LabelError(f"labels should be a list with one for each text, not {type(labels).__name__}")
    if hasattr(labels, "columns") and hasattr(labels, "shape"):
        raise LabelError("labels are a data frame: give one of its columns, for example df['label']")
    if isinstance(labels, np.ndarray) and labels.ndim > 1 and labels.dtype.kind in "biuf":
        # A matrix of 0 and 1 says which labels a document has: read as sets, they would all be 0 and 1.
        raise LabelError(f"labels have the shape {labels.shape}: give one for each text, or a list of its labels")


def weights_of(sample_weight: Any, n_docs: int) -> npt.NDArray[np.float64]:
    """Weights of documents, (n_docs,): numbers from 0 on, and not all of them 0."""
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind not in _NUMBERS:
            raise TypeError(f"their type is {given.dtype}")
        weights = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError((Option("sample_weight"), f" has a weight that is no number ({error})")) from error
    if weights.shape != (n_docs,):
        expected = f"one weight for each of {n_docs} texts"
        raise DataError(option="sample_weight", value=weights.shape, expected=expected)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise _wrong_weight(weights, wrong, "0 or more", "unlearn takes documents back")
    if not weights.any():
        raise DataError((Option("sample_weight"), " is 0 for all texts: leave it out to weigh them alike"))
    return weights


def copies_of(sample_weight: Any, n_docs: int) -> Integers:
    """Weights as whole numbers: a document of weight 3 counts as three.

    >>> copies_of([2.0, 0.0], 2).tolist()
    [2, 0]
    """
    weights = weights_of(sample_weight, n_docs)
    wrong = np.flatnonzero((weights != np.floor(weights)) | (weights > MOST_COPIES))
    if len(wrong):
        hint = (
            "multiply all weights by one number that makes them whole, or learn a matrix: MultinomialNB adds fractions"
        )
        raise _wrong_weight(weights, wrong, f"a whole number up to {MOST_COPIES:,}, as counts are exact", hint)
    return weights.astype(np.int64)


def _wrong_weight(weights: npt.NDArray[np.float64], rows: Integers, expected: str, hint: str) -> DataError:
    row = int(rows[0])
    problem = (Option("sample_weight"), f" of text {row}")
    return DataError(problem, row, value=weights[row].item(), expected=expected, hint=hint)


def check_new(labels: Iterable[Label], known: Callable[[], Collection[Label]] = tuple) -> None:
    """Refuse new labels with a bad name; `known` labels, which a file already has, may stay.

    >>> check_new(["spam", " "])
    Traceback (most recent call last):
    ...
    bunrui.errors.LabelError: a label is blank: give it a name
    """
    for label in labels:
        why = unfit(label) if isinstance(label, str) else None
        if why and label not in known():
            raise LabelError(f"a label {why}")


def _encode(labels: Any) -> tuple[list[Label], Integers, list[list[int]] | None]:
    """Distinct labels, the code of each document, and the labels of each code if documents have several."""
    if isinstance(labels, (list, Sequence)) and len(labels) <= 32:
        return _encode_few(labels)
    try:
        array = labels if isinstance(labels, (pa.Array, pa.ChunkedArray)) else pa.array(labels)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError):
        return _encode_few(labels)
    if any(is_it(array.type) for is_it in _KINDS):
        array = array.dictionary_encode()
    if not pa.types.is_dictionary(array.type):
        return _encode_few(array.to_pylist())
    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
        array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    if array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise LabelError(f"the label of text {row} is missing (null)")
    try:
        values = array.dictionary.to_pylist()
    except UnicodeDecodeError as error:
        raise LabelError(f"a label is not valid UTF-8: {error}. Decode it with its own encoding first") from error
    # A slice, or a category that no row has, leaves values in the dictionary that are no labels of these documents.
    codes = array.indices.to_numpy().astype(np.int64)
    used = np.bincount(codes, minlength=len(values)) > 0
    codes = (np.cumsum(used) - 1)[codes]
    return [_check_label(values[v], "among the labels") for v in np.flatnonzero(used).tolist()], codes, None


def _encode_few(labels: Any) -> tuple[list[Label], Integers, list[list[int]] | None]:
    values: dict[Label, int] = {}
    sets: dict[tuple[Label, ...], int] = {}
    kind: type | None = None
    codes = []
    several = False
    for row, label in enumerate(labels):
        if not isinstance(label, (str, bytes)) and isinstance(label, Collection):
            several = True
            listed = [_check_label(name, f"of text {row}") for name in label]
            if not listed:
                raise LabelError(f"text {row} has no label: give at least one")
        else:
            if isinstance(label, (float, np.floating)):  # pandas makes floats of integers where one is missing
                row, label = next(((k, one) for k, one in enumerate(labels) if _is_missing(one)), (row, label))
            listed = [_check_label(label, f"of text {row}")]
        for name in listed:
            kind = kind or type(name)
            if type(name) is not kind:
                raise LabelError(
                    f"a label of text {row} is {name!r}, of type {type(name).__name__}, and others are of type "
                    f"{kind.__name__}: convert all labels to one type, such as str"
                )
        names = tuple(sorted(set(listed))) if several else tuple(listed)
        for name in names:
            values.setdefault(name, len(values))
        codes.append(sets.setdefault(names, len(sets)))
    if not several:
        return list(values), np.array(codes, np.int64), None
    return list(values), np.array(codes, np.int64), [[values[name] for name in names] for names in sets]


def _is_missing(label: Any) -> bool:
    """Tell whether it is None, NaN, or the missing value of pandas."""
    is_nan = isinstance(label, (float, np.floating)) and label != label
    return label is None or is_nan or type(label).__name__ in ("NAType", "NaTType")


def _check_label(label: Any, where: str) -> Label:
    label = plain(label)
    if isinstance(label, int):
        if not fits(label):
            raise LabelError(f"a label {where} is {label}, which has more than 64 bits: convert labels with str")
        return label
    if _is_missing(label):
        raise LabelError(f"the label {where} is missing: give one, or leave the text out")
    if isinstance(label, (float, np.floating)):
        if not float(label).is_integer():
            raise LabelError(f"a label {where} is {float(label)!r}, a fraction: convert labels with str")
        raise LabelError(
            f"a label {where} is {float(label)!r}, a float: convert all to integers, as y.astype(int) does"
        )
    if not isinstance(label, str):
        raise LabelError(f"a label {where} is {label!r}, no string, integer or boolean: convert labels with str")
    if not label:
        raise LabelError(f"a label {where} is empty: give it a name, or leave the text out")
    return label
