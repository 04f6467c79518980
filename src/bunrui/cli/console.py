"""The voice of the commands: lines, errors and a progress bar on stderr, tables on stdout.

An error of the library is said in the words of the command line: an option is `--min-df`, the next step a command.

Nothing that comes out of data may move the cursor or change colours: control characters are shown as pictures.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from bunrui.engines.stream import ahead
from bunrui.errors import STEPS, UNSAID, BunruiError, DataError, Option, Step
from bunrui.labels import text_of
from bunrui.phrases import counted, one_line, visible

if TYPE_CHECKING:
    from rich.console import Console

    from bunrui.documents import Reader
    from bunrui.engines.tasks import Done

T = TypeVar("T")

_UNSAFE = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PLAIN_WIDTH = 120
_ENDLESS = 1_000_000


def say(message: str) -> None:
    """A line, or some, on stderr."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:  # a full disk, say: that is said at the end
        pass
    if not (message.isascii() and message.replace("\n", "").isprintable()):
        message = visible(message)
    print(message, file=sys.stderr, flush=True)


def to_json(value: Any) -> str:
    """JSON that is safe to show: what would act on a terminal is escaped.

    >>> to_json({"日本": "\\x9b\\x1b"})
    '{"日本": "\\\\u009b\\\\u001b"}'
    """
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def quote(name: Any) -> str:
    """A label, or a column, in a sentence: a string in quotes, a number as it is."""
    return f"'{one_line(name)}'" if isinstance(name, str) else text_of(name)


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
    for encoding, n_files in reader.encodings.items():
        say(f"{counted(n_files, 'file')} {'was' if n_files == 1 else 'were'} read as {encoding}")
    for name in reader.doubtful_headers[:3]:
        advice = "if it is a document, put a line with the names above it"
        say(f"warning: the first line of {name} was read as names of columns: {advice}")
    for name in reader.progress.unread_labels[:1]:
        given = text_of(next(source.label for source in reader.sources if source.label is not None))
        column = reader.options.label
        say(f"the column {column!r} of {name} is not read: --as gives all documents the label {one_line(given)}")
    if reader.n_skipped:
        reasons = "".join(f"\n  {describe(error)}" for error in reader.progress.skipped[:3])
        more = "\n  …" if reader.n_skipped > 3 else ""
        say(f"skipped {counted(reader.n_skipped, 'bad row')}:{reasons}{more}")


@contextmanager
def interrupts(message: str) -> Iterator[None]:
    """Print this message after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(message) from None


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C in a block that writes: its result is there as a whole or not at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def kept_whole(changing: AbstractContextManager[T]) -> Iterator[T]:
    """A block of a context manager that writes at its end: Ctrl-C stops the block, but not the end."""
    with ExitStack() as stack:
        yield stack.enter_context(changing)
        with uninterrupted():
            stack.close()


class Bar:
    """Documents, MB, MB/s and the time left on stderr, if that is a terminal and the work takes more than a moment."""

    _PATIENCE = 0.5

    def __init__(self, reader: Reader, *, quiet: bool = False) -> None:
        self._reader = reader
        self._quiet = quiet or not sys.stderr.isatty()
        self._started = time.perf_counter()
        self._progress: Any = None
        self.n_docs = 0

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __iter__(self) -> Iterator[Any]:
        """The batches of the reader, read ahead; each is done when the next one is asked for."""
        with self, closing(ahead(self._reader)) as batches:  # type: ignore[type-var]
            for batch in batches:
                yield batch
                self.add(batch.num_rows)

    def tell(self, done: Done) -> None:
        """A worker of a cluster is done with its block."""
        self._reader.progress.add(done.progress)
        self.add(done.n_docs)

    def check(self, done: str, what: str = "documents") -> None:
        """Raise an error if the reader had no documents."""
        if not self.n_docs:
            say_reading(self._reader)
            raise DataError(f"there are no {what} to be read: nothing was {done}")

    def add(self, n_docs: int) -> None:
        """Count `n_docs` more documents as done."""
        self.n_docs += n_docs
        if self._quiet:
            return
        if self._progress is None and self.seconds > self._PATIENCE:
            self._progress = _progress(self._reader.bytes_total)
        if self._progress is not None:
            done = {"completed": self._reader.bytes_read, "documents": self.n_docs, "rate": self._rate()}
            self._progress.update(self._progress.task_ids[0], **done)

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


def _progress(total: int | None) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    n_docs, rate = TextColumn("{task.fields[documents]:,} documents"), TextColumn("{task.fields[rate]}")
    columns = (BarColumn(), n_docs, DownloadColumn(), rate, TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task("", total=total or None, documents=0, rate="")
    progress.start()
    return progress


_BESIDE = 8  # lines beside the rows: heads, the present step, the prompt


@contextmanager
def live() -> Iterator[Callable[[Callable[[int], Any] | None, str], None]]:
    """A function that shows a table, and a line below it, in place of those before; nothing where nobody looks.

    It takes a function that makes the table; the argument of that is the number of rows that fit on the screen.
    """
    if not sys.stderr.isatty():
        yield lambda make, line: None
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    with Live(console=console, transient=True, auto_refresh=False) as shown:

        def update(make: Callable[[int], Any] | None, line: str) -> None:
            tables = [] if make is None else [make(max(console.height - _BESIDE, 3))]
            shown.update(Group(*tables, Text(line, "dim")), refresh=True)

        yield update


def extent(n_docs: int, n_labels: int) -> str:
    """
    >>> extent(1200, 1)
    '1,200 documents of 1 label'
    """
    return f"{counted(n_docs, 'document')} of {counted(n_labels, 'label')}"


def size(n_bytes: int) -> str:
    """Bytes as people read them.

    >>> size(812), size(5_400_000)
    ('812 bytes', '5.4 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:,.1f} MB"


# --- errors

_STEPS = STEPS | {
    "learn": "learn documents first, with 'bunrui learn'",
    "create": "make one with 'bunrui learn {file} DATA'",
    "reopen": "the next command reads it anew",
    "fetch": "get it with 'bunrui datasets fetch {file}'",
    "fetch-from": "give your copy with 'bunrui datasets fetch {file} --from PATH'",
    "list-corpora": "'bunrui datasets list' shows all of them",
    "learn-table": "learn the table into a new file, with --columns",
    "other-model": "choose another with 'bunrui set {file} --model nbsvm'",
    "replace-surrogate": "replace it",
}

# Options that have another name on the command line, everywhere or in one command.
_NAMES = {"html": "from-html", "kinds": "kind", "ids": "by-id", "digests": "by-digest"}
_NAMES_IN = {"predict": {"negative": "against"}}
_STEPS_IN = {
    "predict": {
        "check-path": "check the path; a text goes with --line",
        "check-pattern": "check the pattern; a text goes with --line",
    }
}


def describe(error: BunruiError, command: str = "") -> str:
    """An error in a sentence, for the user of a command.

    >>> from bunrui.errors import DataError, LabelError, OptionError
    >>> describe(OptionError(option="max_features", value=0, expected="a whole number, at least 1"))
    '--max-features should be a whole number, at least 1, not 0'
    >>> describe(DataError("this is in no folder", hint=("leave it out with ", Option("exclude", "read me.txt"))))
    "this is in no folder: leave it out with --exclude 'read me.txt'"
    >>> describe(DataError("these have no labels", hint=("give them one with ", Option("as", {"spam": "mails/spam"}))))
    'these have no labels: give them one with --as spam'
    >>> describe(LabelError("there are 3 labels", hint=("name the other with ", Option("negative"))), "predict")
    'there are 3 labels: name the other with --against'
    """
    names = _NAMES | _NAMES_IN.get(command, {})
    steps = _STEPS | _STEPS_IN.get(command, {})

    def spell(part: Option | Step) -> str:
        if isinstance(part, Step):
            return steps[part.name].format(file=shlex.quote(part.file))
        name = f"--{names.get(part.name, part.name).replace('_', '-')}"
        value = next(iter(part.value)) if isinstance(part.value, Mapping) else part.value
        return name if value in (UNSAID, ...) else f"{name} {shlex.quote(str(value))}"

    return error.tell(spell)
