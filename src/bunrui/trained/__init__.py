"""Models of text that counts do not determine: they are trained from the documents themselves.

    twcnb   all five steps of Rennie et al. (2003)           estimators/complement.py
    nbsvm   a linear SVM with a naive-Bayes prior            estimators/nbsvm.py
    arow    the same idea, learned in one pass, goes on      estimators/arow.py
    aode    words in pairs, the most telling ones; columns   estimators/aode.py
    columns rows of tables, a likelihood for each column     estimators/columns.py

A classifier in memory keeps what it learns for them, one in a file reads the texts that the file keeps.  They are
trained when they first answer after a change; `arow` only learns what is new, unless documents were taken back.
"""

from __future__ import annotations

from bunrui.trained.names import TRAINED

__all__ = ["TRAINED"]
