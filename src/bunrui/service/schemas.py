"""What goes in and what comes out.

Bodies are checked by these classes.  Answers are not made from them: they describe what `answers.py`, `served.py` and
`jobs.py` make.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "Audit",
    "Changed",
    "Compare",
    "Evaluate",
    "Explain",
    "Explained",
    "Info",
    "Inspected",
    "Job",
    "Labels",
    "Learn",
    "Log",
    "Predict",
    "Predicted",
    "ProblemDetails",
    "Relabel",
    "Token",
    "Undo",
    "Undone",
    "Unlearn",
    "Words",
]

Texts = Annotated[list[str], Field(fail_fast=True, min_length=1, description="The documents.")]
OfTexts = Annotated[
    list[str] | list[list[str]],
    Field(description="The label of each text; or the labels of each text, as lists."),
]
Ids = Annotated[
    list[str | None], Field(fail_fast=True, description="A name for each text, null for none: to unlearn by it.")
]
Names = Annotated[list[str], Field(fail_fast=True, min_length=1)]
Model = Annotated[
    str | None,
    Field(
        description="Read the counts by this model, not by that of the file: multinomial, binary, mixed, bernoulli, "
        "complement, wcnb or binary-complement."
    ),
]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class Predict(_Body):
    """Documents to be labelled."""

    texts: Texts
    model: Model = None
    top: Annotated[
        int | None, Field(ge=1, description="Also the best so many labels of each text, with probabilities.")
    ] = None


class Explain(_Body):
    """A document to be explained."""

    text: Annotated[str, Field(max_length=100_000, description="The document.")]
    label: Annotated[str | None, Field(description="Explain this label, not the predicted one.")] = None
    against: Annotated[str | None, Field(description="Hold it against this one, not the next best.")] = None
    model: Model = None
    html: Annotated[bool, Field(description="Also draw it, for a page.")] = False


class Learn(_Body):
    """Documents with their labels."""

    texts: Texts
    labels: OfTexts
    ids: Ids | None = None


class _Chosen(_Body):
    texts: Texts | None = None
    ids: Annotated[Names | None, Field(description="The ids that the documents were learned with.")] = None
    digests: Annotated[Names | None, Field(description="The digests of the documents.")] = None

    @model_validator(mode="after")
    def _one_way(self) -> _Chosen:
        if sum(given is not None for given in (self.texts, self.ids, self.digests)) != 1:
            raise ValueError("say which documents by one of texts, ids and digests")
        return self


class Unlearn(_Chosen):
    """Documents that were learned: texts with their labels, or ids, or digests."""

    labels: OfTexts | None = None

    @model_validator(mode="after")
    def _labels_with_texts(self) -> Unlearn:
        if (self.labels is None) != (self.texts is None):
            raise ValueError("labels go with texts, and texts with labels")
        return self


class Relabel(_Chosen):
    """Documents that were learned, and what they are in truth."""

    to: Annotated[
        str | list[str],
        Field(
            description="Their label from now on, or their labels. Documents that have several take a list only: one "
            "label would replace them all (409)."
        ),
    ]


class Undo(_Body):
    """Which change to take back."""

    transaction: Annotated[
        int | None, Field(ge=1, description="Only if this is the last change; else nothing is undone (409).")
    ] = None


class Evaluate(_Body):
    """Documents with their labels, to be predicted; without them, each that the file keeps is left out in turn."""

    texts: Texts | None = None
    labels: OfTexts | None = None
    model: Model = None
    html: Annotated[bool, Field(description="Without texts: also draw the result, for a page.")] = False

    @model_validator(mode="after")
    def _both(self) -> Evaluate:
        if (self.labels is None) != (self.texts is None):
            raise ValueError("labels go with texts, and texts with labels")
        return self


class Audit(_Body):
    """What not to look at again."""

    kept: Annotated[
        list[str], Field(fail_fast=True, description="Digests of documents whose labels somebody has found right.")
    ] = []


class Compare(_Body):
    """What to compare."""

    trained: Annotated[bool, Field(description="Also models that are trained, which takes longer.")] = False


# --- what comes out


class Share(BaseModel):
    label: str
    probability: float


class Predicted(BaseModel):
    """In the order of the texts."""

    labels: list[str]
    probabilities: Annotated[list[float], Field(description="P(label | text) of these labels.")]
    top: Annotated[list[list[Share]] | None, Field(description="Where it was asked for: the best labels.")] = None


class Contribution(BaseModel):
    feature: str
    value: Annotated[float, Field(description="What all occurrences add to the difference of the two scores.")]
    count: int
    spans: Annotated[
        list[tuple[int, int]],
        Field(description="Where they stand in the text, [start, end). Characters are Unicode code points."),
    ]


class Explained(BaseModel):
    """`bias`, the values of `contributions` and `rest` add up to `score` less `against_score`."""

    label: str
    against: str | None
    probabilities: dict[str, float]
    score: float
    against_score: float | None
    bias: float
    contributions: list[Contribution]
    unknown: Annotated[list[str], Field(description="Features that were never learned.")]
    text: Annotated[str | None, Field(description="What is explained: the text, or the beginning of a long one.")]
    left_out: Annotated[int, Field(description="Characters after that, which are scored but not explained.")]
    rest: Annotated[float, Field(description="What those add to the difference of the two scores.")]
    html: Annotated[str | None, Field(description="Where it was asked for: the text in colours, and a table.")] = None


class Changed(BaseModel):
    """The change is in the file."""

    transaction: Annotated[int | None, Field(description="Its number in the log; null if nothing had to change.")]
    changed: Annotated[int, Field(description="Documents that it is about.")]
    documents: Annotated[int, Field(description="Documents that the classifier has learned now.")]
    duplicates: Annotated[
        int | None, Field(description="Of them, texts that had been learned before; null where the file cannot tell.")
    ] = None


class Undone(BaseModel):
    """The last change was taken back."""

    undone: Annotated[str, Field(description="What it was.")]
    changed: int
    documents: int


class LabelCount(BaseModel):
    label: str
    documents: int


class Labels(BaseModel):
    """Labels that have documents, sorted."""

    labels: list[LabelCount]


class Word(BaseModel):
    word: str
    weight: Annotated[float, Field(description="What one occurrence adds to the score.")]
    counts: dict[str, int]


class Words(BaseModel):
    words: list[Word]


class Info(BaseModel):
    """What `bunrui info --json` shows, and how the service runs."""

    model_config = ConfigDict(extra="allow")

    documents: int
    labels: dict[str, int]
    features: int
    model: str
    keep: str
    service: dict[str, Any]


class Change(BaseModel):
    number: int
    kind: str
    time: str
    n_docs: int
    note: dict[str, Any]
    undone: str | None


class Log(BaseModel):
    """Changes, the last one first."""

    changes: list[Change]
    next: Annotated[int | None, Field(description="There are more: they are before this number.")]


class Inspected(BaseModel):
    """What is in a file."""

    columns: Annotated[list[str], Field(description="None where the format has no columns.")]
    rows: Annotated[list[dict[str, Any]], Field(description="The first ones; long cells are cut.")]
    header: Annotated[
        bool | None,
        Field(description="Whether the first line was taken for the names of the columns; null if none can."),
    ]
    text: Annotated[str | None, Field(description="The column that was taken for the text,")]
    label: Annotated[
        str | None, Field(description="… and the one for the label; null if no column looks like labels: choose one.")
    ]
    documents: int
    labels: Annotated[dict[str, int], Field(description="Documents by label, the most frequent ones first.")]
    n_labels: int
    skipped: Annotated[int, Field(description="Rows that cannot be read.")]
    problems: Annotated[list[str], Field(description="What is wrong with the first of them.")]


class Token(BaseModel):
    right: bool


class Progress(BaseModel):
    done: Annotated[int, Field(description="Documents; of a comparison, measurements.")]
    total: int | None


class Job(BaseModel):
    """Work in the background."""

    id: str
    kind: Literal["batch", "leave-one-out", "train", "mistakes", "curve", "compare", "audit"]
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    progress: Progress
    result: Annotated[
        dict[str, Any] | None,
        Field(description="When it is done: metrics, suspects and so on; of train what learn answers."),
    ] = None
    problem: Annotated[dict[str, Any] | None, Field(description="Why it failed.")] = None


class ProblemDetails(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[dict[str, str]] | None = None
