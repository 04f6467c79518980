"""The figures of the README in its four languages, from the recorded run.

python benchmarks/readme.py      writes them there; tests/benchmarks/test_page.py compares them
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import table
from page import RECORD

# The names of peers on IMDB with words, as a reader knows them.
PEERS = {
    "scikit-learn": "scikit-learn, `CountVectorizer` and `MultinomialNB`",
    "bunrui, Arrow": "**bunrui, the same model: the same labels**",
    "bunrui, defaults": "**bunrui, default features, `binary-complement`**",
    "bunrui, auto": "**bunrui, the defaults**",
    "bunrui, nbsvm": "**bunrui, `nbsvm`**",
    "scikit-learn, LinearSVC": "scikit-learn, TF-IDF of word 1–2-grams and `LinearSVC`",
    "fastText": "fastText, the defaults",
    "fastText, lr 1, 25 epochs": "fastText, learning rate 1, 25 epochs",
    "Vowpal Wabbit": "Vowpal Wabbit, one pass, no vocabulary",
    "river": "river, on a sample",
}
# The rest, as ratios.
OTHERS = {
    ("imdb", "words2"): "word 1–2-grams",
    ("20news", "words"): "20 Newsgroups",
    ("livedoor", "ja"): "Japanese character 2–3-grams",
}
# The README of each language, and how it says two ratios.
READMES = {
    "README.md": "{name} {learn}× and {predict}×",
    "README.ja.md": "{name} {learn} 倍・{predict} 倍",
    "README.zh.md": "{name} {learn} 倍、{predict} 倍",
    "README.ko.md": "{name} {learn}배·{predict}배",
}
# The names above in Japanese, Chinese and Korean; what is not listed is the same in all.
NAMES = {
    "scikit-learn, `CountVectorizer` and `MultinomialNB`": (
        "scikit-learn（`CountVectorizer` + `MultinomialNB`）",
        "scikit-learn（`CountVectorizer` + `MultinomialNB`）",
        "scikit-learn(`CountVectorizer` + `MultinomialNB`)",
    ),
    "**bunrui, the same model: the same labels**": (
        "**bunrui、同じモデル（予測ラベルも同一）**",
        "**bunrui，同一模型（预测标签完全相同）**",
        "**bunrui, 같은 모델(예측 레이블도 동일)**",
    ),
    "**bunrui, default features, `binary-complement`**": (
        "**bunrui、既定の特徴量 + `binary-complement`**",
        "**bunrui，默认特征 + `binary-complement`**",
        "**bunrui, 기본 특성 + `binary-complement`**",
    ),
    "**bunrui, the defaults**": ("**bunrui、既定の設定**", "**bunrui，默认设置**", "**bunrui, 기본 설정**"),
    "**bunrui, `nbsvm`**": ("**bunrui、`nbsvm`**", "**bunrui，`nbsvm`**", "**bunrui, `nbsvm`**"),
    "scikit-learn, TF-IDF of word 1–2-grams and `LinearSVC`": (
        "scikit-learn（単語 1–2-gram の TF-IDF + `LinearSVC`）",
        "scikit-learn（单词 1–2-gram 的 TF-IDF + `LinearSVC`）",
        "scikit-learn(단어 1–2-gram TF-IDF + `LinearSVC`)",
    ),
    "fastText, the defaults": ("fastText、既定の設定", "fastText，默认参数", "fastText, 기본 설정"),
    "fastText, learning rate 1, 25 epochs": (
        "fastText、学習率 1、25 エポック",
        "fastText，学习率 1，25 个 epoch",
        "fastText, 학습률 1, 25 에포크",
    ),
    "Vowpal Wabbit, one pass, no vocabulary": (
        "Vowpal Wabbit、1 パス、語彙表なし",
        "Vowpal Wabbit，单遍学习，无词表",
        "Vowpal Wabbit, 1패스, 어휘 사전 없음",
    ),
    "river, on a sample": ("river、一部のデータで測定", "river，抽样测量", "river, 일부 표본으로 측정"),
    "word 1–2-grams": ("単語 1–2-gram で", "单词 1–2-gram", "단어 1–2-gram"),
    "20 Newsgroups": ("20 Newsgroups で", "20 Newsgroups", "20 Newsgroups"),
    "Japanese character 2–3-grams": ("日本語の文字 2–3-gram で", "日文字符 2–3-gram", "일본어 글자 2–3-gram"),
}


def write(text: str, readme: str, run: Mapping[str, Any]) -> str:
    """The text of a README with the figures of a run: all rows of the table, and the ratios where they stand."""
    rows = "".join(f"{row}\n" for row in _rows(readme, run))
    text, n_tables = re.subn(r"(?m)^(\|.*MB/s.*\n\|[-|]+\n)(?:\|.*\n)*", lambda head: head[1] + rows, text)
    assert n_tables == 1, f"{readme} has {n_tables} tables with MB/s in the heading, not one"
    for pattern, said in _ratios(readme, run):
        text, n_places = re.subn(pattern, said, text)
        assert n_places == 1, f"{readme} says {said!r} in {n_places} places, not in one"
    return text


def _rows(readme: str, run: Mapping[str, Any]) -> Iterator[str]:
    known = {row["peer"] for row in run["rows"] if (row["corpus"], row["features"]) == ("imdb", "words")}
    for peer, name in PEERS.items():
        if peer not in known:  # a run of before this peer was added
            continue
        learn, predict = _tasks(run, "imdb", "words", peer)
        accuracy = f"{predict['accuracy']:.3f}".removeprefix("0")
        cells = (_name(name, readme), _rate(learn), _rate(predict), accuracy, f"{table.needed(learn):.0f}")
        yield f"| {' | '.join(cells)} |"


def _ratios(readme: str, run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is said of each other corpus, after a pattern that finds it with any figures."""
    for work, english in OTHERS.items():
        learn, predict = (f"{row['ratio']:.0f}" for row in _tasks(run, *work, "bunrui, Arrow"))
        name, said = _name(english, readme), READMES[readme]
        pattern = said.format(name=re.escape(name), learn=r"\d+", predict=r"\d+")
        yield pattern, said.format(name=name, learn=learn, predict=predict)


def _tasks(run: Mapping[str, Any], corpus: str, features: str, peer: str) -> list[Mapping[str, Any]]:
    """The rows of a peer: of learning, of predicting."""
    rows = {(row["corpus"], row["features"], row["peer"], row["task"]): row for row in run["rows"]}
    return [rows[corpus, features, peer, task] for task in ("learn", "predict")]


def _name(english: str, readme: str) -> str:
    names = (english, *NAMES.get(english, (english,) * 3))
    return names[list(READMES).index(readme)]


def _rate(row: Mapping[str, Any]) -> str:
    rate = f"{row['mb_per_s']:.0f}"
    return f"{rate} ({row['ratio']:.0f}×)" if row["peer"].startswith("bunrui") else rate


if __name__ == "__main__":
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    for readme in READMES:
        path = RECORD.parent.parent / readme
        path.write_text(write(path.read_text(encoding="utf-8"), readme, recorded), encoding="utf-8")
