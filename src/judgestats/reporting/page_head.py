"""The head of a page: its title, one sentence, a line for each question, and the cautions as one strip."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from judgestats.errors import masked
from judgestats.reporting.caution_card import ALSO
from judgestats.reporting.markup import short
from judgestats.reporting.source_tables import file_names
from judgestats.reporting.summary_parts import Card, Summary
from judgestats.typing import Record

#: Lines at most, and sentences of the verdict that stand large.
MOST_LINES, MOST_SENTENCES = 4, 3
#: Formats that say nothing of what the data are.
_PLAIN = ("csv", "tsv", "json", "jsonl", "parquet", "excel", "sqlite", "arrow", "")
#: Sentences of the verdict that are cautions, and those that say what to do next.
_CAUTIONS, _NEXT = ("apart", "pooled", "counts"), ("beyond", "separated by more")
#: What an interval of a line is called, where an earlier line says how it was found.
_SIMULTANEOUS = re.compile(r"simultaneous [\d.]+\s%\s(?=interval)")


def page_title(summary: Summary, source: object, title: object) -> str:
    """The title that was asked for; else the short name of the data, and the question that they answer."""
    name = "" if title else data_name(source)
    return f"{name}: {summary.title[:1].lower()}{summary.title[1:]}" if name else summary.title


def data_name(source: object) -> str:
    """A short name of what was read: its format, where that is one of a benchmark or tool, else its one file's."""
    form = str(source.get("format", "")) if isinstance(source, Mapping) else ""
    if form not in _PLAIN:
        return masked(form)
    names = file_names(source)
    bare = re.sub(r"(\.[A-Za-z]\w{0,8})+$", "", re.split(r"[/\\]", names[0])[-1]) if len(names) == 1 else ""
    return masked(short(bare)) if len(bare) > 1 else ""


def page_head(summary: Summary) -> Record:
    """Sentences, lines and cautions of the head; what does not fit there is in `cards`, each in full.

    A caution of the verdict is not said again by the card of cautions, which begins with the same ones.
    """
    said = [c.sentence for c in summary.sentences if c.relation not in (*_CAUTIONS, *_NEXT)]
    apart = [c.sentence for c in summary.sentences if c.relation == "apart"]
    others = [c.sentence for c in summary.sentences if c.relation in ("pooled", "counts")]
    care = [text for card in summary.cards if card.kind == "care" for text in _cautions(card)][len(apart) :]
    cards = [c for c in summary.cards if c.kind != "care"]
    return {
        "verdict": " ".join(said[:MOST_SENTENCES]),
        "further": " ".join([*said[MOST_SENTENCES:], *(c.sentence for c in summary.sentences if c.relation in _NEXT)]),
        "cautions": [*apart, *care, *others],
        "lines": [
            {"head": c.head, "claim": c.claim, "detail": detail, "hover": f"{c.claim}. {c.detail}"}
            for c, detail in zip(cards[:MOST_LINES], _once([c.detail for c in cards[:MOST_LINES]]), strict=True)
        ],
        "cards": cards,
    }


def _cautions(card: Card) -> list[str]:
    """The cautions of a card, a sentence each; a reason that several have stands in the first."""
    first = f"{card.claim}: {card.detail.partition(ALSO)[0]}."
    sentences, reasons = [], set()
    for text in (first, *(c.sentence for c in card.claims[1:])):
        about, _, why = text.rpartition(": ")
        sentences.append(f"{about}." if why in reasons else text)
        reasons.add(why)
    return sentences


def _once(details: Sequence[str]) -> list[str]:
    """Details of which the first alone says that its interval is simultaneous."""
    first = next((k for k, text in enumerate(details) if _SIMULTANEOUS.search(text)), len(details))
    short_ones = [_SIMULTANEOUS.sub("", text) for text in details]
    if first < len(details):
        begin = _SIMULTANEOUS.search(details[first])
        assert begin is not None
        short_ones[first] = details[first][: begin.end()] + _SIMULTANEOUS.sub("", details[first][begin.end() :])
    return short_ones
