"""What leave-one-out reads and where it works: the counts of all documents, a model of them, room for one document."""

from __future__ import annotations

from typing import Any, NamedTuple

from bunrui.kernel.primitives import U64
from bunrui.kernel.score import Linear, Sums

# Places in `Whole.features`, of which each feature has FIELDS
DOCS = U64(0)  # documents that have it
TOTAL = U64(1)  # its occurrences, or documents where the model counts these
START = U64(2)  # of its list of cells
LENGTH = U64(3)  # of the list; 0 where the model does not know the feature
FIELDS = U64(4)

# Places in `Model.reading`
KIND = 0
PRESENCE = 1
BY_DOCS = 2
MIN_DF = 3
ALL_FEATURES = 4  # V
ALL_TERMS = 5  # N

# Kinds of model
MULTINOMIAL = 0
COMPLEMENT = 1
NORMALISED = 2  # the complement, its weights divided by the sum of their sizes
BERNOULLI = 3

# Places in `Model.numbers`
LAMBDA = 0
LOG_LAMBDA = 1
LEAST = 2  # denominators that are not above it count as 1

# Places in `Work.left`
N_FEATURES = 0
N_TERMS = 1
ROOM = 2  # cells of the document that are weighed anew

GONE = -1  # in place of a list: no other document, or too few of them, have the feature
AHEAD = U64(12)


class Labels(NamedTuple):
    """The classes of documents, and the priors without one of them."""

    groups: Any  # int64 (documents): the set of classes that each has
    starts: Any  # int64 (groups + 1)
    classes: Any  # int64: those of group g are classes[starts[g]] … classes[starts[g + 1] - 1]
    priors: Any  # float64 (groups × classes): logarithms, without a document of the group


class Whole(NamedTuple):
    """The counts of all documents.  A list as long as there are classes is in their order; `classes` is not read."""

    features: Any  # int64 (FIELDS × features)
    classes: Any  # int32 (cells)
    counts: Any  # int64 (cells)
    doc_count: Any  # int64 (classes)
    class_sum: Any  # int64 (classes)


class Constants(NamedTuple):
    """What NORMALISED and BERNOULLI sum over the vocabulary, in the parts of `kernel/sums.py`.

    Parts by class have first the high ones of all classes, then the low ones.
    """

    parts: Any  # int64 (2 × classes): sums over the cells of each class
    lessened: Any  # int64 (2 × classes): the same of BERNOULLI, for classes that have lost a document
    shared: Any  # int64 (2): what NORMALISED sums over all features
    before: Any  # float64 (cells): weights of NORMALISED, of the whole
    more: Any  # int32 (2 × cells): what `Model.weights` have more than these; of each list the high parts, then the low


class Absent(NamedTuple):
    """For BERNOULLI: a word that k documents of a class have, when the class has lost one of its documents."""

    starts: Any  # int64 (classes): where k = 0 stands
    weights: Any  # float64: of a word that is present
    high: Any  # int64: log(1 - P), less that of a word that no document has, in parts
    low: Any  # int64
    logs: Any  # float64 (4 × classes): log(D + λ), log(D + 2λ); then both with a document less


class Model(NamedTuple):
    """How a model reads them.  "Once" is what holds without a document that has the feature once."""

    reading: Any  # int64 (6)
    numbers: Any  # float64 (3)
    weights: Any  # float64 (cells): once, in a class that does not have the document
    own: Any  # float64 (cells): of the complement once, in a class that has the document
    logs: Any  # float64: of MULTINOMIAL for the counts 0, 1, …, as many as there are
    shared: Any  # float64 (features): shared[f], once; empty where it is 0
    lam: Any  # float64 (features): λ of each; empty where they share it
    n_named: Any  # int64 (documents): features left without each that have a λ of their own; empty where λ is shared
    named_lam: Any  # float64 (documents): the sum of their λ
    constants: Constants
    absent: Absent


class Work(NamedTuple):
    """Room for one document."""

    linear: Linear
    sums: Sums
    class_sum: Any  # int64 (classes)
    parts: Any  # int64 (2 × classes): as in `Constants`
    kept: Any  # int64 (2 × classes)
    shared_parts: Any  # int64 (2)
    is_own: Any  # uint8 (classes): 1 where the class has the document
    left: Any  # int64 (3): what the others have
    starts: Any  # int64 (features of the longest row): where the list of each begins, or GONE
    lengths: Any  # int64 (the same): how long it is
    anew: Any  # int64 (the same): where its weights begin in `weights`, or GONE where those of the model hold
    shared: Any  # float64 (the same)
    own: Any  # float64 (the same): weights in one of the classes that have the document
    weights: Any  # float64: of the complement, for features that the document has more than once
    more: Any  # int32 (twice as many): as in `Constants`
