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


def test_models_of_texts(place: Path) -> None:
    code = """
from bunrui import TextClassifier
for model in ("binary-complement", "multinomial", "wcnb", "twcnb", "nbsvm", "arow", "aode"):
    clf = TextClassifier(model)
    clf.learn(["cheap pills", "cheap watches", "see you at noon", "noon it is"], ["spam", "spam", "ham", "ham"])
    found = [*clf.predict(["pills", "at noon"])]
    why = clf.explain("cheap pills")
    found += [why.label, clf.words("spam", top=1)[0].text, clf.predict_proba(["pills"])[0].argmax()]
    clf.unlearn(["cheap pills"], ["spam"])
    print(model, *found, *clf.predict(["watches"]))
"""
    found = run(place, "-c", code).splitlines()
    expected = ["spam", "ham", "spam", "cheap", "1", "spam"]
    assert len(found) == 7 and all(line.split()[1:] == expected for line in found), found


def test_models_of_tables(place: Path) -> None:
    code = f"""
from bunrui import AnalyzerSpec, TextClassifier
for model, kinds in (("columns", {{}}), ("aode", {{"said": "skip"}})):
    clf = TextClassifier(model, analyzer=AnalyzerSpec(name="columns", kinds=kinds))
    clf.learn({TABLE!r} * 6, ["spam", "ham"] * 6)
    print(*clf.predict({TABLE!r}), clf.explain({TABLE[0]!r}).label)
"""
    assert run(place, "-c", code).split() == ["spam", "ham", "spam"] * 2


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
    assert sentence in run(place, "-c", "import bunrui.estimators", code=1)
    code = """
from bunrui import TextClassifier
for statement in (
    "from bunrui import MultinomialNB",
    "TextClassifier().learn(['a', 'b'], ['x', 'y']).to_sklearn()",
    "TextClassifier('nbsvm').learn(['a', 'b'], ['x', 'y']).to_sklearn()",
):
    try:
        exec(statement)
    except ImportError as error:
        print(error)
"""
    assert run(place, "-c", code).count(sentence) == 3
    assert sentence in run(place, "-m", "bunrui", "compare", "train.csv", "--baselines", code=1)


def test_the_command_line(place: Path) -> None:
    commands = [
        command
        for model in ("binary-complement", "nbsvm", "twcnb")
        for file in [f"{model}.bunrui"]
        for command in (
            ["learn", file, "train.csv", "--model", model],
            ["predict", file, "--line", "cheap pills"],
            ["explain", file, "cheap pills"],
            ["evaluate", file, "train.csv"],
        )
    ]
    commands += [
        ["calibrate", "binary-complement.bunrui"],
        ["compare", "train.csv", "--models", "multinomial,arow,aode", "--folds", "3"],
        ["tune", "train.csv", "--out", "tuned.bunrui"],
        ["demo"],
    ]
    code = f"""
from bunrui.cli import main
for command in {commands!r}:
    print("@@", *command, flush=True)
    assert main(command) == 0, command
"""
    said = dict(part.partition("\n")[::2] for part in run(place, "-c", code).removeprefix("@@ ").split("\n@@ "))
    assert len(said) == len(commands)
    for model in ("binary-complement", "nbsvm", "twcnb"):
        assert "spam" in said[f"predict {model}.bunrui --line cheap pills"]
        assert "pills" in said[f"explain {model}.bunrui cheap pills"]
    assert "multinomial" in said["compare train.csv --models multinomial,arow,aode --folds 3"]
