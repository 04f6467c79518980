"""The family: each model a pure function from counts to a linear scorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bunrui.errors import OptionError
from bunrui.models.base import Floats, Scorer, Smoothing
from bunrui.models.bernoulli import bernoulli
from bunrui.models.complement import binary_complement, complement, wcnb
from bunrui.models.multinomial import binary, mixed, multinomial
from bunrui.models.view import CountView

__all__ = ["DEFAULT_MODEL", "MODELS", "Model", "model_of"]

DEFAULT_MODEL = "binary-complement"


class Model(NamedTuple):
    """A member of the family: its formula, λ where the user names none, and whether it reads presence."""

    formula: Callable[[CountView, Smoothing, Floats], Scorer]
    alpha: float
    presence: bool = False


# The defaults of λ were measured: docs/decisions/003-defaults.md
MODELS = {
    "multinomial": Model(multinomial, 0.1),
    "binary": Model(binary, 0.1, presence=True),
    "mixed": Model(mixed, 0.1, presence=True),
    "bernoulli": Model(bernoulli, 0.03, presence=True),
    "complement": Model(complement, 0.3),
    "wcnb": Model(wcnb, 0.3),
    "binary-complement": Model(binary_complement, 0.3, presence=True),
}


def model_of(name: str) -> Model:
    """The model with a name."""
    if name not in MODELS:
        raise OptionError(f"there is no model {name!r}: choose one of {', '.join(MODELS)}")
    return MODELS[name]
