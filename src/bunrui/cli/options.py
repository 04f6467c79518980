"""Options that several commands share, in groups: each group is a panel of the help.

None, or an empty list, is an option that was not given.
"""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bunrui.cli.console import counted, say
from bunrui.cli.stdin import Stdin

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier
    from bunrui.documents import Reader

__all__ = [
    "Analysis",
    "Chosen",
    "Classifier",
    "Documents",
    "LabelledDocuments",
    "LearnedAnalysis",
    "Model",
    "UsageError",
    "check_text",
    "file_argument",
    "written",
]

ModelName = Literal[
    "multinomial",
    "binary",
    "mixed",
    "bernoulli",
    "complement",
    "wcnb",
    "binary-complement",
    "twcnb",
    "nbsvm",
    "arow",
    "aode",
    "columns",
]
AnalyzerName = Literal["universal", "words", "ja", "zh", "ko"]
Format = Literal[
    "csv", "tsv", "tab", "jsonl", "parquet", "arrow", "fasttext", "lines", "eml", "mbox", "maildir", "folder"
]

# Blocks of the standard input: a pipe is answered piece by piece.
_STDIN_BLOCK = 1 << 20
_FILE_BLOCK = 16 << 20
_SMALL_BLOCK = 8 << 20  # counted in 200 MB less, and as quickly


class UsageError(typer.BadParameter):
    """Options that do not go together."""

    def format_message(self) -> str:
        return self.message


def _named(value: Any, param: typer.CallbackParam) -> Any:
    if value == "" or (isinstance(value, (list, tuple)) and "" in value):
        raise UsageError(f"{param.metavar} is empty: give the name of a classifier.")
    return value


def file_argument(metavar: str, help: str) -> Any:
    """The name of a classifier, or several."""
    return typer.Argument(metavar=metavar, help=help, callback=_named, show_default=False)


Classifier = Annotated[str, file_argument("FILE", "The classifier.")]


def check_text(text: str, name: str, otherwise: str) -> None:
    """Refuse an argument with bytes that are not UTF-8: Python makes halves of characters of them."""
    from bunrui.errors import EncodingError

    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EncodingError(f"{name} is not valid UTF-8 (character {error.start + 1}): {otherwise}") from None


# --- documents

_READING = "Reading documents"


def _reading(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_READING, show_default=False, **settings)


@dataclass(frozen=True)
class Documents:
    """How documents are read."""

    text: Annotated[
        list[str] | None,
        _reading(
            "--text", metavar="COLUMN", help="The column with the text (text). Several are joined by line breaks."
        ),
    ] = None
    id: Annotated[str | None, _reading("--id", metavar="COLUMN", help="The column with an id.")] = None
    format: Annotated[
        Format | None,
        _reading(
            "--format",
            metavar="FORMAT",
            help="csv, tsv, tab, jsonl, parquet, arrow, fasttext, lines, eml, mbox, maildir or folder. By default the "
            "suffix tells, also before .gz .bz2 .xz .zst; of the standard input, the first bytes.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        _reading(
            "--encoding",
            metavar="NAME",
            help="Of text (utf-8); cp932, euc-jp, gb18030, cp949 …; auto: found out for each file.",
        ),
    ] = None
    skip_bad: Annotated[
        bool, _reading("--skip-bad", help="Leave out rows that cannot be read, and say how many. Else the first stops.")
    ] = False
    include: Annotated[
        list[str] | None, _reading("--include", metavar="PATTERN", help="Of a folder, read only such files: '*.txt'.")
    ] = None
    exclude: Annotated[
        list[str] | None, _reading("--exclude", metavar="PATTERN", help="Of a folder, leave out such files.")
    ] = None

    def read(
        self,
        data: list[str],
        *,
        labelled: bool,
        stdin: Stdin | None = None,
        columns: bool = False,
        without: str | None = None,
        sparing: bool = False,
    ) -> Reader:
        """The reader of some files; `stdin` where something of it has been read.

        With `columns` they are tables; `without` names a column of labels that are not looked at.  A `sparing` reader
        takes less memory.
        """
        from bunrui.documents import read

        options: dict[str, Any] = {name: value for name, value in dataclasses.asdict(self).items() if value}
        if columns:
            if self.text:
                raise UsageError("FILE reads tables with all columns: leave --text out.")
            options["columns"] = True
            if not labelled:
                # Where nobody looks for labels, a column called label may be one of the table.
                options["label"] = without or ""
        label = options.pop("as_", None)
        if getattr(self, "as_", None) == "":
            raise UsageError("--as is empty: give the label a name.")
        check_text(label or "", "--as", "give the label another name")
        if getattr(self, "separator", None) == "":
            raise UsageError("--separator is empty: give a character such as ';'.")
        sources: list[Any] = list(data)
        if sources.count("-") == 1:
            sources[sources.index("-")] = stdin or Stdin()
        return read(
            sources if label is None else {label: sources},
            labelled=labelled,
            batch_bytes=_STDIN_BLOCK if "-" in data else _SMALL_BLOCK if sparing else _FILE_BLOCK,
            **options,
        )


@dataclass(frozen=True)
class _Labels:
    label: Annotated[
        str | None,
        _reading("--label", metavar="COLUMN", help="The column with the label (label), or a list of labels."),
    ] = None
    as_: Annotated[
        str | None, _reading("--as", metavar="LABEL", help="All documents have this label, whatever they hold.")
    ] = None
    separator: Annotated[
        str | None,
        _reading("--separator", metavar="TEXT", help="Between the labels of a document that has several: ';'."),
    ] = None


@dataclass(frozen=True)
class LabelledDocuments(Documents, _Labels):
    """How documents with labels are read."""


# --- documents of the log


def _choosing(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="In place of DATA", show_default=False, **settings)


@dataclass(frozen=True)
class Chosen:
    """Which of the documents that a file has learned."""

    by_id: Annotated[
        list[str] | None,
        _choosing("--by-id", metavar="ID", help="The document that was learned with this id. Can be repeated."),
    ] = None
    by_digest: Annotated[
        list[str] | None,
        _choosing(
            "--by-digest",
            metavar="DIGEST",
            help="The document with this digest, or its first digits ('bunrui log --documents'). Can be repeated.",
        ),
    ] = None

    def check(self, data: list[str] | None) -> None:
        """Refuse none and several."""
        n_given = bool(data) + bool(self.by_id) + bool(self.by_digest)
        if n_given == 0:
            raise UsageError("say which documents: give DATA, --by-id or --by-digest.")
        if n_given > 1:
            raise UsageError("say which documents by one of DATA, --by-id and --by-digest, not by several.")


# --- the model


def _alpha(given: str | None) -> str | None:
    if given not in (None, "default"):
        try:
            float(given)
        except ValueError:
            raise typer.BadParameter(f"{given!r} is neither a number nor 'default'.") from None
    return given


def _max_features(given: str | None) -> str | None:
    if given not in (None, "all") and not given.removeprefix("chi2:").isdecimal():
        raise typer.BadParameter(f"{given!r} is not a whole number, 'chi2:' and a number, or 'all'.")
    return given


def _prior(given: str | None) -> str | None:
    name, colon, number = (given or "empirical").partition(":")
    if name not in ("empirical", "uniform", "smoothed") or (
        colon and not (name == "smoothed" and _is_positive(number))
    ):
        raise typer.BadParameter(
            f"choose one of empirical, uniform, smoothed, or smoothed: and a number above 0, not {given!r}."
        )
    return given


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


def _modelling(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Model", show_default=False, **settings)


@dataclass(frozen=True)
class Model:
    """How counts are read."""

    model: Annotated[
        ModelName | None,
        _modelling(
            "--model",
            metavar="NAME",
            help="binary-complement (the default), complement, wcnb, multinomial, binary, mixed or bernoulli; "
            "twcnb, nbsvm, arow and aode are trained from the texts that FILE keeps; columns and aode are for tables.",
        ),
    ] = None
    smoothing: Annotated[
        Literal["eap", "map", "mle"] | None,
        _modelling("--smoothing", metavar="NAME", help="The estimator: eap (the default), map or mle."),
    ] = None
    alpha: Annotated[
        str | None,
        _modelling(
            "--alpha", metavar="NUMBER", callback=_alpha, help="How much is smoothed; 'default' for the model's."
        ),
    ] = None
    prior: Annotated[
        str | None,
        _modelling(
            "--prior",
            metavar="NAME",
            callback=_prior,
            help="Of the classes: empirical (the default), uniform, smoothed, or smoothed:λ, which is "
            "(n + λ) / (N + λK).",
        ),
    ] = None
    unseen: Annotated[
        Literal["ignore", "smooth"] | None,
        _modelling("--unseen", metavar="NAME", help="Words that were never learned: ignore (the default) or smooth."),
    ] = None
    min_df: Annotated[
        int | None, _modelling("--min-df", metavar="N", min=1, help="Leave out words of fewer documents.")
    ] = None
    max_features: Annotated[
        str | None,
        _modelling(
            "--max-features",
            metavar="N",
            callback=_max_features,
            help="Read only the N words that say most: by mutual information; chi2:N by χ²; 'all' for all.",
        ),
    ] = None

    class_norm: Annotated[
        bool | None,
        _modelling(
            "--class-norm/--no-class-norm",
            help="Bring the counts of all classes to one size first, for multinomial, binary and mixed; --alpha is "
            "then of shares, 1e-7 by default.",
        ),
    ] = None
    against_rest: Annotated[
        bool | None,
        _modelling(
            "--against-rest/--no-against-rest",
            help="Score a class against all that is not of it, for multinomial, binary, mixed and bernoulli.",
        ),
    ] = None
    m: Annotated[
        float | None,
        _modelling("--m", metavar="NUMBER", help="For aode: a value that so many documents have can be a parent (1)."),
    ] = None

    def given(self) -> dict[str, Any]:
        """What was given, as options of `TextClassifier`.

        >>> Model(model="complement", alpha="0.5", max_features="chi2:99").given()
        {'model': 'complement', 'alpha': 0.5, 'max_features': ('chi2', 99)}
        >>> Model(prior="smoothed:0.5").given()
        {'prior': ('smoothed', 0.5)}
        >>> Model(alpha="default").given()
        {'alpha': None}
        """
        options = {name: value for name, value in vars(self).items() if value is not None}
        if "alpha" in options:
            options["alpha"] = None if self.alpha == "default" else float(self.alpha or 0)
        if self.prior is not None and ":" in self.prior:
            name, number = self.prior.split(":")
            options["prior"] = name, float(number)
        if self.max_features is not None:
            number = self.max_features.removeprefix("chi2:")
            if number == "all":
                options["max_features"] = None
            else:
                options["max_features"] = ("chi2", int(number)) if number != self.max_features else int(number)
        return options

    def of(self, classifier: AnyClassifier) -> AnyClassifier:
        """The classifier, read as was asked for."""

        options = self.given()
        chosen = classifier.with_model(**options) if options else classifier
        if chosen.needs_documents:
            say(f"training {chosen.model} from {counted(classifier.counts.n_docs, 'document')} that the file keeps")
        return chosen


def written(name: str, value: Any) -> str:
    """A value of the model as its option takes it.

    >>> written("alpha", None), written("max_features", None), written("max_features", ("chi2", 99))
    ('default', 'all', 'chi2:99')
    """
    if value is None:
        return "all" if name == "max_features" else "default"
    if isinstance(value, bool):
        return "on" if value else "off"
    return ":".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


# --- the analyzer


def _analysing(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Analyzer", show_default=False, **settings)


@dataclass(frozen=True)
class Analysis:
    """How text becomes features."""

    analyzer: Annotated[
        AnalyzerName | None,
        _analysing(
            "--analyzer",
            metavar="NAME",
            help=r"universal (the default: any script, no dictionary), words (\w+), or the dictionaries ja, zh, ko.",
        ),
    ] = None
    words: Annotated[int | None, _analysing("--words", metavar="N", min=1, help="The longest n-gram of words.")] = None
    stop_words: Annotated[
        str | None, _analysing("--stop-words", metavar="PATH", help="A file with words to leave out, one a line.")
    ] = None
    html: Annotated[bool, _analysing("--from-html", "--html", help="Take the text out of HTML first.")] = False
    urls: Annotated[bool, _analysing("--urls", help="All URLs are one word.")] = False
    mentions: Annotated[bool, _analysing("--mentions", help="All @mentions are one word.")] = False
    numbers: Annotated[bool, _analysing("--numbers", help="All numbers are one word.")] = False

    def given(self) -> dict[str, Any]:
        """What was given, as fields of `AnalyzerSpec`.

        >>> Analysis(analyzer="words", numbers=True).given()
        {'name': 'words', 'numbers': True}
        """
        fields = {name: value for name, value in vars(self).items() if value}
        if "analyzer" in fields:
            fields = {"name": fields.pop("analyzer")} | fields
        if self.stop_words and not os.path.isfile(self.stop_words):
            raise FileNotFoundError(2, "there is no such file of stop words: check the path", self.stop_words)
        return fields


@dataclass(frozen=True)
class LearnedAnalysis(Analysis):
    """The same for what is learned."""

    hash_bits: Annotated[
        int | None,
        _analysing(
            "--hash-bits",
            metavar="BITS",
            min=8,
            max=28,
            help="Hash words to 2**BITS buckets, 22 say: there are never more, and words in the same bucket are one.",
        ),
    ] = None
