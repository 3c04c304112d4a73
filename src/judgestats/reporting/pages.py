"""The page of a data set: :func:`report`."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats import __version__
from judgestats.errors import DesignError
from judgestats.ingest.sources import PATHS
from judgestats.metrics.datasheets import datasheet, profile
from judgestats.metrics.datasheets.sheets import BEFORE, WAYS
from judgestats.metrics.references import Baseline, Humans, references
from judgestats.metrics.trials import Options, attempts, trials
from judgestats.reporting.account import (
    account_section,
    design,
    head,
    held_against,
    how_read,
    next_step,
    pooled,
    readings,
    shown_apart,
    sources,
)
from judgestats.reporting.chapters import chapters
from judgestats.reporting.markup import Markup, anchor, document, facts, join, row, table, tag
from judgestats.reporting.pictures import pictures
from judgestats.reporting.plots.rows import whose
from judgestats.reporting.sheets import datasheet_table, overview, shown_measures
from judgestats.reporting.words import FLAGS, count, doubts, noun
from judgestats.schema import check, kind_of
from judgestats.schema.clustering import Cluster
from judgestats.schema.columns import By, Kind, grouping
from judgestats.schema.opening import opened
from judgestats.schema.splitting import KEYS, splits_of
from judgestats.schema.validation import raise_faults

#: With more judges than this, their datasheets are folded.
OPEN = 3
LIMITS = (
    "Intervals of rates over calls take calls as independent; where calls share a pair, the flag says in which "
    "direction that is wrong.",
    "Nothing here is corrected for the number of judges or measures compared.",
    "A judge is measured under the prompt, the model version and the items that were run, and nowhere else.",
    "A sketch of a judge (“Class A”, …) is a description by thresholds, not a test.",
)
_PREFERENCE_LIMIT = (
    "Without stimuli of known equality no disagreement between the two orders is called a false preference: the "
    "candidates may differ."
)
_RATING_LIMIT = (
    "Deviation from peers is relative: if one judge is above the others, the others are below it. It is no distance "
    "from the truth."
)


_PEOPLE_LIMIT = "Deviation from people is from the mean of the people named. It is no distance from the truth."


def report(
    data: Any,
    path: str | os.PathLike[str] = "report.html",
    *,
    by: By = (),
    title: str | None = None,
    source: Any = None,
    cluster: Cluster = "auto",
    identity: Mapping[str, str] | None = None,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
    seed: int = 0,
    conf_level: float = 0.95,
    n_resamples: int = 2000,
) -> Path:
    """Write one self-contained HTML page about a data set: what was read, and the datasheet of each judge.

    Parameters
    ----------
    data : frame
        A canonical frame, preferences or ratings, in any engine Narwhals knows.
    path : path
        File to write; its folder is made.
    by : str or sequence of str
        Further grouping columns: a datasheet for each judge and group. Columns that split ratings (rows that are equal
        in judge, system, item, criterion and replicate differ in them) are grouping columns in any case.
    title : str, optional
        Title of the page.
    source : frame or mapping, optional
        What was read, for the record: a result of :func:`judgestats.ingest.source_info`, or a mapping of names to
        values: ``format``, ``mapping`` (canonical column -> column), ``labels`` and ``files`` (such a table), and
        whatever else is to stand on the page.
    cluster : "auto", str or False
        What calls share, for every interval of the page that takes it: by default the column that they are seen to
        share; or a column; False takes all calls as independent.
    identity : mapping of str to str, optional
        For ratings, system -> judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``{column: value}``. Judges are then held against people, beside the agreement
        of people with each other; people get no datasheet.
    gold : str, optional
        Where right answers come from: a column, a judge (who is then not measured), or a candidate.
    baseline : str or mapping, optional
        The control condition: a value of ``strategy``, ``prompt``, ``probe``, ``scheme`` or ``condition``, or
        ``{column: value}``. Without it the conditions stand side by side, and nothing is compared with a control.
    seed, n_resamples : int
        For the bootstrap intervals.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pathlib.Path
        The file. The same data and arguments give the same bytes: no time of day is in it.

    Raises
    ------
    SchemaError
        If `data` is no canonical frame, or has faults.
    DesignError
        If `path` is a folder, one of the files that `source` tells of, or cannot be written; if a name in `humans`,
        `gold` or `baseline` does not occur.

    Examples
    --------
    >>> import tempfile
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "second"]})
    >>> page = report(calls, Path(tempfile.mkdtemp()) / "report.html")
    >>> "same verdict in both orders" in page.read_text(encoding="utf-8")
    True
    """
    refuse_path(path, _files(source))
    frame = opened(data).lazy().collect(backend="pandas").to_native()
    frame.attrs = dict(getattr(data, "attrs", {}))
    kind = kind_of(frame.columns)
    raise_faults(nw.from_native(frame, eager_only=True), kind)
    groups = [g for g in grouping(by, list(frame.columns)) if g != "judge"]
    splits = splits_of(frame, [*KEYS, *groups]) if kind == "ratings" else []
    groups += [s.column for s in splits]
    findings = check(frame)
    options: dict[str, Any] = {
        "by": groups,
        "cluster": cluster,
        "identity": dict(identity) if identity else None,
        "seed": seed,
        "conf_level": conf_level,
        "n_resamples": n_resamples,
    }
    asked = {"humans": humans, "gold": gold, "baseline": baseline}
    known = references(frame, humans, gold, baseline)
    everybody, renamed = _apart(pd.concat([known.models, known.people]), groups)
    measured, people = everybody.iloc[: len(known.models)], everybody.iloc[len(known.models) :]
    own: dict[str, Any] = {"humans": list(known.humans), "baseline": known.baseline}
    sheet = datasheet(everybody, **{**options, "by": renamed}, **own)
    title = title or "Judge datasheet"
    settings = Options(
        tuple(renamed), identity or {}, cluster, n_resamples, seed, conf_level, people if known.humans else None,
        known.baseline,
    )  # fmt: skip
    taken = attempts(measured, settings)
    further, shown = chapters(measured, taken, conf_level)
    sections = {
        "What was read": _read(source, findings),
        "At a glance": overview(sheet, conf_level) if whose(sheet).nunique() > 1 else Markup(""),
        "Pictures": pictures(measured, kind, sheet, settings),
        "Datasheets": join(
            [
                pooled(known.models, kind, [*groups, *sheet.columns.intersection(WAYS)]),
                shown_apart(splits),
                _datasheets(sheet, conf_level),
            ]
        ),
        **further,
        "What this page does not show": _not_shown(measured, kind, sheet, taken, shown, bool(known.humans)),
        "How it was made": _made({**options, **{k: v for k, v in asked.items() if v}}, source),
    }
    sections = {k: v for k, v in sections.items() if v}
    told = " ".join(
        t
        for t in (
            next_step(known, sheet, kind),
            design(known.models, kind, findings, groups),
            held_against(known, gold),
            how_read(source),
        )
        if t
    )
    top = head("judge datasheet", title, told)
    return write(path, document(title, top, _contents(sections), _body(sections), foot()))


def _apart(frame: pd.DataFrame, groups: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Frame and groups under names that a datasheet does not use for its own columns."""
    names = {g: f"{g} of the run" for g in groups if g in BEFORE}
    return frame.rename(columns=names), [names.get(g, g) for g in groups]


def write(path: str | os.PathLike[str], page: str) -> Path:
    """Write a page whole or not at all, and make its folder: what was there stays until the new page is complete."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()  # a link stays a link
        if target.exists() and not target.is_file():  # /dev/stdout, a pipe
            path.write_text(page, encoding="utf-8")
            return path
        draft = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.tmp")
        try:
            with draft.open("x", encoding="utf-8") as file:
                file.write(page)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:
        told = getattr(error, "strerror", None) or error
        raise DesignError(f"path={str(path)!r} cannot be written: {told}. Name another.") from None
    return path


def refuse_path(path: str | os.PathLike[str], read: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Refuse a folder in place of a file, and a file that was read, under any name, before anything is measured."""
    path = Path(path)
    if path.is_dir():
        raise DesignError(f"path={str(path)!r} is a folder; name a file, such as {str(path / 'report.html')!r}.")
    if any(path.exists() and os.path.exists(file) and path.samefile(file) for file in read):
        raise DesignError(
            f"path={str(path)!r} is a file that was read, and the page would take its place. Name another, such as "
            f"{str(path.with_name('report.html'))!r}."
        )


def _files(source: Any) -> list[str]:
    """Paths of the files that a source, as :func:`report` takes it, tells of."""
    table = source.get("files") if isinstance(source, Mapping) else source
    return list(getattr(table, "attrs", {}).get(PATHS, ()))


def _contents(sections: Mapping[str, Markup]) -> Markup:
    return tag("nav", tag("ul", *(tag("li", tag("a", name, href=f"#{anchor(name)}")) for name in sections)))


def _body(sections: Mapping[str, Markup]) -> Markup:
    return tag(
        "main", *(tag("section", tag("h2", name), content, id=anchor(name)) for name, content in sections.items())
    )


def foot() -> Markup:
    """Last line of a page."""
    return tag("footer", f"judgestats {__version__}. One file, no scripts, nothing loaded from elsewhere.")


def _read(source: Any, findings: pd.DataFrame) -> Markup:
    return join([sources(source), tag("h3", "Account of the rows"), account_section(findings)])


def _datasheets(sheet: pd.DataFrame, conf_level: float) -> Markup:
    who = whose(sheet)
    judges = list(dict.fromkeys(who))
    sketches = _sketches(sheet, who)
    parts = [
        tag(
            "p",
            "Each row is one number: what it measures in a sentence, the estimate with its interval and how that "
            "came about, what it is a share "
            "of, which way is bad, and what speaks against taking it at its word.",
            class_="muted",
        )
    ]
    for judge in judges:
        rows = sheet[who == judge]
        content = join([sketches.get(judge, ""), datasheet_table(rows, conf_level)])
        if len(judges) == 1:
            parts += [tag("h3", judge), content]
        else:
            told = tag("span", noun(len(rows), "row"), class_="muted")
            parts.append(tag("details", tag("summary", judge, told), content, open=len(judges) <= OPEN))
    return join(parts)


def _sketches(sheet: pd.DataFrame, who: pd.Series[Any]) -> dict[str, Markup]:
    """Sketch of each judge whose dark current and classes were measured."""
    if "dark current" not in set(sheet["section"]):
        return {}
    rows = sheet[sheet["section"].isin(["dark current", "Δ0"])]
    rows = rows.assign(judge=who.loc[rows.index], vacuum_kind=rows["detail"].where(rows["term"] == "dark_current", ""))
    told = profile(rows)
    return {r["judge"]: _sketch(r) for r in told.to_dict("records")}


def _sketch(r: Mapping[str, Any]) -> Markup:
    at = profile.__kwdefaults__ or {}
    rule = (
        f"Rule: dark current up to {at['dark']:g} is clean (Class A); raw false preference from {at['high']:g} is "
        "high, and is then named after its "
        f"mechanism where one has {at['dominant']:g} of the two-order commitments. A description, not a test."
    )
    return tag(
        "div",
        tag("p", "Sketch: ", tag("b", r["profile"]), "."),
        tag("p", r["because"], class_="small"),
        tag("p", rule, class_="small"),
        class_="profile",
    )


def _not_shown(
    frame: pd.DataFrame,
    kind: Kind,
    sheet: pd.DataFrame,
    taken: Mapping[str, pd.DataFrame | str],
    shown: set[str],
    people: bool,
) -> Markup:
    seen = shown | shown_measures(sheet)
    asked = trials(frame)
    absent = {m: why for m, why in taken.items() if isinstance(why, str) and m not in seen}
    parts = []
    if absent:
        rows = [row([tag("code", measure), asked[measure].question, why]) for measure, why in absent.items()]
        parts += [
            tag("p", f"{noun(len(absent), 'measure')} that these data do not support, and what each would need:"),
            table(["measure", "question", "what is missing"], rows),
        ]
    else:
        parts.append(tag("p", "Every measure of this kind of data is supported, or shown here."))
    limits = [
        *LIMITS,
        (_PEOPLE_LIMIT if people else _RATING_LIMIT)
        if kind == "ratings"
        else ("" if "stimulus" in frame.columns else _PREFERENCE_LIMIT),
    ]
    parts += [tag("h3", "Limits"), tag("ul", *(tag("li", t) for t in limits if t))]
    marked = [sheet["flag"], *(t["flag"] for m, t in taken.items() if m in shown and not isinstance(t, str))]
    used = doubts(f for flags in marked for cell in flags for f in str(cell).split("; "))
    if used:
        entries = [join([tag("dt", f), tag("dd", FLAGS.get(f, "Said by the measure itself."))]) for f in used]
        parts += [tag("h3", "Doubts, as they are flagged on this page"), tag("dl", *entries, class_="glossary")]
    return join(parts)


def _made(options: Mapping[str, Any], source: Any) -> Markup:
    shown = {
        **{f"read: {name}": told for name, told in readings(source).items()},
        "judgestats": __version__,
        "seed": str(options["seed"]),
        "interval": f"{100 * options['conf_level']:g} %",
        "resamples": count(options["n_resamples"]),
        "cluster": "none" if options["cluster"] is False else str(options["cluster"]),
    }
    given = ", ".join(f"{k}={v!r}" for k, v in options.items() if v not in (None, [], ()))
    return join([facts(shown), tag("pre", tag("code", f"judgestats.report(data, {given})"))])
