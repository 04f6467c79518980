"""`CountingModel`: the answers of a model that counts determine; its weights are made when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from bunrui.analysis import Analyzer
from bunrui.analysis.analyzer import distinct, documents_of, n_docs_of
from bunrui.counts import Counts, Label
from bunrui.engines import threads
from bunrui.errors import Option, OptionError
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.memory import Memory
from bunrui.models.bernoulli import bernoulli
from bunrui.models.complement import binary_complement, complement, wcnb
from bunrui.models.linear import Reader, log_sum_exp
from bunrui.models.model import Best, Options, WordQuestion, best_of
from bunrui.models.multilabel import log_label_prior
from bunrui.models.multinomial import binary, mixed, multinomial
from bunrui.models.scorer import Docs, Floats, Scorer, Smoothing, check_rows, log_prior, smoothing_of
from bunrui.models.view import CountView, select, whole

if TYPE_CHECKING:
    from bunrui.models.keywords import Word
    from bunrui.models.loo import CountedCorpus
    from bunrui.views.explanation import Explanation

__all__ = ["CLASS_NORM_ALPHA", "MODELS", "Counting", "CountingModel", "check_m", "several_labels_error"]

T = TypeVar("T")

# λ where counts became shares.  On held-out fifths the mean accuracy of six corpora is .910 with it, .907 with 1e-6,
# .909 with 1e-8, .481 with 1:
# python benchmarks/twcnb.py --held-out --corpora 20news,livedoor,r8,sms_spam,ag_news,imdb
CLASS_NORM_ALPHA = 1e-7

# A matrix of so many scores is no burden where only labels are wanted.
_MOST_SCORES = 1 << 22

_VARIANTS = ("class_norm", "against_rest")


class Counting(NamedTuple):
    """A model that is a formula of counts.

    Attributes
    ----------
    formula : function of a view, smoothing and log priors
    alpha : float
        λ where the user names none, and no option.
    presence : bool
        Whether it reads presence.
    options : tuple of str
        The variants that its formula takes: `class_norm`, `against_rest`.
    twin : str or None
        The model that answers for it where a label is held against the rest, and its own formula cannot.
    """

    formula: Callable[..., Scorer]
    alpha: float
    presence: bool = False
    options: tuple[str, ...] = ()
    twin: str | None = None

    @property
    def needs_documents(self) -> bool:
        """Never: counts are enough."""
        return False

    def scorer(
        self,
        view: CountView,
        smoothing: Smoothing,
        prior: Floats,
        *,
        class_norm: bool = False,
        against_rest: bool = False,
    ) -> Scorer:
        """The model of some counts.

        Parameters
        ----------
        prior : (n_classes,) float64
            log P(c) by class id.
        class_norm : bool
            Whether the counts of every class are brought to one size first: models/multinomial.py.
        against_rest : bool
            Whether a class is scored against all that is not of it: models/rest.py.  Where the scorer comes out
            `everywhere`, it takes cells from `view.filled()`.
        """
        self.check_options(class_norm=class_norm, against_rest=against_rest)
        wanted = {"class_norm": class_norm, "against_rest": against_rest}
        return self.formula(view, smoothing, prior, **{name: True for name, is_on in wanted.items() if is_on})

    def default_alpha(self, *, class_norm: bool = False) -> float:
        """λ where the user names none."""
        return CLASS_NORM_ALPHA if class_norm else self.alpha

    def check_options(self, *, class_norm: bool = False, against_rest: bool = False) -> None:
        """Refuse variants that the formula does not take."""
        for name, is_on in (("class_norm", class_norm), ("against_rest", against_rest)):
            if is_on and name not in self.options:
                takers = ", ".join(model for model, it in MODELS.items() if name in it.options)
                raise OptionError(
                    (Option(name), f" is an option of the models {takers}"), hint="choose one of them, or leave it out"
                )

    def check(self, options: Options) -> None:
        """Refuse options that the model does not take."""
        self.check_options(**{name: bool(options[name]) for name in _VARIANTS})
        check_m(options["model"], options["m"])

    def model(self, options: Options, analyzer: Analyzer, memory: Memory) -> CountingModel:
        """The model with some options, of what a memory has learned."""
        usual = self.default_alpha(class_norm=bool(options["class_norm"]))
        smoothing = smoothing_of(options["smoothing"], options["alpha"], usual)
        return CountingModel(self, options, smoothing, analyzer, memory)


# The defaults of λ were measured: docs/decisions/003-defaults.md
MODELS = {
    "multinomial": Counting(multinomial, 0.1, options=_VARIANTS),
    "binary": Counting(binary, 0.1, presence=True, options=_VARIANTS),
    "mixed": Counting(mixed, 0.1, presence=True, options=_VARIANTS),
    "bernoulli": Counting(bernoulli, 0.03, presence=True, options=("against_rest",)),
    "complement": Counting(complement, 0.3, twin="multinomial"),
    "wcnb": Counting(wcnb, 0.3, twin="multinomial"),
    "binary-complement": Counting(binary_complement, 0.3, presence=True, twin="binary"),
}


class CountingModel:
    """One formula with its options, read from the counts as they are now."""

    def __init__(
        self,
        kind: Counting,
        options: Options,
        smoothing: Smoothing,
        analyzer: Analyzer,
        memory: Memory,
        *,
        by_label: bool = False,
    ) -> None:
        """With `by_label`, every label has a prior of its own, and they need not add up to 1."""
        self._kind = kind
        self._smoothing = smoothing
        self._options = options
        self._analyzer = analyzer
        self._memory = memory
        self._by_label = by_label
        self._reader: Reader | None = None

    @property
    def _smooths_unseen(self) -> bool:
        return bool(self._options["unseen"] == "smooth")

    def reader(self) -> Reader:
        """The reader of the counts as they are now; call with the lock of the memory held."""
        counts = self._memory.readable_counts()
        reader = self._reader
        if reader is not None and reader.view.counts is counts and reader.version == counts.version:
            return reader
        view = select(counts, self._options["min_df"], self._options["max_features"])
        scorer = self._scorer(view, self._log_prior(counts))
        self._reader = Reader(view, scorer, smooth_unseen=self._smooths_unseen)
        return self._reader

    def _scorer(self, view: CountView, prior: Floats) -> Scorer:
        variants = {name: bool(self._options[name]) for name in _VARIANTS}
        return self._kind.scorer(view, self._smoothing, prior, **variants)

    def _log_prior(self, counts: Counts | Docs) -> Floats:
        """log P(c) by class id."""
        given = self._options["prior"]
        if self._by_label:
            return log_label_prior(counts, given)
        prior = log_prior(counts, given)
        if self._options["against_rest"] and isinstance(given, Mapping):
            # Shares of any size will do, but for odds.
            prior -= log_sum_exp(prior[counts.doc_count > 0][None])[0, 0]
        return prior

    def _read(self, texts: Any, ask: Callable[[Reader, Documents, Recipe], T]) -> tuple[Reader, T]:
        """The answer for all documents, and the reader that gave it."""
        if self._smooths_unseen and self._kind.presence:
            texts = distinct(self._analyzer, texts)  # a word that was never learned counts once, too
        # Without the lock: to fold some documents takes seconds, and whoever waits to learn keeps all others out.
        docs, recipe = documents_of(self._analyzer, texts)
        with self._memory.lock.read():
            reader = self.reader()
            return reader, ask(reader, docs, recipe)

    def scores(self, texts: Any) -> tuple[list[Label], Floats]:
        """Classes, and scores (n_docs, n_classes)."""
        reader, out = self._read(texts, _score)
        return reader.classes, np.ascontiguousarray(out[:, reader.columns])

    def best(self, texts: Any, k: int) -> Best:
        """The k best classes of every text, or all where there are fewer.

        The scores of all classes are not kept, and where there are many, not all of them are computed.
        """
        reader, (places, scores) = self._read(
            texts, lambda reader, docs, recipe: _find_best(reader, docs, recipe, min(k, len(reader.classes)))
        )
        return Best(reader.classes, reader.dtype, places, scores)

    def label_odds(self, texts: Any) -> tuple[list[Label], Floats]:
        """Labels, and the log-odds of each against the rest, (n_docs, n_classes)."""
        return self._against_rest.scores(texts)

    @cached_property
    def _against_rest(self) -> CountingModel:
        """The same model, or its twin, with each label held against the rest."""
        kind = MODELS[self._kind.twin] if self._kind.twin else self._kind
        if "against_rest" not in kind.options:
            raise several_labels_error(self._options["model"])
        options = {**self._options, "against_rest": True}
        return CountingModel(kind, options, self._smoothing, self._analyzer, self._memory, by_label=True)

    @property
    def one_pass(self) -> bool:
        """Whether `leave_one_out` takes one pass over the documents; else it fits a model for each of them."""
        options = self._options
        # Without a word that others had too, classes have fewer words, and all of their shares change.
        changes_all = options["class_norm"] and options["min_df"] > 1
        return options["max_features"] is None and not changes_all and self._scorer_of_nothing().local

    def leave_one_out(self, corpus: CountedCorpus, *, odds: bool = False) -> Floats:
        """Score every document of a corpus by the model of all the others, (n_docs, n_classes)."""
        model = self._against_rest if odds else self
        if not model.one_pass:
            return corpus.score_one_by_one(model._reading)
        by_docs, min_df = model._scorer_of_nothing().by_docs, self._options["min_df"]
        how = {
            "prior_name": f"{model._by_label} {model._options['against_rest']} {self._options['prior']!r}",
            "by_docs": by_docs,
            "by_label": model._by_label,
            "min_df": min_df,
            "smooth": self._smooths_unseen,
        }
        return corpus.score(model._scorer, model._log_prior, **how)

    def _reading(self, memory: Memory) -> CountingModel:
        """The same model of another memory."""
        known = (self._kind, self._options, self._smoothing, self._analyzer)
        return CountingModel(*known, memory, by_label=self._by_label)

    def _scorer_of_nothing(self) -> Scorer:
        """The scorer of no counts, which tells how the model counts and weighs."""
        return self._scorer(whole(Counts()), np.empty(0))

    def explain(self, text: Any, label: Label | None, against: Label | None) -> Explanation:
        """What every feature of a text adds to the score of a label, held against that of another."""
        from bunrui.models.explain import explain, read

        # Without the lock: a long text takes a second, and whoever waits to learn keeps all others out.
        reading = read(self._analyzer, text)
        with self._memory.lock.read():
            return explain(self.reader(), self._analyzer, text, reading, label, against)

    def words(self, question: WordQuestion) -> list[Word]:
        """The words that speak for a label."""
        from bunrui.models.keywords import telling_words

        with self._memory.lock.read():
            return telling_words(self.reader(), self._analyzer, question)

    def export(self, make: Callable[[Reader], T]) -> T:
        """What `make` makes of the reader, while nothing is learned."""
        with self._memory.lock.read():
            return make(self.reader())


def check_m(model: str, m: Any) -> None:
    """Refuse an m that is no number of rows, or that a model does not take."""
    check_rows(m)
    if model != "aode" and m != 1:
        raise OptionError((Option("m"), f" is for aode, and {model} has none: leave it out, or set it to 1"))


def several_labels_error(model: str) -> OptionError:
    """For a model that cannot hold each label against the rest."""
    able = ", ".join(name for name, kind in MODELS.items() if kind.twin or "against_rest" in kind.options)
    return OptionError(f"{model} tells labels from each other: for documents with several choose one of {able}")


def _score(reader: Reader, docs: Documents, recipe: Recipe) -> Floats:
    """Scores by class id."""
    n = n_docs_of(docs)
    out = np.empty((n, len(reader.view.counts.labels)))
    longest = threads.longest_document(docs, recipe)
    if not reader.wants_table(n, _n_bytes(docs)):
        simple = [reader.score_one(docs, recipe, d, longest) for d in range(n)]
        if all(row is not None for row in simple):
            for d, row in enumerate(simple):
                out[d] = row
            return out
    reader.weights()
    threads.each_slice(
        lambda lo, hi: reader.score_slice(docs, recipe, lo, hi, longest, out), threads.bounds_of(docs, recipe)
    )
    return out


def _find_best(reader: Reader, docs: Documents, recipe: Recipe, k: int) -> tuple[Any, Floats]:
    """Places of the k best classes, and their scores."""
    n = n_docs_of(docs)
    is_short = not reader.has_many or not reader.wants_table(n, _n_bytes(docs))
    if is_short and n * len(reader.view.counts.labels) <= _MOST_SCORES:
        return best_of(_score(reader, docs, recipe)[:, reader.columns], k)
    longest = threads.longest_document(docs, recipe)
    classes, scores = np.full((n, k), reader.columns[0]), np.empty((n, k))
    ranks = reader.bounds().ranks
    threads.each_slice(
        lambda lo, hi: reader.best_slice(docs, recipe, lo, hi, longest, classes, scores),
        threads.bounds_of(docs, recipe),
    )
    return ranks[classes], scores


def _n_bytes(docs: Documents) -> int:
    """Bytes of text."""
    return int(docs.offsets[-1] - docs.offsets[0])
