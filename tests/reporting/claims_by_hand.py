"""What the sentences of a page claim, recomputed from its rows by pandas alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pandas as pd

from judgestats.reporting.page_claims import Claim
from judgestats.reporting.page_data import PageData

LOWER = {"distance", "run_sd"}
WAYS = ("strategy", "prompt", "probe", "scheme", "condition", "temperature")
_EXTREME = ("best", "best here", "may be best", "alone", "constant")
#: Claims whose values are held against those by hand.
CHECKED = (*_EXTREME, "beyond", "not beyond", "is", "from to", "worse", "not better", "lost", "few")


def labelled(page: PageData) -> pd.DataFrame:
    """The rows of a page, each judge by the name that the page gives it."""
    rows, columns = page.measured.copy(), list(page.estimates.sheet.columns)
    names = [c for c in columns[: columns.index("section")] if c in rows.columns and c != "judge"]
    label = rows["judge"].astype(str)
    for name in names:
        label = label + f" · {name} = " + rows[name].map(lambda v: f"{v:.15g}" if isinstance(v, float) else str(v))
    return rows.assign(judge=label)


def _pair(rows: pd.DataFrame) -> pd.Series:
    one, two = (rows[c].astype(str) for c in ("first", "second"))
    return rows["item"].astype(str) + "|" + one.where(one < two, two) + "|" + two.where(one < two, one)


def _cells(rows: pd.DataFrame) -> pd.Series:
    """What each row judged: item, system and criterion, or a pair; and the ways of asking that differ for some judge."""
    keys = [_pair(rows) if "first" in rows else rows["item"].astype(str)]
    keys += [rows[c].astype(str) for c in ("system", "criterion") if c in rows]
    keys += [rows[c].astype(str) for c in WAYS if c in rows and (rows.groupby("judge")[c].nunique() > 1).any()]
    return pd.concat(keys, axis=1).agg("|".join, axis=1)


def compared_rows(page: PageData, rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows on which the judges of each table are compared: of the first those that all judged, where it says so."""
    parts = [rows[rows["judge"].isin(g.judges)] for g in page.summary.groups]
    if parts and any(c.term == "own" for c in page.summary.columns):
        own = parts[0]
        cell = _cells(own)
        by_all = own["judge"].groupby(cell).nunique() == own["judge"].nunique()
        parts[0] = own[cell.map(by_all)]
    return parts


def by_hand(rows: pd.DataFrame, people: pd.DataFrame | None) -> dict[str, pd.Series]:
    """Term -> the value of each judge; where the cards have another number than the table, "bias: term"."""
    return _of_pairs(rows, people) if "choice" in rows else _of_ratings(rows, people)


def _winner(rows: pd.DataFrame) -> pd.Series:
    choice = rows["choice"].astype(str)
    winner = rows["first"].astype(str).where(choice == "first", rows["second"].astype(str))
    return winner.mask(choice == "tie", "tie").mask(choice == "invalid")


def _of_pairs(rows: pd.DataFrame, people: pd.DataFrame | None) -> dict[str, pd.Series]:
    table = rows.assign(
        winner=_winner(rows), pair=_pair(rows), turned=rows["first"].astype(str) > rows["second"].astype(str)
    )
    valid = table.dropna(subset=["winner"])
    values = {"missing": table["winner"].isna().groupby(table["judge"]).mean()}
    if "gold" in table and valid["gold"].notna().any():
        right = (valid["winner"] == valid["gold"].astype(str))[valid["gold"].notna()]
        values["accuracy"] = right.groupby(valid["judge"]).mean()
    if people is not None:
        turned = people["first"].astype(str) > people["second"].astype(str)
        theirs = people.assign(winner=_winner(people), pair=_pair(people), turned=turned)
        everybody = pd.concat([table, theirs])
        thing = ["pair", *(c for c in ("task", "prompt") if c in table and c in theirs)]
        if everybody.duplicated(["judge", *thing]).any():  # somebody saw both orders: each is a thing of its own
            thing.append("turned")
        both = valid.merge(theirs.dropna(subset=["winner"])[[*thing, "winner"]], on=thing, suffixes=("", "_person"))
        values["agreement"] = (both["winner"] == both["winner_person"]).groupby(both["judge"]).mean()
    ways = [c for c in (*WAYS, "task", "replicate") if c in table]
    keys = ["judge", "pair", *ways]
    shown = table[["judge", "pair", "turned", *ways]].astype(dict.fromkeys(ways, str)).drop_duplicates()
    twice = shown.groupby(keys)["turned"].transform("size") == 2
    both_ways = pd.MultiIndex.from_frame(shown.loc[twice, keys].drop_duplicates())
    side = (valid["choice"].astype(str) == "first") * 1.0 - (valid["choice"].astype(str) == "second")
    values["position_bias"] = side.groupby(valid["judge"]).mean()
    index = pd.MultiIndex.from_frame(valid[keys].astype(dict.fromkeys(ways, str)))
    inside = np.asarray(index.isin(both_ways))
    values["bias: position_bias"] = side[inside].groupby(valid.loc[inside, "judge"]).mean()
    first = valid[inside].astype(dict.fromkeys(ways, str)).drop_duplicates([*keys, "turned"])
    orders = first.set_index([*keys, "turned"])["winner"].unstack()
    if list(orders.columns) == [False, True] and len(whole := orders.dropna()):
        values["consistency"] = (whole[False] == whole[True]).groupby(level="judge").mean()
    return values


def _of_ratings(rows: pd.DataFrame, people: pd.DataFrame | None) -> dict[str, pd.Series]:
    name = next(c for c in ("score", "correct", "answer", "mean") if c in rows)
    judge = rows["judge"]
    if name == "correct" and "gold" in rows:
        right = (rows["correct"].astype(float) == rows["gold"].astype(float)).where(
            rows["correct"].notna() & rows["gold"].notna()
        )
        return {"accuracy": right.astype(float).groupby(judge).mean()}
    if name != "score":
        return {}
    values, score = {}, rows["score"].astype(float)
    keys = [c for c in ("item", "system", "criterion", "replicate") if c in rows]  # a run beside the run of its number
    if "gold" in rows:
        error = score - rows["gold"].astype(float)
    elif people is not None:
        middle = people.groupby([c for c in keys if c in people], observed=True)["score"].mean().rename("middle")
        error = score - rows.join(middle, on=list(middle.index.names))["middle"]
    else:
        return values
    values["distance"] = error.abs().groupby(judge).mean()
    if "gold" in rows:
        values["leniency"] = error.groupby(judge).mean()
    return values


def _alpha(rows: pd.DataFrame) -> float:
    """Krippendorff's alpha of answers that are right or wrong, from pairs of answers to one thing."""
    table = pd.DataFrame({"thing": _cells(rows), "answer": rows["correct"]}).dropna()
    size = table.groupby("thing")["answer"].transform("size")
    table, size = table[size > 1], size[size > 1]
    share = table["answer"].astype(float)
    ones = share.groupby(table["thing"]).agg(["sum", "size"])
    observed = (2 * ones["sum"] * (ones["size"] - ones["sum"]) / (ones["size"] - 1)).sum()
    expected = 2 * share.sum() * (len(share) - share.sum()) / (len(share) - 1)
    return float(1 - observed / expected)


def _equal(rows: pd.DataFrame, judges: tuple[str, ...]) -> float:
    """The smallest share of equal answers of two judges, of what both answered."""
    rows = rows[rows["judge"].isin(judges)]
    thing, said = rows["item"].astype(str), next(rows[c] for c in ("choice", "correct", "score") if c in rows)
    for c in ("system", "criterion", "first", "second", *WAYS, "task", "replicate"):
        thing = thing + "|" + (rows[c].astype(str) if c in rows else "")
    wide = pd.DataFrame({"judge": rows["judge"], "thing": thing, "said": said.astype(str)}).drop_duplicates(
        ["judge", "thing"]
    )
    wide = wide.pivot(index="thing", columns="judge", values="said")
    pairs = (wide[[a, b]].dropna() for a, b in itertools.combinations(wide.columns, 2))
    return min(float((p.iloc[:, 0] == p.iloc[:, 1]).mean()) for p in pairs)


class PageByHand:
    """The numbers of a page by hand: of each table, and of all rows."""

    def __init__(self, page: PageData) -> None:
        self.rows, self.page = labelled(page), page
        people = page.settings.people
        self.parts = compared_rows(page, self.rows)
        self.values = [by_hand(part, people) for part in self.parts]
        self.whole = by_hand(self.rows, people)

    def group_of(self, judge: str) -> int | None:
        """The table in which a judge stands."""
        return next((k for k, g in enumerate(self.page.summary.groups) if judge in g.judges), None)

    def of(self, claim: Claim) -> pd.Series | None:
        """The values by hand of what a claim is of: of one table, or, of a bias, of all; None of what is not computed."""
        term = claim.term
        if claim.tables[:1] == ("bias",) or (claim.where.startswith("card: biased") and claim.tables):
            term = f"bias: {term}" if f"bias: {term}" in self.whole else term
            return self._of_all(term)
        if claim.relation in ("worse", "not better"):
            return self._of_all(term)
        if term == "missing":
            return self.whole.get(term)
        if claim.where == "card: people":  # of the things that two people answered
            return None
        k = self.group_of(claim.judges[0]) if claim.judges else None
        if k is None:
            return None
        return self.values[k].get(term)

    def _of_all(self, term: str) -> pd.Series | None:
        parts = [v[term] for v in self.values if term in v]
        return pd.concat(parts) if parts else None

    def contradiction(self, claim: Claim) -> str:
        """How the numbers by hand contradict a claim; empty where they do not, or where there is none."""
        if claim.relation not in CHECKED:
            return ""
        if claim.term == "equal answers":
            least = _equal(self.rows, claim.judges)
            return "" if np.isclose(least, claim.values[0], atol=1e-9) else f"equal in {least}"
        if (
            claim.term == "alpha"
            and claim.relation == "is"
            and "correct" in self.rows
            and len(self.values)
            and claim.judges == ("all",)
        ):
            alpha = _alpha(self.rows)
            return "" if np.isclose(alpha, claim.values[0], atol=1e-9) else f"alpha is {alpha}"
        own = self.of(claim)
        if own is None:
            return ""
        named = own.reindex(list(claim.judges[: len(claim.values)])).to_numpy(float)
        if not np.allclose(named, claim.values[: len(named)], atol=1e-9):
            return f"{claim.term}: {claim.values} for {named.tolist()}"
        if claim.relation in (*_EXTREME, "beyond", "not beyond") and not {*claim.judges} <= {*claim.scope}:
            return "a judge out of its scope"
        if claim.relation in _EXTREME:
            whole = set(self.page.summary.groups[self.group_of(claim.judges[0])].judges) & set(own.dropna().index)
            if not whole <= {*claim.scope}:
                return "its scope is narrower than the table"
            most = own.min() if claim.term in LOWER else own.max()
            return "" if np.isclose(claim.values[0], most, atol=1e-9) else "another is better"
        if claim.relation == "not beyond":
            if not set(own.dropna().index) <= {*claim.scope}:
                return "its scope is narrower than the page"
            return "another is larger" if own.abs().max() > abs(claim.values[0]) + 1e-9 else ""
        if claim.relation == "beyond" and claim.where.startswith("card"):
            if not set(own.dropna().index) <= {*claim.scope}:
                return "its scope is narrower than the page"
            smallest = 0.1 if claim.term == "position_bias" else 0.0
            return "within the smallest" if min(map(abs, claim.values)) < smallest else ""
        return ""

    def checked(self, claim: Claim) -> bool:
        """Whether a claim is held against a number by hand."""
        if claim.relation not in CHECKED or not claim.values:
            return False
        return (
            claim.term == "equal answers"
            or (claim.term == "alpha" and "correct" in self.rows)
            or self.of(claim) is not None
        )


def claims_contradicted(page: PageData) -> Iterator[str]:
    """Claims of a page that its rows contradict, each with how."""
    hand = PageByHand(page)
    for claim in page.summary.claims:
        if why := hand.contradiction(claim):
            yield f"{claim} <- {why}"
