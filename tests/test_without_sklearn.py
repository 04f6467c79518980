"""The library and the command line where scikit-learn and SciPy are not installed: importing them raises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src"

# Python runs this file before anything else.
HOOK = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("scipy", "sklearn"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""

ROWS = "text,label\n" + "".join(
    f"{text} {k},{label}\n"
    for k in range(12)
    for text, label in (("cheap pills now", "spam"), ("see you at noon", "ham"), ("the cup is ours", "sport"))
)

TABLE = [
    '{"size": 1.5, "colour": "red", "said": "cheap pills for you"}',
    '{"size": 8.0, "colour": "blue", "said": "see you at noon"}',
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bare")
    (place / "sitecustomize.py").write_text(HOOK)
    (place / "train.csv").write_text(ROWS)
    return place


def run(place: Path, *arguments: str, code: int = 0) -> str:
    """What a Python without the two prints."""
    paths = os.pathsep.join([str(place), str(PACKAGE)])
    env = {**os.environ, "PYTHONPATH": paths, "NO_COLOR": "1", "COLUMNS": "200"}
    done = subprocess.run([sys.executable, *arguments], cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_the_hook_works(place: Path) -> None:
    assert "No module named 'sklearn'" in run(place, "-c", "import sklearn", code=1)
    assert "No module named 'scipy'" in run(place, "-c", "import scipy.sparse", code=1)


@pytest.mark.parametrize("model", ["binary-complement", "multinomial", "wcnb", "twcnb", "nbsvm", "arow", "aode"])
def test_models_of_texts(place: Path, model: str) -> None:
    found = run(
        place,
        "-c",
        f"""
from bunrui import TextClassifier
clf = TextClassifier({model!r})
clf.learn(["cheap pills", "cheap watches", "see you at noon", "noon it is"], ["spam", "spam", "ham", "ham"])
print(*clf.predict(["pills", "at noon"]))
print(clf.explain("cheap noon").label, len(clf.words("spam")), clf.predict_proba(["pills"]).shape)
clf.unlearn(["cheap pills"], ["spam"])
print(*clf.predict(["watches"]))
""",
    )
    assert found.split()[:2] == ["spam", "ham"] and found.split()[-1] == "spam"


@pytest.mark.parametrize("model", ["columns", "aode"])
def test_models_of_tables(place: Path, model: str) -> None:
    code = f"""
from bunrui import AnalyzerSpec, TextClassifier
kinds = {{"said": "skip"}} if {model!r} == "aode" else {{}}
clf = TextClassifier({model!r}, analyzer=AnalyzerSpec(name="columns", kinds=kinds))
clf.learn({TABLE!r} * 6, ["spam", "ham"] * 6)
print(*clf.predict({TABLE!r}), clf.explain({TABLE[0]!r}).label)
"""
    assert run(place, "-c", code).split() == ["spam", "ham", "spam"]


def test_statistics_and_calibration(place: Path) -> None:
    code = """
from bunrui.evaluation.uncertainty import corrected_t_test
from bunrui import TextClassifier
from bunrui.evaluation import leave_one_out
from bunrui.selection import compare
texts = [f"{word} {k}" for k in range(30) for word in ("cheap pills", "at noon")]
labels = ["spam", "ham"] * 30
print(round(corrected_t_test([.91, .92, .93], [.9, .9, .9], test_over_train=.5).p, 4))
print(leave_one_out(TextClassifier(), texts, labels).metrics.accuracy)
rows = compare(texts, labels, models=["multinomial", "nbsvm"], folds=3).rows
print(*sorted({row.model for row in rows}))
"""
    assert run(place, "-c", code).split() == ["0.1598", "1.0", "multinomial", "nbsvm"]


def test_what_needs_scikit_learn_says_so(place: Path) -> None:
    sentence = "which is not installed: pip install 'bunrui[sklearn]'"
    for code in (
        "import bunrui.estimators",
        "from bunrui import MultinomialNB",
        "from bunrui import TextClassifier; TextClassifier().learn(['a', 'b'], ['x', 'y']).to_sklearn()",
        "from bunrui import TextClassifier; TextClassifier('nbsvm').learn(['a', 'b'], ['x', 'y']).to_sklearn()",
    ):
        assert sentence in run(place, "-c", code, code=1)
    assert sentence in run(place, "-m", "bunrui", "compare", "train.csv", "--baselines", code=1)


def test_the_command_line(place: Path) -> None:
    def bunrui(*arguments: str) -> str:
        return run(place, "-m", "bunrui", *arguments)

    for model in ("binary-complement", "nbsvm", "twcnb"):
        file = f"{model}.bunrui"
        bunrui("learn", file, "train.csv", "--model", model)
        assert "spam" in bunrui("predict", file, "--line", "cheap pills")
        assert "pills" in bunrui("explain", file, "cheap pills")
        bunrui("evaluate", file, "train.csv")
    bunrui("calibrate", "binary-complement.bunrui")
    assert "multinomial" in bunrui("compare", "train.csv", "--models", "multinomial,arow,aode", "--folds", "3")
    bunrui("tune", "train.csv", "--out", "tuned.bunrui")
    bunrui("demo")
