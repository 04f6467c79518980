"""What a file must keep for a command, and which of the documents that it keeps are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bunrui.cli.options import Chosen, UsageError

if TYPE_CHECKING:
    from bunrui.store import StoredClassifier

__all__ = ["named", "need", "unknown"]

_DIGITS = 32
_FEWEST_DIGITS = 4


def need(classifier: StoredClassifier, keep: str, otherwise: str) -> None:
    """Refuse a file that keeps less of its documents, and say what to do otherwise."""
    from bunrui.errors import StoreError
    from bunrui.store.store import KEEPS

    if KEEPS.index(classifier.keep) >= KEEPS.index(keep):
        return
    if classifier.keep == "nothing":
        raise StoreError(f"{classifier.path} keeps nothing of its documents: {otherwise}")
    raise StoreError(
        f"{classifier.path} keeps digests, but no texts, so that the words of its documents are not known: {otherwise}"
    )


def named(classifier: StoredClassifier, chosen: Chosen) -> dict[str, Any]:
    """The documents that were named on the command line, as the classifier takes them."""
    if chosen.by_id:
        return {"ids": list(chosen.by_id)}
    return {"digests": _whole(classifier, [digest.lower() for digest in chosen.by_digest or []])}


def _whole(classifier: StoredClassifier, given: list[str]) -> list[str]:
    """Digests of which only the first digits may be given, as `bunrui log` shows them on a terminal."""
    for digest in given:
        if not _FEWEST_DIGITS <= len(digest) <= _DIGITS or not set(digest) <= set("0123456789abcdef"):
            raise UsageError(
                f"--by-digest takes {_DIGITS} hexadecimal digits, or the first of them, at least {_FEWEST_DIGITS}, "
                f"not {digest!r}: 'bunrui log {classifier.path} --documents' lists them."
            )
    if all(len(digest) == _DIGITS for digest in given):
        return given
    found: dict[str, set[str]] = {digest: set() for digest in given}
    for document in classifier.documents():
        if document.digest.startswith(tuple(given)):
            for digest, whole in found.items():
                if document.digest.startswith(digest):
                    whole.add(document.digest)
    for digest, whole in found.items():
        if len(whole) != 1:
            raise _unclear(classifier, digest, len(whole))
    return [digest for whole in found.values() for digest in whole]


def _unclear(classifier: StoredClassifier, digest: str, n: int) -> Exception:
    from bunrui.errors import UnlearnError

    if n:
        return UnlearnError(f"{n} texts have digests that begin with {digest!r}: give more digits")
    return unknown(classifier, UnlearnError(f"no document that is learned has a digest that begins with {digest!r}"))


def unknown(classifier: StoredClassifier, error: Exception) -> Exception:
    """The error of a document that is not there, with the way to find those that are."""
    return type(error)(f"{error}: 'bunrui log {classifier.path} --documents' lists those that are there")
