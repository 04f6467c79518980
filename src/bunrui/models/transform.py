"""Rows of counts as TWCNB reads them: the steps of Rennie et al. (2003) that come before the complement.

    x[f, d] = log(n[f, d] + 1)                              log TF: a word that comes twice does not say twice as much
    x[f, d] = x[f, d] · log(D / D[f])                       IDF: words of many documents say little
    x[f, d] = x[f, d] / sqrt(sum over f of x[f, d]²)        length norm: long documents do not speak louder

    D all documents, D[f] those that contain f

A document whose length is 0 after IDF (all its words are in all documents) stays 0: it contributes nothing.

Rennie, Shih, Teevan, Karger (2003), table 4, steps 1 to 3.  Golden values: tests/golden/test_twcnb.py
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.kernel.logs import log, log1p

__all__ = ["Steps", "inverse_doc_freq"]

Floats = npt.NDArray[np.float64]


class Steps(NamedTuple):
    """Which steps to take.

    Examples
    --------
    >>> steps = Steps(length_norm=True)
    >>> steps.apply(np.array([0, 2, 2, 3]), np.array([0, 1, 5]), np.array([3.0, 4.0, 7.0])).tolist()
    [0.6, 0.8, 1.0]
    """

    log_tf: bool = False
    idf: bool = False
    length_norm: bool = False

    def apply(
        self, starts: npt.NDArray[Any], features: npt.NDArray[Any], values: npt.NDArray[Any], idf: Floats | None = None
    ) -> Floats:
        """The values of rows that are not zero: those of row d stand at starts[d] … starts[d + 1] - 1.

        `idf` is log(D / D[f]) by feature, for the step of that name.
        """
        values = np.asarray(values, np.float64)
        if self.log_tf:
            values = log1p(values)
        if self.idf and idf is not None:
            values = values * idf[features]
        if self.length_norm:
            n_rows = len(starts) - 1
            rows = np.repeat(np.arange(n_rows), np.diff(starts))
            length = np.sqrt(np.bincount(rows, values**2, n_rows))
            values = values / np.where(length > 0, length, 1.0)[rows]
        return values


def inverse_doc_freq(n_docs: float, doc_freq: npt.NDArray[Any]) -> Floats:
    """log(D / D[f]) by feature; 0 for a feature that no document has, since it has no value to multiply."""
    return log(n_docs / np.where(doc_freq > 0, doc_freq, n_docs))
