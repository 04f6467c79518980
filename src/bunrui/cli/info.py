"""`bunrui info`, `bunrui set`, `bunrui choose`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import bunrui
from bunrui.cli.calibrate import describe_calibration
from bunrui.cli.console import say, size, to_json, uninterrupted
from bunrui.cli.documents import reads_tables
from bunrui.cli.options import Model, spell_value
from bunrui.cli.parameters import Classifier, flag, option
from bunrui.errors import BunruiError, OptionError
from bunrui.labels import noun_of, text_of, type_of
from bunrui.models.kinds import is_kept
from bunrui.phrases import counted, one_line

if TYPE_CHECKING:
    from bunrui.choice import Choice
    from bunrui.classifier import AnyClassifier

_MOST_LABELS = 50


def info(*, file: Classifier, json: bool = flag("As JSON.")) -> None:
    """Show the labels, counts and settings of a classifier, and what it keeps.

    [bold]Examples[/]

      bunrui info mail.bunrui
      bunrui info mail.bunrui --json | jq .labels
    """

    with bunrui.open(file, read_only=True) as classifier:
        known = classifier.info()
        alpha = f"default ({known['alpha']})" if classifier.effective_options["alpha"] is None else str(known["alpha"])
        if classifier.model == "columns" and known["documents"]:
            known |= {"columns": _columns(classifier)}
    if json:
        print(to_json(known))
        return
    for name, value in _rows(known | {"alpha": alpha}):
        print(f"{name:<14}{value}".rstrip())


def _columns(classifier: bunrui.StoredClassifier) -> dict[str, str]:
    """The kinds of the columns of tables; empty where they are not known."""
    try:
        return dict(Model().of(classifier).to_sklearn()[-1].columns_)
    except BunruiError as error:
        say(f"warning: the kinds of columns are not known: {error}")
        return {}


def _rows(known: dict[str, Any]) -> list[tuple[str, str]]:

    labels: dict[Any, int] = known["labels"]
    widest = max((len(f"{n:,}") for n in labels.values()), default=0)
    kind = type_of(labels)
    are = f", {noun_of(kind)}" if kind in (int, bool) else ""
    rows = [("documents", f"{known['documents']:,}"), ("labels", f"{len(labels):,}{are}")]
    largest = set(sorted(labels, key=lambda label: (-labels[label], label))[:_MOST_LABELS])
    rows += [("", f"{n:>{widest},}  {one_line(text_of(label))}") for label, n in labels.items() if label in largest]
    if len(labels) > len(largest):
        rows.append(("", f"… {len(labels) - len(largest):,} more with fewer documents: --json has them"))
    kinds: dict[str, str] = known.get("columns", {})
    if kinds:
        rows.append(("columns", f"{len(kinds):,}"))
    rows += [("", f"{kind:<11}  {one_line(column)}") for column, kind in kinds.items()]
    rows += [
        ("features", f"{known['features']:,}"),
        *([("", f"without those of fewer than {known['pruned']} documents")] if known["pruned"] > 1 else []),
        *([("", describe_hashing(known["hashing"]))] if known["hashing"] else []),
        ("analyzer", bunrui.AnalyzerSpec(**known["analyzer"]).describe()),
        *_model(known),
        *_training(known),
        *_unlabelled(known["unlabelled"]),
        ("smoothing", known["smoothing"]),
        ("alpha", known["alpha"]),
        ("prior", spell_value("prior", known["prior"])),
        ("unseen", known["unseen"]),
        ("min-df", str(known["min_df"])),
        ("max-features", spell_value("max_features", known["max_features"])),
        *((name.replace("_", "-"), "yes") for name in ("class_norm", "against_rest") if known[name]),
        *([("m", f"{known['m']:g}")] if known["model"] == "aode" else []),
        *_calibration(known["calibration"]),
        ("keeps", known["keep"]),
        ("size", size(known["size"])),
        ("changes", f"{known['transactions']:,}"),
        *(
            ("", f"{number}: by {done['engine']}, {done['workers']} workers")
            for number, done in known["engines"].items()
        ),
        ("created", _write_time(known["created"])),
        ("changed", _write_time(known["changed"])),
    ]
    return rows


def _model(known: dict[str, Any]) -> list[tuple[str, str]]:
    """The model, and why it was chosen."""
    from bunrui.choice import Choice

    if known["choice"] is None:
        return [("model", known["model"])]
    choice = Choice.from_dict({name: value for name, value in known["choice"].items() if name != "line"})
    rows = [("model", f"auto, {choice.describe()}")]
    rows += [("", f"{each.value:.3f}  {each.candidate.describe()}") for each in choice.evidence]
    if choice.evidence:
        n_docs = max(each.n_docs for each in choice.evidence)
        rows.append(("", f"by a sample of {n_docs:,}, when there were {counted(choice.n_docs, 'document')}"))
    return rows


def _training(known: dict[str, Any]) -> list[tuple[str, str]]:
    """Whether a model that is trained has its weights in the file."""
    if not is_kept(known["model"]):
        return []
    if known["is_trained"]:
        return [("", "trained")]
    what = "trained"
    if known["trained_documents"]:
        n_docs = known["trained_documents"]
        what = f"trained on {counted(n_docs, 'document')}; learns the {known['documents'] - n_docs:,} since then"
    return [("", f"{what} before each answer, until 'bunrui train' is called")]


def _unlabelled(known: dict[str, Any] | None) -> list[tuple[str, str]]:
    """The texts without a label, how much they count, and why."""
    if known is None:
        return []
    rows = [("unlabelled", f"{known['n_pool']:,}, {known['line']}")]
    rows += [("", f"{each['value']:.3f}  weight {each['weight']:g}") for each in known["evidence"]]
    if known["evidence"]:
        rows.append(("", f"for {known['model']}, when there were {counted(known['n_docs'], 'document')}"))
    return rows


def _calibration(known: dict[str, Any] | None) -> list[tuple[str, str]]:
    lines = ["no"] if known is None else describe_calibration(known)
    return [("calibrated" if not place else "", line) for place, line in enumerate(lines)]


def _write_time(time: str) -> str:
    """
    >>> _write_time("2026-11-15T06:44:26.798623+00:00")
    '2026-11-15 06:44:26 UTC'
    """
    return re.sub(r"(\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:\+00:00|Z)$", r"\1 \2 UTC", time)


def set_(file: Classifier, model: Model) -> None:
    """Change the model of a classifier, or its options.

    The counts stay as they are; the next prediction uses the new model. To
    try a model once, give these options to predict or evaluate. undo takes
    the change back. A calibration holds for the settings that it was made
    for.

    [bold]Examples[/]

      bunrui set mail.bunrui --model complement --alpha 0.5
      bunrui set mail.bunrui --alpha default --min-df 2
    """

    options = model.given()
    if not options:
        raise OptionError("there is nothing to set: give at least one option, such as --model.")
    with bunrui.open(file) as classifier, uninterrupted():
        if reads_tables(classifier) and options.get("model") == "auto":
            raise OptionError(f"{file} reads tables, for which no model is chosen: give --model columns or aode.")
        before, was_calibrated = classifier.get_params(), classifier.is_calibrated
        has_changed = classifier.configure(**options).get_params() != before
        chosen, is_calibrated = classifier.model_, classifier.is_calibrated
    if not has_changed:
        say(f"{file} has these settings already: nothing was changed")
        return
    say(f"set {', '.join(name.replace('_', '-') for name in options)} of {file}")
    if chosen is not None:
        say(f"chose {chosen.describe()}")
    if was_calibrated and not is_calibrated:
        again = f": 'bunrui calibrate {file}' calibrates them again" if classifier.keep == "text" else ""
        say(f"the probabilities of {file} are no longer calibrated{again}")


def choose(
    *,
    file: Classifier,
    metric: Literal["accuracy", "macro_f1"] = option("NAME", "What counts: accuracy or macro_f1.", default="accuracy"),
    json: bool = flag("The choice and its evidence, as JSON."),
) -> None:
    """Choose the model that suits the documents of a classifier.

    learn does so when FILE is new, and when its documents have doubled;
    unlearn when they have halved, and merge. In between the choice stays:
    this command makes it anew.

    A sample of the documents is predicted by some models that read counts,
    each document by all the others. The best one is chosen, unless
    binary-complement is as good, within a standard error. Its probabilities
    are calibrated by the same sample. undo takes it back, and set --model
    names another model for good.

    FILE must keep texts (the default of learn --keep).

    [bold]Examples[/]

      bunrui choose mail.bunrui
      bunrui choose mail.bunrui --metric macro_f1
      bunrui choose mail.bunrui --json | jq .candidate
    """
    with bunrui.open(file) as classifier, uninterrupted():
        chosen = classifier.choose(metric)
    if json:
        print(to_json(chosen.to_dict()))
        return
    for each in chosen.evidence:
        print(f"{each.value:.4f}  {each.candidate.describe()}")
    say(f"chose {chosen.describe()}")


def say_choice(classifier: AnyClassifier, before: Choice | None) -> None:
    """Say which model a change has chosen, where the documents could tell."""
    choice = classifier.choice
    if choice is not None and choice.evidence and choice != before:
        say(f"chose {choice.describe()}")


def describe_hashing(hashing: dict[str, Any]) -> str:
    """How many features share a bucket.

    >>> describe_hashing({"n_buckets": 1 << 20, "n_used": 412_200, "n_features": 523_651, "share": 0.393})
    '412,200 of 1,048,576 buckets in use: of about 520,000 features, 39 % share one with another (an estimate)'
    """
    n_used, n_buckets, n_features = (hashing[name] for name in ("n_used", "n_buckets", "n_features"))
    about = f"about {float(f'{n_features:.2g}'):,.0f}" if n_used < n_buckets else "far more"
    return (
        f"{n_used:,} of {n_buckets:,} buckets in use: of {about} features, {hashing['share']:.0%} share one with "
        "another (an estimate)"
    ).replace("%", " %")
