"""Everything that answers, behind one protocol: `Model`.

    kinds.py      the tables of models: `MODELS` count, `TRAINED` are trained from documents
    counting.py   answers of the models that count; a file for each formula (multinomial.py, …)
    scorer.py     the linear scorer that every formula becomes; view.py has the counts that it reads
    linear.py     scores of texts and of rows, from a scorer; loo.py leaves every document out in turn
    trained.py    trains the other models, and answers; a file for each trainer (heads.py, …)
    explain.py    the share of each word of a text in a score; the words that speak for a label

The estimators read the formulas, too, and the likelihoods of columns of tables (likelihoods.py, frames.py).
"""

from __future__ import annotations

from bunrui.models.kinds import AUTO, CLASS_NORM_ALPHA, DEFAULT_MODEL, MODELS, TRAINED, Counting, kind_of

__all__ = ["AUTO", "CLASS_NORM_ALPHA", "DEFAULT_MODEL", "MODELS", "TRAINED", "Counting", "kind_of"]
