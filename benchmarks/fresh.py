"""The first answer in a fresh environment: wheel installed, then `bunrui learn` and `bunrui predict`.

    python benchmarks/fresh.py [--runs 9] [--json]
    python benchmarks/fresh.py --checkout ../old --runs 2      # another version

Builds a wheel of a checkout and installs it with pip in a virtual environment of its own.  Before every run bunrui
itself is installed anew, and the home folder is empty, so that nothing is left of the run before.  Then come, each in a
process of its own: `import numpy, pyarrow.parquet`, to which the others are ratios; learning SMS spam (or generated
text) and predicting its test documents, both for the first and then for the second time; importing bunrui.
Figures are medians of the runs: wall clock, and processor time, which tells more where other programs run.  Sizes are
those of the files in the environment, which has no pip.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import corpora
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parents[1]
BASELINE = "import numpy, pyarrow.parquet"
COMPILERS = ("numba", "llvmlite")


class Took(NamedTuple):
    """Seconds of wall clock and of processor time of one process and those that it waited for."""

    seconds: float
    processor: float


def measure(checkout: Path = HERE, runs: int = 9, folder: str | None = None) -> dict[str, Any]:
    """Times by the name of the row, and sizes in MB."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        corpus = _corpus(folder)
        train, test = str(scratch / "train.parquet"), str(scratch / "test.parquet")
        pq.write_table(corpus.train, train)
        pq.write_table(corpus.test, test)
        print("building a wheel and installing it in a fresh environment …", file=sys.stderr)
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        built = call([*pip, "wheel", "--no-deps", "--wheel-dir", str(scratch / "wheel"), str(checkout)], os.environ)
        (wheel,) = (scratch / "wheel").glob("*.whl")
        home = scratch / "environment"
        venv.create(home)
        python, bunrui = str(home / "bin" / "python"), str(home / "bin" / "bunrui")
        into = [*pip, "--python", python, "install"]
        installed = call([*into, str(wheel)], os.environ)
        took: dict[str, list[Took]] = {}
        for run in range(runs):
            print(f"run {run + 1} of {runs} …", file=sys.stderr)
            call([*into, "--no-deps", "--force-reinstall", str(wheel)], os.environ)
            user = scratch / f"home{run}"
            user.mkdir()
            kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "BUNRUI", "XDG"))}
            environment = {**kept, "HOME": str(user)}
            for row, command in {
                BASELINE: [python, "-c", BASELINE],
                "first learn": [bunrui, "learn", str(user / "first.bunrui"), train],
                "first predict": [bunrui, "predict", str(user / "first.bunrui"), test],
                "second learn": [bunrui, "learn", str(user / "second.bunrui"), train],
                "second predict": [bunrui, "predict", str(user / "second.bunrui"), test],
                "import bunrui": [python, "-c", "from bunrui import TextClassifier"],
            }.items():
                took.setdefault(row, []).append(call(command, environment))
        packages = _sizes(home)
        return {
            "checkout": subprocess.run(
                ["git", "-C", str(checkout), "log", "-1", "--format=%h"], capture_output=True, text=True, check=False
            ).stdout.strip(),
            "runs": runs,
            "rows": _rows({row: Took(*map(statistics.median, zip(*each, strict=True))) for row, each in took.items()}),
            "build s": built._asdict(),
            "install s": installed._asdict(),
            "wheel MB": wheel.stat().st_size / 1e6,
            "installed MB": sum(packages.values()),
            "compilers": [package for package in COMPILERS if package in packages],
            "packages MB": packages,
        }


def _corpus(folder: str | None) -> corpora.Corpus:
    try:
        return corpora.load("sms_spam", folder)
    except FileNotFoundError as error:
        print(f"{error}\nusing generated text", file=sys.stderr)
        return corpora.zipf(0.4, 2, corpora.SEED)


def call(command: list[str], environment: Mapping[str, str]) -> Took:
    """Run a command to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def medians(commands: Mapping[str, list[str]], runs: int, bytecode: Path) -> dict[str, Took]:
    """Medians of commands that run in turn; one more run, which is not counted, writes the bytecode to a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    took: dict[str, list[Took]] = {name: [] for name in commands}
    for run in range(runs + 1):
        for name, command in commands.items():
            found = call(command, environment)
            took[name] += [found] if run else []
    return {name: Took(*map(statistics.median, zip(*times, strict=True))) for name, times in took.items()}


def _rows(times: Mapping[str, Took]) -> list[dict[str, Any]]:
    base = times[BASELINE]
    return [
        {
            "run": row,
            "ms": 1e3 * took.seconds,
            "processor ms": 1e3 * took.processor,
            "ratio": took.seconds / base.seconds,
            "processor ratio": took.processor / base.processor,
        }
        for row, took in times.items()
    ]


def _sizes(home: Path) -> dict[str, float]:
    """MB of every package of an environment, the largest first; `numpy.libs` belongs to numpy."""
    (site,) = (home / "lib").glob("python*/site-packages")
    sizes: dict[str, float] = {}
    for path in site.iterdir():
        name = path.name.partition(".")[0].partition("-")[0]
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        sizes[name] = sizes.get(name, 0.0) + sum(file.stat().st_size for file in files) / 1e6
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def lines(report: Mapping[str, Any]) -> list[str]:
    """The report for people."""
    found = [f"{'median of ' + str(report['runs']):32} {'ms':>7} {'×':>6} {'processor ms':>14} {'×':>6}"]
    for row in report["rows"]:
        times = f"{row['ms']:7.0f} {row['ratio']:6.1f} {row['processor ms']:14.0f} {row['processor ratio']:6.1f}"
        found.append(f"{row['run']:32} {times}")
    for name in ("build s", "install s"):
        found.append(
            f"{name:32} {report[name]['seconds']:7.0f}        {report[name]['processor']:14.0f} s of processor time"
        )
    largest = ", ".join(f"{name} {size:.1f}" for name, size in list(report["packages MB"].items())[:8])
    found.append(f"the wheel has {report['wheel MB']:.1f} MB, the environment {report['installed MB']:.0f}: {largest}")
    found.append(f"compilers in it: {', '.join(report['compilers']) or 'none'}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=HERE, help="of which version; this one by default")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--folder", help="where the corpora are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = measure(options.checkout.resolve(), options.runs, options.folder)
    print(json.dumps(report) if options.json else "\n".join(lines(report)))


if __name__ == "__main__":
    main()
