"""How a page was made: limits, cautions, and the call that makes it again."""

from __future__ import annotations

from collections.abc import Iterable

from judgestats import __version__, flags
from judgestats.errors import masked
from judgestats.reporting.formatting import PERCENT, count, spaced
from judgestats.reporting.page_data import PageData
from judgestats.reporting.source_tables import readings
from judgestats.typing import Record

CITE = (
    f"The judgestats developers. judgestats: statistics for the verdicts of LLM judges, version {__version__}. "
    "CITATION.cff in its repository has this as BibTeX and other forms. Cite the paper named with a measure, too."
)
LIMITS = (
    "Intervals allow for calls that share what their method names (the item, or a task where there are 10 or more); "
    "they do not generalise to other tasks where few were sampled.",
    "Differences between judges hold for all pairs of judges at once; no other number is corrected for the number of "
    "judges or measures compared.",
    "A judge is measured under the prompt, the model version and the items that were run, and nowhere else.",
    "A judge type (“Class A”, …) is a description by thresholds, not a test.",
)
_PREFERENCE_LIMIT = (
    "Without stimuli of known equality no disagreement between the two orders is called a false preference: the "
    "candidates may differ."
)
_RATING_LIMIT = (
    "Deviation from peers is relative: if one judge is above the others, the others are below it. It is not a distance "
    "from the truth."
)
_PEOPLE_LIMIT = "Deviation from people is from the mean of the people named. It is not a distance from the truth."


def limits_of(page: PageData) -> list[str]:
    """What holds of every number of a page."""
    people = bool(page.rows.reference.humans)
    limits = [
        *LIMITS,
        (_PEOPLE_LIMIT if people else _RATING_LIMIT)
        if page.rows.kind == "ratings"
        else ("" if "stimulus" in page.measured.columns else _PREFERENCE_LIMIT),
    ]
    return [t for t in limits if t]


def cautions(marked: Iterable[Iterable[str]]) -> list[dict[str, str]]:
    """The flags of a page, each explained once."""
    used = flags.explain(cell for flagged in marked for cell in flagged).drop_duplicates("code")
    return [{"flag": spaced(f), "why": spaced(why)} for f, why in zip(used["flag"], used["explanation"], strict=True)]


def method_facts(page: PageData, source: object, command: str) -> Record:
    """Versions, options and the call behind a page."""
    options = page.arguments
    facts = {
        **{f"read: {name}": text for name, text in readings(source).items()},
        "judgestats": __version__,
        "seed": str(options["seed"]),
        "interval": f"{100 * options['conf_level']:g}{PERCENT}",
        "resamples": count(options["n_resamples"]),
        "cluster": "none" if options["cluster"] is False else str(options["cluster"]),
    }
    return {"facts": facts, "call": call_again(page), "command": command}


def call_again(page: PageData) -> str:
    """The call that makes the page again; `data` is the table read, `table` the one that a model was fitted to."""
    arguments = [f"{k}={v!r}" for k, v in page.arguments.items() if v not in (None, [], ())]
    if page.estimates.models:
        arguments.append(f"models={{{', '.join(f'{m.name!r}: {m.call}' for m in page.estimates.models)}}}")
    return masked(f"judgestats.report(data, {', '.join(arguments)})")
