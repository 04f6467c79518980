"""`kind_of`: the line of a model in the tables of models; and the table of those that are trained from documents.

To import this costs little: the trainers are imported when a model is trained.

    twcnb    all five steps of Rennie et al. (2003)            twcnb.py
    nbsvm    a linear SVM with a naive-Bayes prior             heads.py
    arow     the same idea, learned in one pass, goes on       heads.py
    aode     words in pairs, the most telling ones; columns    aode.py, columns.py
    columns  rows of tables, a likelihood for each column      columns.py, likelihoods.py

A classifier in memory keeps the documents for them, one in a file reads the texts that the file keeps.  They are
trained when they first answer after a change; `arow` learns only new documents, unless some were taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bunrui.analysis import Analyzer
from bunrui.errors import Option, OptionError, Step
from bunrui.memory import Memory
from bunrui.models.counting import MODELS, check_m
from bunrui.models.model import Kind, Options

if TYPE_CHECKING:
    from bunrui.models.trained import TrainedModel

__all__ = ["AUTO", "MOST_FEATURES", "TRAINED", "Trained", "kind_of", "reads_table"]

# In place of a model: one is chosen by what is learned (`bunrui.choice`).
AUTO = "auto"

# Of `aode`, whose tables grow with the square: 500 words of 20 classes take 160 MB.
MOST_FEATURES = 500


class Trained(NamedTuple):
    """A model that is trained from documents.

    Attributes
    ----------
    name : str
    alpha : float
        α where the user names none.
    """

    name: str
    alpha: float = 1.0

    @property
    def needs_documents(self) -> bool:
        """Always: counts are not enough."""
        return True

    def check(self, options: Options) -> None:
        """Refuse options that the model does not take."""
        _check_options(self.name, options)

    def default_alpha(self, *, class_norm: bool = False) -> float:
        """α where the user names none."""
        return self.alpha

    def alpha_of(self, options: Options) -> Any:
        """α as the user gives it, or as is usual."""
        is_usual = options["alpha"] is None and options["smoothing"] == "eap"
        return self.alpha if is_usual else options["alpha"]

    def model(self, options: Options, analyzer: Analyzer, memory: Memory) -> TrainedModel:
        """The model with some options, of what a memory has learned."""
        from bunrui.models.trained import TrainedModel

        return TrainedModel(options, analyzer, memory)


# α of twcnb, of .01, .1, .3 and 1: with the 1 of the article 20 Newsgroups, livedoor and SMS spam lose 4, 5 and 3
# points (docs/decisions/007).  `aode` and `columns` have their own smoothing.
TRAINED = {
    kind.name: kind
    for kind in (
        Trained("twcnb", 0.1),
        Trained("nbsvm", 0.5),
        Trained("arow", 0.5),
        Trained("aode"),
        Trained("columns"),
    )
}


def kind_of(model: str) -> Kind:
    """The line of a model in the tables of models."""
    try:
        return MODELS.get(model) or TRAINED[model]
    except (KeyError, TypeError):
        raise OptionError(option="model", value=model, choices=(AUTO, *MODELS, *TRAINED)) from None


def _check_options(model: str, options: Mapping[str, Any]) -> None:
    """Refuse what a trained model does not take.

    >>> usual = {"unseen": "ignore", "smoothing": "eap", "prior": "empirical", "class_norm": False}
    >>> _check_options("aode", usual | {"against_rest": False, "alpha": 1.0, "analyzer": "words", "m": 1})
    Traceback (most recent call last):
    bunrui.errors.OptionError: aode has no alpha: its smoothing is that of the article; leave it out
    """
    if model == "columns" and not _has_columns(options["analyzer"]):
        raise OptionError("the model 'columns' reads tables, not text", option="model", hint=(Step("learn-table"),))
    if reads_table(model, options["analyzer"]):
        for name, usual in (("min_df", 1), ("max_features", None)):
            if options[name] != usual:
                raise OptionError((f"the model {model!r} reads all columns: leave ", Option(name), " out"))
    if model != "columns" and options["prior"] != "empirical":
        raise OptionError((f"{model} has no class prior: leave ", Option("prior"), " out, or set it to 'empirical'"))
    if options["unseen"] != "ignore":
        raise OptionError((f"{model} knows nothing of words that it never saw: use ", Option("unseen", "ignore")))
    for name in ("class_norm", "against_rest"):
        if options[name]:
            says = f" changes how counts are read, and {model} is trained from documents"
            raise OptionError((Option(name), says), hint="leave it out")
    check_m(model, options["m"])
    if model == "twcnb":
        return
    if options["smoothing"] != "eap" and model != "columns":
        chosen = Option("smoothing", options["smoothing"])
        raise OptionError((f"{model} does not know ", chosen), hint="leave it out")
    if options["alpha"] is not None and model == "aode":
        raise OptionError(("aode has no ", Option("alpha"), ": its smoothing is that of the article; leave it out"))
    if isinstance(options["alpha"], Mapping):
        hint = "it smooths the ratios of all words alike"
        raise OptionError((Option("alpha"), f" of {model}"), option="alpha", expected="a number", hint=hint)


def reads_table(model: str, analyzer: Any) -> bool:
    """Whether a model reads the cells of a table, and not the words of its rows."""
    return model in ("columns", "aode") and _has_columns(analyzer)


def _has_columns(analyzer: Any) -> bool:
    return bool(getattr(analyzer, "name", analyzer) == "columns")
