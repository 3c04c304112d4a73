"""Extractive candidates: the central sentences of a document: :func:`extracts`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, get_args

import numpy as np

from judgestats.design.attacks import sentences as split
from judgestats.errors import DesignError, choose

Method = Literal["centrality", "textrank", "lexrank", "kl-sum", "sumbasic"]


def extracts(documents: Iterable[str], *, sentences: int = 3, method: Method = "centrality") -> list[str]:
    """Make an extractive summary of each document: its central sentences, in their order.

    Parameters
    ----------
    documents : iterable of str
        The sources.
    sentences : int
        How many are kept; all of a shorter document.
    method : {'centrality', 'textrank', 'lexrank', 'kl-sum', 'sumbasic'}
        How sentences are chosen. All but the first are those of sumy: ``pip install "judgestats[extracts]"``. Nothing
        is downloaded: sentences and words are cut here, not by the models of NLTK that sumy would load.

    Returns
    -------
    list of str

    Raises
    ------
    DesignError
        If a document is empty, `sentences` is below 1, or sumy is not installed.

    See Also
    --------
    equal_pairs : Pairs of equal content.

    Notes
    -----
    A sentence is central if it is like the others: the mean cosine of TF-IDF vectors with the other sentences of its
    document (degree centrality; LexRank takes the stationary distribution of the same graph). Of equal ones the earlier
    is kept. The rationalization paper's candidates are those of the other four methods; it gives no settings, and sumy
    is used with its own, without stemming and stop words.

    Examples
    --------
    >>> extracts(["Tea needs hot water. Hot water opens the tea leaves. The weather was mild."], sentences=1)
    ['Hot water opens the tea leaves.']
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if sentences < 1:
        raise DesignError(f"sentences={sentences} is not a number of sentences. Allowed: 1 or more.")
    choose(method, get_args(Method), "method")
    summarise = None if method == "centrality" else _summariser(method)
    summaries = []
    for i, document in enumerate(documents):
        if not (texts := split(document)):
            raise DesignError(f"Document {i + 1} is empty, so it has no sentences to extract.")
        if len(texts) > sentences and not any(map(_SentenceWords.to_words, texts)):
            raise DesignError(f"Document {i + 1} has no words: {document[:60]!r}.")
        if len(texts) > sentences and summarise is not None:
            texts = _chosen(summarise, texts, sentences)
        elif len(texts) > sentences:
            try:
                vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
            except ValueError:  # no word in the whole document
                raise DesignError(f"Document {i + 1} has no words: {document[:60]!r}.") from None
            cosine = (vectors @ vectors.T).toarray()
            np.fill_diagonal(cosine, 0.0)
            order = np.argsort(-cosine.sum(axis=1).round(12), kind="stable")
            texts = [texts[k] for k in sorted(order[:sentences])]
        summaries.append(" ".join(texts))
    return summaries


class _SentenceWords:
    """Words of a sentence, for sumy."""

    @staticmethod
    def to_words(sentence: str) -> tuple[str, ...]:
        return tuple(re.findall(r"[^\W_]+", sentence))


def _summariser(method: str) -> Any:
    """The algorithm of sumy."""
    try:
        from sumy.summarizers import kl, lex_rank, sum_basic, text_rank
    except ImportError as error:
        raise DesignError(f'method={method!r} needs sumy. Do: pip install "judgestats[extracts]"') from error
    graphs = {"textrank": text_rank.TextRankSummarizer, "lexrank": lex_rank.LexRankSummarizer}
    return {**graphs, "kl-sum": kl.KLSummarizer, "sumbasic": sum_basic.SumBasicSummarizer}[method]()


def _chosen(summarise: Any, texts: list[str], n: int) -> list[str]:
    """The sentences that sumy chooses, in their order; those of no word are not offered."""
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence

    offered = [Sentence(text, _SentenceWords()) for text in texts if _SentenceWords.to_words(text)]
    return [str(s) for s in summarise(ObjectDocumentModel([Paragraph(offered)]), n)]
