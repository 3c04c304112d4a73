"""Extractive candidates: whole sentences of the document, in its order, the most central ones."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from judgestats.design import extracts
from judgestats.design.attacks import sentences
from judgestats.errors import DesignError

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
