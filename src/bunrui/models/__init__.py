"""The family: each model a pure function from counts to a linear scorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bunrui.errors import Option, OptionError
from bunrui.models.base import Floats, Scorer, Smoothing
from bunrui.models.bernoulli import bernoulli
from bunrui.models.complement import binary_complement, complement, wcnb
from bunrui.models.multinomial import binary, mixed, multinomial
from bunrui.models.view import CountView

__all__ = ["CLASS_NORM_ALPHA", "DEFAULT_MODEL", "MODELS", "Model"]

DEFAULT_MODEL = "binary-complement"

# λ where counts became shares.  On held-out fifths the mean accuracy of six corpora is .910 with it, .907 with 1e-6,
# .909 with 1e-8, .481 with 1:
# python benchmarks/twcnb.py --held-out --corpora 20news,livedoor,r8,sms_spam,ag_news,imdb
CLASS_NORM_ALPHA = 1e-7


class Model(NamedTuple):
    """A member of the family.

    Attributes
    ----------
    formula : function of a view, smoothing and log priors
    alpha : float
        λ where the user names none, and no option.
    presence : bool
        Whether it reads presence.
    options : tuple of str
        What its formula takes beside: `class_norm`, `against_rest`.
    """

    formula: Callable[..., Scorer]
    alpha: float
    presence: bool = False
    options: tuple[str, ...] = ()

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
        """Refuse what the formula does not take."""
        for name, is_on in (("class_norm", class_norm), ("against_rest", against_rest)):
            if is_on and name not in self.options:
                takers = ", ".join(model for model, it in MODELS.items() if name in it.options)
                raise OptionError(
                    (Option(name), f" is an option of the models {takers}"), hint="choose one of them, or leave it out"
                )


_BOTH = ("class_norm", "against_rest")

# The defaults of λ were measured: docs/decisions/003-defaults.md
MODELS = {
    "multinomial": Model(multinomial, 0.1, options=_BOTH),
    "binary": Model(binary, 0.1, presence=True, options=_BOTH),
    "mixed": Model(mixed, 0.1, presence=True, options=_BOTH),
    "bernoulli": Model(bernoulli, 0.03, presence=True, options=("against_rest",)),
    "complement": Model(complement, 0.3),
    "wcnb": Model(wcnb, 0.3),
    "binary-complement": Model(binary_complement, 0.3, presence=True),
}
