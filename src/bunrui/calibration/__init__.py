"""Probabilities that mean what they say.

apply.py         scores → probabilities, by a `Calibration`
fit.py           documents that were left out → a `Calibration`
"""

from bunrui.calibration.apply import MOST_KNOTS, Calibration, digest_of, lengths_of, map_largest
from bunrui.calibration.fit import fit_calibration

__all__ = ["MOST_KNOTS", "Calibration", "digest_of", "fit_calibration", "lengths_of", "map_largest"]
