"""Every printed number of rationalization that the public measures give from its counts."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from judgestats.metrics.invariance import anchoring
from judgestats.published.catalogue import load
from judgestats.published.paper_tables import FAVOURED, OUTCOMES, TABLES, outcomes
from measured.checks import Check

#: Tables of movements, and the probe of each.
MOVEMENTS = {"table6": "truth", "table7": "flip", "table8": "placebo"}
#: The favoured side by the caption of Table VII and Appendix G.
FAVOURED_IN_CAPTIONS = {"truth": "llm", "flip": "llm", "placebo": "llm"}
#: Items per judge and scheme (caption of Table II).
N_ITEMS = 1000


def identical() -> pd.DataFrame:
    """Table X, one text twice under two labels, as a tally; the probe is called ``blind`` to have its tie rate read."""
    table = load("rationalization/table10").melt(["judge"], list(OUTCOMES), "outcome", "n")
    return table.assign(probe="blind")[["judge", "probe", "outcome", "n"]]


def _extractive() -> pd.DataFrame:
    """Table IX: each judge's choices between the LLM and each extractive system."""
    return load("rationalization/table9").melt(["judge", "baseline"], ["llm", "tradml"], "outcome", "n")


_NUMERALS = {"table2": "II", "table3": "III", "table4": "IV", "table5": "V", "table6": "VI", "table7": "VII"}
_NUMERALS |= {"table8": "VIII", "table10": "X"}


_TERMS = {"EDR": "equality_detection", "ND": "neutrality_deviation", "LAO": "lao", "LDS": "lds"}
_TERMS |= {"OLS": "ols", "TS": "ts"}


_SCHEMES = ("Baseline", "SCoT", "PBP")


#: Why a number of Tables VI to VIII, or of the text on them, need not follow from the counts.
_SAMPLE = "by its caption of candidates from one LLM; no other counts are printed"


#: What two or three printed movements of three decimals may lose together.
_ROUNDING = 0.0015


_Values = dict[tuple[str, str, str, str], float]


def checks() -> Iterator[Check]:
    """Every printed number that the counts determine, beside its recomputed twin."""
    values = _estimates(FAVOURED)
    yield from _total_checks()
    yield from _movement_checks(values, _estimates(FAVOURED_IN_CAPTIONS))
    for table in ("results", "ablation"):
        printed = load(f"rationalization/{table}", printed=True)
        for r in printed.to_dict("records"):
            systems = sorted(set(_extractive()["baseline"])) if r["place"] == "Ablation J" else []
            for probe in systems if r["probe"] == "all" else [r["probe"]]:
                yield from _text_checks({**r, "probe": probe}, values)


def _estimates(favoured: dict[str, str]) -> _Values:
    """Every estimate by judge, scheme, probe and quantity, and the counts themselves."""
    counts = outcomes()
    result = anchoring(counts, favoured=favoured, n_resamples=1)
    keys = ["judge", "scheme", "probe"]
    values: _Values = {(*k, t): e for *k, t, e in result[[*keys, "term", "estimate"]].itertuples(index=False)}
    values |= {(*k, o): float(n) for *k, o, n in counts[[*keys, "outcome", "n"]].itertuples(index=False)}
    same = identical()
    rates = anchoring(same)
    rates = rates[rates["term"] == "equality_detection"]
    for judge, rate in rates[["judge", "estimate"]].itertuples(index=False):
        values[(judge, "not stated", "identical", "equality_detection")] = rate
    for judge, baseline, outcome, n in _extractive()[["judge", "baseline", "outcome", "n"]].itertuples(index=False):
        values[(judge, "not stated", baseline.lower(), outcome)] = float(n)
    for judge, outcome, n in same[["judge", "outcome", "n"]].itertuples(index=False):
        values[(judge, "not stated", "identical", outcome)] = float(n)
    return values


def _total_checks() -> Iterator[Check]:
    """Counts of a judge under a scheme add up to the items."""
    for name in TABLES:
        for r in load(f"rationalization/{name}").to_dict("records"):
            total = float(sum(r[c] for c in OUTCOMES))
            comment = "" if total == N_ITEMS else "shares below are of the row's own total"
            yield Check(f"Table {_NUMERALS[name]}", f"{r['judge']}, {r['scheme']}, total", str(N_ITEMS), total, comment)
    for r in load("rationalization/table10").to_dict("records"):
        total = float(sum(r[c] for c in OUTCOMES))
        yield Check("Table X", f"{r['judge']}, total", str(N_ITEMS), total)


def _movement_checks(values: _Values, captions: _Values) -> Iterator[Check]:
    for name, probe in MOVEMENTS.items():
        source = next(_NUMERALS[t] for t, p in TABLES.items() if p == probe)
        for r in load(f"rationalization/{name}", printed=True).to_dict("records"):
            for term in ("lds", "ts", "ols"):
                key = (r["judge"], r["scheme"], probe, term)
                comment = f"from Tables II and {source}; {_SAMPLE}"
                if float(r[term]) > 0 and left_to_move(r, probe, values) < -_ROUNDING:
                    comment += "; the printed gains exceed what Table II leaves to move"
                if probe == "flip" and term != "ts":
                    comment += f"; favoured [2,1] as in Section IV.C, with [1,2] it is {captions[key]:.3f}"
                what = f"{r['judge']}, {r['scheme']}, {term.upper()}"
                yield Check(f"Table {_NUMERALS[name]}", what, r[term], values[key], comment)


def left_to_move(r: dict[str, str], probe: str, values: _Values) -> float:
    """Blind share of the outcomes that do not gain, less what the others are printed to gain: at least 0."""
    other = "tradml" if FAVOURED[probe] == "llm" else "llm"
    gains = {FAVOURED[probe]: float(r["lds"]), other: float(r["ols"]), "tie": float(r["ts"])}
    blind = {o: values[(r["judge"], r["scheme"], "blind", o)] for o in gains}
    still = sum(n for o, n in blind.items() if not gains[o] > 0)
    return still / sum(blind.values()) - sum(gains.values())


def _text_checks(r: dict[str, str], values: _Values) -> Iterator[Check]:
    """A number of the text: of one judge, or the lowest or highest of several."""
    term = _TERMS.get(r["quantity"], r["quantity"])
    probe = r["probe"].lower()
    found = {j: v for (j, s, p, t), v in values.items() if (s, p, t) == (r["scheme"], probe, term)}
    comment = _comment(r, probe)
    what = ", ".join(x for x in (r["quantity"], r["scheme"], r["probe"]) if x != "not stated")
    if r["judge"] in found:
        yield Check(r["place"], f"{r['judge']}, {what}", r["value"], found[r["judge"]], comment)
    elif r["judge"] in ("all", "some") and found:
        if r["bound"] == "point":
            for judge, value in found.items():
                yield Check(r["place"], f"{judge}, {what}", r["value"], value, comment)
            return
        kept = [v for v in found.values() if v == v and (v > 0 or r["judge"] == "all")]
        value = min(kept) if r["bound"] == "low" else max(kept)
        if r["judge"] == "some":
            comment += "; of the judges above 0"
        end = "lowest" if r["bound"] == "low" else "highest"
        yield Check(r["place"], f"{end} {what}", r["value"], value, comment)


def _comment(r: dict[str, str], probe: str) -> str:
    if r["quantity"] in OUTCOMES:
        return "the text repeats a count"
    side = f"favoured {'[2,1]' if FAVOURED.get(probe) == 'tradml' else '[1,2]'}"
    if r["quantity"] == "LAO":
        return f"from the counts, {side}, without ε"
    if r["quantity"] in ("LDS", "TS", "OLS"):
        return f"from the counts, {side}; {_SAMPLE}"
    return "labels are shown in Table X: a tie rate" if probe == "identical" else ""
