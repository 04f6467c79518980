"""Everything that answers, behind one protocol: `Model`.

    counting.py   models that are formulas of counts; their table, `MODELS`
    linear.py     scores from the linear scorer that every formula becomes; base.py has the scorer, view.py the counts
    explain.py    what each word of a text adds to a score; words.py, the words that speak for a label

and a file for each formula: multinomial, bernoulli, complement, rest, gaussian, categorical, aode.
"""

from __future__ import annotations

from bunrui.models.counting import CLASS_NORM_ALPHA, MODELS, Counting
from bunrui.models.model import Best, Kind, Model

__all__ = ["CLASS_NORM_ALPHA", "DEFAULT_MODEL", "MODELS", "Best", "Counting", "Kind", "Model"]

DEFAULT_MODEL = "binary-complement"
