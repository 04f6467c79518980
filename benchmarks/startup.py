"""How long a prediction from the shell takes: Python's start, imports, one short text.

    python benchmarks/startup.py [--classifier FILE] [--runs N] [--json]

Wall clock, best of N fresh processes, taken in turn.  With a stored classifier also the command `bunrui predict`, where
it is installed.  Bytecode is kept, as after an installation, in a folder of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

TEXT = "a good film, とても楽しい 👍🏽"
LEARN = "TextClassifier().learn(['good film', 'bad film', '楽しい映画'], ['pos', 'neg', 'pos'])"
BASELINE = "import numpy"


def commands(classifier: str | None) -> dict[str, list[str]]:
    """What is run, by the name of its row."""
    codes = {
        "python -c pass": "pass",
        BASELINE: "import numpy",
        "import pyarrow": "import pyarrow",
        "from bunrui import TextClassifier": "from bunrui import TextClassifier",
        "learn three lines, predict one": f"from bunrui import TextClassifier; {LEARN}.predict([{TEXT!r}])",
    }
    rows = {name: [sys.executable, "-c", code] for name, code in codes.items()}
    bunrui = shutil.which("bunrui", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if classifier and bunrui:
        rows["bunrui predict --line"] = [bunrui, "predict", classifier, "--line", TEXT]
    return rows


def fastest(rows: Mapping[str, list[str]], runs: int) -> dict[str, float]:
    """The fewest seconds of each row; one more run, which is not counted, writes the bytecode."""
    best = dict.fromkeys(rows, float("inf"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = folder
        for turn in range(runs + 1):
            for name, command in rows.items():
                started = time.perf_counter()
                subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
                if turn:
                    best[name] = min(best[name], time.perf_counter() - started)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classifier", metavar="FILE", help="a stored classifier, for the command line")
    parser.add_argument("--runs", type=int, default=10, metavar="N")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    best = fastest(commands(options.classifier), options.runs)
    if options.json:
        print(json.dumps([{"run": name, "ms": 1e3 * s, "ratio": s / best[BASELINE]} for name, s in best.items()]))
        return
    print(f"{f'best of {options.runs}':36} {'ms':>6} {f'× {BASELINE}':>15}")
    for name, seconds in best.items():
        print(f"{name:36} {1e3 * seconds:6.0f} {seconds / best[BASELINE]:15.2f}")


if __name__ == "__main__":
    main()
