"""A mail → its label → the same mail with that label in its headers; for the command line and the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bunrui.documents.mail import Mail, parse_mail, stamp
from bunrui.errors import DataError
from bunrui.labels import text_of

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier
    from bunrui.counts import Label

UNSURE = "unsure"
LABEL, PROBABILITY = "X-Bunrui-Label", "X-Bunrui-Probability"


class Delivery(NamedTuple):
    """A mail with its label in its headers; `is_sure` says whether the header has the label or `unsure`."""

    mail: bytes
    label: Label
    is_sure: bool


def deliver_mail(classifier: AnyClassifier, data: bytes, threshold: float = 0.0, mail: Mail | None = None) -> Delivery:
    """Predict the label of a mail, and write it into its headers; below the threshold it is unsure.

    `mail` is what `read_mail` finds in the data, if the caller has parsed it already.

    >>> from bunrui import TextClassifier
    >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    >>> print(deliver_mail(clf, b"Subject: pills\\n\\nbuy them\\n").mail.decode())
    X-Bunrui-Label: spam
    X-Bunrui-Probability: 0.8784
    Subject: pills
    <BLANKLINE>
    buy them
    <BLANKLINE>
    """
    labels, _, shares = classifier.scores_and_probabilities([(mail or read_mail(data)).text])
    best = int(shares[0].argmax())
    label, share = labels[best], float(shares[0, best])
    is_sure = share >= threshold
    return Delivery(
        stamp(data, {LABEL: text_of(label) if is_sure else UNSURE, PROBABILITY: f"{share:.4f}"}), label, is_sure
    )


def read_mail(data: bytes) -> Mail:
    """Parse a mail, or say why there is none."""
    if not data.strip():
        raise DataError("there is no mail", hint="give its headers, an empty line and its text")
    return parse_mail(data, "auto")


def remove_label(data: bytes) -> bytes:
    """A mail without these headers, which somebody else may have written."""
    return stamp(data, {LABEL: None, PROBABILITY: None})
