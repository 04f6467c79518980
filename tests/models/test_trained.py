"""Models that are trained from documents: the estimators behind them, what they explain, and how they go on."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

import bunrui
from bunrui import AODE, NBAROW, NBSVM, TWCNB, AnalyzerSpec, TextClassifier, TextVectorizer
from bunrui.data import read
from bunrui.errors import DataError, LabelError, MismatchError, NotLearnedError, OptionError, UnlearnError
from bunrui.kernel import slices
from bunrui.memory import document_digests
from bunrui.models import TRAINED
from bunrui.models.heads import Arow, ArowOptions, SvmOptions, read_batch, train_svm
from bunrui.sparse import Sparse
from tests.support.examples import quick
from tests.support.waiting import PATIENCE

MODELS = tuple(TRAINED)[:4]  # without columns, whose documents are rows of tables
ESTIMATORS = {"twcnb": TWCNB(alpha=0.1), "nbsvm": NBSVM(), "arow": NBAROW(), "aode": AODE()}


def head_of(clf):
    with clf.current_model.fitted() as fitted:
        return fitted.form.head


@pytest.fixture(scope="module")
def news() -> tuple[list[str], list[str]]:
    """120 sentences of five topics in four languages."""
    table = read("demo")
    rows = [table[k] for k in np.random.default_rng(0).permutation(len(table))[:120]]
    return [row["text"] for row in rows], [row["label"] for row in rows]


def matrix_scores(model: str, texts: list[str], labels: list[str], queries: list[str]) -> np.ndarray:
    vectorizer = TextVectorizer(analyzer=AnalyzerSpec())
    X = vectorizer.fit_transform(texts)
    estimator = clone(ESTIMATORS[model])
    if model == "aode":
        reader = TextClassifier(max_features=500).learn(texts, labels).current_model.reader()
        words = reader.view.counts.texts_of(reader.view.feature_ids())
        vectorizer = TextVectorizer(analyzer=AnalyzerSpec(), vocabulary=words).fit([])
        X = vectorizer.transform(texts)
    keys = document_digests(texts).view(np.uint64).reshape(-1, 2)
    if model == "nbsvm":
        options = SvmOptions()
        estimator = NBSVM.of_head(
            *train_svm(options, read_batch(Sparse.of(X), np.array(labels), None, options), keys=keys)
        )
    elif model == "arow":
        head = Arow(ArowOptions(), 0)
        head.learn_in_order(read_batch(Sparse.of(X), np.array(labels), None, head.options), keys=keys)
        estimator = NBAROW.of_head(head)
    else:
        estimator.fit(X, labels)
    Q = vectorizer.transform(queries)
    scores = estimator.decision_function(Q) if hasattr(estimator, "decision_function") else None
    if scores is None:
        return estimator.predict_joint_log_proba(Q)
    return scores if scores.ndim == 2 else np.column_stack([-scores / 2, scores / 2])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_labels", [2, 5])
def test_answers_are_those_of_the_estimator(model, n_labels, news):
    texts, labels = news
    keep = sorted(set(labels))[:n_labels]
    rows = [k for k, label in enumerate(labels) if label in keep]
    texts, labels = [texts[k] for k in rows], [labels[k] for k in rows]
    clf = TextClassifier(model).learn(texts, labels)
    assert clf.classes_.tolist() == keep
    expected = matrix_scores(model, texts, labels, texts[:20])
    np.testing.assert_allclose(clf.scores(texts[:20]), expected, rtol=1e-9, atol=1e-12)
    assert clf.predict(texts[:20]).tolist() == [keep[k] for k in expected.argmax(axis=1)]
    assert clf.predict_proba(texts[:5]).sum(axis=1) == pytest.approx(np.ones(5))


@pytest.mark.parametrize("model", MODELS)
def test_an_explanation_adds_up(model, news):
    texts, labels = news
    clf = TextClassifier(model).learn(texts, labels)
    for text in [*texts[:5], "", "zzz qqq", texts[0] + " zzz"]:
        scores = clf.scores([text])[0]
        found = clf.explain(text)
        assert found.score == pytest.approx(scores.max(), rel=1e-12)
        assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(
            found.score - found.against_score, rel=1e-9, abs=1e-12
        )
        for contribution in found.contributions:
            assert contribution.spans
    assert "zzz" in clf.explain("zzz").unknown
    other = clf.explain(texts[0], label=clf.classes_[1], against=clf.classes_[2])
    assert (other.label, other.against) == (clf.classes_[1], clf.classes_[2])
    with pytest.raises(LabelError, match="there is no label"):
        clf.explain(texts[0], label="nobody")


@pytest.mark.parametrize("model", MODELS)
def test_words_speak_for_their_label(model):
    texts = ["cheap pills", "cheap watches now", "lunch at noon", "noon is fine"] * 5
    clf = TextClassifier(model, analyzer="words").learn(texts, ["spam", "spam", "ham", "ham"] * 5)
    best = clf.words("spam", top=4)
    assert {word.text for word in best} == {"cheap", "pills", "watches", "now"}
    assert all(word.weight > 0 for word in best)
    assert {word.text: word.counts for word in best}["cheap"] == {"spam": 10}
    first, last = clf.words(positive="ham", negative="spam", top=1)
    assert first.weight > 0 > last.weight and set(first.counts) == {"ham"} and set(last.counts) == {"spam"}
    assert clf.words(word="Cheap")[0].weight > 0
    assert clf.words(word="never") == []
    with pytest.raises(OptionError, match="no label is named"):
        clf.words()


@pytest.mark.parametrize("model", MODELS)
def test_unlearning_and_merging_leave_the_model_that_never_knew(model, news):
    texts, labels = news
    straight = TextClassifier(model).learn(texts[:80], labels[:80])
    clf = TextClassifier(model).learn(texts[:80], labels[:80])
    clf.learn(texts[80:], labels[80:])
    clf.predict(texts[:1])
    clf.unlearn(texts[80:], labels[80:])
    np.testing.assert_allclose(clf.scores(texts), straight.scores(texts), rtol=1e-9, atol=1e-12)
    with pytest.raises(UnlearnError):
        clf.unlearn(texts[80:81], labels[80:81])
    # The same words in another order: counts could not tell.
    with pytest.raises(UnlearnError, match="never learned"):
        TextClassifier(model, analyzer="words").learn(["a b", "c"], ["x", "y"]).unlearn(["b a"], ["x"])

    # Nor does the order of learning matter, but to arow, which goes by batches.
    if model != "arow":
        turned = TextClassifier(model).learn(texts[40:80], labels[40:80]).learn(texts[:40], labels[:40])
        np.testing.assert_allclose(turned.scores(texts), straight.scores(texts), rtol=1e-9, atol=1e-12)

    joined = TextClassifier(model).learn(texts[:80], labels[:80])
    joined.merge(TextClassifier(model).learn(texts[80:], labels[80:]))
    both = TextClassifier(model).learn(texts[:80], labels[:80]).learn(texts[80:], labels[80:])
    np.testing.assert_allclose(joined.scores(texts), both.scores(texts), rtol=1e-9, atol=1e-12)
    with pytest.raises(MismatchError, match="none in memory"):
        joined.merge(TextClassifier().learn(["a"], ["x"]))


@pytest.mark.parametrize("model", MODELS)
def test_a_merge_that_is_refused_changes_nothing(model, tmp_path):
    clf = TextClassifier(model, analyzer="words").learn(["a b", "c"], ["x", "y"])
    scores = clf.scores(["a", "c"])
    with pytest.raises(MismatchError):
        clf.merge(TextClassifier(model).learn(["d"], ["z"]))
    with bunrui.create(tmp_path / "a.bunrui", model, analyzer="words") as filed:
        filed.learn(["d"], ["z"])
        with pytest.raises(MismatchError, match="none in memory"):
            clf.merge(filed)
    assert np.array_equal(clf.scores(["a", "c"]), scores)
    clf.learn(["e"], ["z"])
    assert clf.scores(["a"]).shape == (1, 3)


@pytest.mark.parametrize("model", MODELS)
def test_no_documents_to_predict_and_none_with_words(model):
    clf = TextClassifier(model, analyzer="words").learn(["", " "], ["x", "y"])
    assert clf.predict(["a", ""]).tolist() == ["x", "x"]
    assert clf.predict([]).tolist() == [] and clf.scores([]).shape == (0, 2)
    with pytest.raises(OptionError, match="nothing to tell apart"):
        clf.to_sklearn()
    clf.learn(["a b", "c d"], ["x", "y"])
    assert clf.predict(["b", "d"]).tolist() == ["x", "y"]
    assert clf.scores([]).shape == (0, 2)
    assert clf.with_model(min_df=9).predict(["a"]).tolist() == ["x"]


def test_what_is_kept_does_not_change_with_the_list_that_was_given():
    documents = [["a", "b"], ["c"]]
    clf = TextClassifier("twcnb").learn(documents, ["x", "y"])
    documents[0].append("zzz")
    clf.unlearn([["a", "b"]], ["x"])
    assert clf.classes_.tolist() == ["y"]


def test_a_pass_that_fails_is_not_gone_on_with(news, monkeypatch):
    texts, labels = news
    clf = TextClassifier("arow").learn(texts[:40], labels[:40])
    clf.predict(["a"])
    clf.learn(texts[40:80], labels[40:80]).learn(texts[80:], labels[80:])
    learn, calls = Arow.learn, []

    def interrupted(self, *rows):
        calls.append(rows)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return learn(self, *rows)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Arow, "learn", interrupted)
        clf.predict(["a"])
    straight = TextClassifier("arow")
    for part in (slice(40), slice(40, 80), slice(80, None)):
        straight.learn(texts[part], labels[part])
    assert np.array_equal(clf.scores(texts), straight.scores(texts))


@pytest.mark.parametrize("model", ["nbsvm", "arow"])
def test_heads_have_the_same_bits_on_any_number_of_threads(model, news, monkeypatch):
    texts, labels = news
    answers = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("BUNRUI_THREADS", threads)
        monkeypatch.setattr(slices, "_WORTH_A_THREAD", 64)  # so that few texts are cut, too
        clf = TextClassifier(model).learn(texts[:80], labels[:80])
        clf.predict(["a"])
        clf.learn(texts[80:], labels[80:])
        answers.append(clf.scores(texts))
    assert np.array_equal(answers[0], answers[1]) and np.array_equal(answers[0], answers[2])


@pytest.mark.parametrize("model", ["nbsvm", "arow"])
def test_heads_have_the_same_bits_whichever_word_was_learned_first(model, news):
    texts, labels = news
    straight = TextClassifier(model).learn(texts, labels)
    turned = TextClassifier(model).learn(texts[::-1], labels[::-1])
    assert straight.counts.texts_of(np.arange(50)) != turned.counts.texts_of(np.arange(50))
    assert np.array_equal(straight.scores(texts), turned.scores(texts))
    one_by_one = np.vstack([straight.scores([text]) for text in texts[:20]])
    assert np.array_equal(one_by_one, turned.scores(texts)[:20])


def test_other_options_are_another_model(news):
    texts, labels = news
    clf = TextClassifier("nbsvm").learn(texts, labels)
    before = clf.scores(texts)
    clf.set_params(alpha=3.0)
    assert not np.array_equal(clf.scores(texts), before)
    clf.set_params(model="twcnb", alpha=None)
    assert np.array_equal(clf.scores(texts), TextClassifier("twcnb").learn(texts, labels).scores(texts))


def test_words_of_two_labels_are_words_of_one_of_them():
    texts = ["a b", "c d", "e f"] * 3
    clf = TextClassifier("nbsvm", analyzer="words").learn(texts, ["x", "y", "z"] * 3)
    assert {word.text for word in clf.words(positive="x", negative="y", top=None)} == {"a", "b", "c", "d"}


def test_arow_goes_on_and_is_what_it_would_be_had_nobody_asked(news):
    texts, labels = news
    asked = TextClassifier("arow")
    silent = TextClassifier("arow")
    for start in range(0, 120, 30):
        part = slice(start, start + 30)
        asked.learn(texts[part], labels[part]).predict(texts[:1])
        silent.learn(texts[part], labels[part])
    estimator = head_of(asked)
    assert np.array_equal(asked.scores(texts), silent.scores(texts))
    asked.learn(["a new label altogether"], ["new"])
    assert asked.predict(["a new label altogether"]).tolist() == ["new"]
    assert head_of(asked) is estimator


@pytest.mark.parametrize("model", MODELS)
def test_one_class_and_then_another(model):
    clf = TextClassifier(model, analyzer="words")
    with pytest.raises(NotLearnedError):
        clf.predict(["a"])
    clf.learn(["a b", "b c"], ["x", "x"])
    assert clf.predict(["a", "never"]).tolist() == ["x", "x"]
    assert clf.explain("a").against is None
    assert [word.text for word in clf.words("x", top=1)]
    clf.learn(["d e", "e f"], ["y", "y"])
    assert clf.predict(["a b", "e"]).tolist() == ["x", "y"]


@pytest.mark.parametrize("model", MODELS)
def test_documents_may_be_tokens_or_counts_and_have_several_labels(model):
    tokens = [["a", "b"], ["a", "a"], ["c"], ["c", "d"]]
    clf = TextClassifier(model).learn(tokens, [["x"], ["x", "z"], ["y"], ["y", "z"]])
    assert clf.classes_.tolist() == ["x", "y", "z"]
    assert clf.predict([["a", "b"], ["c"]]).tolist() == ["x", "y"]
    clf.unlearn([["a", "a"]], [["z", "x"]])
    clf.unlearn([["c", "d"]], [["y", "z"]])
    assert clf.classes_.tolist() == ["x", "y"]


def test_aode_explains_words_that_all_documents_have():
    clf = TextClassifier("aode", analyzer="words")
    clf.learn(["the cat", "the dog", "the bird", "the cat"], ["x", "y", "x", "x"])
    found = clf.explain("the cat")
    assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(found.difference, abs=1e-9)
    assert {word.text for word in clf.words("x")} == {"the", "cat", "dog", "bird"}


def test_m_of_aode_on_text():
    texts, labels = ["a b", "a c", "b c", "c d"] * 3, ["x", "y", "x", "y"] * 3
    vectorizer = TextVectorizer(analyzer="words")
    X = vectorizer.fit_transform(texts)
    for m in (1, 7, 30):
        found = TextClassifier("aode", analyzer="words", m=m).learn(texts, labels).scores(["a d"])
        np.testing.assert_allclose(
            found, AODE(m=m).fit(X, labels).predict_joint_log_proba(vectorizer.transform(["a d"])), rtol=1e-12
        )


def test_what_was_not_kept_cannot_be_trained():
    clf = TextClassifier().learn(["a", "b"], ["x", "y"])
    with pytest.raises(NotLearnedError, match=r"TextClassifier\('nbsvm'\)"):
        clf.with_model("nbsvm").predict(["a"])
    kept = TextClassifier("nbsvm").learn(["a", "b"], ["x", "y"])
    assert kept.with_model("multinomial").predict(["a"]).tolist() == ["x"]
    assert kept.with_model("twcnb").predict(["a"]).tolist() == ["x"]
    assert TextClassifier().set_params(model="nbsvm").learn(["a", "b"], ["x", "y"]).predict(["b"]).tolist() == ["y"]


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("aode", {"alpha": 1.0}, "no alpha"),
        ("nbsvm", {"smoothing": "mle"}, "does not know smoothing='mle'"),
        ("arow", {"unseen": "smooth"}, "unseen='ignore'"),
        ("arow", {"alpha": {"a": 1.0}}, "should be a number"),
        ("nbsvm", {"alpha": 0}, "above 0"),
        ("nbsvm", {"prior": "uniform"}, "no class prior"),
        ("multinomial", {"class_norm": "no"}, "should be True or False"),
        ("nothing", {}, "there is no model 'nothing': choose one of auto, multinomial, .*aode"),
    ],
)
def test_options_that_make_no_sense(model, options, message):
    with pytest.raises(OptionError, match=message):
        TextClassifier(model, **options)


@pytest.mark.parametrize("model", MODELS)
def test_fewer_words(model, news):
    texts, labels = news
    clf = TextClassifier(model, min_df=2, max_features=50).learn(texts, labels)
    assert clf.to_sklearn().named_steps["model"].n_features_in_ == 50
    assert clf.to_sklearn().predict(texts[:30]).tolist() == clf.predict(texts[:30]).tolist()
    whole = TextClassifier(model).learn(texts, labels)
    assert whole.to_sklearn().predict(texts[:30]).tolist() == whole.predict(texts[:30]).tolist()


def test_copies_and_cross_validation(news):
    texts, labels = news
    clf = TextClassifier("nbsvm").learn(texts, labels)
    for other in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert np.array_equal(other.scores(texts), clf.scores(texts))
        assert other.learn(["more"], [labels[0]]).counts.n_docs == 121
    found = cross_val_predict(TextClassifier("arow"), texts, labels, cv=3)
    assert np.mean(found == np.array(labels)) > 0.5
    shares = cross_val_predict(TextClassifier("nbsvm"), texts, labels, cv=3, method="predict_proba")
    assert shares.shape == (120, 5)


@pytest.mark.parametrize("model", ["arow", "twcnb"])
def test_questions_while_others_learn(model, news):
    texts, labels = news
    clf = TextClassifier(model).learn(texts[:40], labels[:40])
    errors = []

    def ask() -> None:
        try:
            for _ in range(15):
                assert len(clf.predict(texts[:7])) == 7
        except BaseException as error:
            errors.append(error)

    askers = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for asker in askers:
        asker.start()
    for k in range(40, 60):
        clf.learn([texts[k], f"word{k}"], [labels[k], f"label{k}"])
    for asker in askers:
        asker.join(PATIENCE)
    assert not errors and not any(asker.is_alive() for asker in askers)
    assert len(clf.classes_) == 25


# --- in a file


@pytest.mark.parametrize("model", quick(3, MODELS))
def test_in_a_file(model, news, tmp_path):
    texts, labels = news
    path = tmp_path / "a.bunrui"
    with bunrui.create(path, model) as clf:
        clf.learn(texts[:60], labels[:60])
        clf.learn(texts[60:], labels[60:])
        scores = clf.scores(texts)
        memory = TextClassifier(model).learn(texts[:60], labels[:60]).learn(texts[60:], labels[60:])
        np.testing.assert_allclose(scores, memory.scores(texts), rtol=1e-9, atol=1e-12)
        found = clf.explain(texts[0])
        assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(
            found.score - found.against_score
        )
    with bunrui.open(path) as clf:
        np.testing.assert_allclose(clf.scores(texts), scores, rtol=1e-9, atol=1e-12)
        clf.learn(["something else"], [labels[0]])
        clf.predict(texts[:1])
        clf.undo()
        np.testing.assert_allclose(clf.scores(texts), scores, rtol=1e-9, atol=1e-12)
        clf.unlearn(texts[60:], labels[60:])
        half = TextClassifier(model).learn(texts[:60], labels[:60])
        np.testing.assert_allclose(clf.scores(texts), half.scores(texts), rtol=1e-9, atol=1e-12)
        clf.compact()
    with bunrui.open(path, read_only=True) as clf:
        np.testing.assert_allclose(clf.scores(texts), half.scores(texts), rtol=1e-9, atol=1e-12)


def test_arow_in_a_file_learns_what_is_new_only(news, tmp_path):
    texts, labels = news
    path = tmp_path / "a.bunrui"
    with bunrui.create(path, "arow") as clf, bunrui.open(path) as other:
        clf.learn(texts[:50], labels[:50]).predict(["a"])
        head = head_of(clf)
        other.learn(texts[50:60], labels[50:60])
        clf.learn(texts[60:], labels[60:])
        found = clf.scores(texts)
        assert head_of(clf) is head
        clf.relabel("moved", texts=texts[:3])
        assert "moved" in clf.classes_
        clf.predict(["a"])
        assert head_of(clf) is not head
    memory = TextClassifier("arow")
    for part in (slice(50), slice(50, 60), slice(60, None)):
        memory.learn(texts[part], labels[part])
    np.testing.assert_allclose(found, memory.scores(texts), rtol=1e-9, atol=1e-12)


def test_a_new_file_may_change_to_a_trained_model(tmp_path):
    with bunrui.create(tmp_path / "a.bunrui", analyzer="words") as clf:
        clf.configure(model="nbsvm")
        clf.learn(["a b", "c d"], ["x", "y"])
        assert clf.predict(["a", "d"]).tolist() == ["x", "y"]
        assert clf.info()["alpha"] == 0.5


def test_a_file_that_keeps_no_texts(tmp_path):
    for keep in ("digests", "nothing"):
        with pytest.raises(OptionError, match="trained from documents"):
            bunrui.create(tmp_path / "a.bunrui", "twcnb", keep=keep)
        assert not (tmp_path / "a.bunrui").exists()
    with bunrui.create(tmp_path / "b.bunrui", keep="digests") as clf:
        clf.learn(["a", "b"], ["x", "y"])
        with pytest.raises(OptionError, match="keeps digests"):
            clf.configure(model="nbsvm")
        with pytest.raises(OptionError, match="keeps digests"):
            clf.with_model("arow").predict(["a"])
    with bunrui.create(tmp_path / "c.bunrui", "aode") as clf:
        clf.learn(["a", "b"], ["x", "y"])
        with pytest.raises(OptionError, match="choose a model that reads counts"):
            clf.slim(tmp_path / "d.bunrui")
        clf.configure(model="binary").slim(tmp_path / "d.bunrui")
        assert clf.with_model("twcnb").predict(["b"]).tolist() == ["y"]


@pytest.mark.parametrize("model", ["nbsvm", "arow", "twcnb"])
def test_tokens_and_counts_are_no_rows_of_a_table(model: str) -> None:
    clf = TextClassifier(model, analyzer="columns").learn(['{"age": 39}', '{"age": 40}'], ["x", "y"])
    for document in ({"age=39": 1}, ["age=39"]):
        for ask in (lambda d: clf.predict([d]), lambda d: clf.predict_proba([d]), clf.explain):
            with pytest.raises(DataError, match="rows of tables come as JSON strings"):
                ask(document)
