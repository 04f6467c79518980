"""Arrow IPC streams in and out.

A stream from anywhere is data, and may be meant to harm.  Everything in it is checked before it is used, and it may not
be larger in memory than it came: no compression, no dictionary of texts, no views of labels.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from bunrui.service.problems import Problem

__all__ = ["read_stream", "write_stream"]

Body = bytes | bytearray

_DICTIONARY, _BATCH = 2, 3  # kinds of messages that hold data


def read_stream(body: Body, columns: Sequence[str], most_bytes: int) -> dict[str, pa.Array]:
    """Some columns of a stream, those that it has; texts have at most so many bytes in all."""
    try:
        for message in pa.ipc.MessageReader.open_stream(body):
            if _is_packed(message.metadata.to_pybytes()):
                raise Problem("invalid", "the Arrow stream is compressed: send it as it is")
        table = pa.ipc.open_stream(body).read_all()
        table = table.select([name for name in columns if name in table.column_names])
        table.validate(full=True)
        return {name: _whole(name, table[name], most_bytes) for name in table.column_names}
    except (pa.ArrowException, OSError, ValueError, KeyError, struct.error) as error:
        raise Problem("invalid", f"the body is no Arrow stream: {error}") from error


def _whole(name: str, column: pa.ChunkedArray, most_bytes: int) -> pa.Array:
    kind = column.type
    if name == "text" and pa.types.is_string_view(kind):
        # Views of one long text could stand for more than there is memory.
        if sum(_view_bytes(chunk) for chunk in column.chunks) > most_bytes:
            raise Problem("too-large", f"the texts have more than {most_bytes:,} bytes: send several streams")
        column = column.cast(pa.large_string())
    elif not (_is_string(kind) or (name == "label" and _is_labels(kind))):
        raise Problem("invalid", f"the column {name} holds strings, not {kind}: cast it to string or large_string")
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_labels(kind: pa.DataType) -> bool:
    """Whether it is a dictionary of strings, which nobody unpacks, or lists of strings, which do not overlap."""
    is_several = pa.types.is_dictionary(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(is_several and _is_string(kind.value_type))


def _view_bytes(views: pa.Array) -> int:
    """A view is 16 bytes, and begins with its length."""
    lengths = np.frombuffer(views.buffers()[1] or b"", np.int32)[::4]
    return int(lengths[views.offset : views.offset + len(views)].sum(dtype=np.int64))


def _is_packed(metadata: bytes) -> bool:
    """Whether a message says that its body is compressed; its metadata is a flatbuffer, which Arrow has verified."""
    (root,) = struct.unpack_from("<I", metadata)
    kind, header = _field(metadata, root, 1), _field(metadata, root, 2)
    if not kind or not header or metadata[kind] not in (_DICTIONARY, _BATCH):
        return False
    batch = _table(metadata, header)
    if metadata[kind] == _DICTIONARY:
        batch = _table(metadata, _field(metadata, batch, 1))
    return bool(_field(metadata, batch, 3))


def _table(data: bytes, at: int) -> int:
    return at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field of a table stands; 0 if it is left out."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    entry = 4 + 2 * number
    if entry >= struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset = int(struct.unpack_from("<H", data, vtable + entry)[0])
    return table + offset if offset else 0


def write_stream(table: pa.Table) -> bytes:
    """A table as a stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
