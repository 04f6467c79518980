"""Spreadsheets, as programs write them and as attackers do."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bunrui.documents import read, spreadsheet
from bunrui.documents.spreadsheet import SheetWriter
from bunrui.errors import DataError

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
HEADER = '<row r="1"><c r="A1" t="str"><v>text</v></c><c r="B1" t="str"><v>label</v></c></row>'


def relations(**targets: str) -> str:
    found = "".join(
        f'<Relationship Id="{id}" Type="{OFFICE}/{target.split(":")[0]}" Target="{target.split(":")[1]}"/>'
        for id, target in targets.items()
    )
    return f"<Relationships>{found}</Relationships>"


def workbook(*rows: str, **parts: str) -> bytes:
    """A file whose sheet has these rows; other parts by name, with __ for / and _ for a dot before the suffix."""
    has = {
        "_rels/.rels": relations(r1="officeDocument:xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns:r="{OFFICE}"><sheets><sheet name="a" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(
            r1="worksheet:worksheets/sheet1.xml", r2="styles:styles.xml", r3="sharedStrings:/xl/sharedStrings.xml"
        ),
        "xl/styles.xml": "<styleSheet/>",
        "xl/sharedStrings.xml": "<sst/>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>',
    }
    has |= {f"xl/{name}.xml" if "/" not in name else name: content for name, content in parts.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in has.items():
            packed.writestr(name, content)
    return file.getvalue()


def column(data: bytes, name: str = "text", **options: Any) -> list[Any]:
    batches = list(read(io.BytesIO(data), labelled=name == "label", **options))
    return [value for batch in batches for value in batch[name].to_pylist()]


def refused(data: bytes) -> str:
    with pytest.raises(DataError) as caught:
        column(data)
    return str(caught.value)


# --- cells


def test_cells_of_every_kind() -> None:
    shared = (
        "<sst><si><t>one</t></si>"
        "<si><r><t>分</t></r><r><t xml:space='preserve'>類 </t></r><rPh sb='0' eb='2'><t>ブンルイ</t></rPh></si></sst>"
    )
    styles = (
        '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy&quot;年&quot;m"/></numFmts>'
        '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="22"/><xf numFmtId="20"/>'
        "</cellXfs></styleSheet>"
    )
    cells = {
        '<c t="s"><v>0</v></c>': "one",
        '<c t="s"><v>1</v></c>': "分類 ",
        '<c t="inlineStr"><is><t>a &lt;b&gt;_x000D_</t></is></c>': "a <b>\r",
        '<c t="str"><f>A1&amp;"x"</f><v>onex</v></c>': "onex",
        "<c><f>1+1</f><v>2</v></c>": "2",
        "<c><v>0.30000000000000004</v></c>": "0.3",
        "<c><v>1E3</v></c>": "1000",
        '<c t="b"><v>1</v></c>': "TRUE",
        '<c t="e"><v>#N/A</v></c>': "#N/A",
        '<c t="d"><v>2026-05-01</v></c>': "2026-05-01",
        '<c s="1"><v>46143</v></c>': "2026-05-01",
        '<c s="2"><v>1</v></c>': "1900-01-01",
        '<c s="1"><v>61</v></c>': "1900-03-01",
        '<c s="3"><v>46143.5</v></c>': "2026-05-01 12:00:00",
        '<c s="4"><v>0.25</v></c>': "06:00:00",
        '<c s="1"><v>1e300</v></c>': "1e+300",
    }
    rows = [f"<row>{cell}<c><v>7</v></c></row>" for cell in cells]
    data = workbook(HEADER, *rows, styles=styles, sharedStrings=shared)
    assert column(data) == list(cells.values())
    assert column(data, "label") == ["7"] * len(cells)
    assert column(data, "line", label="text") == list(range(2, len(cells) + 2))


def test_dates_from_1904() -> None:
    sheets = '<sheets><sheet name="a" r:id="r1"/></sheets>'
    book = f'<workbook xmlns:r="{OFFICE}"><workbookPr date1904="1"/>{sheets}</workbook>'
    styles = '<styleSheet><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>'
    assert column(workbook(HEADER, "<row><c><v>0.5</v></c></row>", workbook=book, styles=styles)) == ["12:00:00"]
    assert column(workbook(HEADER, "<row><c><v>366</v></c></row>", workbook=book, styles=styles)) == ["1905-01-01"]


def test_gaps_merged_cells_and_a_huge_dimension() -> None:
    """Rows and columns that are not there are empty; a merged cell is its first one; nobody believes a dimension."""
    sheet = (
        f'<x:worksheet xmlns:x="{MAIN}"><x:dimension ref="A1:XFD1048576"/><x:sheetData>'
        '<x:row r="2"><x:c r="B2" t="str"><x:v>text</x:v></x:c><x:c r="D2" t="str"><x:v>label</x:v></x:c></x:row>'
        '<x:row r="3"><x:c r="C3" t="str"><x:v>beside</x:v></x:c></x:row><x:row r="4"/>'
        '<x:row r="1048576"><x:c r="B1048576" t="str"><x:v>far</x:v></x:c><x:c r="D1048576"><x:v>1</x:v></x:c></x:row>'
        "</x:sheetData><x:mergeCells><x:mergeCell ref='B3:D3'/></x:mergeCells></x:worksheet>"
    )
    data = workbook(**{"xl/worksheets/sheet1.xml": sheet})
    assert column(data) == ["", "far"]
    assert column(data, "line") == [3, 1048576]
    with pytest.raises(DataError, match="row 3: the label is empty"):
        column(data, "label")
    assert column(data, columns=True) == ['{"A":null,"text":null,"C":"beside"}', '{"A":null,"text":"far","C":null}']


def test_the_first_sheet_that_has_cells() -> None:
    sheets = "".join(
        f'<sheet name="{name}" r:id="{name}" state="{state}"/>'
        for name, state in (("hidden", "hidden"), ("empty", "visible"), ("chart", "visible"), ("r1", "visible"))
    )
    data = workbook(
        HEADER,
        "<row><c t='str'><v>found</v></c></row>",
        workbook=f'<workbook xmlns:r="{OFFICE}"><sheets>{sheets}</sheets></workbook>',
        **{
            "xl/_rels/workbook.xml.rels": relations(
                hidden="worksheet:worksheets/sheet1.xml",
                empty="worksheet:worksheets/empty.xml",
                chart="chartsheet:chartsheets/sheet1.xml",
                r1="worksheet:worksheets/sheet1.xml",
            ),
            "xl/worksheets/empty.xml": "<worksheet><sheetData/></worksheet>",
        },
    )
    assert column(data) == ["found"]
    assert refused(workbook()) == "stream: no sheet has cells with anything in them"


def test_without_a_header() -> None:
    data = workbook("<row><c t='str'><v>lunch?</v></c><c t='str'><v>ham</v></c></row>" * 2)
    assert column(data, text="1", header=False) == ["lunch?", "lunch?"]
    reader = read(io.BytesIO(data), text="lunch?", label="ham")
    assert [batch.num_rows for batch in reader] == [1]
    assert reader.doubtful_headers == []  # the same row again is a header again
    other = workbook(
        HEADER.replace("text", "lunch?").replace("label", "ham"), "<row><c/><c t='str'><v>ham</v></c></row>"
    )
    reader = read(io.BytesIO(other), text="lunch?", label="ham")
    assert [batch.num_rows for batch in reader] == [1]
    assert reader.doubtful_headers == ["stream"]


def test_small_batches_have_all_rows() -> None:
    rows = [f"<row><c t='str'><v>text {n}</v></c></row>" for n in range(5000)]
    assert column(workbook(HEADER, *rows), batch_bytes=100) == [f"text {n}" for n in range(5000)]


# --- what cannot be read


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"sharedStrings": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><sst/>'}, "it has a document type"),
        ({"sharedStrings": '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><sst/>'}, "it has a document type"),
        ({"sharedStrings": "<sst>"}, "no element found"),
        ({"workbook": "<workbook/>"}, "no sheet has cells"),
        ({"xl/worksheets/sheet1.xml": f"<a>{'x' * 20_000_000}</a>"}, "would grow from"),
        ({"xl/worksheets/sheet1.xml": '<a><row><c r="AAAA1"><v>1</v></c></row></a>'}, "there is no column 'AAAA'"),
        ({"xl/worksheets/sheet1.xml": '<a><row><c t="s"><v>7</v></c></row></a>'}, "list index out of range"),
        ({"xl/worksheets/sheet1.xml": "<a><row><c><v>seven</v></c></row></a>"}, "could not convert"),
    ],
)
def test_hostile_and_damaged_parts(parts: dict[str, str], why: str) -> None:
    said = refused(workbook(HEADER, **parts))
    assert said.startswith("stream: ")
    assert why in said


def test_a_row_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheet, "_LONGEST_ROW", 100_000)
    monkeypatch.setattr(spreadsheet, "_LONGEST_TAG", 100_000)
    cell = "<c t='str'><v>" + "x" * 60_000 + "</v></c>"
    assert "a row has more than" in refused(workbook(HEADER, f"<row>{cell}{cell}</row>"))
    assert "a row has more than" in refused(workbook(HEADER, f"<row><c t='str'><v>{'x' * 300_000}</v></c></row>"))
    assert "has a tag of more than" in refused(workbook(HEADER, f"<row s='{'x' * 300_000}'/>"))


def test_what_is_no_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "all.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0 with a password")
    with pytest.raises(DataError) as caught:
        list(read(path))
    old = "this is a spreadsheet of the old kind (.xls), or one with a password: save it as .xlsx without a password"
    assert str(caught.value) == f"{path}: {old}"
    whole = workbook(HEADER)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="cannot be read as a spreadsheet"):
        list(read(path))


@pytest.mark.parametrize("attack", ["texts", "sheet"])
def test_memory_is_bounded(tmp_path: Path, attack: str) -> None:
    """Many rows take no memory; texts that cells share take theirs."""
    many = "<row><c t='str'><v>x</v></c></row>" * 200_000 if attack == "sheet" else ""
    texts = "<sst>" + "<si><t>x</t></si>" * 300_000 + "</sst>" if attack == "texts" else "<sst/>"
    path = tmp_path / "all.xlsx"
    path.write_bytes(workbook(HEADER, many, sharedStrings=texts))
    code = (
        "import resource, sys\n"
        "from bunrui.documents import read\n"
        "for batch in read(sys.argv[1], labelled=False): pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 400 << 10  # 200 of them for pyarrow


# --- writing


def written(table: pa.Table) -> bytes:
    file = io.BytesIO()
    writer = SheetWriter(file, table.schema)
    writer.write_table(table)
    writer.close()
    return file.getvalue()


def test_what_is_written_is_read() -> None:
    texts = ["=1+1", "+a", "@b", "-c", "", None, "a\r\nb\tc", "\x00\x07 _x0041_", " 分類 & <b>\"'", "👍\ufffe"]
    rest = pa.array([*range(9), 1 << 60])
    table = pa.table({"text": texts, "n": rest, "x": pa.array([0.1 * n for n in range(10)]), "b": [True, False] * 5})
    table = table.append_column("when", pa.array([date(2026, 5, 1)] * 10))
    table = table.append_column("tags", pa.array([["a", "b"]] * 10))
    data = written(table)
    assert column(data) == [text or "" for text in texts]
    assert column(data, text="n") == [*map(str, range(9)), str(1 << 60)]
    assert column(data, text="x") == [f"{0.1 * n:.15g}" for n in range(10)]
    assert column(data, text="b") == ["TRUE", "FALSE"] * 5
    assert column(data, text="when") == ["2026-05-01"] * 10
    assert column(data, text="tags") == ['["a", "b"]'] * 10


def test_other_programs_read_what_is_written() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    table = pa.table({"text": ["=1+1", "分類 & <b>", None], "n": [1.5, None, float("nan")], "b": [True, None, False]})
    sheet = openpyxl.load_workbook(io.BytesIO(written(table))).active
    rows = [[(cell.value, cell.data_type) for cell in row] for row in sheet.iter_rows()]
    assert rows == [
        [("text", "s"), ("n", "s"), ("b", "s")],
        [("=1+1", "s"), (1.5, "n"), (True, "b")],
        [("分類 & <b>", "s"), (None, "n"), (None, "n")],
        [(None, "n"), (None, "n"), (False, "b")],
    ]


def test_limits_of_spreadsheet_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheet, "MOST_ROWS", 4)
    data = written(pa.table({"text": ["x" * 40_000, *"abcdef"]}))
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        sheets = [name for name in file.namelist() if "sheet" in name]
        assert [file.read(name).count(b"<row>") for name in sheets] == [4, 4, 2]
    (first, *rest) = column(data)
    assert first == "x" * 32_766 + "…"
    assert rest == ["a", "b"]
