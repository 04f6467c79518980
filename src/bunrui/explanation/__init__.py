"""Why: what every feature of a text adds to the score of a label, placed on the original text.

    value[f] = scale[c] * x[f] * (slope[c] + shared[f] + weight[f, c])  less the same for the class it is held against

    bias + sum of value[f]  =  score[label](d) - score[against](d)

Every text model is linear (`bunrui.models.base`), so this is the score itself, taken apart; nothing is estimated.
The same sum for one occurrence of each word tells which words speak for a label: `telling_words`.
"""

from __future__ import annotations

from bunrui.explanation.documents import explain
from bunrui.explanation.reading import read
from bunrui.explanation.words import Word, telling_words
from bunrui.views.explanation import Contribution, Explanation

__all__ = ["Contribution", "Explanation", "Word", "explain", "read", "telling_words"]
