"""Bodies and answers: their shapes, and their description in /openapi.json; examples.json has one of each.

Bodies are pydantic models, which check their input.  Answers are typed dictionaries, which the routes fill: the type
checker compares them with their description, and they cost nothing at run time.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NotRequired

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import to_json
from typing_extensions import TypedDict

from bunrui.models import MODELS
from bunrui.service.admission import ARROW, BYTES, JSON
from bunrui.service.errors import KINDS, MEDIA_TYPE

OPTIONS: dict[str, dict[str, Any]] = {"model": {"type": "string"}, "top": {"type": "integer", "minimum": 1}}
"""Members of bodies that stand in the address where the body is an Arrow stream."""

Texts = Annotated[list[str], Field(fail_fast=True, min_length=1, description="The documents.")]
Label = Annotated[
    str | int | bool,
    Field(
        description='All labels of a file have one type. Where that is not string, a string may stand for one: "10", '
        '"true".'
    ),
]
OfTexts = Annotated[
    list[Label] | list[list[Label]],
    Field(description="The label of each text; or the labels of each text, as lists."),
]
Ids = Annotated[
    list[str | None], Field(fail_fast=True, description="A name for each text, null for none: to unlearn by it.")
]
Names = Annotated[list[str], Field(fail_fast=True, min_length=1)]
Model = Annotated[
    str | None,
    Field(description=f"Read the counts by this model, not by that of the file: one of {', '.join(MODELS)}."),
]


class Body(BaseModel):
    """A body; `in_arrow` says whether its documents may also come as an Arrow stream."""

    model_config = ConfigDict(strict=True, extra="forbid")
    in_arrow: ClassVar[bool] = False


class Predict(Body):
    """Documents to be labelled."""

    in_arrow = True
    texts: Texts
    model: Model = None
    top: Annotated[
        int | None, Field(ge=1, description="Also the best so many labels of each text, with probabilities.")
    ] = None
    several: Annotated[
        bool, Field(description="Also the set of labels of each text: each label is held against the rest.")
    ] = False
    threshold: Annotated[float, Field(description="With several: the log-odds above which a label is in the set.")] = (
        0.0
    )


class Explain(Body):
    """A document to be explained."""

    text: Annotated[str, Field(max_length=100_000, description="The document.")]
    label: Annotated[Label | None, Field(description="Explain this label, not the predicted one.")] = None
    against: Annotated[Label | None, Field(description="Hold it against this one, not the next best.")] = None
    model: Model = None
    html: Annotated[bool, Field(description="Also draw it, for a page.")] = False


class Learn(Body):
    """Documents with their labels."""

    in_arrow = True
    texts: Texts
    labels: OfTexts
    ids: Ids | None = None


class _Chosen(Body):
    texts: Texts | None = None
    ids: Annotated[Names | None, Field(description="The ids that the documents were learned with.")] = None
    digests: Annotated[Names | None, Field(description="The digests of the documents.")] = None

    @model_validator(mode="after")
    def _one_way(self) -> _Chosen:
        if sum(given is not None for given in (self.texts, self.ids, self.digests)) != 1:
            raise ValueError("say which documents by one of texts, ids and digests")
        return self


def _check_both(body: Any) -> Any:
    """Refuse texts without labels, and labels without texts."""
    if (body.labels is None) != (body.texts is None):
        raise ValueError("labels go with texts, and texts with labels")
    return body


class Unlearn(_Chosen):
    """Documents that were learned: texts with their labels, or ids, or digests."""

    in_arrow = True
    labels: OfTexts | None = None
    _both = model_validator(mode="after")(_check_both)


class Unlabelled(Body):
    """Texts without a label."""

    in_arrow = True
    texts: Texts | None = None


class Relabel(_Chosen):
    """Documents that were learned, and what they are in truth."""

    to: Annotated[
        Label | list[Label],
        Field(
            description="Their label from now on, or their labels. Documents that have several take a list only: one "
            "label would replace them all (409)."
        ),
    ]


class Undo(Body):
    """Which changes to take back."""

    transaction: Annotated[
        int | None, Field(ge=1, description="Only if this is the last change; else nothing is undone (409).")
    ] = None
    to: Annotated[
        int | None, Field(ge=0, description="All changes after this one, all or none (409); 0 for all that there are.")
    ] = None


Client = Annotated[str, Field(max_length=100, description="A name that each client makes up for itself.")]


class Ask(Body):
    """Who asks for questions, and for how many."""

    client: Client
    n: Annotated[int, Field(ge=1, le=10)] = 1
    skipped: Annotated[bool, Field(description="Ask also for documents that were skipped.")] = False


class Answer(Body):
    """An answer to a question."""

    digest: Annotated[str, Field(description="Of the document.")]
    labels: Annotated[
        list[Label] | None, Field(min_length=1, max_length=1000, description="Its labels; null to skip the document.")
    ]
    client: Annotated[Client | None, Field(description="Who answers, and may undo it; else who was given it.")] = None


class TakeBack(Body):
    """An answer to take back."""

    digest: Annotated[str, Field(description="Of the document.")]
    client: Client


class Evaluate(Body):
    """Documents with their labels, to be predicted; without them, each that the file keeps is left out in turn."""

    in_arrow = True
    texts: Texts | None = None
    labels: OfTexts | None = None
    model: Model = None
    html: Annotated[bool, Field(description="Without texts: also draw the result, for a page.")] = False
    _both = model_validator(mode="after")(_check_both)


class Mistakes(Body):
    """What to make of them."""

    report: Annotated[bool, Field(description="Also a page to keep, in the member report of the result.")] = False


class SetModel(Body):
    """How the counts are read from now on."""

    model: Annotated[str, Field(description="Any model of bunrui, or auto: the file chooses by its documents.")]


class Audit(Body):
    """What not to look at again."""

    kept: Annotated[
        list[str], Field(fail_fast=True, description="Digests of documents whose labels somebody has found right.")
    ] = []


class Compare(Body):
    """What to compare."""

    trained: Annotated[bool, Field(description="Also models that are trained, which takes longer.")] = False


# --- answers


class Share(TypedDict):
    label: Label
    probability: float


class Odds(Share):
    """A label held against the rest: the probabilities of several labels do not add up to 1."""

    log_odds: float


class Sets(TypedDict, total=False):
    """In the order of the texts."""

    sets: Annotated[
        list[list[Label]] | None, Field(description="With several: the labels of each text, the surest first.")
    ]
    top: Annotated[
        list[list[Share]] | list[list[Odds]] | None,
        Field(description="Where it was asked for: the best labels; with several, each held against the rest."),
    ]


class Predicted(Sets):
    """In the order of the texts."""

    labels: list[Label]
    probabilities: Annotated[list[float], Field(description="P(label | text) of these labels.")]


class Contribution(TypedDict):
    feature: str
    value: Annotated[float, Field(description="What all occurrences add to the difference of the two scores.")]
    count: int
    spans: Annotated[
        list[tuple[int, int]],
        Field(description="Where they stand in the text, [start, end). Characters are Unicode code points."),
    ]


class Explained(TypedDict):
    """`bias`, the values of `contributions` and `rest` add up to `score` less `against_score`."""

    label: Label
    against: Label | None
    probabilities: dict[str, float]
    score: float
    against_score: float | None
    bias: float
    contributions: list[Contribution]
    unknown: Annotated[list[str], Field(description="Features that were never learned.")]
    text: Annotated[str | None, Field(description="What is explained: the text, or the beginning of a long one.")]
    left_out: Annotated[int, Field(description="Characters after that, which are scored but not explained.")]
    rest: Annotated[float, Field(description="What those add to the difference of the two scores.")]
    html: Annotated[
        NotRequired[str | None], Field(description="Where it was asked for: the text in colours, and a table.")
    ]


class Changed(TypedDict):
    """The change is in the file."""

    transaction: Annotated[int | None, Field(description="Its number in the log; null if nothing had to change.")]
    changed: Annotated[int, Field(description="Documents that it is about.")]
    documents: Annotated[int, Field(description="Documents that the classifier has learned now.")]
    duplicates: Annotated[
        NotRequired[int | None],
        Field(description="Of them, texts that had been learned before; null where the file cannot tell."),
    ]


class Undone(TypedDict):
    """The last change was taken back, or several."""

    undone: Annotated[str, Field(description="What the last one was.")]
    changes: Annotated[int, Field(description="How many were taken back.")]
    changed: Annotated[int, Field(description="Documents that they were about.")]
    documents: int


class LabelCount(TypedDict):
    label: Label
    documents: int


class Labels(TypedDict):
    """Labels that have documents, sorted."""

    labels: list[LabelCount]


class Word(TypedDict):
    word: str
    weight: Annotated[float, Field(description="What one occurrence adds to the score.")]
    counts: dict[str, int]


class Words(TypedDict):
    words: list[Word]


class Info(TypedDict):
    """What `bunrui info --json` shows, and how the service runs."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    documents: int
    labels: Annotated[dict[str, int], Field(description="Documents by label; keys of JSON are strings,")]
    label_type: Annotated[Literal["str", "int", "bool"] | None, Field(description="… and the labels are of this type.")]
    features: int
    model: str
    choice: Annotated[dict[str, Any] | None, Field(description="The model that auto stands for, and why.")]
    unlabelled: Annotated[
        dict[str, Any] | None,
        Field(description="How many texts without a label there are, how much they count, and why."),
    ]
    keep: str
    service: dict[str, Any]


class Change(TypedDict):
    number: int
    kind: str
    time: str
    n_docs: int
    note: Annotated[dict[str, Any], Field(description="What else is known of it: `by` and `undone_by` say who.")]
    undone: Annotated[str | None, Field(description="When it was taken back.")]


class Log(TypedDict):
    """Changes, the last one first."""

    changes: list[Change]
    next: Annotated[int | None, Field(description="There are more: they are before this number.")]
    joined: Annotated[int, Field(description="Changes up to this number were joined, and cannot be undone.")]


class Document(TypedDict):
    place: Annotated[str, Field(description="Where it stands: a page that begins here has it first.")]
    digest: str
    labels: list[Label]
    time: Annotated[str, Field(description="When it was learned first.")]
    id: str | None
    source: str | None
    text: Annotated[str | None, Field(description="Its beginning; null where the file keeps no texts.")]
    length: Annotated[int | None, Field(description="Characters of the whole text.")]


class Documents(TypedDict):
    """Documents, those that came last first."""

    documents: list[Document]
    next: Annotated[
        str | None, Field(description="Where the next page begins. A page may be empty, and not the last one.")
    ]
    looked: Annotated[int, Field(description="Documents that were looked at for this page.")]


class Inspected(TypedDict):
    """What is in a file."""

    columns: Annotated[list[str], Field(description="None where the format has no columns.")]
    choices: Annotated[list[str], Field(description="Columns that can be the label; numbers must be whole and few.")]
    rows: Annotated[list[dict[str, Any]], Field(description="The first ones; long cells are cut.")]
    header: Annotated[
        bool | None,
        Field(description="Whether the first line was taken for the names of the columns; null if none can."),
    ]
    encoding: Annotated[str | None, Field(description="As it was found out; null if the format knows its own.")]
    text: Annotated[str | None, Field(description="The column that was taken for the text,")]
    label: Annotated[
        str | None, Field(description="… and the one for the label; null if no column looks like labels: choose one.")
    ]
    documents: Annotated[int | None, Field(description="Null where only the first rows were read.")]
    labels: Annotated[dict[str, int], Field(description="Documents by label, the most frequent ones first.")]
    n_labels: int
    skipped: Annotated[int, Field(description="Rows that cannot be read.")]
    problems: Annotated[list[str], Field(description="What is wrong with the first of them.")]
    causes: Annotated[list[dict[str, Any]], Field(description="The same for programs: cause, file, line …")]


class File(TypedDict):
    """A file that is kept on disk until nobody has asked for it for an hour."""

    id: str
    name: str
    bytes: int


class PredictedRow(TypedDict):
    row: Annotated[int, Field(description="Its place among the documents, from 0 up.")]
    line: Annotated[int | None, Field(description="Its line, or its row, in the file.")]
    text: Annotated[str, Field(description="The beginning of the text; all of it where one row is asked for.")]
    labels: Annotated[list[Label], Field(description="One; any number where documents have several labels.")]
    probabilities: list[float]
    corrected: Annotated[bool, Field(description="Whether somebody gave it these labels.")]


class PredictedRows(TypedDict):
    """Some of the predicted documents of a file."""

    rows: list[PredictedRow]
    total: Annotated[int, Field(description="How many documents have this label and these words.")]


class Correct(Body):
    """The labels of a predicted row, as they should be; null takes them back."""

    row: Annotated[int, Field(ge=0)]
    labels: Annotated[list[Label] | None, Field(max_length=1000)] = None


class Taught(TypedDict):
    """How far teaching is."""

    name: Annotated[str, Field(description="Of the file with the documents; empty where there are none.")]
    documents: Annotated[int, Field(description="Documents to teach with, copies counted once.")]
    answers: Annotated[int, Field(description="Documents among them that are learned.")]
    left: int
    skipped: int
    copies: Annotated[int, Field(description="Documents whose text came before, which are not asked again.")]
    blank: Annotated[int, Field(description="Documents without text, which are left out.")]
    labels: Annotated[list[Label], Field(description="In the order of keys.")]


class Question(TypedDict):
    digest: str
    text: str
    cut: Annotated[int, Field(description="Characters after that, which are not shown.")]
    random: Annotated[bool, Field(description="Whether it was drawn at random, to estimate the accuracy.")]
    guess: Annotated[Label | None, Field(description="What the classifier thinks; null before it knows two labels.")]
    probability: float


class Questions(TypedDict):
    """Questions, the next one first; none where nothing is left."""

    questions: list[Question]


class Answered(TypedDict):
    """The answer is in the file."""

    learned: Annotated[bool, Field(description="False if it was skipped, or somebody was quicker.")]
    labels: Annotated[list[Label], Field(description="Those that the document has now.")]
    transaction: int | None
    changed: int
    answers: int
    left: int


class TakenBack(TypedDict):
    """An answer was taken back."""

    changed: Annotated[int, Field(description="0 if there was none.")]
    question: Question
    answers: int


class Forecast(TypedDict):
    likely: int
    low: int
    high: Annotated[int | None, Field(description="Null where nobody can tell the most that it takes.")]


class TaughtProgress(TypedDict):
    """How good the classifier is on the documents; null before anybody can tell."""

    answers: int
    left: int
    guessed: Annotated[int, Field(description="Answers to questions that came with a guess,")]
    agreed: Annotated[int, Field(description="… and those that were the same.")]
    trained: Annotated[bool, Field(description="Whether the model is trained: then there is no estimate.")]
    sample: Annotated[int, Field(description="Documents drawn at random, each predicted by all the others.")]
    accuracy: float | None
    low: Annotated[float | None, Field(description="The interval of 95 %, from here")]
    high: Annotated[float | None, Field(description="… to here.")]
    forecast: Annotated[Forecast | None, Field(description="How many more answers the wish takes.")]
    html: Annotated[str, Field(description="The curve, drawn.")]


class Token(TypedDict):
    right: bool


State = Literal["waiting", "running", "done", "failed", "cancelled"]


class Progress(TypedDict):
    done: Annotated[int, Field(description="Documents; of a comparison, measurements.")]
    total: int | None


Kind = Literal[
    "batch",
    "leave-one-out",
    "test",
    "train",
    "teach",
    "predict",
    "mistakes",
    "curve",
    "compare",
    "audit",
    "set",
    "choose",
    "calibrate",
]


class Job(TypedDict):
    """Work in the background."""

    id: str
    kind: Kind
    state: State
    progress: Progress
    result: Annotated[
        NotRequired[dict[str, Any] | None],
        Field(description="When it is done: metrics, suspects and so on; of what changes the file, the change."),
    ]
    problem: NotRequired[Annotated[dict[str, Any] | None, Field(description="Why it failed.")]]


class ProblemDetails(TypedDict):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: NotRequired[list[dict[str, str]] | None]
    cause: NotRequired[Annotated[str, Field(description="The kind of error behind it, whose fields follow.")]]
    option: NotRequired[str]
    value: NotRequired[str | int]
    choices: NotRequired[Annotated[list[str], Field(description="What the option can be.")]]
    file: NotRequired[str]
    line: NotRequired[Annotated[int, Field(description="Of a file: the line, or the row, that is wrong.")]]
    row: NotRequired[Annotated[int, Field(description="The place of a document among those that were sent.")]]
    most: NotRequired[Annotated[int, Field(description="The limit that was passed.")]]
    suggests: NotRequired[Annotated[dict[str, str | int], Field(description="Options to try, with their values.")]]


def answer(members: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(to_json(members, inf_nan_mode="null"), status, headers, JSON)


# --- what the routes are, for /openapi.json


_EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))
_REF = "#/components/schemas/{model}"
_EVERYWHERE = (400, 403, 421, 503)
_WITH_BODY = (408, 413, 415, 422)
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_ABOUT = """One classifier file over HTTP.

Reading is open to who may reach the service; writing needs its token. What learning answers is in the file. A full
service answers 503 with Retry-After. All errors are problem details (RFC 9457).

Batches come as JSON, or as Arrow IPC streams with the columns text, label and id; then options stand in the address.
"""


def describe(
    summary: str,
    answer: type | Collection[str],
    *problems: int,
    body: type[Body] | None = None,
    is_file: bool = False,
    types: Collection[str] = (BYTES,),
    token: bool = False,
    status: int = 200,
    kind: Kind | None = None,
) -> dict[str, Any]:
    """The arguments of FastAPI's decorators that describe a route.

    Parameters
    ----------
    summary : str
    answer : type, or collection of str
        The answer's shape; the types of a file.
    problems : int
        Statuses of its errors, beside those of all routes.
    body : type, optional
        The body's shape.
    is_file : bool
        Whether the body is a file, in place of that.
    types : collection of str
        The types of that file.
    token : bool
        Whether it needs the token.
    status : int
        The status of its answer.
    kind : str, optional
        The kind of the job that it starts.
    """
    every = {*_EVERYWHERE, *problems, *(_WITH_BODY if body or is_file else ()), *((401,) if token else ())}
    if isinstance(answer, type):
        example = _EXAMPLES[answer.__name__] | ({"kind": kind} if kind else {})
        content = {JSON: {"example": example}} | ({ARROW: _BINARY} if answer is Predicted else {})
    else:
        content = dict.fromkeys(answer, _BINARY)
    extra: dict[str, Any] = {"security": [{"token": []}]} if token else {}
    if body is not None:
        types = {JSON: {"schema": _schema(body), "example": _EXAMPLES[body.__name__]}}
        if body.in_arrow:
            types[ARROW] = _BINARY
            if options := [_option(name) for name in OPTIONS if name in body.model_fields]:
                extra["parameters"] = options
        extra["requestBody"] = {"required": not _may_be_missing(body), "content": types}
    elif is_file:
        extra["requestBody"] = {"required": True, "content": dict.fromkeys(types, _BINARY)}
    return {
        "summary": summary,
        "response_model": answer if isinstance(answer, type) else None,
        **({} if isinstance(answer, type) else {"response_class": Response}),
        "response_description": "Done",
        "responses": {status: {"content": content}, **{code: _problem(code) for code in every}},
        "openapi_extra": extra,
        "status_code": status,
    }


def _may_be_missing(body: type[Body]) -> bool:
    """Whether a request without a body is as good as one with {}."""
    try:
        body()
    except ValidationError:
        return False
    return True


def _option(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": "Where the body is an Arrow stream: as in the JSON body.",
        "schema": OPTIONS[name],
    }


def _schema(kind: type) -> dict[str, Any]:
    schema = TypeAdapter(kind).json_schema(ref_template=_REF)
    schema.pop("$defs", None)
    return schema


def _problem(status: int) -> dict[str, Any]:
    titles = [title for code, title in KINDS.values() if code == status]
    schema = {"$ref": _REF.format(model=ProblemDetails.__name__)}
    return {"description": "; ".join(titles), "content": {MEDIA_TYPE: {"schema": schema}}}


def describe_all(app: FastAPI) -> dict[str, Any]:
    """The content of /openapi.json."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        components = schema.setdefault("components", {})
        components.setdefault("schemas", {})[ProblemDetails.__name__] = _schema(ProblemDetails)
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = schema
    return app.openapi_schema
