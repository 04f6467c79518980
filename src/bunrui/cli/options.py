"""Options that several commands share, in groups: each group is a panel of the help.

None, or an empty list, is an option that was not given.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import typer

import bunrui
from bunrui.cli.console import say
from bunrui.cli.documents import Collection, Stdin, reads_tables
from bunrui.cli.parameters import flag, option
from bunrui.errors import EncodingError, OptionError, StoreError
from bunrui.models import AUTO, CLASS_NORM_ALPHA, MODELS, TRAINED
from bunrui.phrases import counted, some

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier
    from bunrui.documents import Reader

    ModelName = str
else:
    ModelName = Literal[(AUTO, *MODELS, *TRAINED)]


AnalyzerName = Literal["universal", "words", "ja", "zh", "ko"]


Format = Literal[
    "csv", "tsv", "tab", "xlsx", "jsonl", "parquet", "arrow", "fasttext", "lines", "eml", "mbox", "maildir", "folder"
]


# Blocks of the standard input: a pipe is answered piece by piece.
_STDIN_BLOCK = 1 << 20
_FILE_BLOCK = 16 << 20
_SMALL_BLOCK = 8 << 20  # counted in 200 MB less, and as quickly


def check_text(text: str, name: str, otherwise: str) -> None:
    """Refuse an argument with bytes that are not UTF-8: Python makes halves of characters of them."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EncodingError(f"{name} is not valid UTF-8 (character {error.start + 1}): {otherwise}") from None


@dataclass(frozen=True)
class Documents:
    """How documents are read."""

    panel: ClassVar = "Reading documents"

    text: list[str] | None = option("COLUMN", "The column with the text (text). Several are joined by line breaks.")
    id: str | None = option("COLUMN", "The column with an id.")
    format: Format | None = option(
        "FORMAT",
        "csv, tsv, tab, xlsx, jsonl, parquet, arrow, fasttext, lines, eml, mbox, maildir or folder. By default the "
        "suffix decides, also before .gz .bz2 .xz .zst; for the standard input, the first bytes.",
    )
    encoding: str | None = option(
        "NAME",
        "The encoding of the text (utf-8), such as cp932, euc-jp, gb18030 or cp949; auto guesses it for each file.",
    )
    skip_bad: bool = flag("Skip rows that cannot be read, and count them. Without it, the first one stops the command.")
    include: list[str] | None = option("PATTERN", "Read only files of a folder that match, such as '*.txt'.")
    exclude: list[str] | None = option("PATTERN", "Leave out files of a folder that match.")

    def read(
        self,
        data: list[str],
        *,
        labelled: bool,
        stdin: Stdin | None = None,
        columns: bool = False,
        without: str | None = None,
        sparing: bool = False,
        **more: Any,
    ) -> Reader:
        """The reader of some files; `stdin` where something of it has been read.

        With `columns` they are tables; `without` names a column of labels that are not looked at.  A `sparing` reader
        takes less memory.  `more` are options of `bunrui.documents.read`, such as the type of the labels of FILE.
        """
        options: dict[str, Any] = {name: value for name, value in vars(self).items() if value} | more
        if columns:
            if self.text:
                raise OptionError("FILE reads tables with all columns: leave --text out.")
            options["columns"] = True
            if not labelled:
                # Where nobody looks for labels, a column called label may be one of the table.
                options["label"] = without or ""
        label = options.pop("as_", None)
        if label is not None and "label" in options:
            raise OptionError("--as gives all documents one label, and --label reads theirs: give one of them.")
        check_text(label or "", "--as", "give the label another name")
        sources: list[Any] = list(data)
        if sources.count("-") == 1:
            sources[sources.index("-")] = stdin or Stdin()
        given = sources if label is None else {label: sources}
        size = _STDIN_BLOCK if "-" in data else _SMALL_BLOCK if sparing else _FILE_BLOCK
        return bunrui.documents.read(given, labelled=labelled, batch_bytes=size, **options)


@dataclass(frozen=True)
class _Labels:
    panel: ClassVar = Documents.panel
    label: str | None = option("COLUMN", "The column with the label (label), or a list of labels.")
    as_: str | None = option("LABEL", "Give all documents this label.", "--as")
    separator: str | None = option("TEXT", "The separator between several labels, such as ';'.")


@dataclass(frozen=True)
class LabelledDocuments(Documents, _Labels):
    """How documents with labels are read."""

    def read_pool(self, unlabelled: list[str]) -> Reader | None:
        """The reader of files whose labels are not read; None where there are no files."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(Documents)}
        return Documents(**options).read(unlabelled, labelled=False) if unlabelled else None


@dataclass(frozen=True)
class Chosen:
    """Which of the documents that a file has learned."""

    panel: ClassVar = "In place of DATA"

    by_id: list[str] | None = option("ID", "The document that was learned with this id. Can be repeated.")
    by_digest: list[str] | None = option(
        "DIGEST", "The document with this digest, or its first digits ('bunrui log --documents'). Can be repeated."
    )

    def check(self, data: list[str] | None) -> None:
        """Refuse a call that names documents in no way, or in several ways."""
        if bool(data) + bool(self.by_id) + bool(self.by_digest) != 1:
            raise OptionError("say which documents, by one of DATA, --by-id and --by-digest.")


def _number_or(word: str) -> Callable[[str | None], float | str | None]:
    """Reads an option that takes a number, or a word."""

    def read(given: str | None) -> float | str | None:
        if given in (None, word):
            return given
        try:
            return float(given)
        except ValueError:
            raise typer.BadParameter(f"{given!r} is neither a number nor {word!r}.") from None

    return read


def _max_features(given: str | None) -> Any:
    if given in (None, "all"):
        return given
    number = given.removeprefix("chi2:")
    if not number.isdecimal():
        raise typer.BadParameter(f"{given!r} is not a whole number, 'chi2:' and a number, or 'all'.")
    return int(number) if number == given else ("chi2", int(number))


def _prior(given: str | None) -> Any:
    if given in (None, "empirical", "uniform", "smoothed"):
        return given
    name, _, number = given.partition(":")
    with suppress(ValueError):
        if name == "smoothed" and 0 < float(number) < math.inf:
            return name, float(number)
    known = "empirical, uniform, smoothed, or smoothed: and a number above 0"
    raise typer.BadParameter(f"choose one of {known}, not {given!r}.")


def _listed(names: Iterable[str], last: str, is_meant: Callable[[str], bool]) -> str:
    """Some names as in a sentence."""
    *first, end = filter(is_meant, names)
    return f"{', '.join(first)} {last} {end}"


def _takers(variant: str) -> str:
    return _listed(MODELS, "and", lambda name: variant in MODELS[name].options)


@dataclass(frozen=True)
class Model:
    """How counts are read."""

    panel: ClassVar = "Model"

    model: ModelName | None = option(
        "NAME",
        f"{AUTO} (the default): the one that suits the documents that FILE keeps; {_listed(MODELS, 'or', bool)}; "
        f"{_listed(TRAINED, 'and', lambda name: TRAINED[name].on_text)} are trained from the texts that FILE keeps; "
        f"{_listed(TRAINED, 'and', lambda name: TRAINED[name].on_tables)} are for tables.",
    )
    smoothing: Literal["eap", "map", "mle"] | None = option(
        "NAME", "The estimator of probabilities: eap (the default), map or mle."
    )
    alpha: str | None = option(
        "NUMBER", "The strength of smoothing; 'default' for that of the model.", callback=_number_or("default")
    )
    prior: str | None = option(
        "NAME",
        "The prior of the classes: empirical (the default), uniform, smoothed, or smoothed:λ, (n + λ) / (N + λK).",
        callback=_prior,
    )
    unseen: Literal["ignore", "smooth"] | None = option("NAME", "New words: ignore (the default) or smooth.")
    min_df: int | None = option("N", "Leave out words of fewer documents.", min=1)
    max_features: str | None = option(
        "N",
        "Read only the N most telling words, by mutual information; chi2:N by χ²; 'all' for all.",
        callback=_max_features,
    )

    class_norm: bool | None = flag(
        f"Scale the counts of all classes to one size first, for {_takers('class_norm')}; --alpha then smooths "
        f"shares, {CLASS_NORM_ALPHA:.0e} by default.".replace("e-0", "e-"),
        "--class-norm/--no-class-norm",
        default=None,
    )
    against_rest: bool | None = flag(
        f"Score a class against all other classes together, for {_takers('against_rest')}.",
        "--against-rest/--no-against-rest",
        default=None,
    )
    m: float | None = option("NUMBER", "For aode: how many documents a value needs to be a parent (1).")

    def given(self) -> dict[str, Any]:
        """The options that were given, as those of `TextClassifier`.

        >>> Model(model="complement", alpha="default", max_features="all").given()
        {'model': 'complement', 'alpha': None, 'max_features': None}
        """
        given = ((name, value) for name, value in vars(self).items() if value is not None)
        return {name: None if value in ("default", "all") else value for name, value in given}

    def check(self, classifier: bunrui.StoredClassifier) -> None:
        """Refuse to choose a model for tables."""
        if self.model == AUTO and reads_tables(classifier):
            problem = f"{classifier.path} reads tables, for which no model is chosen"
            raise OptionError(f"{problem}: give --model columns or aode.")

    def of(self, classifier: bunrui.StoredClassifier) -> AnyClassifier:
        """The classifier, read as was asked for."""
        self.check(classifier)
        options = self.given()
        chosen = classifier.with_model(**options) if options else classifier
        if not chosen.is_trained:
            chosen.memory.documents.check(chosen.model)
            n_docs, n_trained = classifier.counts.n_docs, chosen.n_trained
            what = f"from {counted(n_docs, 'document')} that the file keeps"
            if n_trained:
                what = f"on {counted(n_docs - n_trained, 'more document')}"
            say(f"training {chosen.model} {what}")
        return chosen


def spell_value(name: str, value: Any) -> str:
    """A value of the model as its option takes it.

    >>> spell_value("alpha", None), spell_value("max_features", None), spell_value("max_features", ("chi2", 99))
    ('default', 'all', 'chi2:99')
    """
    if value is None:
        return "all" if name == "max_features" else "default"
    if isinstance(value, bool):
        return "on" if value else "off"
    return ":".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


@dataclass(frozen=True)
class Analysis:
    """How text becomes features."""

    panel: ClassVar = "Analyzer"

    analyzer: AnalyzerName | None = option(
        "NAME", r"universal (the default: any script, no dictionary), words (\w+), or the dictionaries ja, zh, ko."
    )
    words: int | None = option("N", "The longest n-gram of words.", min=1)
    stop_words: str | None = option("PATH", "A file with words to leave out, one a line.")
    html: bool = flag("Take the text out of HTML first.", "--from-html", "--html")
    urls: bool = flag("All URLs are one word.")
    mentions: bool = flag("All @mentions are one word.")
    numbers: bool = flag("All numbers are one word.")

    def given(self) -> dict[str, Any]:
        """The options that were given, as fields of `AnalyzerSpec`.

        >>> Analysis(analyzer="words", numbers=True).given()
        {'name': 'words', 'numbers': True}
        """
        return {"name" if name == "analyzer" else name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class LearnedAnalysis(Analysis):
    """How text becomes features that are learned."""

    hash_bits: int | None = option(
        "BITS",
        "Hash words to 2**BITS buckets, such as 22: memory stays bounded, and words in one bucket count as one.",
        min=8,
        max=28,
    )


@dataclass(frozen=True)
class LabelSets:
    """Whether documents may have any number of labels."""

    panel: ClassVar = "Several labels"

    labels: bool = flag("Any number of labels for each document: all whose log-odds are high enough.")
    threshold: str | None = option(
        "NUMBER",
        "The log-odds above which a label is given (0); 'best' finds the best threshold of each label on the "
        "documents that FILE keeps, each left out in turn.",
        callback=_number_or("best"),
        needs="labels",
    )

    def thresholds(self, classifier: AnyClassifier) -> float | dict[str, float]:
        """One for all labels, or one for each."""
        if self.threshold != "best":
            return float(self.threshold or 0)
        if getattr(classifier, "keep", "text") != "text":
            raise StoreError("--threshold best needs a FILE that keeps texts", hint="give a number")
        from bunrui.evaluation.loo import best_thresholds

        return best_thresholds(classifier)


PANEL = "Documents that predict each other"


_KINDS = {None: "stratified", "label": "stratified", "source": "grouped", "id": "grouped", "order": "time"}


@dataclass(frozen=True)
class Parts:
    """How documents are cut into parts."""

    panel: ClassVar = PANEL

    folds: int | None = option("K", "Predict each of K parts by all the others.", min=2)
    by: Literal["label", "source", "id", "order"] | None = option(
        "WHAT",
        "How parts are made: label (the default: each has the same share of every label), source or id "
        "(documents of one file, or one id, stay together), order (each part by those before it).",
        needs="folds",
    )

    def of(self, found: Collection) -> Any:
        """The parts of some documents, as `bunrui.evaluation.folds` makes them; None where nobody asks for any."""
        if self.folds is None:
            return None
        groups = {"source": found.sources, "id": found.ids}.get(self.by or "")
        if groups is not None and (None in groups or len(set(groups)) == 1):
            what = f"some documents have no {self.by}" if None in groups else f"all documents have the same {self.by}"
            wanted = "an --id COLUMN with different ids" if self.by == "id" else "several files"
            raise OptionError(f"{what}: give {wanted}, or leave --by out.")
        return bunrui.evaluation.folds(len(found.labels), found.labels, self.folds, kind=_KINDS[self.by], groups=groups)


MEMORY: Any = option("SIZE", "Take no more memory than this, such as 2GB; other counts wait on the disk.")


@dataclass(frozen=True)
class Tables:
    """Whether a new classifier is one of tables."""

    panel: ClassVar = "Tables"

    columns: bool = flag(
        "DATA are tables: read all columns except --label and --id, as numbers, categories, texts or dates. In CSV "
        "and TSV, an empty cell, ?, NA, N/A, null, None, NaN or nan is no value."
    )
    kind: list[str] | None = option(
        "COLUMN=KIND",
        "Take a column for text, categorical, numeric, gaussian, binned, date or skip. Can be repeated.",
        needs="columns",
    )

    def given(self) -> dict[str, Any]:
        """The options that were given, as fields of `AnalyzerSpec`.

        >>> Tables(columns=True, kind=["age=binned"]).given()
        {'name': 'columns', 'kinds': {'age': 'binned'}}
        """
        if not self.columns:
            return {}
        kinds: dict[str, str] = {}
        for given in self.kind or ():
            column, is_there, kind = given.rpartition("=")
            if not is_there or not column:
                raise OptionError(f"--kind takes a column and its kind, such as age=binned, not {given!r}.")
            if kinds.get(column, kind) != kind:
                raise OptionError(f"--kind names the column {column!r} twice: give it one kind.")
            kinds[column] = kind
        return {"name": "columns"} | ({"kinds": kinds} if kinds else {})

    def check_kinds(self, reader: Reader) -> None:
        """Refuse kinds of columns that no row has, after all rows were read."""
        for column in self.given().get("kinds", {}):
            if column not in reader.columns:
                only = some(map(repr, reader.columns))
                raise OptionError(f"--kind names the column {column!r}, and there are only {only}: nothing was learned")


# --- the engine


@dataclass(frozen=True)
class Engine:
    """Where the work is done."""

    panel: ClassVar = "Engine"

    engine: Literal["threads", "ray"] | None = option(
        "NAME", "threads of this machine (the default), or ray: those of a cluster."
    )
    address: str | None = option(
        "ADDRESS", "The address of the Ray cluster; by default one on this machine, which is started if there is none."
    )

    @property
    def is_ray(self) -> bool:
        """Whether a cluster is asked for."""
        if self.address is not None and self.engine != "ray":
            raise OptionError("--address goes with --engine ray.")
        return self.engine == "ray"

    def refuse(self, **given: Any) -> None:
        """Refuse options that a cluster does not know, by name."""
        for name, value in given.items():
            if value:
                raise OptionError(f"--engine ray goes without --{name.replace('_', '-')}.")
