"""The corpora of the benchmarks: public ones from a folder, generated ones from nothing.

    corpus = load("imdb")          # train and test: Arrow tables of (label, text), both plain strings in one chunk
    corpus = zipf(30, 20, 0)       # 30 MB in 20 classes, for who has no corpora
    for batch in stream(1000): ... # a gigabyte, 8 MB at a time

The folder is the argument, or the environment variable `BUNRUI_DATA`, or `shared/data` beside the repository.
It holds one folder per corpus with `train.parquet` and `test.parquet` (columns `label` and `text`); SMS spam is one
`all.parquet`, Enron spam six `enron*.parquet`, livedoor the official archive packed as `livedoor.tar.xz`.
What is not there is looked for among those that `bunrui datasets fetch` has brought.

Training rows come in a seeded random order (NumPy, `default_rng(0)`): IMDB and 20 Newsgroups are stored class by class,
which takes Vowpal Wabbit from .877 to .500 and fastText from .859 to .846 on IMDB, and flatters counters that like
sorted labels.
Corpora without an official split are cut 80/20 by the same permutation.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bunrui import datasets
from bunrui.errors import BunruiError

SEED = 0
OFFICIAL, HELD_OUT, GENERATED = "official", "80/20, default_rng(0).permutation", "80/20, generated"
SCHEMA = pa.schema([("label", pa.string()), ("text", pa.string())])


@dataclass(frozen=True)
class Corpus:
    """A corpus: `train` and `test` have the columns label and text; `split` says where the border comes from."""

    name: str
    train: pa.Table
    test: pa.Table
    split: str


def n_bytes(texts: pa.Table | pa.ChunkedArray | pa.Array) -> int:
    """Bytes of UTF-8 in the texts: the unit of every rate, without labels and separators.

    >>> n_bytes(pa.array(["ab", "分類"]))
    8
    """
    column = texts["text"] if isinstance(texts, pa.Table) else texts
    return int(pc.sum(pc.binary_length(column)).as_py() or 0)


def data_folder(folder: str | Path | None = None) -> Path:
    """The argument, or `BUNRUI_DATA`, or `shared/data` beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(folder or os.environ.get("BUNRUI_DATA") or beside)


def load(name: str, folder: str | Path | None = None) -> Corpus:
    """Read a corpus of `CORPORA`; `zipf_en` and `zipf_ja` are generated (30 MB, 10 classes) and need no folder."""
    if name.startswith("zipf_"):
        return zipf(30, 10, SEED, language=name.removeprefix("zipf_"))
    if name not in CORPORA:
        raise ValueError(f"no corpus {name!r}; there are {', '.join([*CORPORA, 'zipf_en', 'zipf_ja'])}")
    read, split = CORPORA[name]
    home = data_folder(folder) / name
    try:
        train, test = read(home) if home.is_dir() else _fetched(FETCHED.get(name, name), split)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"corpus {name!r} is not in {home} ({error}). Put it there, name another folder with BUNRUI_DATA, "
            "or use zipf_en or zipf_ja, which are generated."
        ) from error
    if split == OFFICIAL:
        train = train.take(np.random.default_rng(SEED).permutation(train.num_rows))
    return Corpus(name, _plain(train), _plain(test), split)


def _plain(table: pa.Table) -> pa.Table:
    """Labels and texts as plain strings, in one chunk: integers become their digits, large strings strings."""
    return table.select(["label", "text"]).cast(SCHEMA).combine_chunks()


def _official(home: Path) -> tuple[pa.Table, pa.Table]:
    return _parquet(home / "train.parquet"), _parquet(home / "test.parquet")


def _parquet(path: Path) -> pa.Table:
    return pq.read_table(path, columns=["label", "text"])


def _held_out(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """80/20 by a seeded permutation of the rows."""
    order = np.random.default_rng(SEED).permutation(table.num_rows)
    border = table.num_rows * 8 // 10
    return table.take(order[:border]), table.take(order[border:])


def _fetched(name: str, split: str) -> tuple[pa.Table, pa.Table]:
    """A corpus of `bunrui datasets`, in its official split or in ours."""
    if split == OFFICIAL:
        return load_fetched(name, "train"), load_fetched(name, "test")
    return _held_out(load_fetched(name))


def load_fetched(name: str, split: str = "all") -> pa.Table:
    """A corpus that `bunrui datasets fetch` has brought, or a split of it; FileNotFoundError says how to get it."""
    try:
        return datasets.load(name, split)
    except BunruiError as error:
        raise FileNotFoundError(str(error)) from error


def with_unlabelled(name: str, split: str) -> pa.Table:
    """A split that was fetched, with its documents that have no label, which come last."""
    table, rest = load_fetched(name, split), datasets.path(name) / f"{split}-unlabelled.parquet"
    return pa.concat_tables([table, pq.read_table(rest)]) if rest.is_file() else table


def _sms(home: Path) -> tuple[pa.Table, pa.Table]:
    return _held_out(_parquet(home / "all.parquet"))


def _enron(home: Path) -> tuple[pa.Table, pa.Table]:
    """The six users as one corpus, in the order of their numbers."""
    return _held_out(pa.concat_tables(_parquet(home / f"enron{user}.parquet") for user in range(1, 7)))


def _livedoor(home: Path) -> tuple[pa.Table, pa.Table]:
    """A file is URL, date, title, body; the text is title and body. Files in the order of their names."""
    rows = []
    with tarfile.open(home / "livedoor.tar.xz") as archive:
        for member in archive:
            path = Path(member.name)
            file = archive.extractfile(member)
            if file is not None and path.stem not in {"LICENSE", "README", "CHANGES"}:
                rows.append((member.name, path.parent.name, file.read().decode("utf-8").split("\n", 2)[2]))
    _, labels, texts = zip(*sorted(rows), strict=True)
    return _held_out(pa.table({"label": labels, "text": texts}))


Reader = Callable[[Path], tuple[pa.Table, pa.Table]]
CORPORA: dict[str, tuple[Reader, str]] = {
    "imdb": (_official, OFFICIAL),
    "20news": (_official, OFFICIAL),
    "livedoor": (_livedoor, HELD_OUT),
    "nsmc": (_official, OFFICIAL),
    "thucnews": (_official, OFFICIAL),
    "ag_news": (_official, OFFICIAL),
    "sms_spam": (_sms, HELD_OUT),
    "enron_spam": (_enron, HELD_OUT),
    "twitter_samples": (_official, OFFICIAL),
    "banking77": (_official, OFFICIAL),
    "trec": (_official, OFFICIAL),
    "trec_fine": (_official, OFFICIAL),
    "ohsumed": (_official, OFFICIAL),
    "r52": (_official, OFFICIAL),
    "webkb": (_official, OFFICIAL),
    "waimai": (_official, OFFICIAL),
    "weibo_covid": (_official, OFFICIAL),
    "sst2": (_official, OFFICIAL),
}
FETCHED = {"ag_news": "agnews", "sms_spam": "sms", "enron_spam": "enron"}  # where `bunrui datasets` has other names


# Generated text. Word r of the vocabulary is drawn with probability ~ 1/(r + 2.7) (Zipf-Mandelbrot); one word in
# TOPICAL comes from a block of TOPIC words that belongs to the class. The rates of hash tables depend on the number of
# distinct words and their skew, which this has; sentences, spelling and accuracy are not those of a language.
VOCABULARY, TOPIC, TOPICAL = 150_000, 300, 12
BATCH_MB = 8
FORMS = np.repeat([0, 1, 2], [13, 2, 1])  # followed by a space (nothing in Japanese), a comma, a full stop


def zipf(megabytes: float, classes: int, seed: int, *, language: str = "en") -> Corpus:
    """English-like (`en`) or Japanese-like (`ja`) text: `megabytes` for training and a quarter of it for testing."""
    train = list(stream(megabytes, classes, seed, language=language))
    test = list(stream(megabytes / 4, classes, seed + 1, language=language))
    return Corpus(f"zipf_{language}", _whole(train), _whole(test), GENERATED)


def _whole(batches: list[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches, SCHEMA).combine_chunks()


def stream(megabytes: float, classes: int = 10, seed: int = SEED, *, language: str = "en") -> Iterator[pa.RecordBatch]:
    """Batches of about 8 MB of text until there are `megabytes`; the same seed gives the same batches.

    Only one batch is alive at a time, so memory stays flat. Making a batch takes time, too: who measures a stream
    measures the making with it, unless it is timed apart.
    """
    vocabulary = _vocabulary(language)
    left = megabytes * 1e6
    for number in count():
        batch = _batch(vocabulary, np.random.default_rng([seed, number]), classes, min(left, BATCH_MB * 1e6))
        left -= n_bytes(batch["text"])
        yield batch
        if left <= BATCH_MB * 1e4:  # a hundredth of a batch is not worth another one
            return


class Vocabulary(NamedTuple):
    """`words` in the three forms of `FORMS`, one after another; `ranks` by quantile, so that a draw is one look-up."""

    words: pa.Array
    ranks: np.ndarray
    mean_bytes: float


def _batch(vocabulary: Vocabulary, rng: np.random.Generator, classes: int, wanted: float) -> pa.RecordBatch:
    """Documents of about 200 words (log-normal lengths), one label each, `wanted` bytes together."""
    n_words = max(int(wanted / vocabulary.mean_bytes), 1)
    lengths = np.maximum(rng.lognormal(5.0, 0.8, n_words // 100 + 2).astype(np.int64), 1)
    ends = np.minimum(np.cumsum(lengths), n_words)
    ends = ends[: int(np.searchsorted(ends, n_words)) + 1]
    offsets = np.concatenate([[0], ends])
    labels = rng.integers(classes, size=len(ends))

    drawn = vocabulary.ranks[rng.integers(len(vocabulary.ranks), size=n_words)]
    topical = np.flatnonzero(rng.integers(TOPICAL, size=n_words) == 0)
    topics = np.repeat(labels, np.diff(offsets))[topical]
    drawn[topical] = 200 + (topics * TOPIC + rng.integers(TOPIC, size=len(topical))) % (VOCABULARY - 200)
    drawn += VOCABULARY * FORMS[rng.integers(len(FORMS), size=n_words)]

    tokens = vocabulary.words.take(pa.array(drawn))
    texts = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), tokens), "")
    names = pa.array([f"class{label:05d}" for label in range(classes)])
    return pa.record_batch([names.take(pa.array(labels)), texts], schema=SCHEMA)


@cache
def _vocabulary(language: str) -> Vocabulary:
    if language not in {"en", "ja"}:
        raise ValueError(f"language is 'en' or 'ja', not {language!r}")
    spell, marks = (_english, (" ", ", ", ".\n")) if language == "en" else (_japanese, ("", "、", "。\n"))
    rng = np.random.default_rng(SEED)
    distinct: dict[str, None] = {}
    while len(distinct) < VOCABULARY:
        distinct.setdefault(spell(len(distinct), rng))
    words = pa.array([word + mark for mark in marks for word in distinct])

    weights = np.cumsum(1 / (np.arange(VOCABULARY) + 2.7))
    ranks = np.searchsorted(weights, (np.arange(1 << 20) + 0.5) / (1 << 20) * weights[-1])
    sizes = pc.binary_length(words).to_numpy().reshape(len(marks), VOCABULARY)
    return Vocabulary(words, ranks, float(sizes[FORMS].mean(axis=0)[ranks].mean()))


def _english(rank: int, rng: np.random.Generator) -> str:
    """Letters with English frequencies; frequent words are short."""
    letters = "eeeeeeetttttaaaaoooooiiiinnnnsssshhhrrrdddlllccuummwffggyyppbbvk"
    size = 1 + rng.integers(1, 3 + min(rank.bit_length() // 2, 8))
    return "".join(letters[i] for i in rng.integers(len(letters), size=size))


def _japanese(rank: int, rng: np.random.Generator) -> str:
    """The 60 most frequent words are particles in hiragana; then kanji, kanji with an ending, katakana."""
    letters = "のにはをたがでとしれさあいうもるなかすこ"
    hiragana = "".join(letters[i] for i in rng.integers(len(letters), size=1 + rng.integers(2)))
    kind = rng.integers(4)
    if rank < 60:
        return hiragana
    if kind == 3:
        return "".join(chr(0x30A2 + i) for i in rng.integers(80, size=rng.integers(3, 7)))
    kanji = "".join(chr(0x4E00 + int(2500 * i**2)) for i in rng.random(2 if rank > 2000 else 1 + rng.integers(2)))
    return kanji + hiragana if kind == 2 else kanji
