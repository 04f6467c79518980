"""The standard input.

It is read without its buffer: a thread that waits inside a buffer keeps Python from ending.  A few plain lines, as in
`echo "free pills" | bunrui predict mail.bunrui`, need nothing of `bunrui.documents`: its import takes 50 ms, and the
first Arrow array 170 ms more where pandas is installed, which pyarrow imports then.
"""

from __future__ import annotations

import re
import sys
from typing import Any

__all__ = ["Stdin"]

_FEW_BYTES = 1 << 16

# What may be something else than lines, or lines that take more than splitting.
_NOT_PLAIN = re.compile(
    rb"\s*(?:\{|__label__)|[^\n]*text|From |[A-Za-z][\w-]*: |PAR1|ARROW1|BZh|[\x1f\x28\xef\xfd\xff]"
).match


class Stdin:
    """The standard input, as a source of `bunrui.documents.read`."""

    name = "<stdin>"

    def __init__(self) -> None:
        self._head = b""

    def read(self, n_bytes: int) -> bytes:
        """At most so many bytes; none at the end."""
        if self._head:
            data, self._head = self._head[:n_bytes], self._head[n_bytes:]
            return data
        return _read(n_bytes)

    def is_empty(self) -> bool:
        """Whether there is nothing left to be read; waits until that is known."""
        self._head = self._head or _read(_FEW_BYTES)
        return not self._head

    def few_lines(self) -> list[str] | None:
        """All of the input if it is a few plain lines; else None, and `read` starts at the beginning."""
        while part := _read(_FEW_BYTES):
            self._head += part
            if len(self._head) > _FEW_BYTES:
                return None
        if not self._head or b"\r" in self._head or _NOT_PLAIN(self._head):
            return None
        try:
            return self._head.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            return None


def _read(n_bytes: int) -> bytes:
    stream: Any = sys.stdin.buffer
    data: bytes = getattr(stream, "raw", stream).read(n_bytes)
    return data
