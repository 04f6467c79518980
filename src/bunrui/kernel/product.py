"""The rows of a sparse matrix times a dense table, cell by cell in the order of the rows, as SciPy adds them."""

from __future__ import annotations

from bunrui.kernel.primitives import ONE, U64, i64, prefetch, u64
from bunrui.kernel.signature import F64s, I32s, I64s, Read, kernel

AHEAD = U64(8)


@kernel
def multiply(
    starts: Read[I64s],
    columns: Read[I32s],
    values: Read[F64s],
    table: Read[F64s],
    n_columns: int,
    lo: int,
    hi: int,
    out: F64s,
) -> None:
    """Add the product of the rows lo … hi - 1 with `table`, (…, n_columns), to `out`, (rows, n_columns)."""
    width = u64(n_columns)
    for row in range(lo, hi):
        at = u64(row) * width
        k = u64(starts[row])
        end = u64(starts[row + 1])
        while k < end:
            prefetch(table, u64(columns[min(k + AHEAD, end - ONE)]) * width)
            x = values[k]
            first = u64(i64(columns[k])) * width
            c = u64(0)
            while c < width:
                out[at + c] += x * table[first + c]
                c = c + ONE
            k = k + ONE
