"""Krippendorff's alpha of units cut out of continua: spans that judges mark in texts.

Krippendorff, K. (1995), On the reliability of unitizing continuous data. Sociological Methodology 25, 47-76. The
expected disagreement is that of Krippendorff (2004), Content Analysis, 2nd edition, where a sign is corrected. One text
is his case. Several are parts of one continuum, each read by its own judges. Chance puts spans anywhere in it, across
the end of a text too: at each of the D - 1 seams what nobody marks at the end of a text is joined with what nobody
marks at its beginning, so that the order of the texts does not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy  # scipy.sparse is loaded by its first use

from judgestats.kernels.proportions import quotient
from judgestats.typing import Floats, Integers


class Spans(NamedTuple):
    """U spans of one category."""

    text: Integers  # (U,): 0 to D - 1
    judge: Integers  # (U,)
    start: Floats  # (U,)
    end: Floats  # (U,): behind the last place


class MarkedTexts(NamedTuple):
    """D texts, each read by two judges or more."""

    text: Integers  # text, judge (R,): who read what, sorted by text
    judge: Integers
    length: Floats  # (D,)

    @property
    def judges(self) -> Floats:
        """(D,) judges of each."""
        return np.bincount(self.text, minlength=self.length.size).astype(np.float64)


class Sums(NamedTuple):
    """What each text adds to both disagreements of a category, by the lengths of spans and gaps that occur."""

    observed: Floats  # (D,): of the ordered pairs of judges, over the other judges of the text
    squares: Floats  # (D,): of the places within spans
    spans: scipy.sparse.csr_array  # (D, V): number of spans of each length
    gaps: scipy.sparse.csr_array  # (D, H): number of gaps of each length
    across: Floats  # (D, V): places of a span of each length across the end of the text, where no judge has marked
    span_lengths: Floats  # (V,)
    gap_lengths: Floats  # (H,)


def sums_of(spans: Spans, texts: MarkedTexts) -> Sums:
    """What each text adds, for spans of which no two of a judge overlap."""
    D, length, judges = texts.length.size, spans.end - spans.start, texts.judges
    observed = np.zeros(D)
    order = np.argsort(spans.text, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(spans.text[order])) + 1):
        if not own.size:
            continue
        start, end, judge = spans.start[own], spans.end[own], spans.judge[own]
        meet = (start[:, None] < end) & (start < end[:, None]) & (judge[:, None] != judge)
        apart = (start[:, None] - start) ** 2 + (end[:, None] - end) ** 2
        d, others = spans.text[own[0]], judges[spans.text[own[0]]] - 1
        met = (meet @ (judge[:, None] == np.unique(judge)) > 0).sum(axis=1)
        observed[d] = ((meet * apart).sum() + 2 * ((others - met) * (end - start) ** 2).sum()) / others
    gap_text, gap, first, last = _gaps(spans, texts)
    span_counts, span_lengths = _counted(spans.text, length, D)
    gap_counts, gap_lengths = _counted(gap_text, gap, D)
    least, most = np.maximum(span_lengths - last[:, None], 1), np.minimum(span_lengths - 1, first[:, None])
    across = np.zeros((D, span_lengths.size))
    np.add.at(across, texts.text, np.maximum(most - least + 1, 0.0))
    squares = np.bincount(spans.text, length * (length - 1), D).astype(np.float64)
    return Sums(observed, squares, span_counts, gap_counts, across, span_lengths, gap_lengths)


def _counted(text: Integers, length: Floats, size: int) -> tuple[scipy.sparse.csr_array, Floats]:
    """How often each text has each length, and the lengths."""
    distinct, place = np.unique(length, return_inverse=True)
    return scipy.sparse.csr_array((np.ones(text.size), (text, place)), (size, distinct.size)), distinct


def _gaps(spans: Spans, texts: MarkedTexts) -> tuple[Integers, Floats, Floats, Floats]:
    """Text and length of what no span covers, judge by judge; and the first and the last gap (R,) of each reading."""
    none = np.zeros(texts.text.size)
    text = np.concatenate([texts.text, spans.text, texts.text])
    judge = np.concatenate([texts.judge, spans.judge, texts.judge])
    start = np.concatenate([none, spans.start, texts.length[texts.text]])
    end = np.concatenate([none, spans.end, texts.length[texts.text]])
    order = np.lexsort((end, start, judge, text))
    gap = start[order][1:] - end[order][:-1]
    begins = np.flatnonzero(np.append(True, (np.diff(text[order]) != 0) | (np.diff(judge[order]) != 0)))
    within = np.ones(gap.size, bool)
    within[begins[1:] - 1] = False  # from one reading to the next
    ends = np.append(begins[1:], order.size) - 1
    reading = np.lexsort((texts.judge, texts.text))
    first, last = np.empty(reading.size), np.empty(reading.size)
    first[reading], last[reading] = gap[begins], gap[ends - 1]
    return text[order][1:][within & (gap > 0)], gap[within & (gap > 0)], first, last


def disagreements(sums: Sums, texts: MarkedTexts, weight: Floats) -> tuple[Floats, Floats]:
    """Observed and expected disagreement (B,) of texts drawn `weight` (B, D) times."""
    total, length = weight @ (texts.judges * texts.length), weight @ texts.length
    spans, gaps, n = weight @ sums.spans, weight @ sums.gaps, sums.span_lengths
    fits = np.maximum(sums.gap_lengths - n[:, None] + 1, 0.0)  # places of a span within a gap
    between = (spans.sum(axis=1) - 1) * (spans @ (2 * n**3 - 3 * n**2 + n)) / 3
    number = weight.sum(axis=1, keepdims=True)
    seams = (weight @ sums.across) * quotient(number - 1, number, number > 0)
    alone = ((gaps @ fits.T + seams) * spans * n**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = weight @ sums.observed / (total * length)
        expected = 2 * (between + alone) / length / (total * (total - 1) - weight @ sums.squares)
    return observed, expected
