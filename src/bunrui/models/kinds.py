"""The tables of models: `MODELS` are formulas of counts, `TRAINED` are trained from documents.

The command line, the service and the page know all models from here.  This module imports neither NumPy nor a formula:
help texts name models.

    twcnb    all five steps of Rennie et al. (2003)            twcnb.py
    nbsvm    a linear SVM with a naive-Bayes prior             heads.py
    arow     the same idea, learned in one pass, goes on       heads.py
    aode     words in pairs, the most telling ones; columns    aode.py, columns.py
    columns  rows of tables, a likelihood for each column      columns.py, likelihoods.py

A classifier in memory keeps the documents for the trained ones, one in a file reads the texts that the file keeps.
They are trained when they first answer after a change; `arow` learns only new documents, unless some were taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from bunrui.errors import Option, OptionError, Step

if TYPE_CHECKING:
    from bunrui.analysis import Analyzer
    from bunrui.memory import Memory
    from bunrui.models.counting import CountingModel
    from bunrui.models.model import Options
    from bunrui.models.scorer import Scorer, Smoothing
    from bunrui.models.trained import TrainedModel
    from bunrui.models.view import CountView
    from bunrui.sparse import Floats

# In place of a model: one is chosen by the learned documents (`bunrui.choice`).
AUTO = "auto"

DEFAULT_MODEL = "binary-complement"

VARIANTS = ("class_norm", "against_rest")

# λ where counts became shares.  On held-out fifths the mean accuracy of six corpora is .910 with it, .907 with 1e-6,
# .909 with 1e-8, .481 with 1:
# python benchmarks/twcnb.py --held-out --corpora 20news,livedoor,r8,sms_spam,ag_news,imdb
CLASS_NORM_ALPHA = 1e-7


@dataclass(frozen=True)
class Counting:
    """A model that is a formula of counts.

    Attributes
    ----------
    source : str
        The file in this folder, and the function in it that makes a scorer from a view, smoothing and log priors.
    alpha : float
        λ where the user names none, and no option.
    has_prior : bool
        Whether class priors make a difference.
    options : tuple of str
        The variants that its formula takes: `class_norm`, `against_rest`.
    twin : str or None
        The model that answers for it where a label is held against the rest, and its own formula cannot.
    reads_fractions : bool
        Whether a pool of texts without a label can help it: models/pool.py.
    """

    source: str
    alpha: float
    has_prior: bool = True
    options: tuple[str, ...] = ()
    twin: str | None = None
    reads_fractions: bool = False

    needs_documents: ClassVar[bool] = False  # counts are enough

    @property
    def takes_label_sets(self) -> bool:
        """Whether it answers for documents with several labels: it holds each label against the rest."""
        return self.twin is not None or "against_rest" in self.options

    @property
    def formula(self) -> Callable[..., Scorer]:
        """The function that makes a scorer."""
        file, function = self.source.split(".")
        formula: Callable[..., Scorer] = getattr(import_module(f"bunrui.models.{file}"), function)
        return formula

    @property
    def presence(self) -> bool:
        """Whether a word counts once in a document, however often it occurs."""
        return scorer_of_nothing(self).presence

    def scorer(self, view: CountView, smoothing: Smoothing, prior: Floats, **variants: bool) -> Scorer:
        """The model of some counts.

        Parameters
        ----------
        prior : (n_classes,) float64
            log P(c) by class id.
        variants : bool, by the names of `VARIANTS`
            `class_norm`: whether the counts of every class are brought to one size first (models/multinomial.py);
            `against_rest`: whether a class is scored against all that is not of it (models/rest.py).
        """
        self.check_options(**variants)
        return self.formula(view, smoothing, prior, **{name: True for name, is_on in variants.items() if is_on})

    def default_alpha(self, *, class_norm: bool = False) -> float:
        """λ where the user names none."""
        return CLASS_NORM_ALPHA if class_norm else self.alpha

    def check_options(self, **variants: bool) -> None:
        """Refuse variants that the formula does not take."""
        for name, is_on in variants.items():
            if is_on and name not in self.options:
                takers = ", ".join(model for model, it in MODELS.items() if name in it.options)
                raise OptionError(
                    (Option(name), f" is an option of the models {takers}"), hint="choose one of them, or leave it out"
                )

    def check(self, options: Options) -> None:
        """Refuse options that the model does not take."""
        self.check_options(**{name: bool(options[name]) for name in VARIANTS})
        _check_m(options["model"], options["m"])

    def model(self, options: Options, analyzer: Analyzer, memory: Memory) -> CountingModel:
        """The model with some options, of the counts and documents of a memory."""
        from bunrui.models.counting import CountingModel
        from bunrui.models.scorer import smoothing_of

        usual = self.default_alpha(class_norm=bool(options["class_norm"]))
        smoothing = smoothing_of(options["smoothing"], options["alpha"], usual)
        return CountingModel(self, options, smoothing, analyzer, memory)


# The defaults of λ were measured: docs/decisions/003-defaults.md
MODELS = {
    "multinomial": Counting("multinomial.multinomial", 0.1, options=VARIANTS, reads_fractions=True),
    "binary": Counting("multinomial.binary", 0.1, options=VARIANTS, reads_fractions=True),
    "mixed": Counting("multinomial.mixed", 0.1, options=VARIANTS),
    "bernoulli": Counting("bernoulli.bernoulli", 0.03, options=("against_rest",)),
    "complement": Counting("complement.complement", 0.3, has_prior=False, twin="multinomial", reads_fractions=True),
    "wcnb": Counting("complement.wcnb", 0.3, has_prior=False, twin="multinomial"),
    "binary-complement": Counting(
        "complement.binary_complement", 0.3, has_prior=False, twin="binary", reads_fractions=True
    ),
}

# The words that `aode` reads: its tables grow with the square, and 500 words of 20 classes take 160 MB.
MOST_FEATURES = 500


@cache
def scorer_of_nothing(kind: Counting, **variants: bool) -> Scorer:
    """The scorer of no counts, whatever the smoothing: it tells whether the model counts documents, reads presence …"""
    import numpy as np

    from bunrui.counts import Counts
    from bunrui.models.scorer import Smoothing
    from bunrui.models.view import whole

    return kind.scorer(whole(Counts()), Smoothing(1.0), np.empty(0), **variants)


@dataclass(frozen=True)
class Trained:
    """A model that is trained from documents.

    Attributes
    ----------
    name : str
    alpha : float
        α where the user names none.
    on_text, on_tables : bool
        Whether it reads the words of texts, and the cells of tables.
    is_kept : bool
        Whether a file keeps its weights.
    """

    name: str
    alpha: float = 1.0
    on_text: bool = True
    on_tables: bool = False
    is_kept: bool = False

    needs_documents: ClassVar[bool] = True  # counts are not enough

    def check(self, options: Options) -> None:
        """Refuse options that the model does not take.

        >>> usual = {"unseen": "ignore", "smoothing": "eap", "prior": "empirical", "class_norm": False}
        >>> TRAINED["aode"].check(usual | {"against_rest": False, "alpha": 1.0, "analyzer": "words", "m": 1})
        Traceback (most recent call last):
        bunrui.errors.OptionError: aode has no alpha: its smoothing is that of the article; leave it out
        """
        model = self.name
        if not self.on_text and not _has_columns(options["analyzer"]):
            raise OptionError(
                f"the model {model!r} reads tables, not text", option="model", hint=(Step("learn-table"),)
            )
        if reads_table(model, options["analyzer"]):
            for name, usual in (("min_df", 1), ("max_features", None)):
                if options[name] != usual:
                    raise OptionError((f"the model {model!r} reads all columns: leave ", Option(name), " out"))
        if model != "columns" and options["prior"] != "empirical":
            raise OptionError(
                (f"{model} has no class prior: leave ", Option("prior"), " out, or set it to 'empirical'")
            )
        if options["unseen"] != "ignore":
            raise OptionError((f"{model} knows nothing of words that it never saw: use ", Option("unseen", "ignore")))
        for name in ("class_norm", "against_rest"):
            if options[name]:
                says = f" changes how counts are read, and {model} is trained from documents"
                raise OptionError((Option(name), says), hint="leave it out")
        _check_m(model, options["m"])
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

    def default_alpha(self, *, class_norm: bool = False) -> float:
        """α where the user names none."""
        return self.alpha

    def alpha_of(self, options: Options) -> Any:
        """α as the user gives it, or as is usual."""
        is_usual = options["alpha"] is None and options["smoothing"] == "eap"
        return self.alpha if is_usual else options["alpha"]

    def model(self, options: Options, analyzer: Analyzer, memory: Memory) -> TrainedModel:
        """The model with some options, of the counts and documents of a memory."""
        from bunrui.models.trained import TrainedModel

        return TrainedModel(options, analyzer, memory)


# α of twcnb, of .01, .1, .3 and 1: with the 1 of the article 20 Newsgroups, livedoor and SMS spam lose 4, 5 and 3
# points (docs/decisions/007).  `aode` and `columns` have their own smoothing.
TRAINED = {
    kind.name: kind
    for kind in (
        Trained("twcnb", 0.1, is_kept=True),
        Trained("nbsvm", 0.5, is_kept=True),
        Trained("arow", 0.5, is_kept=True),
        Trained("aode", on_tables=True),
        Trained("columns", on_text=False, on_tables=True),
    )
}


def kind_of(model: str) -> Counting | Trained:
    """The line of a model in the tables; `auto` has the line of the plain default, which reads counts, too."""
    try:
        model = DEFAULT_MODEL if model == AUTO else model
        return MODELS.get(model) or TRAINED[model]
    except (KeyError, TypeError):
        raise OptionError(option="model", value=model, choices=(AUTO, *MODELS, *TRAINED)) from None


def is_kept(model: str) -> bool:
    """Whether a file keeps the weights of a model."""
    return model in TRAINED and TRAINED[model].is_kept


def _check_m(model: str, m: Any) -> None:
    """Refuse an m that is no number of rows, or that a model does not take."""
    from bunrui.models.scorer import check_rows

    check_rows(m)
    if model != "aode" and m != 1:
        raise OptionError((Option("m"), f" is for aode, and {model} has none: leave it out, or set it to 1"))


def reads_table(model: str, analyzer: Any) -> bool:
    """Whether a model reads the cells of a table, and not the words of its rows."""
    return model in TRAINED and TRAINED[model].on_tables and _has_columns(analyzer)


def _has_columns(analyzer: Any) -> bool:
    return bool(getattr(analyzer, "name", analyzer) == "columns")
