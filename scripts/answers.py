"""Print the answers of bunrui's commands on a corpus of small files, to compare two versions.

    python scripts/answers.py > new.txt
    PYTHONPATH=/path/to/another/checkout/src python scripts/answers.py > old.txt
    diff old.txt new.txt

    python scripts/answers.py --made-by /path/to/another/checkout/src     # its files, read by the bunrui Python finds

Each answer has the command, its exit code and its output.  Of a message on standard error only the exit code counts,
because sentences may get better.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

WORDS = {
    "spam": ["cheap", "pills", "winner", "無料", "当選", "免费", "무료", "click", "£500", "now!!"],
    "ham": ["lunch", "noon", "meeting", "会議", "明日", "会议", "회의", "report", "thanks", "see you"],
    "news": ["minister", "match", "選挙", "試合", "选举", "선거", "election", "won", "2–1", "said"],
}
MODELS = [
    "multinomial",
    "binary",
    "mixed",
    "bernoulli",
    "complement",
    "binary-complement",
    "wcnb",
    "twcnb",
    "nbsvm",
    "arow",
]
AS = {"ft": " --format fasttext"}
_MOVES = re.compile(
    r'"(?:time|when|seconds|rate|size|bytes|created|version|file|path|source)": (?:"[^"]*"|[\d.e+-]+)'
    r"|\d{4}-\d\d-\d\d\S*"
)


def write(folder: Path) -> None:
    """Write the corpus: one set of documents in every format, sets of labels, a table of columns, and bad files."""
    rows = list(_documents(random.Random(7), 240))
    train, test = rows[:200], rows[200:]
    for name, part in (("train", train), ("test", test)):
        for suffix, delimiter in (("csv", ","), ("tsv", "\t")):
            with open(folder / f"{name}.{suffix}", "w", newline="", encoding="utf-8") as out:
                csv.writer(out, delimiter=delimiter).writerows([["id", "text", "label"], *part])
        lines = (json.dumps(dict(zip(("id", "text", "label"), row, strict=True)), ensure_ascii=False) for row in part)
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        ids, texts, labels = (list(column) for column in zip(*part, strict=True))
        pq.write_table(pa.table({"id": ids, "text": texts, "label": labels}), folder / f"{name}.parquet")
        for place, text, label in part:
            (folder / name / label).mkdir(parents=True, exist_ok=True)
            (folder / name / label / f"{place}.txt").write_text(text, encoding="utf-8")
        (folder / f"{name}.ft").write_text("".join(f"__label__{c} {t}\n" for _, t, c in part), encoding="utf-8")
    sets = ({"text": f"{a[1]} {b[1]}", "label": sorted({a[2], b[2]})} for a, b in zip(train, train[7:], strict=False))
    (folder / "sets.jsonl").write_text("".join(json.dumps(each) + "\n" for each in sets), encoding="utf-8")
    draw = random.Random(3)
    with open(folder / "columns.csv", "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["colour", "weight", "label"])
        for _ in range(60):
            label = draw.choice("ab")
            writer.writerow([draw.choice(["red", "blue", ""]), draw.gauss(ord(label), 2.0), label])
    (folder / "empty.csv").write_bytes(b"")
    (folder / "header.csv").write_text("text,label\n")
    (folder / "short.csv").write_text("text,label\nonly one\n")
    (folder / "bytes.csv").write_bytes(b"text,label\n\xff\xfe,x\n")
    (folder / "nul.jsonl").write_text('{"text": "a\\u0000b", "label": "x"}\n{"text": "", "label": "y"}\n')
    (folder / "wrong.jsonl").write_text('{"text": "a", "label": "x"}\n{"txt": "b"}\n')
    (folder / "broken.bunrui").write_bytes(b"SQLite format 3\0" + bytes(200))


def _documents(draw: random.Random, n: int) -> Iterator[list[str]]:
    for place in range(n):
        label = draw.choice(list(WORDS))
        others = [word for words in WORDS.values() for word in words]
        words = [draw.choice(WORDS[label] if draw.random() < 0.6 else others) for _ in range(draw.randint(1, 15))]
        yield [f"d{place}", " ".join(words), label]


def making() -> Iterator[str]:
    """The commands that make classifiers."""
    for suffix in ("csv", "tsv", "jsonl", "parquet", "ft"):
        yield f"learn {suffix}.bunrui train.{suffix} --model binary-complement{AS.get(suffix, '')}"
    yield "learn folder.bunrui train --model binary-complement"
    for model in MODELS:
        yield f"learn {model}.bunrui train.csv --model {model}"
    yield "learn words.bunrui train.csv --analyzer words --model multinomial --alpha 1"
    yield "learn hashed.bunrui train.csv --hash-bits 12 --model multinomial"
    yield "learn sets.bunrui sets.jsonl --model multinomial"
    yield "learn columns.bunrui columns.csv --columns"
    yield "learn ids.bunrui train.csv --id id --model multinomial"


def asking() -> Iterator[str]:
    """The commands that ask, and the changes."""
    for name in ("csv", "tsv", "jsonl", "parquet", "ft", "folder", "words", "hashed", *MODELS):
        yield f"predict {name}.bunrui test.csv --json --top 3"
        yield f"info {name}.bunrui --json"
    for name in ("binary-complement", "multinomial", "bernoulli", "wcnb", "arow"):
        yield f"explain {name}.bunrui 'cheap lunch 会議' --json"
        yield f"words {name}.bunrui spam --json"
        yield f"evaluate {name}.bunrui test.csv --json"
    yield from ("predict sets.bunrui test.csv --json", "evaluate sets.bunrui sets.jsonl --json")
    yield from ("predict columns.bunrui columns.csv --json", 'explain columns.bunrui \'{"colour": "red"}\' --json')
    for suffix in ("tsv", "jsonl", "parquet", "ft"):
        yield f"predict csv.bunrui test.{suffix} --json{AS.get(suffix, '')}"
    yield "evaluate train.csv --loo --json --model multinomial"
    yield "evaluate train.csv --folds 4 --json --model binary-complement"
    yield "compare train.csv --test test.csv --json --models multinomial,binary-complement,wcnb"
    yield "audit train.csv --json --model multinomial --top 5"
    yield "export multinomial.bunrui counts.csv"
    yield "predict multinomial.bunrui test.csv --json --alpha 1 --prior uniform --class-norm"
    yield from (
        "learn ids.bunrui test.csv --id id",
        "unlearn ids.bunrui test.csv",
        "predict ids.bunrui test.csv --json",
    )
    yield from (
        "undo ids.bunrui",
        "predict ids.bunrui test.csv --json",
        "log ids.bunrui --json",
        "check ids.bunrui --json",
    )
    yield from ("relabel ids.bunrui test.csv", "label rename ids.bunrui spam junk", "words ids.bunrui junk --json")
    yield from ("merge csv.bunrui tsv.bunrui", "merge csv.bunrui words.bunrui", "predict csv.bunrui test.csv --json")
    yield from ("set csv.bunrui --alpha 0.3", "calibrate csv.bunrui --json", "predict csv.bunrui test.csv --json")
    yield from ("slim csv.bunrui slim.bunrui", "predict slim.bunrui test.csv --json", "compact csv.bunrui")
    yield from ("set csv.bunrui --alpha -1", "learn csv.bunrui missing.csv", "predict nowhere.bunrui test.csv")
    yield from (
        "learn csv.bunrui train.csv --text nothing",
        "predict csv.bunrui test.csv --model nothing",
        "words csv.bunrui x",
    )
    for bad in ("empty.csv", "header.csv", "short.csv", "bytes.csv", "nul.jsonl", "wrong.jsonl"):
        yield f"learn bad.bunrui {bad}"
        yield f"learn skip.bunrui {bad} --skip-bad"
    yield from ("info broken.bunrui", "learn broken.bunrui train.csv", "info train.csv", "frobnicate x", "predict")


def answer(command: str, folder: Path, source: str | None = None) -> str:
    """The command, its exit code and its output, without times and versions."""
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **({"PYTHONPATH": source} if source else {})}
    run = subprocess.run(
        f"{sys.executable} -m bunrui {command}", shell=True, cwd=folder, env=env, capture_output=True, text=True
    )
    return f"$ {command}  [{run.returncode}]\n{_MOVES.sub(chr(8230), run.stdout)}"


def main() -> None:
    """Print all answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--made-by", help="the sources of another version, which makes the classifiers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        for command in making():
            print(answer(command, folder, options.made_by), flush=True)
        for command in asking():
            print(answer(command, folder), flush=True)
        print((folder / "counts.csv").read_text(encoding="utf-8") if (folder / "counts.csv").exists() else "no counts")


if __name__ == "__main__":
    main()
