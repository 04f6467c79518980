"""The command line: `bunrui learn`, `predict`, `explain` and the others.  ARCHITECTURE.md lists the modules.

Modules that load numpy or pyarrow are imported inside the functions that need them: help takes 200 ms without them,
540 ms with them (docs/decisions/027).  `import bunrui` costs nothing: its names, such as `bunrui.open`, load on use.

Results go to stdout, messages to stderr.  Exit codes: 0 done, 1 failed, 2 wrong usage (found by typer, or an
OptionError of the library), 130 interrupted, 141 the reader of stdout is gone.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["main"]

_WRONG_USAGE = 2
_NO_ANSWER = {"deliver": 3}  # where 1 and 2 are answers
_INTERRUPTED = 130
_CLOSED_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and return the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, by default those of the process.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    bunrui ...
    0
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    if argv is None:
        # After the import, the threads of NumPy's OpenBLAS wait for work on a processor of their own, 100 ms long.  Let
        # them sleep at once (docs/decisions/043).
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the shell: `>&-`
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    with suppress(AttributeError):  # of a stream that somebody put there
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = _flushed(_run(arguments))
    except BrokenPipeError:
        _let_go(sys.stdout)
        code = _CLOSED_PIPE
    except KeyboardInterrupt as stop:
        print(str(stop) or "interrupted", file=sys.stderr)
        code = _INTERRUPTED
    finally:
        if argv is None:  # the process ends, and would look for garbage among all objects
            gc.freeze()
    if argv is None and code:
        _leave(code)
    return code


@contextmanager
def without_collecting() -> Iterator[None]:
    """A block in which Python does not look for garbage, for modules and one mail: a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.unfreeze()  # all objects are old now: nobody looks at once among those that the block has made
            gc.enable()


def _run(arguments: list[str]) -> int:
    with without_collecting():
        import typer

        from bunrui.cli.commands import root
        from bunrui.cli.console import describe, say
        from bunrui.errors import BunruiError, OptionError

        group = root()
    if "_BUNRUI_COMPLETE" in os.environ:
        group.main(arguments, prog_name="bunrui")  # answers the shell, and leaves
    debug = False
    context: Any = None
    try:
        if not arguments:
            arguments = ["--help"]
        context = group.make_context("bunrui", arguments)
        debug = bool(context.params.get("debug"))
        with context:
            group.invoke(context)
    except typer.Exit as done:
        return int(done.exit_code)
    except BrokenPipeError:
        raise
    except Exception as error:
        if debug:
            raise
        command = (context and context.invoked_subcommand) or ""
        if hasattr(error, "format_message"):  # wrong usage: typer has no public name for it
            if command == "deliver":
                from bunrui.cli.deliver import pass_on

                pass_on()
            return _wrong_usage(error, command)
        if isinstance(error, OSError):
            error = BunruiError.of_system(error)
        if isinstance(error, BunruiError):
            say(f"error: {describe(error, command)}")
            if isinstance(error, OptionError):
                say(f"Try 'bunrui {command} --help'.")
                return _NO_ANSWER.get(command, _WRONG_USAGE)
        else:
            say(f"error: {type(error).__name__}: {error}\nThis should not happen: bunrui --debug … shows where it did.")
        return _NO_ANSWER.get(command, 1)
    return 0


def _wrong_usage(error: Any, command: str) -> int:
    from bunrui.cli.console import say

    message = error.format_message().strip()
    if not message[:2].isupper():  # the name of an argument
        message = message[:1].lower() + message[1:]
    if getattr(error, "option_name", "")[1:2].isdigit():
        message += " A label that begins with a dash stands behind --, as in 'bunrui words FILE -- -1'."
    path = f"bunrui {command}".strip() if error.ctx is None else error.ctx.command_path
    say(f"error: {message}\nTry '{path} --help'.")
    return _NO_ANSWER.get(command, int(error.exit_code))


def _flushed(code: int) -> int:
    """The exit code, when all output has been written."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:  # a full disk, say
        from bunrui.errors import BunruiError

        _let_go(sys.stdout)
        print(f"error: {BunruiError.of_system(error)}", file=sys.stderr)
        return code or 1
    return code


def _leave(code: int) -> None:
    """End the process at once: after an error, a thread may still read files.

    Python would take the memory away under it: of 200 interrupted commands, 4 crashed.  It would also wait for ever for
    a thread of a pool that was interrupted while it started: 2 of 69.
    """
    import atexit
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _let_go(stream: Any) -> None:
    """Give what is still unwritten to nobody, so that Python's own flush at the end finds no closed pipe."""
    with suppress(OSError):  # of a stream that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
