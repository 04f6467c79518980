"""Text → features: analyzers, their specs, and the inputs that they read."""

from bunrui.analysis.analyzer import Analyzer, analyzer_of
from bunrui.analysis.spec import AnalyzerSpec
from bunrui.analysis.texts import Token

__all__ = ["Analyzer", "AnalyzerSpec", "Token", "analyzer_of"]
