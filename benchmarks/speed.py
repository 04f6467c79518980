"""How fast: the same work done by bunrui and by its peers, in one run on one machine.

    python benchmarks/speed.py                       the corpora of the data folder, or generated text without it
    python benchmarks/speed.py --corpora imdb --features words --peers scikit-learn,bunrui --json

The work: `\\w+` words, word 1-2-grams or Japanese character 2-3-grams → multinomial naive Bayes with λ = 1 → labels.
scikit-learn and bunrui give the same labels for words.  The others have models of their own: see their accuracy.
A ratio is against scikit-learn in the same run; a bare MB/s means little on another machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import corpora
import peers
import stopwatch
import table

WORK = (("imdb", "words"), ("20news", "words"), ("imdb", "words2"), ("livedoor", "ja"))
GENERATED = (("zipf_en", "words"), ("zipf_en", "words2"), ("zipf_ja", "ja"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", help="comma-separated; all of them by default")
    parser.add_argument("--features", help="comma-separated: words, words2, ja")
    parser.add_argument("--peers", help=f"comma-separated: {', '.join(peers.PEERS)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for the repeats of one peer")
    parser.add_argument("--folder", help="where the corpora are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    work = [
        (corpus, features)
        for corpus, features in ([*WORK, *GENERATED] if options.corpora else chosen(options.folder))
        if not options.corpora or corpus in options.corpora.split(",")
        if not options.features or features in options.features.split(",")
    ]
    names = _listed(options.peers, peers.PEERS)
    rows, versions = measure(work, names, folder=options.folder, repeats=options.repeats, budget=options.budget)
    table.emit(rows, versions, as_json=options.json)


def measure(
    work: Sequence[tuple[str, str]], names: Iterable[str] = tuple(peers.PEERS), **options: Any
) -> tuple[list[table.Row], dict[str, str]]:
    """The rows of these peers on this work, and the versions of those that could run."""
    rows: list[table.Row] = []
    versions: dict[str, str] = {}
    for corpus, features in work:
        for name in names:
            peer = peers.PEERS[name](features)
            if why := peer.available():
                print(f"{corpus}, {features}: {why}", file=sys.stderr)
                continue
            versions[peer.distribution] = peer.version() or "?"
            print(f"{corpus}, {features}: {name} …", file=sys.stderr)
            rows += table.rows_of(stopwatch.trial(type(peer), corpus, features, **options))
    return rows, versions


def chosen(folder: str | None = None) -> tuple[tuple[str, str], ...]:
    """The public corpora that there are, or the generated ones."""
    there = []
    for corpus, features in WORK:
        try:
            corpora.load(corpus, folder)
        except FileNotFoundError as error:
            print(error, file=sys.stderr)
        else:
            there.append((corpus, features))
    if not there:
        print("using generated text", file=sys.stderr)
    return tuple(there) or GENERATED


def _listed(given: str | None, known: dict[str, type[peers.Peer]]) -> list[str]:
    """Names of peers; some have a comma in them."""
    if not given:
        return list(known)
    rest, found = given, []
    for name in sorted(known, key=len, reverse=True):
        if name in rest:
            rest = rest.replace(name, "")
            found.append(name)
    if rest.strip(", "):
        raise SystemExit(f"there is no peer {rest.strip(', ')!r}: choose among {', '.join(known)}")
    return [name for name in known if name in found]


if __name__ == "__main__":
    main()
