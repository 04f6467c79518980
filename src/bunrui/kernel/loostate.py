"""What leave-one-out reads and where it works: the counts of all documents, a model of them, room for one document."""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.primitives import U64
from bunrui.kernel.score import Linear, Sums
from bunrui.kernel.signature import F64s, I32s, I64s, U8s, record

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


@record
class Labels(NamedTuple):
    """The classes of documents, and the priors without one of them."""

    groups: I64s  # (documents): the set of classes that each has
    starts: I64s  # (groups + 1)
    classes: I64s  # those of group g are classes[starts[g]] … classes[starts[g + 1] - 1]
    priors: F64s  # (groups × classes): logarithms, without a document of the group


@record
class Whole(NamedTuple):
    """The counts of all documents.  A list as long as there are classes is in their order; `classes` is not read."""

    features: I64s  # (FIELDS × features)
    classes: I32s  # (cells)
    counts: I64s  # (cells)
    doc_count: I64s  # (classes)
    class_sum: I64s  # (classes)


@record
class Constants(NamedTuple):
    """What NORMALISED and BERNOULLI sum over the vocabulary, in the parts of `kernel/sums.py`.

    Parts by class have first the high ones of all classes, then the low ones.
    """

    parts: I64s  # (2 × classes): sums over the cells of each class
    lessened: I64s  # (2 × classes): the same of BERNOULLI, for classes that have lost a document
    shared: I64s  # (2): what NORMALISED sums over all features
    before: F64s  # (cells): weights of NORMALISED, of the whole
    more: I32s  # (2 × cells): what `Model.weights` have more than these; of each list the high parts, then the low


@record
class Absent(NamedTuple):
    """For BERNOULLI: a word that k documents of a class have, when the class has lost one of its documents."""

    starts: I64s  # (classes): where k = 0 stands
    weights: F64s  # of a word that is present
    high: I64s  # log(1 - P), less that of a word that no document has, in parts
    low: I64s
    logs: F64s  # (4 × classes): log(D + λ), log(D + 2λ); then both with a document less


@record
class Model(NamedTuple):
    """How a model reads them.  "Once" is what holds without a document that has the feature once."""

    reading: I64s  # (6)
    numbers: F64s  # (3)
    weights: F64s  # (cells): once, in a class that does not have the document
    own: F64s  # (cells): of the complement once, in a class that has the document
    logs: F64s  # of MULTINOMIAL for the counts 0, 1, …, as many as there are
    shared: F64s  # (features): shared[f], once; empty where it is 0
    lam: F64s  # (features): λ of each; empty where they share it
    n_named: I64s  # (documents): features left without each that have a λ of their own; empty where λ is shared
    named_lam: F64s  # (documents): the sum of their λ
    constants: Constants
    absent: Absent


@record
class Work(NamedTuple):
    """Room for one document."""

    linear: Linear
    sums: Sums
    class_sum: I64s  # (classes)
    parts: I64s  # (2 × classes): as in `Constants`
    kept: I64s  # (2 × classes)
    shared_parts: I64s  # (2)
    is_own: U8s  # (classes): 1 where the class has the document
    left: I64s  # (3): what the others have
    starts: I64s  # (features of the longest row): where the list of each begins, or GONE
    lengths: I64s  # (the same): how long it is
    anew: I64s  # (the same): where its weights begin in `weights`, or GONE where those of the model hold
    shared: F64s  # (the same)
    own: F64s  # (the same): weights in one of the classes that have the document
    weights: F64s  # of the complement, for features that the document has more than once
    more: I32s  # (twice as many): as in `Constants`
