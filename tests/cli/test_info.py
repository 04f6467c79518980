"""`info` and `set`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import bunrui.store
from tests.support.choosing import choosing
from tests.support.commands import info, learn

# --- info


def test_info(run, mail: Path) -> None:
    code, out, err = run("info", "mail.bunrui")
    out = re.sub(r"\d+\.\d kB", "SIZE", re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "TIME", out))
    assert (code, err) == (0, "") and out == (
        "documents     4\n"
        "labels        2\n"
        "              2  ham\n"
        "              2  spam\n"
        "features      23\n"
        "analyzer      universal, 1–2-grams, characters 1–3 (kana, han), 1–4 (hangul)\n"
        "model         auto, binary-complement: 4 documents are too few to tell\n"
        "smoothing     eap\n"
        "alpha         default (0.3)\n"
        "prior         empirical\n"
        "unseen        ignore\n"
        "min-df        1\n"
        "max-features  all\n"
        "calibrated    no\n"
        "keeps         text\n"
        "size          SIZE\n"
        "changes       1\n"
        "created       TIME\n"
        "changed       TIME\n"
    )


def test_info_as_json(run, mail: Path) -> None:
    with bunrui.store.open("mail.bunrui") as clf:
        assert info(run, "mail.bunrui") == json.loads(json.dumps(clf.info()))


def test_info_cannot_move_the_cursor(run) -> None:
    learn(run, "a.bunrui", "one,\x1b[2J\n")
    assert "1  ␛[2J\n" in run("info", "a.bunrui").out


def test_info_tells_how_far_a_model_is_trained(run, mail: Path) -> None:
    def told(model: str) -> str:
        lines = run("info", f"{model}.bunrui").out.splitlines()
        return lines[lines.index(f"model         {model}") + 1].strip()

    for model, since in [
        ("arow", "trained on 4 documents; learns the 1 since then before each answer, until 'bunrui train' is called"),
        ("nbsvm", "trained before each answer, until 'bunrui train' is called"),
    ]:
        run("copy", "mail.bunrui", f"{model}.bunrui")
        run("set", f"{model}.bunrui", "--model", model)
        assert told(model) == "trained"
        learn(run, f"{model}.bunrui", "team lunch,ham\n")
        assert told(model) == since
        on = "on 1 more document" if model == "arow" else "from 5 documents that the file keeps"
        assert run("predict", f"{model}.bunrui", "--line", "noon").err == f"training {model} {on}\n"
        run("train", f"{model}.bunrui")
        assert told(model) == "trained"


def test_info_of_a_trained_model_with_one_label(run) -> None:
    learn(run, "one.bunrui", "cheap pills,spam\n")
    run("set", "one.bunrui", "--model", "nbsvm")
    assert "not trained: there are no two labels to tell apart\n" in run("info", "one.bunrui").out


def test_info_tells_how_much_of_a_sample_was_enough(run, tmp_path: Path) -> None:
    rows = [f"{'pills cheap ' * 20}{n} {n % 7},{('ham', 'spam')[n % 2]}\n" for n in range(2500)]
    learn(run, "long.bunrui", "".join(rows))
    told = "by a sample of 2,000 (those behind by its first 500), when there were 2,500 documents\n"
    assert told in run("info", "long.bunrui").out


def test_info_and_log_tell_what_was_chosen(run, tmp_path: Path) -> None:
    texts, labels = choosing(400)
    learn(run, "many.bunrui", "".join(f"{text},{label}\n" for text, label in zip(texts, labels, strict=True)))
    assert "alpha         chosen (1e-05)\n" in run("info", "many.bunrui").out
    assert "\tchose binary, classes of one size, λ 1e-05: " in run("log", "many.bunrui").out
    question = "predict", "many.bunrui", "--line", texts[0], "--top", "3", "--json"
    expected = run(*question, "--alpha", "0.5").out
    told = run("set", "many.bunrui", "--alpha", "0.5").err.splitlines()
    assert told[:2] == [
        "set alpha, model, class-norm of many.bunrui",
        "the model was auto; it stays binary, which was chosen",
    ]
    assert run(*question).out == expected
    assert "alpha         0.5\n" in run("info", "many.bunrui").out
    told = run("set", "many.bunrui", "--model", "auto").err.splitlines()
    assert told[0] == "set model, alpha, class-norm of many.bunrui"
    err = run("set", "many.bunrui", "--against-rest").err
    assert "--against-rest is an option of the models multinomial, binary, mixed" in err
    most = zip(texts[45:], labels[45:], strict=True)
    Path("most.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in most))
    err = run("unlearn", "many.bunrui", "most.csv").err
    assert err.endswith("no model was chosen, many.bunrui has binary-complement: 45 documents are too few to tell\n")
    learn(run, "few.bunrui", "cheap pills,spam\nteam lunch,ham\n")
    assert run("choose", "few.bunrui").code == 0
    assert "alpha         default (0.3)\n" in run("info", "few.bunrui").out
    assert "kept binary-complement: 2 documents are too few to tell" in run("log", "few.bunrui").out


# --- set


def test_set(run, mail: Path) -> None:
    options = ["--model", "multinomial", "--alpha", "0.5", "--max-features", "chi2:5"]
    assert run("set", "mail.bunrui", *options) == (0, "", "set model, alpha, max-features of mail.bunrui\n")
    out = run("info", "mail.bunrui").out
    assert "model         multinomial\n" in out and "alpha         0.5\n" in out and "max-features  chi2:5\n" in out
    assert run("set", "mail.bunrui", "--alpha", "default", "--max-features", "all").code == 0
    out = run("info", "mail.bunrui").out
    assert "alpha         default (0.1)\n" in out and "max-features  all\n" in out


def test_set_says_where_a_calibration_ends(run, tmp_path: Path) -> None:
    learn(run, "big.bunrui", "".join(f"pills{k % 9} now,spam\nnoon{k % 8} at,ham\n" for k in range(99)))
    run("calibrate", "big.bunrui")
    ends = "the probabilities of big.bunrui are no longer calibrated: 'bunrui calibrate big.bunrui' calibrates"
    assert ends in run("set", "big.bunrui", "--model", "multinomial").err
    assert ends not in run("set", "big.bunrui", "--alpha", "2").err
    assert run("calibrate", "big.bunrui").code == 0
    assert ends in run("set", "big.bunrui", "--alpha", "3").err


def test_undo_a_set(run, mail: Path) -> None:
    question = ["predict", "mail.bunrui", "--line", "pills at noon", "--json"]
    before = run("info", "mail.bunrui").out, run(*question).out
    options = ["--model", "multinomial", "--alpha", "0.5", "--max-features", "chi2:5", "--min-df", "2"]
    assert run("set", "mail.bunrui", *options).code == 0
    assert run(*question).out != before[1]
    assert run("undo", "mail.bunrui") == (
        0,
        "",
        "took back the set: mail.bunrui has model auto, alpha default, min-df 1, max-features all again\n",
    )
    assert run(*question).out == before[1]
    settings = [slice(out.index("model"), out.index("keeps")) for out in (before[0], run("info", "mail.bunrui").out)]
    assert before[0][settings[0]] == run("info", "mail.bunrui").out[settings[1]]


def test_set_what_is_set(run, mail: Path) -> None:
    assert run("set", "mail.bunrui", "--model", "auto", "--alpha", "default") == (
        0,
        "",
        "mail.bunrui has these settings already: nothing was changed\n",
    )
    assert len(run("log", "mail.bunrui", "--json").out.splitlines()) == 1


def test_set_nothing(run, mail: Path) -> None:
    assert run("set", "mail.bunrui") == (
        2,
        "",
        "error: there is nothing to set: give at least one option, such as --model.\nTry 'bunrui set --help'.\n",
    )


def test_set_nonsense(run, mail: Path) -> None:
    before = run("info", "mail.bunrui").out
    err = "error: --alpha should be above 0, not -1.0: for no smoothing use --smoothing mle\nTry 'bunrui set --help'.\n"
    assert run("set", "mail.bunrui", "--alpha", "-1") == (2, "", err)
    assert run("info", "mail.bunrui").out == before
