"""What people see: lines and a progress bar on stderr, tables on stdout.

Nothing that comes out of data may move the cursor or change colours: control characters are shown as pictures.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from bunrui.phrases import counted, visible

if TYPE_CHECKING:
    from rich.console import Console

    from bunrui.documents import Reader
    from bunrui.engines.tasks import Done
    from bunrui.errors import DataError

_UNSAFE = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PLAIN_WIDTH = 120
_ENDLESS = 1_000_000


def say(message: str) -> None:
    """A line, or some, on stderr."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:  # a full disk, say: that is describe at the end
        pass
    if not (message.isascii() and message.replace("\n", "").isprintable()):
        message = visible(message)
    print(message, file=sys.stderr, flush=True)


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON that is safe to show: what would act on a terminal is escaped.

    >>> to_json({"日本": "\\x9b\\x1b"})
    '{"日本": "\\\\u009b\\\\u001b"}'
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def stdout_console(width: int | None = None) -> Console:
    """A rich console on stdout; where that is no terminal, of a fixed width."""
    from rich.console import Console

    return Console(file=sys.stdout, width=width if sys.stdout.isatty() else width or _PLAIN_WIDTH, highlight=False)


def show(renderable: Any) -> None:
    """Something of rich on stdout; into a pipe as wide as it has to be, so that nothing is cut off."""
    from rich.measure import Measurement

    console = stdout_console()
    if not sys.stdout.isatty():
        endless = stdout_console(_ENDLESS)
        width = Measurement.get(endless, endless.options, renderable).maximum
        if width == _ENDLESS:  # it takes what it is given
            width = _PLAIN_WIDTH
        console = stdout_console(max(width, _PLAIN_WIDTH))
    console.print(renderable)


def say_reading(reader: Reader) -> None:
    """How many rows were left out, and why the first of them; how many files were found to have other encodings.

    And which files have a first line that looks like a row: it was not read as one.
    """
    _say_encodings(reader.encodings)
    for name in reader.doubtful_headers[:3]:
        say(
            f"warning: the first line of {name} was taken for the names of its columns, but looks like a row: if it is "
            "one, put a line with the names above it"
        )
    if reader.n_skipped:
        from bunrui.cli.errors import describe

        reasons = "".join(f"\n  {describe(error)}" for error in reader.bad_rows[:3])
        more = "\n  …" if reader.n_skipped > 3 else ""
        say(f"skipped {counted(reader.n_skipped, 'bad row')}:{reasons}{more}")


def _say_encodings(found: dict[str, int]) -> None:
    for name, n_files in found.items():
        say(f"{counted(n_files, 'file')} {'was' if n_files == 1 else 'were'} read as {name}")


@contextmanager
def interrupts(message: str) -> Iterator[None]:
    """Say so after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(message) from None


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C does nothing in here: what is being written is either there as a whole or not at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Bar:
    """Documents, MB, MB/s and the time left on stderr, if that is a terminal and the work takes more than a moment."""

    _PATIENCE = 0.5

    def __init__(self, reader: Reader, *, quiet: bool = False) -> None:
        self._reader = reader
        self._quiet = quiet or not sys.stderr.isatty()
        self._started = time.perf_counter()
        self._progress: Any = None
        self._task: Any = None
        self.n_docs = 0

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()

    def add(self, n_docs: int) -> None:
        """So many more documents are done."""
        self.n_docs += n_docs
        if self._quiet:
            return
        if self._progress is None and self.seconds > self._PATIENCE:
            self._progress, self._task = _progress(self._reader.bytes_total)
        if self._progress is not None:
            self._progress.update(
                self._task, completed=self._reader.bytes_read, documents=self.n_docs, rate=self._rate()
            )

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._started

    def speed(self) -> str:
        """Such as `0.4 s (12 MB/s)`; without the speed where there is too little to tell."""
        rate = self._rate()
        return f"{self.seconds:,.1f} s" + (f" ({rate})" if rate else "")

    def _rate(self) -> str:
        megabytes = self._reader.bytes_unpacked / 1e6
        rate = megabytes / max(self.seconds, 1e-9)
        is_known = megabytes > 0.1 and rate >= 0.05  # less is shown as 0.0
        return f"{rate:,.{0 if rate >= 10 else 1}f} MB/s" if is_known else ""


def _progress(total: int | None) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns: list[Any] = [
        BarColumn(),
        TextColumn("{task.fields[documents]:,} documents"),
        DownloadColumn() if total else TextColumn("{task.completed:,} bytes"),
        TextColumn("{task.fields[rate]}"),
    ]
    if total:
        columns.append(TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.start()
    return progress, progress.add_task("", total=total, documents=0, rate="")


_BESIDE = 8  # lines that are no rows: heads, what is going on, the prompt


@contextmanager
def live() -> Iterator[Callable[[Callable[[int], Any]], None] | None]:
    """A function that shows a table in place of the one before; None where nobody looks.

    It is given a function that makes the table of so many rows, as many as fit on the screen.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    with Live(console=console, transient=True, auto_refresh=False) as shown:

        def update(make: Callable[[int], Any]) -> None:
            shown.update(make(max(console.height - _BESIDE, 3)), refresh=True)

        yield update


def size(n_bytes: int) -> str:
    """Bytes as people read them.

    >>> size(812), size(5_400_000)
    ('812 bytes', '5.4 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:,.1f} MB"


# --- the work of a cluster


class _FarReading:
    """What a bar and the messages about bad rows, encodings and headers want to know of a reader."""

    def __init__(self, bytes_total: int | None) -> None:
        self.bytes_total = bytes_total
        self.bytes_read = self.bytes_unpacked = self.n_skipped = 0
        self.bad_rows: list[DataError] = []
        self.doubtful_headers: list[str] = []
        self.encodings: Counter[str] = Counter()

    def add(self, done: Done) -> None:
        self.bytes_read += done.n_bytes
        self.bytes_unpacked += done.n_unpacked
        self.n_skipped += done.n_skipped
        self.bad_rows += done.bad_rows
        self.doubtful_headers += done.doubtful_headers
        self.encodings.update(done.encodings)


class Watch:
    """Shows how many blocks are done."""

    def __init__(self, reader: Reader) -> None:
        self.progress = _FarReading(reader.bytes_total)
        self.bar = Bar(cast("Reader", self.progress))

    def __call__(self, done: Done) -> None:
        self.progress.add(done)
        self.bar.add(done.n_docs)

    def say_reading(self) -> None:
        say_reading(cast("Reader", self.progress))


@contextmanager
def watch_blocks(reader: Reader) -> Iterator[Watch]:
    """A bar for blocks that a cluster reads."""
    watch = Watch(reader)
    with watch.bar:
        yield watch
