"""Selections from files: the rows as they stood, whatever the size of the batches."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import math
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui.errors import DataError, OptionError
from bunrui.selection.filter import Best, Gumbel, Selection, select
from bunrui.selection.ratio import Ratio
from tests.selection.test_ratio import SPECS, brute
from tests.support.examples import examples, quick

GOOD = ["a good film", "the best film of the year", "few films are good", "映画は良かった"]
RAW = [
    "shares fell on Monday",
    "a film of the year",
    "",
    "rain on Monday 🌧️",
    "good good film",
    "nul\0 in a film",
    "映画は長い",
    "rain, rain",
    "the best of films",
    " ",
    *(f"rain and wind on day {k}, shares fell by {k} points" for k in range(30)),
]
ROWS = [{"id": f"r{k}", "text": text, "n": k, "tags": ["x"] * (k % 3)} for k, text in enumerate(RAW)]


def write_jsonl(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    path.write_bytes("".join(json.dumps(row) + "\n" for row in rows).encode())
    return path


def write_parquet(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)
    return path


def write_csv(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    quoted = ['"{}"'.format(row["text"].replace('"', '""')) for row in rows]
    lines = [f"{row['id']},{text},{row['n']}" for row, text in zip(rows, quoted, strict=True)]
    path.write_bytes("\n".join(["id,text,n", *lines, ""]).encode())
    return path


def write_arrow(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    return path


WRITERS: dict[str, Callable[..., Path]] = {
    "jsonl": write_jsonl,
    "parquet": write_parquet,
    "csv": write_csv,
    "arrow": write_arrow,
}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.txt"
    path.write_text("\n".join(GOOD) + "\n", encoding="utf-8")
    return path


def dicts(selection: Selection) -> list[dict[str, Any]]:
    rows = [row for part in selection for row in part.rows.to_pylist()]
    return [json.loads(row) if isinstance(row, str) else row for row in rows]


def ids(selection: Selection) -> list[str]:
    return [row["id"] for row in dicts(selection)]


def expected_ratios(bits: int = 20) -> list[float]:
    return brute(SPECS[0], bits, GOOD, RAW, RAW)


def has_words(text: str) -> bool:
    return bool(text.strip())


@pytest.mark.parametrize("kind", WRITERS)
def test_rows_are_as_they_were(good: Path, tmp_path: Path, kind: str) -> None:
    path = WRITERS[kind](tmp_path / f"raw.{kind}")
    ratios = expected_ratios()
    assert min(abs(ratio) for ratio in ratios if ratio) > 1e-6
    found = select(good, path, threshold=0)
    kept = [row for row, ratio in zip(ROWS, ratios, strict=True) if ratio > 0]
    assert len(kept) in range(2, 8) and ids(found) == [row["id"] for row in kept]
    assert (found.n_raw, found.n_selected) == (len(RAW), len(kept))
    if kind == "csv":
        kept = [{"id": row["id"], "text": row["text"], "n": str(row["n"])} for row in kept]
    assert dicts(found) == kept, "a second pass, too"
    parts = list(select(good, path, threshold=0))
    assert np.concatenate([part.log_ratio for part in parts]) == pytest.approx([r for r in ratios if r > 0], abs=1e-12)


@pytest.mark.parametrize("bits", [0, 20])
@pytest.mark.parametrize("kind", quick(1, WRITERS))
@pytest.mark.parametrize("way", [{"threshold": -0.5}, {"top": 4}, {"top": 0.35}, {"sample": 4, "seed": 5}], ids=str)
def test_batches_of_any_size_give_the_same_bytes(
    good: Path, tmp_path: Path, kind: str, way: dict[str, Any], bits: int
) -> None:
    path = WRITERS[kind](tmp_path / f"raw.{kind}")
    found = []
    for size in (1, 30, 75, 1 << 24):
        parts = list(select(good, path, **way, hash_bits=bits, batch_bytes=size))
        rows = [row for part in parts for row in part.rows.to_pylist()]
        found.append((json.dumps(rows), np.concatenate([part.log_ratio for part in parts]).tobytes()))
    assert len(set(found)) == 1


def test_the_top(good: Path, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "raw.parquet")
    ratios = [ratio if has_words(text) else -math.inf for ratio, text in zip(expected_ratios(), RAW, strict=True)]
    for top, k in ((1, 1), (3, 3), (100, 38), (0.1, 4), (0.101, 5), (1.0, 38)):
        assert ids(select(good, path, top=top)) == [f"r{place}" for place in chosen_by_sorting(ratios, k)]


@pytest.mark.parametrize(
    ("top", "n_raw", "n_rows"),
    [(0.07, 100, 7), (0.55 / 100, 2000, 11), (5 / 6, 6, 5), (0.29, 101, 30), (1e-12, 10, 1), (1.0, 7, 7)],
)
def test_a_share_is_what_was_written(good: Path, tmp_path: Path, top: float, n_raw: int, n_rows: int) -> None:
    path = write_jsonl(tmp_path / "raw.jsonl", [{"id": str(k), "text": f"film {k}"} for k in range(n_raw)])
    assert len(ids(select(good, path, top=top))) == n_rows


def test_a_sample(good: Path, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "raw.jsonl")
    ratios = np.array([r if has_words(text) else -math.inf for r, text in zip(expected_ratios(), RAW, strict=True)])
    drawn = set()
    for seed in range(20):
        keys = (ratios + Gumbel(seed).draw(len(RAW))).tolist()
        found = ids(select(good, path, sample=6, seed=seed))
        assert found == [f"r{place}" for place in chosen_by_sorting(keys, 6)]
        drawn.add(tuple(found))
    assert len(drawn) > 3


def test_documents_without_words_are_never_selected(good: Path, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "raw.jsonl", [{"text": ""}, {"text": " "}, {"text": "rain"}, {"text": "\0"}])
    for way in ({"top": 4}, {"sample": 4}, {"threshold": -1e9}):
        assert dicts(select(good, path, **way)) == [{"text": "rain"}]
    only = write_jsonl(tmp_path / "only.jsonl", [{"text": ""}])
    assert dicts(select(good, only, top=4)) == []


def test_equals_go_to_the_first(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "raw.jsonl")
    found = select(path, path, top=3)
    assert len(ids(found)) == 3 and all(abs(ratio) < 1e-12 for part in found for ratio in part.log_ratio)
    same = write_jsonl(tmp_path / "same.jsonl", [{"id": f"r{k}", "text": "rain"} for k in range(9)])
    assert ids(select(path, same, top=3)) == ["r0", "r1", "r2"]


def test_lines_stay_as_they_are_written(good: Path, tmp_path: Path) -> None:
    lines = [
        '{"text":"a good film","x":1e2,"y":[1,"a"]}',
        "",
        '  { "text" : "rain" }  ',
        '{"big": 123456789012345678901234567890, "text": "best film \\u2028 of"}\r',
        '{"text": "the year", "text2": "é\u2028"}',
    ]
    path = tmp_path / "raw.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    for size in (1, 40, 1 << 20):
        found = [row for part in select(good, path, top=9, batch_bytes=size) for row in part.rows.to_pylist()]
        assert found == [lines[0], lines[2].strip(), lines[3].strip(), lines[4]]


def test_fields_of_csv(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_bytes(
        b'\xef\xbb\xbfid,text,"a ""b"""\r\n\r\n1,"a good\nfilm, ""the"" best",x\r\n\r\n2,rain,"y\n\nz"\r\n3,film,'
    )
    for size in (1, 25, 1 << 20):
        assert dicts(select(good, path, top=9, batch_bytes=size)) == [
            {"id": "1", "text": 'a good\nfilm, "the" best', 'a "b"': "x"},
            {"id": "2", "text": "rain", 'a "b"': "y\n\nz"},
            {"id": "3", "text": "film", 'a "b"': ""},
        ]


def test_columns_of_any_type(good: Path, tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": pa.array(["a good film", *["rain on Monday"] * 20, "the best film"]).dictionary_encode(),
            "when": [datetime(2026, 1, day) for day in range(1, 23)],
            "deep": [{"a": [1, None]}, *[None] * 20, {"a": []}],
            "bytes": [b"\xff", *[b""] * 20, None],
        }
    )
    pq.write_table(table, tmp_path / "raw.parquet")
    (part,) = select(good, tmp_path / "raw.parquet", top=2)
    assert pa.Table.from_struct_array(part.rows).to_pylist() == table.take([0, 21]).to_pylist()
    assert part.rows.type.field("when").type == table.schema.field("when").type


@pytest.mark.parametrize("size", [1, 40, 1 << 20])
def test_bad_rows_are_left_out_and_the_others_stay_theirs(good: Path, tmp_path: Path, size: int) -> None:
    rows = [{"id": k, "text": f"film {k}" if k % 3 else None} for k in range(20)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "raw.parquet")
    lines = [json.dumps(row) if row["text"] else "nothing" for row in rows]
    (tmp_path / "raw.jsonl").write_text("\n".join(lines))
    (tmp_path / "raw.csv").write_text("id,text\n" + "\n".join(f"{k},film {k}" if k % 3 else f"{k}" for k in range(20)))
    for kind in ("parquet", "jsonl", "csv"):
        found = select(good, tmp_path / f"raw.{kind}", top=99, skip_bad=True, batch_bytes=size)
        assert [row["text"] for row in dicts(found)] == [f"film {k}" for k in range(20) if k % 3]
        assert [int(row["id"]) for row in dicts(found)] == [k for k in range(20) if k % 3]
        assert found.raws.n_skipped == 7 and len(found.raws.skipped) == 7
        with pytest.raises(DataError, match=rf"raw.{kind}, (row|line) \d: "):
            list(select(good, tmp_path / f"raw.{kind}", top=99))


def test_compressed_and_several_files(good: Path, tmp_path: Path) -> None:
    plain = write_jsonl(tmp_path / "a.jsonl", ROWS[:5])
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(write_jsonl(tmp_path / "b.jsonl", ROWS[5:]).read_bytes()))
    with pa.CompressedOutputStream(str(tmp_path / "b.jsonl.zst"), "zstd") as file:
        file.write((tmp_path / "b.jsonl").read_bytes())
    (tmp_path / "b.parquet.gz").write_bytes(gzip.compress(write_parquet(tmp_path / "b.parquet", ROWS[5:]).read_bytes()))
    write_arrow(tmp_path / "b.arrow", ROWS[5:])
    expected = dicts(select(good, write_jsonl(tmp_path / "all.jsonl"), top=6))
    assert len(expected) == 6
    for second in ("b.jsonl", "b.jsonl.gz", "b.jsonl.zst", "b.parquet", "b.parquet.gz", "b.arrow"):
        assert dicts(select(good, [plain, tmp_path / second], top=6)) == expected


def test_formats_without_columns(good: Path, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("rain on Monday\na good film\n" + "rain on Monday\n" * 20)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a good film")
    row = {"text": "a good film", "id": None, "source": str(tmp_path / "raw.txt"), "line": 2}
    assert dicts(select(good, tmp_path / "raw.txt", top=1)) == [row]
    (found,) = dicts(select(good, tmp_path / "folder", top=1))
    assert (found["text"], found["id"]) == ("a good film", "a.txt")
    write_jsonl(tmp_path / "lines").rename(tmp_path / "lines.txt")  # told by its first bytes
    assert ids(select(good, tmp_path / "lines.txt", top=2)) == ids(
        select(good, write_jsonl(tmp_path / "l.jsonl"), top=2)
    )


def test_common_columns(good: Path, tmp_path: Path) -> None:
    def schema(*names: str) -> pa.Schema | None:
        return select(good, [tmp_path / name for name in names], top=1).schema()

    pq.write_table(pa.table({"text": ["a"], "n": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    write_arrow(tmp_path / "b.arrow", [{"text": "b", "n": 2**40, "more": "x"}])
    both = pa.schema([("text", pa.string()), ("n", pa.int64()), ("more", pa.string())])
    assert schema("a.parquet", "b.arrow") == both
    write_jsonl(tmp_path / "c.jsonl")
    assert schema("a.parquet", "c.jsonl") is None
    pq.write_table(pa.table({"text": ["a"], "n": [[1]]}), tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"^the files have a column of the same name with different types: "):
        schema("a.parquet", "c.parquet")


def test_raw_may_be_estimated_from_its_beginning(good: Path, tmp_path: Path) -> None:
    first, second = write_jsonl(tmp_path / "a.jsonl", ROWS[:5]), write_parquet(tmp_path / "b.parquet", ROWS[5:])
    texts = [*RAW[:2], *RAW[5:7]]
    expected = Ratio().learn_target(GOOD).learn_raw(texts).scores(RAW)
    for size in (1, 1 << 20):
        found = select(good, [first, second], threshold=-1e9, fit_on=3, batch_bytes=size)
        ratios = np.concatenate([part.log_ratio for part in found])
        assert found.ratio.n_raw == 4 and found.n_raw == len(RAW)
        assert ratios.tolist() == [r for r, text in zip(expected.tolist(), RAW, strict=True) if has_words(text)]


def test_progress_is_shown(good: Path, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "raw.jsonl")
    shown: list[tuple[int, int]] = []

    class Bar:
        def __init__(self, reader: Any) -> None:
            self.reader = reader

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *error: object) -> None:
            assert self.reader.bytes_read == self.reader.bytes_total

        def add(self, n_docs: int) -> None:
            shown.append((n_docs, self.reader.bytes_total))

    list(select(good, path, top=1, bar=Bar))
    size = path.stat().st_size
    assert shown == [(len(GOOD), good.stat().st_size), (len(RAW), size), (len(RAW), size)]


# --- what cannot be done


def test_wrong_input(good: Path, tmp_path: Path) -> None:
    raw = write_jsonl(tmp_path / "raw.jsonl")
    (tmp_path / "blank.txt").write_text("\n \n")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "none.parquet")
    for target, other, message in (
        (tmp_path / "blank.txt", raw, "^the target has no words: nothing can look like it$"),
        (tmp_path / "none.parquet", raw, "^the target has no words: nothing can look like it$"),
        (good, tmp_path / "none.parquet", "^there are no documents in raw: nothing was selected$"),
        (good, tmp_path / "no.jsonl", "^there is no file "),
    ):
        with pytest.raises(DataError, match=message):
            list(select(target, other, top=1))
    for column in ("body", ["text", "body"]):
        with pytest.raises(DataError, match="there is no column 'body', only "):
            list(
                select(write_parquet(tmp_path / "t.parquet"), write_parquet(tmp_path / "r.parquet"), top=1, text=column)
            )


@pytest.mark.parametrize("name", ["raw.csv", "raw.tsv"])
def test_columns_of_one_name(good: Path, tmp_path: Path, name: str) -> None:
    raw = tmp_path / name
    raw.write_text("n,text,n\n1,a film,2\n".replace(",", "\t" if name == "raw.tsv" else ","))
    assert dicts(select(good, raw, top=1)) == [{"n": "1", "text": "a film", "n (2)": "2"}]


def test_streams_are_read_once(good: Path) -> None:
    with pytest.raises(
        DataError, match=r"^<stdin>: this is a stream, and raw is read twice: write it to a file first$"
    ):
        select(good, "-", top=1)
    with pytest.raises(DataError, match=r"^stream: this is a stream, and raw is read twice"):
        select(good, io.BytesIO(b"a\n"), top=1)


def test_other_encodings(good: Path, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_bytes(("映画は良かった\n" + "明日の天気\n" * 20).encode("cp932"))
    (tmp_path / "good.txt").write_bytes("映画は良い\n".encode("cp932"))
    (row,) = dicts(select(tmp_path / "good.txt", tmp_path / "raw.txt", top=1, encoding="cp932"))
    assert row["text"] == "映画は良かった"
    (tmp_path / "raw.csv").write_bytes("n,text\n1,映画は良かった\n2,明日の天気\n".encode("cp932"))
    lines = '{"text": "映画は良かった", "n": 1}\n{"text": "明日の天気は晴れ"}\n'
    (tmp_path / "lines.txt").write_bytes(lines.encode("cp932"))
    for name, expected in (("raw.csv", {"n": "1", "text": row["text"]}), ("lines.txt", {"text": row["text"], "n": 1})):
        assert dicts(select(tmp_path / "good.txt", tmp_path / name, top=1, encoding="cp932")) == [expected]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "^give one of threshold, top and sample"),
        ({"top": 1, "sample": 1}, "^give one of threshold, top and sample"),
        ({"threshold": math.nan}, "^threshold should be a number, not nan$"),
        ({"top": 0}, "^top should be a whole number, at least 1, not 0$"),
        ({"top": True}, "^top should be a whole number, at least 1, not True$"),
        ({"top": 1.5}, "^top should be a whole number, or a share above 0 and at most 1.0, not 1.5$"),
        ({"top": 0.5, "fit_on": 9}, "^a share of raw is known when all of it is counted"),
        ({"sample": -1}, "^sample should be a whole number, at least 1, not -1$"),
        ({"top": 1, "fit_on": 0}, "^fit_on should be a whole number, at least 1, not 0$"),
        ({"top": 1, "hash_bits": 3}, "^hash_bits should be 8 to 26"),
        ({"top": 1, "analyzer": "no"}, "^there is no analyzer 'no'"),
    ],
)
def test_wrong_options(good: Path, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        select(good, write_jsonl(tmp_path / "raw.jsonl"), **options)


# --- the best rows of a stream against sorting, samples against their probabilities


def chosen_by_sorting(keys: list[float], k: int) -> list[int]:
    order = sorted((-key, place) for place, key in enumerate(keys) if key > -math.inf)
    return sorted(place for _, place in order[:k])


@settings(max_examples=examples(150))
@given(
    st.lists(st.sampled_from([-math.inf, -1.5, 0.0, 0.5, 1.0, 2.0, 7.0]) | st.floats(-9, 9), max_size=80),
    st.integers(1, 30),
    st.integers(1, 20),
)
def test_the_best_are_those_of_sorting(keys: list[float], k: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch, closing(Best(k)) as best:
        patch.setattr("bunrui.selection.filter._SLACK", 1)
        for start in range(0, len(keys), size):
            part = np.array(keys[start : start + size])
            best.add(part, pa.table({"place": np.arange(len(part)) + start}))
        found = [place for rows in best.rows() for place in rows["place"].to_pylist()]
    assert found == chosen_by_sorting(keys, k)


def test_rows_of_any_kind_in_one_file() -> None:
    with closing(Best(3)) as best:
        best.add(np.array([1.0]), pa.table({"x": ["a"]}))
        best.add(np.array([2.0, 0.0]), pa.table({"y": [[1], [2]], "z": [None, 5]}))
        best.add(np.array([3.0]), pa.table({"x": [{"a": 1}]}))
        assert [rows.to_pylist() for rows in best.rows()] == [[{"x": "a"}], [{"y": [1], "z": None}], [{"x": {"a": 1}}]]


def test_the_file_does_not_grow_with_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.selection.filter._SLACK", 1)
    sizes = []
    with closing(Best(5)) as best:
        for key in range(2000):  # each better than all before
            best.add(np.array([float(key)]), pa.table({"key": [key]}))
            sizes.append(best._file.n_rows)
        assert [rows["key"].to_pylist() for rows in best.rows()] == [[key] for key in range(1995, 2000)]
    assert max(sizes) < 50


def test_gumbel() -> None:
    numbers = Gumbel(3).draw(200_000)
    assert numbers.mean() == pytest.approx(0.5772, abs=0.01) and numbers.var() == pytest.approx(np.pi**2 / 6, abs=0.03)
    assert np.isfinite(numbers).all() and not np.array_equal(numbers, Gumbel(4).draw(200_000))
    # The numbers of PCG64(0), as NumPy's `default_rng(0).random(3)` has them: samples of a seed stay what they are.
    uniform = np.array([0.6369616873214543, 0.2697867137638703, 0.04097352393619469])
    assert Gumbel(0).draw(3) == pytest.approx(-np.log(-np.log(uniform)), abs=1e-12)


def test_samples_have_the_probabilities_of_drawing_one_by_one() -> None:
    weights, k, n = np.array([1.0, 2.0, 3.0, 4.0]), 2, 60_000
    expected = np.zeros(4)
    for first, second in itertools.permutations(range(4), 2):
        share = weights[first] / weights.sum() * weights[second] / (weights.sum() - weights[first])
        expected[[first, second]] += share
    keys = np.log(weights) + Gumbel(1).draw(4 * n).reshape(n, 4)
    found = np.zeros(4)
    for row in keys[:2000]:
        with closing(Best(k)) as best:
            best.add(row, pa.table({"place": np.arange(4)}))
            found[[place for rows in best.rows() for place in rows["place"].to_pylist()]] += 1
    by_sorting = np.bincount(np.argsort(-keys[:2000], axis=1)[:, :k].ravel(), minlength=4)
    assert found.tolist() == by_sorting.tolist()
    shares = np.bincount(np.argsort(-keys, axis=1)[:, :k].ravel(), minlength=4) / n
    assert shares == pytest.approx(expected, abs=4 * 0.5 / math.sqrt(n))
