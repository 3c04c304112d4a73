"""Extractive candidates: whole sentences of the document, in its order, the most central ones."""

from __future__ import annotations

import re
import socket
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from judgestats.design import extracts
from judgestats.design.attacks import sentences
from judgestats.errors import DesignError
from refusals import refused

DOCUMENT = (
    "Green tea is made of leaves that are not fermented. The leaves of green tea are heated soon after they are picked. "
    "A bus goes to the station. Heated leaves keep their colour. Green tea leaves are then rolled and dried. "
    "My neighbour has a dog."
)


def test_sentences_are_the_central_ones_in_their_order():
    """Against the definition, by loops over pairs of sentences."""
    found = sentences(DOCUMENT)
    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(found).toarray()
    centrality = [sum(float(u @ v) for j, v in enumerate(vectors) if j != i) for i, u in enumerate(vectors)]
    for n in (1, 2, 3, 4):
        best = sorted(np.argsort(centrality)[::-1][:n])
        assert extracts([DOCUMENT], sentences=n) == [" ".join(found[i] for i in best)]
    assert "dog" not in extracts([DOCUMENT])[0]
    assert "bus" not in extracts([DOCUMENT])[0]


def test_a_short_document_is_kept_whole_and_equal_sentences_go_by_place():
    assert extracts(["One thing. Another thing."]) == ["One thing. Another thing."]
    assert extracts(["Same words here. Same words here. Same words here."], sentences=2) == [
        "Same words here. Same words here."
    ]
    assert len(extracts([DOCUMENT, DOCUMENT])) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: extracts(["  "]), "Document 1 is empty"),
        (lambda: extracts(["fine", ". ? ! . A ? B ? 1 ! 2"], sentences=1), "Document 2 has no words"),
        (lambda: extracts(["fine"], sentences=0), "Allowed: 1 or more"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DesignError, match=message):
        call()


# ---------------------------------------------------------------- the methods of sumy


def distribution(words: list[str]) -> dict[str, float]:
    return {w: words.count(w) / len(words) for w in set(words)}


def words_of(sentence: str) -> list[str]:
    return re.findall(r"[^\W_]+", sentence.lower())


def sumbasic(found: list[str], n: int) -> list[int]:
    """Nenkova and Vanderwende: take the sentence of the highest mean probability, then square those of its words."""
    share = distribution([w for s in found for w in words_of(s)])
    kept: list[int] = []
    while len(kept) < n:
        rest = [i for i in range(len(found)) if i not in kept]
        best = max(rest, key=lambda i: np.mean([share[w] for w in words_of(found[i])]))
        kept.append(best)
        share |= {w: share[w] ** 2 for w in words_of(found[best])}
    return sorted(kept)


def lexrank(found: list[str], n: int, threshold: float = 0.1) -> list[int]:
    """Erkan and Radev: the stationary distribution of the graph of sentences with a cosine of TF-IDF above 0.1."""
    bags = [words_of(s) for s in found]
    known = sorted({w for b in bags for w in b})
    tf = np.array([[b.count(w) / max(b.count(v) for v in b) for w in known] for b in bags])
    idf = np.array([np.log(len(bags) / (1 + sum(w in b for b in bags))) for w in known])
    x = tf * idf
    cosine = np.array([[a @ b / np.sqrt((a @ a) * (b @ b)) if (a @ a) * (b @ b) > 0 else 0.0 for b in x] for a in x])
    graph = (cosine > threshold).astype(float)
    graph /= np.maximum(graph.sum(axis=1, keepdims=True), 1)
    p = np.full(len(bags), 1 / len(bags))
    for _ in range(1000):
        p = graph.T @ p
    return sorted(np.argsort(-p.round(6), kind="stable")[:n].tolist())


@pytest.mark.parametrize(("method", "definition"), [("sumbasic", sumbasic), ("lexrank", lexrank)])
def test_the_methods_are_their_definitions(method, definition):
    pytest.importorskip("sumy", reason="sumy is not installed (extra extracts)")
    found = sentences(DOCUMENT)
    for n in (1, 2, 3):
        assert extracts([DOCUMENT], sentences=n, method=method) == [" ".join(found[i] for i in definition(found, n))]


@pytest.mark.parametrize("method", ["textrank", "lexrank", "kl-sum", "sumbasic"])
def test_the_methods_need_nothing_downloaded(method, monkeypatch):
    pytest.importorskip("sumy", reason="sumy is not installed (extra extracts)")

    def refuse(*_, **__):
        raise AssertionError("it looks for a model of NLTK")

    monkeypatch.setattr("nltk.data.find", refuse)
    monkeypatch.setattr("nltk.data.load", refuse)
    monkeypatch.setattr(socket, "socket", refuse)
    (made,) = extracts([DOCUMENT], sentences=2, method=method)
    kept = sentences(made)
    places = [sentences(DOCUMENT).index(s) for s in kept]
    assert len(kept) == 2
    assert places == sorted(places)


def test_a_missing_library_is_named(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == "sumy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sumy", None)
    refused(
        DesignError,
        ("lexrank", r'method=\'lexrank\' needs sumy. Do: pip install "judgestats\[extracts\]"'),
        ("lead", "method"),
        of=lambda method: extracts([DOCUMENT], method=method),
    )
