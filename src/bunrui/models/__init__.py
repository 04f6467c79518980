"""Everything that answers, behind one protocol: `Model`.

    counting.py   models that are formulas of counts: the table `MODELS`; a file for each formula (multinomial.py, …)
    scorer.py     the linear scorer that every formula becomes; view.py has the counts that it reads
    linear.py     scores from a scorer; loo.py leaves every document out in turn
    kinds.py      models that are trained from documents: the table `TRAINED`; trained.py trains them and answers
    explain.py    what each word of a text adds to a score; keywords.py, the words that speak for a label

Formulas on matrices and on columns of tables (gaussian.py, categorical.py, table.py, …) serve the estimators, too.
"""

from __future__ import annotations

from bunrui.models.counting import CLASS_NORM_ALPHA, MODELS, Counting
from bunrui.models.kinds import AUTO, TRAINED, kind_of
from bunrui.models.model import Best, Kind, Model

__all__ = [
    "AUTO",
    "CLASS_NORM_ALPHA",
    "DEFAULT_MODEL",
    "MODELS",
    "TRAINED",
    "Best",
    "Counting",
    "Kind",
    "Model",
    "kind_of",
]

DEFAULT_MODEL = "binary-complement"
