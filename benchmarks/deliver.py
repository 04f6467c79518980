"""A mail through `bunrui deliver`, one process a mail, and through a running service with curl.

    python benchmarks/deliver.py [--runs 9] [--json]

The file has learned Enron spam (or generated text).  Ratios are to `python -c "import numpy, pyarrow"`.  Each run is a
new process, all rows in turn; bytecode is kept, as after an installation.  Figures are medians of wall clock and of
processor time, which for curl is without that of the service.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import corpora
from fresh import Took, medians
from service import free_port, server

import bunrui

BASELINE = "import numpy, pyarrow"


def measure(corpus: corpora.Corpus, runs: int, folder: Path) -> dict[str, Took]:
    """Medians by the name of the row."""
    whole, small, mail = folder / "mail.bunrui", folder / "small.bunrui", folder / "message.eml"
    with bunrui.create(whole) as clf:
        clf.learn(corpus.train["text"], corpus.train["label"])
        clf.slim(small, min_df=2)
        label = sorted(clf.classes_)[-1]
    mail.write_text(f"From: a@example.org\nSubject: hello\n\n{corpus.test['text'][0].as_py()}\n", encoding="utf-8")
    port = free_port()
    deliver = f'"{sys.executable}" -m bunrui deliver {{}} --positive "{label}" --exit-zero'
    curl = f"curl -sSf -H Content-Type:message/rfc822 --data-binary @- http://127.0.0.1:{port}/v1/deliver"
    rows = {
        BASELINE: f'"{sys.executable}" -c "{BASELINE}"',
        "bunrui deliver": deliver.format(whole),
        "bunrui deliver, slim --min-df 2": deliver.format(small),
        "curl, a running service": curl,
    }
    with server("-m", "bunrui", "serve", str(whole), "--port", str(port), port=port):
        said = subprocess.run(f"{curl} < {mail}", shell=True, capture_output=True, check=True).stdout
        assert said.startswith(b"X-Bunrui-Label: "), said
        commands = {name: ["sh", "-c", f"exec {command} < {mail}"] for name, command in rows.items()}
        return medians(commands, runs, folder / "bytecode")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9, metavar="N")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    corpus = corpora.load("enron_spam") if (corpora.data_folder() / "enron_spam").is_dir() else corpora.zipf(30, 2, 0)
    with tempfile.TemporaryDirectory() as name:
        took = measure(corpus, options.runs, Path(name))
    base = took[BASELINE]
    rows = [
        {
            "row": row,
            "ms": 1e3 * t.seconds,
            "ratio": t.seconds / base.seconds,
            "processor": t.processor / base.processor,
        }
        for row, t in took.items()
    ]
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{corpus.name:34}{'ms':>8}{'×':>8}{'CPU ×':>8}")
    for row in rows:
        print(f"{row['row']:34}{row['ms']:8.0f}{row['ratio']:8.2f}{row['processor']:8.2f}")


if __name__ == "__main__":
    main()
