"""Extractive candidates: the central sentences of a document: :func:`extracts`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from judgestats.design.attacks import sentences as split
from judgestats.errors import DesignError


def extracts(documents: Iterable[str], *, sentences: int = 3) -> list[str]:
    """Make an extractive summary of each document: its central sentences, in their order.

    Parameters
    ----------
    documents : iterable of str
        The sources.
    sentences : int
        How many are kept; all of a shorter document.

    Returns
    -------
    list of str

    Raises
    ------
    DesignError
        If a document is empty, or `sentences` is below 1.

    Notes
    -----
    A sentence is central if it is like the others: the mean cosine of TF-IDF vectors with the other sentences of its
    document (degree centrality; LexRank takes the stationary distribution of the same graph). Of equal ones the earlier
    is kept.

    Examples
    --------
    >>> extracts(["Tea needs hot water. Hot water opens the tea leaves. The weather was mild."], sentences=1)
    ['Hot water opens the tea leaves.']
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if sentences < 1:
        raise DesignError(f"sentences={sentences} is not a number of sentences. Allowed: 1 or more.")
    made = []
    for i, document in enumerate(documents):
        found = split(document)
        if not found:
            raise DesignError(f"Document {i + 1} is empty, so it has no sentences to extract.")
        if len(found) > sentences:
            try:
                vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(found)
            except ValueError:  # no word in the whole document
                raise DesignError(f"Document {i + 1} has no words: {document[:60]!r}.") from None
            cosine = (vectors @ vectors.T).toarray()
            np.fill_diagonal(cosine, 0.0)
            order = np.argsort(-cosine.sum(axis=1).round(12), kind="stable")
            found = [found[k] for k in sorted(order[:sentences])]
        made.append(" ".join(found))
    return made
