"""Bodies, answers and routes, and their description in /openapi.json; examples.json has one of each.

Bodies are pydantic models, which check their input.  Answers are typed dictionaries, which the routes fill: the type
checker compares them with their description, and they cost nothing at run time.  All prose comes from docstrings: the
section Attributes of a class describes its members, the section Parameters of a route describes its parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypeVar

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import to_json
from typing_extensions import TypedDict

from bunrui.models import MODELS
from bunrui.service.admission import ARROW, JSON
from bunrui.service.errors import KINDS, MEDIA_TYPE

MOST_LABELS = 1000
"""A document may have no more labels."""
OPTIONS: dict[str, dict[str, Any]] = {"model": {"type": "string"}, "top": {"type": "integer", "minimum": 1}}
"""Members of bodies that stand in the address where the body is an Arrow stream."""

Texts = Annotated[list[str], Field(fail_fast=True, min_length=1, description="The documents.")]
_LABEL = 'All labels of a file have one type. Where that is not string, a string may stand for one: "10", "true".'
Label = Annotated[str | int | bool, Field(description=_LABEL)]
OfTexts = Annotated[
    list[Label] | list[list[Label]],
    Field(description="The label of each text; or the labels of each text, as lists."),
]
Names = Annotated[list[str], Field(fail_fast=True, min_length=1)]
_MODEL = f"Read the counts by this model, not by that of the file: one of {', '.join(MODELS)}."
Model = Annotated[str | None, Field(description=_MODEL)]


class Body(BaseModel):
    """A body; `in_arrow` says whether its documents may also come as an Arrow stream."""

    model_config = ConfigDict(strict=True, extra="forbid")
    in_arrow: ClassVar[bool] = False


class Predict(Body):
    """Documents to be labelled.

    Attributes
    ----------
    top
        Also give this many of the best labels of each text, with probabilities.
    several
        Also give the set of labels of each text: each label is held against the rest.
    threshold
        With several: a label is in the set if its log-odds are above this.
    """

    in_arrow = True
    texts: Texts
    model: Model = None
    top: int | None = Field(None, ge=1)
    several: bool = False
    threshold: float = 0.0


class Explain(Body):
    """A document to be explained.

    Attributes
    ----------
    text
        The document.
    label
        Explain this label, not the predicted one.
    against
        Hold it against this one, not the next best.
    html
        Also draw it, for a page.
    """

    text: str = Field(max_length=100_000)
    label: Label | None = None
    against: Label | None = None
    model: Model = None
    html: bool = False


class Learn(Body):
    """Documents with their labels.

    Attributes
    ----------
    ids
        A name for each text, null for none: documents can be unlearned by it.
    """

    in_arrow = True
    texts: Texts
    labels: OfTexts
    ids: Annotated[list[str | None], Field(fail_fast=True)] | None = None


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
    """Documents that were learned, and their right labels.

    Attributes
    ----------
    to
        Their label from now on, or their labels. Documents that have several take a list only: one label would replace
        them all (409).
    """

    to: Label | list[Label]


class Undo(Body):
    """The changes to take back.

    Attributes
    ----------
    transaction
        Undo only if this is the last change; else nothing is undone (409).
    to
        Undo all changes after this one, all or none (409); 0 for all that there are.
    """

    transaction: int | None = Field(None, ge=1)
    to: int | None = Field(None, ge=0)


Client = Annotated[str, Field(max_length=100, description="A name that each client makes up for itself.")]


class Ask(Body):
    """Who asks for questions, and for how many.

    Attributes
    ----------
    skipped
        Ask also for documents that were skipped.
    """

    client: Client
    n: int = Field(1, ge=1, le=10)
    skipped: bool = False


class Answer(Body):
    """An answer to a question.

    Attributes
    ----------
    digest
        The digest of the document.
    labels
        Its labels; null to skip the document.
    client
        Who answers, and may undo it; by default the client that was given the question.
    """

    digest: str
    labels: list[Label] | None = Field(min_length=1, max_length=MOST_LABELS)
    client: Client | None = None


class TakeBack(Body):
    """An answer to take back.

    Attributes
    ----------
    digest
        The digest of the document.
    """

    digest: str
    client: Client


class Correct(Body):
    """The labels of a predicted row, as they should be; null takes them back."""

    row: int = Field(ge=0)
    labels: list[Label] | None = Field(None, max_length=MOST_LABELS)


class Evaluate(Body):
    """Documents with their labels, to be predicted; without them, each that the file keeps is left out in turn.

    Attributes
    ----------
    html
        Without texts: also draw the result, for a page.
    """

    in_arrow = True
    texts: Texts | None = None
    labels: OfTexts | None = None
    model: Model = None
    html: bool = False
    _both = model_validator(mode="after")(_check_both)


class Mistakes(Body):
    """The form of the mistakes.

    Attributes
    ----------
    report
        Also make a page to keep, in the member report of the result.
    """

    report: bool = False


class SetModel(Body):
    """The model of the file from now on.

    Attributes
    ----------
    model
        Any model of bunrui, or auto: the file chooses by its documents.
    """

    model: str


class Choose(Body):
    """How to choose a model.

    Attributes
    ----------
    metric
        What counts; null for that of the last choice, at first accuracy.
    """

    metric: Literal["accuracy", "macro_f1"] | None = None


class Audit(Body):
    """The documents to leave out.

    Attributes
    ----------
    kept
        Digests of documents whose labels somebody has found right.
    """

    kept: list[str] = Field([], fail_fast=True)


class Compare(Body):
    """The models to compare.

    Attributes
    ----------
    trained
        Also compare models that are trained, which takes longer.
    """

    trained: bool = False


# --- answers


class Share(TypedDict):
    label: Label
    probability: float


class Odds(Share):
    """A label held against the rest: the probabilities of several labels do not add up to 1."""

    log_odds: float


class Predicted(TypedDict):
    """In the order of the texts.

    Attributes
    ----------
    probabilities
        P(label | text) of these labels.
    sets
        With several: the labels of each text, the surest first.
    top
        Where it was asked for: the best labels; with several, each held against the rest.
    """

    labels: list[Label]
    probabilities: list[float]
    sets: NotRequired[list[list[Label]] | None]
    top: NotRequired[list[list[Share]] | list[list[Odds]] | None]


class Contribution(TypedDict):
    """The contribution of a feature.

    Attributes
    ----------
    value
        What all occurrences add to the difference of the two scores.
    spans
        Where they stand in the text, [start, end). Characters are Unicode code points.
    """

    feature: str
    value: float
    count: int
    spans: list[tuple[int, int]]


class Explained(TypedDict):
    """`bias`, the values of `contributions` and `rest` add up to `score` less `against_score`.

    Attributes
    ----------
    unknown
        Features that were never learned.
    text
        The explained text, or the beginning of a long one.
    left_out
        Characters after that, which are scored but not explained.
    rest
        What those add to the difference of the two scores.
    html
        Where it was asked for: the text in colours, and a table.
    """

    label: Label
    against: Label | None
    probabilities: dict[str, float]
    score: float
    against_score: float | None
    bias: float
    contributions: list[Contribution]
    unknown: list[str]
    text: str | None
    left_out: int
    rest: float
    html: NotRequired[str | None]


class Changed(TypedDict):
    """The change is in the file.

    Attributes
    ----------
    transaction
        Its number in the log; null if nothing had to change.
    changed
        The number of documents that it changed.
    documents
        Documents that the classifier has learned now.
    duplicates
        How many of the texts had been learned before; null where the file cannot tell.
    choice
        The model that a file with model auto has now, and why, in a line.
    """

    transaction: int | None
    changed: int
    documents: int
    duplicates: NotRequired[int | None]
    choice: NotRequired[str]


class Undone(TypedDict):
    """The last change was taken back, or several.

    Attributes
    ----------
    undone
        The kind of the last one.
    changes
        How many were taken back.
    changed
        The number of documents that they had changed.
    """

    undone: str
    changes: int
    changed: int
    documents: int


class LabelCount(TypedDict):
    label: Label
    documents: int


class Labels(TypedDict):
    """Labels that have documents, sorted."""

    labels: list[LabelCount]


class Word(TypedDict):
    """A word.

    Attributes
    ----------
    weight
        What one occurrence adds to the score.
    """

    word: str
    weight: float
    counts: dict[str, int]


class Words(TypedDict):
    words: list[Word]


class Info(TypedDict):
    """All that `bunrui info --json` shows, and how the service runs.

    Attributes
    ----------
    labels
        Documents by label; keys of JSON are strings,
    label_type
        … and the labels are of this type.
    choice
        The model that auto stands for, and why.
    unlabelled
        How many texts without a label there are, how much they count, and why.
    """

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    documents: int
    labels: dict[str, int]
    label_type: Literal["str", "int", "bool"] | None
    features: int
    model: str
    choice: dict[str, Any] | None
    unlabelled: dict[str, Any] | None
    keep: str
    service: dict[str, Any]


class Change(TypedDict):
    """A change.

    Attributes
    ----------
    note
        What else is known of it: `by` and `undone_by` say who.
    undone
        When it was taken back.
    """

    number: int
    kind: str
    time: str
    n_docs: int
    note: dict[str, Any]
    undone: str | None


class Log(TypedDict):
    """Changes, the last one first.

    Attributes
    ----------
    next
        There are more: they are before this number.
    joined
        Changes up to this number were joined, and cannot be undone.
    """

    changes: list[Change]
    next: int | None
    joined: int


class Document(TypedDict):
    """A document that was learned.

    Attributes
    ----------
    place
        Where it stands: a page that begins here has it first.
    time
        When it was learned first.
    text
        Its beginning; null where the file keeps no texts.
    length
        Characters of the whole text.
    """

    place: str
    digest: str
    labels: list[Label]
    time: str
    id: str | None
    source: str | None
    text: str | None
    length: int | None


class Documents(TypedDict):
    """Documents, those that came last first.

    Attributes
    ----------
    next
        Where the next page begins. A page may be empty, and not the last one.
    looked
        Documents that were looked at for this page.
    """

    documents: list[Document]
    next: str | None
    looked: int


class Inspected(TypedDict):
    """The columns, the first rows and the labels of a file.

    Attributes
    ----------
    columns
        None where the format has no columns.
    choices
        Columns that can be the label; numbers must be whole and few.
    rows
        The first ones; long cells are cut.
    header
        Whether the first line was taken for the names of the columns; null if none can.
    encoding
        The encoding that was found; null if the format knows its own.
    text
        The column that was taken for the text,
    label
        … and the one for the label; null if no column looks like labels: choose one.
    documents
        Null where only the first rows were read.
    labels
        Documents by label, the most frequent ones first.
    skipped
        Rows that cannot be read.
    problems
        What is wrong with the first of them.
    causes
        The same for programs: cause, file, line …
    """

    columns: list[str]
    choices: list[str]
    rows: list[dict[str, Any]]
    header: bool | None
    encoding: str | None
    text: str | None
    label: str | None
    documents: int | None
    labels: dict[str, int]
    n_labels: int
    skipped: int
    problems: list[str]
    causes: list[dict[str, Any]]


class File(TypedDict):
    """A file that is kept on disk until nobody has asked for it for an hour."""

    id: str
    name: str
    bytes: int


class PredictedRow(TypedDict):
    """A predicted document of a file.

    Attributes
    ----------
    row
        Its place among the documents, from 0 up.
    line
        Its line, or its row, in the file.
    text
        The beginning of the text; all of it where one row is asked for.
    labels
        One; any number where documents have several labels.
    corrected
        Whether somebody gave it these labels.
    """

    row: int
    line: int | None
    text: str
    labels: list[Label]
    probabilities: list[float]
    corrected: bool


class PredictedRows(TypedDict):
    """Some of the predicted documents of a file.

    Attributes
    ----------
    total
        How many documents have this label and these words.
    """

    rows: list[PredictedRow]
    total: int


class Taught(TypedDict):
    """The progress of teaching.

    Attributes
    ----------
    name
        The name of the file with the documents; empty where there are none.
    documents
        Documents to teach with, copies counted once.
    answers
        Documents among them that are learned.
    copies
        Documents whose text came before, which are not asked again.
    blank
        Documents without text, which are left out.
    labels
        In the order of keys.
    """

    name: str
    documents: int
    answers: int
    left: int
    skipped: int
    copies: int
    blank: int
    labels: list[Label]


class Question(TypedDict):
    """A document whose labels somebody is asked for.

    Attributes
    ----------
    cut
        Characters after the text, which are not shown.
    random
        Whether it was drawn at random, to estimate the accuracy.
    guess
        What the classifier thinks; null before it knows two labels.
    """

    digest: str
    text: str
    cut: int
    random: bool
    guess: Label | None
    probability: float


class Questions(TypedDict):
    """Questions, the next one first; none where nothing is left."""

    questions: list[Question]


class Answered(TypedDict):
    """The answer is in the file.

    Attributes
    ----------
    learned
        False if it was skipped, or somebody was quicker.
    labels
        Those that the document has now.
    """

    learned: bool
    labels: list[Label]
    transaction: int | None
    changed: int
    answers: int
    left: int


class TakenBack(TypedDict):
    """An answer was taken back.

    Attributes
    ----------
    changed
        0 if there was none.
    """

    changed: int
    question: Question
    answers: int


class Forecast(TypedDict):
    """The number of answers that an accuracy takes.

    Attributes
    ----------
    high
        Null where nobody can tell the most that it takes.
    """

    likely: int
    low: int
    high: int | None


class TaughtProgress(TypedDict):
    """How good the classifier is on the documents; null before anybody can tell.

    Attributes
    ----------
    guessed
        Answers to questions that came with a guess,
    agreed
        … and those that were the same.
    trained
        Whether the model is trained: then there is no estimate.
    sample
        Documents drawn at random, each predicted by all the others.
    low
        The interval of 95 %, from here
    high
        … to here.
    forecast
        How many more answers the wish takes.
    html
        The curve, drawn.
    """

    answers: int
    left: int
    guessed: int
    agreed: int
    trained: bool
    sample: int
    accuracy: float | None
    low: float | None
    high: float | None
    forecast: Forecast | None
    html: str


class Token(TypedDict):
    right: bool


State = Literal["waiting", "running", "done", "failed", "cancelled"]


class Progress(TypedDict):
    """The progress of a job.

    Attributes
    ----------
    done
        Documents; of a comparison, measurements.
    """

    done: int
    total: int | None


# Work on the documents in the file has the name of its route.
OfFile = Literal["mistakes", "curve", "compare", "audit", "set", "choose", "calibrate"]
Kind = Literal["batch", "leave-one-out", "test", "train", "teach", "predict", OfFile]


class Job(TypedDict):
    """Work in the background.

    Attributes
    ----------
    result
        When it is done: metrics, suspects and so on; the change, if it has changed the file.
    problem
        Why it failed.
    """

    id: str
    kind: Kind
    state: State
    progress: Progress
    result: NotRequired[dict[str, Any] | None]
    problem: NotRequired[dict[str, Any] | None]


class ProblemDetails(TypedDict):
    """RFC 9457.

    Attributes
    ----------
    cause
        The kind of error behind it, whose fields follow.
    choices
        The values that the option can have.
    line
        The line, or the row, of a file that is wrong.
    row
        The place of a document among those that were sent.
    most
        The limit that was passed.
    suggests
        Options to try, with their values.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: NotRequired[list[dict[str, str]] | None]
    cause: NotRequired[str]
    option: NotRequired[str]
    value: NotRequired[str | int]
    choices: NotRequired[list[str]]
    file: NotRequired[str]
    line: NotRequired[int]
    row: NotRequired[int]
    most: NotRequired[int]
    suggests: NotRequired[dict[str, str | int]]


def answer(members: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(to_json(members, inf_nan_mode="null"), status, headers, JSON)


# --- routes

F = TypeVar("F", bound=Callable[..., Any])

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


class Api(FastAPI):
    """The routes.

    Attributes
    ----------
    guarded : set of str
        Routes that need the token, such as "POST /v1/learn".
    types : dict from str to tuple of str
        The types of bodies that a path takes.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.guarded: set[str] = set()
        self.types: dict[str, tuple[str, ...]] = {}

    def add(
        self,
        route: str,
        answer: type | Collection[str],
        *problems: int,
        body: type[Body] | Collection[str] = (),
        token: bool = False,
        status: int = 200,
        kind: Kind | None = None,
    ) -> Callable[[F], F]:
        """Add a route, which the docstring of its function describes.

        Parameters
        ----------
        route : str
            Its method and its path.
        answer : type, or collection of str
            The answer's shape; the types of a file.
        problems : int
            Statuses of its errors, beside those of all routes.
        body : type, or collection of str
            The body's shape; the types of a file.
        token : bool
            Whether it needs the token.
        status : int
            The status of its answer.
        kind : str, optional
            The kind of the job that it starts.
        """
        method, path = route.split()
        every = {*_EVERYWHERE, *problems, *(_WITH_BODY if body else ()), *((401,) if token else ())}
        if isinstance(answer, type):
            example = _EXAMPLES[answer.__name__] | ({"kind": kind} if kind else {})
            content = {JSON: {"example": example}} | ({ARROW: _BINARY} if answer is Predicted else {})
        else:
            content = dict.fromkeys(answer, _BINARY)
        extra = _describe_body(body) if body else {}
        if body:
            self.types[path] = tuple(extra["requestBody"]["content"])
        if token:
            self.guarded.add(route)
            extra["security"] = [{"token": []}]
        return self.api_route(
            path,
            methods=[method],
            response_model=answer if isinstance(answer, type) else None,
            response_class=JSONResponse if isinstance(answer, type) else Response,
            response_description="Done",
            responses={status: {"content": content}, **{code: _problem(code) for code in every}},
            openapi_extra=extra,
            status_code=status,
        )

    def openapi(self) -> dict[str, Any]:
        """The content of /openapi.json."""
        if self.openapi_schema is None:
            found = get_openapi(title=self.title, version=self.version, description=_ABOUT, routes=self.routes)
            schemas = found["components"]["schemas"] | {ProblemDetails.__name__: _schema(ProblemDetails)}
            found["components"] = {
                "schemas": {name: _describe_members(schema) for name, schema in schemas.items()},
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            }
            for operation in (operation for path in found["paths"].values() for operation in path.values()):
                about, said = _split(operation.pop("description", ""), "Parameters")
                summary, _, more = about.partition("\n\n")
                operation |= {"summary": summary.rstrip(".")} | ({"description": more} if more else {})
                for parameter in operation.get("parameters", ()):
                    parameter |= {"description": said[name]} if (name := parameter["name"]) in said else {}
            self.openapi_schema = found
        return self.openapi_schema


def _split(doc: str, title: str) -> tuple[str, dict[str, str]]:
    """A docstring without one of its sections, and the texts of that section by name.

    >>> _split("A page.\\n\\nAttributes\\n----------\\nnext\\n    Where the next one\\n    begins.", "Attributes")
    ('A page.', {'next': 'Where the next one begins.'})
    """
    about, _, section = doc.partition(f"\n\n{title}\n{'-' * len(title)}\n")
    found = re.findall(r"^(\w+)\n((?: .*\n?)+)", section, re.MULTILINE)
    return about, {name: " ".join(text.split()) for name, text in found}


def _describe_members(schema: dict[str, Any]) -> dict[str, Any]:
    """Give the members of a class their descriptions; pydantic puts the whole docstring in one place."""
    if "description" in schema:
        schema["description"], said = _split(schema["description"], "Attributes")
        for name, text in said.items():
            schema["properties"][name]["description"] = text
    return schema


def _describe_body(body: type[Body] | Collection[str]) -> dict[str, Any]:
    if not isinstance(body, type):
        return {"requestBody": {"required": True, "content": dict.fromkeys(body, _BINARY)}}
    content: dict[str, Any] = {JSON: {"schema": _schema(body), "example": _EXAMPLES[body.__name__]}}
    found: dict[str, Any] = {"requestBody": {"required": not _may_be_missing(body), "content": content}}
    if body.in_arrow:
        content[ARROW] = _BINARY
        said = "Where the body is an Arrow stream: as in the JSON body."
        option = {"in": "query", "required": False, "description": said}
        if names := [name for name in OPTIONS if name in body.model_fields]:
            found["parameters"] = [{"name": name, **option, "schema": OPTIONS[name]} for name in names]
    return found


def _may_be_missing(body: type[Body]) -> bool:
    """Whether a request without a body is as good as one with {}."""
    try:
        body()
    except ValidationError:
        return False
    return True


def _schema(kind: type) -> dict[str, Any]:
    schema = TypeAdapter(kind).json_schema(ref_template=_REF)
    schema.pop("$defs", None)
    return _describe_members(schema)


def _problem(status: int) -> dict[str, Any]:
    titles = [title for code, title in KINDS.values() if code == status]
    schema = {"$ref": _REF.format(model=ProblemDetails.__name__)}
    return {"description": "; ".join(titles), "content": {MEDIA_TYPE: {"schema": schema}}}
