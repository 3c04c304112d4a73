"""The page of ``make reproduce``: every published number that others determine, beside its recomputed twin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.metrics.consensus import consensus_deviation, score_matrix
from judgestats.metrics.psychometrics import criterion_shift, dark_current, delta0, target_sensitivity
from judgestats.published import paper_dark_current, paper_merchant_risk, tables
from judgestats.reporting import plots
from judgestats.reporting.account import head
from judgestats.reporting.markup import Markup, anchor, document, join, row, table, tag
from judgestats.reporting.pages import foot, write
from judgestats.reporting.pictures import drawing
from judgestats.reporting.words import count, noun

#: Paper -> its title.
TITLES = {
    "merchant_risk": "Understanding LLM Evaluator Behavior (merchant_risk)",
    "debiasing": "Judging the Judges (debiasing)",
    "dark_current": "LLM Judges Have Dark Current (dark_current)",
    "consensus_illusion": "Beyond the Illusion of Consensus (consensus_illusion)",
    "rationalization": "Faithful or Fabricated? (rationalization)",
}
_GOOD = ("follows",)


def reproduction_page(checks: pd.DataFrame, path: str | os.PathLike[str]) -> Path:
    """Write the page of a reproduction: what follows, what does not, and the figures drawn from the published counts.

    Parameters
    ----------
    checks : pandas.DataFrame
        A result of :func:`judgestats.published.reproduce`.
    path : path
        File to write; its folder is made.

    Returns
    -------
    pathlib.Path
        The file. The same checks give the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> from judgestats.published import reproduce
    >>> page = reproduction_page(reproduce("dark_current"), Path(tempfile.mkdtemp()) / "index.html")
    >>> "Table 6" in page.read_text(encoding="utf-8")
    True
    """
    papers = list(dict.fromkeys(checks["paper"]))
    counts = " ".join(f"{TITLES.get(name, name)}: {_told(checks[checks['paper'] == name])}." for name in papers)
    lead = (
        f"{noun(len(checks), 'printed number')} that other printed numbers determine, computed again from those. "
        f"{counts} "
        "Recomputed values stand unrounded, with six significant digits; the verdict compares them in the "
        "printed precision."
    )
    sections = [
        tag(
            "section", tag("h2", TITLES.get(name, name)), _paper(name, checks[checks["paper"] == name]), id=anchor(name)
        )
        for name in papers
    ]
    odd = checks[~checks["verdict"].isin(_GOOD)]
    body = [_summary(checks, papers), _contents(checks, papers), _odd(odd), tag("main", *sections), _shipped(), foot()]
    title = "Published numbers, recomputed"
    return write(path, document(f"judgestats: {title.lower()}", head("reproduction", title, lead), *body))


def _told(checks: pd.DataFrame) -> str:
    return ", ".join(f"{verdict} {count(n)}" for verdict, n in checks["verdict"].value_counts().items())


def _summary(checks: pd.DataFrame, papers: list[str]) -> Markup:
    verdicts = list(dict.fromkeys(checks["verdict"]))
    rows = []
    for name in papers:
        here = checks[checks["paper"] == name]
        numbers = [count(int((here["verdict"] == v).sum())) for v in verdicts]
        rows.append(
            row(
                [tag("a", TITLES.get(name, name), href=f"#{anchor(name)}"), *numbers, count(len(here))],
                numbers=range(1, len(verdicts) + 2),
            )
        )
    return table(["paper", *verdicts, "numbers"], rows, numbers=range(1, len(verdicts) + 2))


def _place_id(paper: str, place: str) -> str:
    return anchor(f"{paper} {place}")


def _contents(checks: pd.DataFrame, papers: list[str]) -> Markup:
    lists = []
    for name in papers:
        places = dict.fromkeys(checks.loc[checks["paper"] == name, "place"])
        links = [tag("li", tag("a", place, href=f"#{_place_id(name, place)}")) for place in places]
        lists.append(tag("ul", tag("li", tag("b", name)), *links))
    return tag("nav", *lists)


def _odd(odd: pd.DataFrame) -> Markup:
    if odd.empty:
        return tag("section", tag("h2", "What does not follow"), tag("p", "Every number follows."), id="odd")
    rows = [_check_row(r, place=True) for r in odd.to_dict("records")]
    return tag("section", tag("h2", "What does not follow"), table(["place", *_HEADS], rows), id="odd")


_HEADS = ["quantity", "printed", "recomputed", "in printed precision", "verdict", "comment"]


def _paper(name: str, checks: pd.DataFrame) -> Markup:
    parts: list[Markup] = []
    figures = list(_FIGURES[name]()) if name in _FIGURES else []
    if figures:
        parts += [
            tag("p", "Figures drawn again from the printed counts and means:"),
            tag("div", *figures, class_="figures"),
        ]
    for place, here in checks.groupby("place", sort=False):
        rows = [_check_row(r) for r in here.to_dict("records")]
        parts.append(
            tag("h3", f"{place} ", tag("span", f"({_told(here)})", class_="muted"), id=_place_id(name, str(place)))
        )
        parts.append(table(_HEADS, rows, class_="checks"))
    return join(parts)


def _check_row(r: dict[str, Any], *, place: bool = False) -> Markup:
    good = r["verdict"] in _GOOD
    verdict = tag("span", ("✓ " if good else "✗ ") + r["verdict"], class_=f"verdict {'yes' if good else 'no'}")
    cells = [r["quantity"], r["printed"], _six(r["recomputed"]), r["shown"], verdict, r["comment"]]
    where = [tag("a", f"{r['paper']}, {r['place']}", href=f"#{_place_id(r['paper'], r['place'])}")] if place else []
    return row([*where, *cells], class_=None if good else "no")


def _six(value: Any) -> str:
    """Six significant digits of a number; text as it is."""
    return f"{value:#.6g}".replace("-", "−") if isinstance(value, float) else str(value)


def _shipped() -> Markup:
    rows = [
        row([tag("code", r["name"]), r["table"], count(r["rows"]), r["about"]], numbers=(2,))
        for r in tables().to_dict("records")
    ]
    return tag(
        "section",
        tag("h2", "Tables the package holds"),
        table(["name", "printed as", "rows", "about"], rows, numbers=(2,)),
        id="tables",
    )


def _dark_current_figures() -> Iterator[Markup]:
    equal, ladder = delta0(paper_dark_current.delta0_counts()), target_sensitivity(paper_dark_current.ladder_counts())
    sheet = pd.concat([dark_current(paper_dark_current.vacuum_counts()), equal, ladder], ignore_index=True)
    yield from drawing(
        "dark-current-map",
        "Figure 1, drawn again",
        "Dark current and stable cross-sensitivity from the counts behind Table 6, with Wilson "
        "and Goodman intervals; the marker grows with target sensitivity at Δ1.",
        lambda: plots.metrology_map(sheet),
    )
    yield from drawing(
        "dark-current-decomposition",
        "Figure 3, drawn again",
        "One-sided commits are not printed; they are what the identity leaves: raw = stable + "
        "positional + one-sided / 2, in whole calls.",
        lambda: plots.decomposition(equal),
    )
    shift = criterion_shift(paper_dark_current.criterion_counts(), "base", "strict")
    ends = _by_prompt(ladder)
    yield from drawing(
        "dark-current-operating",
        "Figure 4, drawn again",
        "Qwen32B under the base and the strict prompt, on Δ1 and Δ5. Two operating points, not an ROC curve.",
        lambda: plots.operating_point(shift, ends),
    )
    yield from drawing(
        "dark-current-scatter",
        "Figure 5, drawn again",
        "Positional against stable, from the same counts.",
        lambda: plots.stable_positional(equal),
    )


def _by_prompt(ladder: pd.DataFrame) -> pd.DataFrame:
    """Sensitivity of the judge whose prompt was changed, prompts told apart."""
    base = ladder[ladder["judge"] == "Qwen32B"].assign(prompt="base")
    strict = ladder[ladder["judge"] == "Qwen32B strict criterion"].assign(prompt="strict")
    return pd.concat([base, strict]).assign(judge="Qwen32B")


def _merchant_risk_figures() -> Iterator[Markup]:
    ratings, people = paper_merchant_risk.scores(), paper_merchant_risk.panel()
    scores = score_matrix(ratings, by="condition")
    peers = consensus_deviation(ratings, by="condition")
    human = consensus_deviation(ratings, reference=people, by="condition")
    limit = float(pd.concat([peers, human]).query("term == 'deviation'")["estimate"].abs().max())
    for table_, kind, title, told in (
        (scores, "scores", "Figure 6", "Mean ± sd over ten runs; colours rank the systems within each judge."),
        (peers, "peers", "Figure 8", "Deviation from the mean of the other judges."),
        (human, "people", "Figure 9", "Deviation from the mean of 26 experts."),
    ):
        for condition in ("attributed", "anonymized"):
            here = _in_paper_order(table_[table_["condition"] == condition].drop(columns="condition"))
            draw: Callable[[], Any] = _Draw(here, None if kind == "scores" else limit)
            yield from drawing(f"merchant-risk-{kind}-{condition}", f"{title}, {condition}, drawn again", told, draw)


class _Draw:
    """A matrix, to be drawn later."""

    def __init__(self, table_: pd.DataFrame, limit: float | None) -> None:
        self._table, self._limit = table_, limit

    def __call__(self) -> Any:
        return (
            plots.score_matrix(self._table)
            if self._limit is None
            else plots.deviation_matrix(self._table, limit=self._limit)
        )


def _in_paper_order(table_: pd.DataFrame) -> pd.DataFrame:
    order = {name: i for i, name in enumerate(paper_merchant_risk.MODELS)}
    return table_.sort_values(["judge", "system"], key=lambda c: c.map(order), kind="stable", ignore_index=True)


_FIGURES: dict[str, Callable[[], Iterator[Markup]]] = {
    "dark_current": _dark_current_figures,
    "merchant_risk": _merchant_risk_figures,
}
