"""Do planted values stand in the main tables of the studies? ``benchmarks/study_coverage.py --study merg --seeds 0 50``

Each study is planned whole, answered by simulated judges of known parameters with 5 % malformed and 3 % refused
replies, collected, and measured by the functions that the commands call. Each part of the work (a study and some seeds)
is added to docs/studies_coverage.csv: a row for each planted value, with the number of seeds and of intervals that
cover it. An interval of NaN, a missing row and a dropped judge are misses. Seeds that are there are not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from round_trips import CUED, pairs_to_cue

import judgestats as js
from judgestats import design
from judgestats.design import Judge, Plan

OUT = Path(__file__).parents[1] / "docs" / "studies_coverage.csv"
MALFORMED, REFUSED = 0.05, 0.03
#: A value: the column of the table, and the labels of its row.
Place = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Planted:
    """A study: its plan, who answers, the labels that name a row, and the values planted."""

    plan: Callable[[], Plan]
    judges: Sequence[Judge]
    labels: tuple[str, ...]
    values: Callable[[], Mapping[Place, float]]


def _towards(p: pd.DataFrame, side: object) -> np.ndarray:
    """Probability that the candidate named in `side` wins."""
    return np.where(p["first"] == side, p["p_first"], p["p_second"])


@cache
def _datasheet_plan() -> Plan:
    return design.study("dark-current", ["m", "n"], strict=True)


def _stable(name: str, slot_bias: float, dark: float) -> Judge:
    strict = {"prompt": {"pairwise_strict": {"tie_criterion": 1.6}}}
    return Judge(name, dark_current=dark, sensitivity=0.6, tie_criterion=0.8, slot_bias=slot_bias, under=strict)


_INSTRUMENTS = (_stable("m", 0.3, 0.2), _stable("n", 0.0, 0.4))


@cache
def _datasheet_values() -> dict[Place, float]:
    p = design.answer_probabilities(_datasheet_plan().calls, list(_INSTRUMENTS))
    values: dict[Place, float] = {("dark current", ("m", "pairwise")): 0.2, ("dark current", ("n", "pairwise")): 0.4}
    for (judge, prompt), part in p.groupby(["judge", "prompt"]):
        where = (str(judge), str(prompt))
        same = part[part["stimulus"] == "same_subset"]
        values["RFP₀", where] = float(1 - same["p_tie"].mean())
        low = same[["first", "second"]].min(axis=1)
        pairs = same.assign(low=_towards(same, low), high=1 - same["p_tie"] - _towards(same, low)).groupby("item")
        (a, b, tie), (a2, b2, tie2) = (
            getattr(pairs[["low", "high", "p_tie"]], x)().to_numpy().T for x in ("first", "last")
        )
        assert (pairs.size() == 2).all()  # both orders of each pair
        values["SCS", where] = float((a * a2 + b * b2).mean())
        values["PFP", where] = float((a * b2 + b * a2).mean())
        values["OSC", where] = float((tie + tie2 - 2 * tie * tie2).mean())
        ladder = part[part["stimulus"] == "ladder"]
        steps = {delta: float(_towards(step, step["better"]).mean()) for delta, step in ladder.groupby("delta")}
        values |= {(f"correct Δ = {delta:g}", where): share for delta, share in steps.items()}
        if len(steps) == 5:
            values["threshold", where] = float(np.interp(0.75, list(steps.values()), list(steps)))
    ties = (
        p.assign(delta=p["delta"].map("{:g}".format)).groupby(["judge", "prompt", "stimulus", "delta"])["p_tie"].mean()
    )
    for (judge, prompt, stimulus, delta), tie in ties.items():
        if prompt == "pairwise_strict":
            base = ties[judge, "pairwise", stimulus, delta]
            at = tuple(x for x in (str(judge), str(stimulus), str(delta)) if x != "nan")
            values["criterion shift", at] = float(tie - base)
    return values


@cache
def _pairs() -> pd.DataFrame:
    pairs = pd.DataFrame(
        {"item": [str(i) for i in range(120)], "first": "u", "second": "v", "gold": ["u", "v", "tie"] * 40}
    )
    return pairs.assign(task_text="Say hello.", first_text="Hello.", second_text="Good day.")


@cache
def _strategies_plan() -> Plan:
    return design.study("debiasing", ["m", "n"], pairs=_pairs())


_CAREFUL = {"strategy": {"S8": {"noise": 0.4, "slot_bias": 0.0}}}
_SOLVERS = tuple(
    Judge(n, sensitivity=0.8, tie_criterion=0.6, slot_bias=b, under=_CAREFUL) for n, b in (("m", 0.6), ("n", 0.0))
)


@cache
def _strategies_values() -> dict[Place, float]:
    """Share of right verdicts: of one call, of two that are a tie unless they agree, of the majority of three."""
    p = design.answer_probabilities(_strategies_plan().calls, list(_SOLVERS))
    p = p.assign(u=_towards(p, "u"), v=_towards(p, "v"))
    values: dict[Place, float] = {}
    for (judge, strategy), part in p.groupby(["judge", "strategy"]):
        each = part.groupby(["item", "gold"])[["u", "v"]]
        u, v = (each.prod() if strategy in ("S1", "S8") else each.mean()).to_numpy().T
        if strategy == "S2":
            u, v = (x**3 + 3 * x**2 * (1 - x) for x in (u, v))
        gold = each.size().index.get_level_values("gold")
        right = float(np.select([gold == "u", gold == "v"], [u, v], 1 - u - v).mean())
        values["accuracy", (str(judge), str(strategy))] = right
    base = {j: values["accuracy", (j, "B0")] for j in ("m", "n")}
    gains = {("minus B0", w): x - base[w[0]] for (_, w), x in values.items() if w[1] != "B0"}
    return values | gains


@cache
def _controlled_plan() -> Plan:
    """Pairs that differ in length, format or author, or not at all: of answers in the words of their question."""
    roles = {
        "base": "It is so.",
        "markdown": "**It is so.**\n\n- First, because of {0}.\n- Then, too.",
        "answer": "It is.",
    }
    roles |= {
        "expanded": "It is so, as we have known since {0}.",
        "complete": "It is so. It is known. See {0}. And so on.",
    }
    asked = design.questions()
    texts = pd.concat(
        [
            asked[asked["long"] == (role == "complete")].assign(role=role, judge=m, text=text)
            for role, text in roles.items()
            for m in (("m", "n", "o") if role == "answer" else ("w",))
        ]
    )
    texts["text"] = [t.format(i) + m for t, i, m in zip(texts["text"], texts["item"], texts["judge"], strict=True)]
    pairs = design.controlled_pairs(texts, extension=True)
    return design.study("debiasing", ["m", "n"], controlled=pairs, strategies=["B0", "S1", "S2"])


_BIASED = tuple(
    Judge(n, slot_bias=slot, self_preference=own, length_preference=0.3, sensitivity=1.5, tie_criterion=0.6,
          style={"format": {"markdown": 0.8}})
    for n, slot, own in (("m", 0.6, 1.0), ("n", 0.0, 0.0))
)  # fmt: skip
_TESTS = {"position": "position", "expansion": "verbosity", "style": "style", "model_origin": "own model"}


@cache
def _controlled_values() -> dict[Place, float]:
    """Share of verdicts for the target minus that for the other: of one call, of two that agree, of two of three."""
    p = design.answer_probabilities(_controlled_plan().calls, list(_BIASED))
    own = p["judge"].where((p["first"] == p["judge"]) | (p["second"] == p["judge"]))
    target = p["target"].mask(p["bias"] == "position", p["first"]).mask(p["bias"] == "model_origin", own)
    p = p.assign(u=_towards(p, target), of=target)[target.notna()]
    p["v"] = 1 - p["p_tie"] - p["u"]
    values: dict[Place, float] = {}
    for (judge, strategy, bias), part in p.groupby(["judge", "strategy", "bias"]):
        if bias == "position" and strategy != "B0":
            continue  # the slot is that of one call
        each = part.groupby(["item", "of"])[["u", "v"]]
        u, v = (each.prod() if strategy == "S1" else each.mean()).to_numpy().T
        if strategy == "S2":
            u, v = (x**3 + 3 * x**2 * (1 - x) for x in (u, v))
        where = (str(judge), str(strategy))
        if bias == "truncation":
            values["truncation right", where] = float(u.mean())
        else:
            values[_TESTS[str(bias)], where] = float((u - v).mean())
    return values


_MODELS = ("GPT", "Gemini", "Grok")
_BLIND = {"condition": {"anonymized": {"self_preference": 0.0}}}
_RATERS = tuple(
    Judge(m, leniency=s, self_preference=own, noise=0.6, item_difficulty=0.5, under=_BLIND)
    for m, s, own in zip(_MODELS, (0.4, 0.0, -0.4), (0.8, 0.0, -0.5), strict=True)
)


@cache
def _ratings_plan() -> Plan:
    table = pd.DataFrame([(f"r{i:02d}", m) for i in range(30) for m in _MODELS], columns=["item", "system"])
    table["task_text"] = "Explain the risk levels of " + table["item"]
    table["response_text"] = "The answer, text " + table.index.astype(str)
    return design.study("rubric", _MODELS, responses=table, runs=2)


@cache
def _ratings_values() -> dict[Place, float]:
    """Deviation of the scores, as the judges give them, from the mean of the other judges."""
    criteria = list(next(iter(_ratings_plan().prompts.values())).criteria)
    calls = _ratings_plan().calls
    each = calls.assign(criterion=[criteria] * len(calls)).explode("criterion", ignore_index=True)
    p = design.answer_probabilities(each, list(_RATERS))
    values: dict[Place, float] = {}
    for arm, part in p.groupby("condition"):
        means = part.pivot_table(index="judge", columns="system", values="mean")
        deviation = means - (means.sum() - means) / (len(means) - 1)
        values |= {(str(arm), (j, s)): float(deviation.loc[j, s]) for j in _MODELS for s in _MODELS}
        others = (deviation.sum(axis=1) - np.diag(deviation)) / (len(_MODELS) - 1)
        for j in _MODELS:
            values[f"{arm}, others", (j,)] = float(others[j])
            values[f"{arm}, own beyond others", (j,)] = float(deviation.loc[j, j] - others[j])
    for j in ("GPT", "Grok"):  # the third has no deviation that could shrink
        values["attenuation, %", (j, j)] = 100 * (1 - values["anonymized", (j, j)] / values["attributed", (j, j)])
    return values


_SHARED, _CALL, _OWN = 0.4, 0.05, 0.6  # variances: of items, of a score, of what a judge's own rubric adds
_WRITERS = tuple(
    Judge(
        m, leniency=s, item_difficulty=_SHARED**0.5, noise=_CALL**0.5, step=None,
        under={"condition": {"original-4-stage": {"item_interaction": _OWN**0.5}}},
    )
    for m, s in zip(_MODELS, (0.5, 0.0, -0.5), strict=True)
)  # fmt: skip


@cache
def _rubrics_plan() -> Plan:
    table = pd.DataFrame({"item": [f"i{i:02d}" for i in range(60)], "system": "m"})
    table["task_text"], table["response_text"] = "Write on " + table["item"] + ".", "A text on " + table["item"] + "."
    return design.study("merg", _MODELS, responses=table)


@cache
def _rubrics_values() -> dict[Place, float]:
    """Correlation of two judges' composites: shared variance over all, but for weights, over five equal criteria."""
    base, own = (_SHARED / (_SHARED + u + _CALL / 5) for u in (0.0, _OWN))
    severity = float(np.var([w.leniency for w in _WRITERS], ddof=1))
    return {
        ("ICC(2,1)", ("baseline-score",)): _SHARED / (_SHARED + severity + _CALL / 5),
        ("ICC(2,1)", ("original-4-stage",)): _SHARED / (_SHARED + severity + _OWN + _CALL / 5),
        ("r of samples", ("baseline-score",)): base,
        ("r of samples", ("original-4-stage",)): own,
        ("r minus baseline-score", ("original-4-stage",)): own - base,
        ("sd of judges' means", ("baseline-score",)): 0.5,
    }


_OWN_SYSTEM = {"baseline-score": 1.25, "original-4-stage": 0.75}
_PARTIAL = (
    *(
        Judge(m, noise=1.0, step=None, under={"condition": {c: {"self_preference": x} for c, x in _OWN_SYSTEM.items()}})
        for m in ("GPT", "Gemini")
    ),
    Judge("Grok", noise=1.0, step=None),
)


@cache
def _systems_plan() -> Plan:
    """Responses of four systems of known quality, two of which are judges that favour themselves."""
    table = pd.DataFrame([(f"i{i:02d}", s) for i in range(30) for s in (*_MODELS, "m")], columns=["item", "system"])
    table["quality"] = table["system"].map(dict(zip((*_MODELS, "m"), (0.0, 0.5, 1.0, 1.5), strict=True)))
    table["task_text"] = "Write on " + table["item"] + "."
    table["response_text"] = "A text on " + table["item"] + ", " + table.index.astype(str)
    return design.study("merg", _MODELS, responses=table)


@cache
def _systems_values() -> dict[Place, float]:
    """Mean over pairs of judges of the rank correlation of what they think of the systems."""
    quality = _systems_plan().calls.drop_duplicates("system").set_index("system")["quality"]
    values: dict[Place, float] = {}
    for condition, favour in _OWN_SYSTEM.items():
        means = pd.DataFrame({m: quality + favour * ((quality.index == m) & (m != "Grok")) for m in _MODELS})
        values["ρ of systems", (condition,)] = float(means.corr("spearman").to_numpy()[np.triu_indices(3, 1)].mean())
    return values


@cache
def _cues_plan() -> Plan:
    return design.study("cues", "m", pairs=pairs_to_cue(100), attacks=["verbosity"])


@cache
def _cues_values() -> dict[Place, float]:
    """How much more often the favoured candidate wins than without labels; shares of ties without labels."""
    plan = _cues_plan()
    every = pd.concat([plan.calls, plan.later], ignore_index=True)
    verdicts = {n: p.frame == "preferences" for n, p in plan.prompts.items()}
    p = design.answer_probabilities(every[every["prompt"].map(verdicts).astype(bool)], CUED)
    values: dict[Place, float] = {}
    for scheme, part in p.groupby("scheme"):
        blind = part[part["probe"] == "blind"].set_index("item")
        values["EDR", ("m", str(scheme))] = float(blind["p_tie"].mean())
        truth = part[part["probe"] == "truth"].set_index("item")["favoured"].loc[blind.index]
        side = _towards(blind, truth)
        values["neutrality deviation", ("m", str(scheme))] = abs(float((2 * side - 1 + blind["p_tie"]).mean()))
        last = part[part["probe"] == "reveal"]
        flip = part[part["probe"] == "flip"].set_index("item").loc[last["item"]].reset_index(drop=True)
        gains = last["favoured"].to_numpy()
        (p1, t1), (p2, t2) = ((_towards(x, gains), x["p_tie"].to_numpy()) for x in (flip, last))
        towards, away = (
            (1 - a - t) * (1 - c) + t * b
            for a, t, b, c in ((p1, t1, p2, 1 - p2 - t2), (1 - p1 - t1, t1, 1 - p2 - t2, p2))
        )
        for term, share in (("towards", towards), ("away", away), ("revised", towards + away)):
            values[term, ("m", str(scheme))] = float(share.mean())
        for probe, cued in part[part["probe"] != "blind"].groupby("probe"):
            before = blind.loc[cued["item"]].reset_index(drop=True)
            side = cued["favoured"].to_numpy()
            shift = _towards(cued, cued["favoured"]) - _towards(before, side)
            where = ("m", str(scheme), str(probe))
            ties = float((cued["p_tie"].to_numpy() - before["p_tie"].to_numpy()).mean())
            gain = float(shift.mean())
            values["shift", where] = gain
            for part_of, change in (("LDS", gain), ("OLS", -gain - ties), ("TS", ties)):
                if change > 0.05:  # of what is 0 the positive part has no interval
                    values[part_of, where] = change
    return values


STUDIES: dict[str, Planted] = {
    "dark-current": Planted(_datasheet_plan, _INSTRUMENTS, ("judge", "prompt", "stimulus", "delta"), _datasheet_values),
    "debiasing": Planted(_strategies_plan, _SOLVERS, ("judge", "strategy"), _strategies_values),
    "controlled pairs": Planted(_controlled_plan, _BIASED, ("judge", "strategy"), _controlled_values),
    "rubric": Planted(_ratings_plan, _RATERS, ("judge", "system"), _ratings_values),
    "merg": Planted(_rubrics_plan, _WRITERS, ("condition",), _rubrics_values),
    "merg, systems": Planted(_systems_plan, _PARTIAL, ("condition",), _systems_values),
    "cues": Planted(_cues_plan, (CUED,), ("judge", "scheme", "probe"), _cues_values),
}


def estimates(study: Planted, seed: int) -> pd.DataFrame:
    """The main tables of one run of a study: all stages asked, collected, and measured."""
    plan = stage = study.plan()
    answers: list[dict[str, object]] = []
    while stage is not None:
        asked = [j for j in study.judges if j.name in set(stage.calls["judge"])]
        replies = design.simulate_replies(stage, asked, refused=REFUSED, unreadable=MALFORMED, seed=seed)
        answers += replies.to_dict("records")
        stage = design.requests(stage, replies.to_dict("records"))[0] if len(stage.later) else None
        plan = plan if stage is None else plan + stage
    return js.study_estimates(design.collect(plan, answers), n_resamples=400)


def covered(study: Planted, table: pd.DataFrame) -> dict[Place, bool]:
    """Whether the interval of each planted value holds it; no interval and no row do not."""
    keys = table[[c for c in study.labels if c in table]].astype(object)
    rows = {
        (r["column"], tuple(x if isinstance(x, str) else f"{x:g}" for x in k if pd.notna(x))): (
            r["conf_low"],
            r["conf_high"],
        )
        for r, k in zip(table.to_dict("records"), keys.itertuples(index=False), strict=True)
    }
    ends = {place: rows.get(place, (np.nan, np.nan)) for place in study.values()}
    return {place: bool(ends[place][0] <= value <= ends[place][1]) for place, value in study.values().items()}


def part(name: str, seeds: Sequence[int]) -> pd.DataFrame:
    """A row for each planted value and seed."""
    study = STUDIES[name]
    rows = []
    for seed in seeds:
        held = covered(study, estimates(study, seed))
        rows += [(name, c, " · ".join(w), study.values()[c, w], seed, seed, 1, int(ok)) for (c, w), ok in held.items()]
    columns = ["study", "column", "row", "planted", "first_seed", "last_seed", "seeds", "covered"]
    return joined(pd.DataFrame(rows, columns=columns))


def joined(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each planted value and run of seeds without a gap."""
    value = ["study", "column", "row"]
    table = table.sort_values("first_seed", kind="stable")
    gap = table["first_seed"] > table.groupby(value)["last_seed"].shift() + 1
    table["run"] = gap.groupby([table[c] for c in value]).cumsum()
    spans = {"planted": "first", "first_seed": "min", "last_seed": "max", "seeds": "sum", "covered": "sum"}
    return table.groupby([*value, "run"], sort=False).agg(spans).reset_index().drop(columns="run")


def main() -> None:
    """Run a part, and append it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", choices=[*STUDIES, "all"], default="all")
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FIRST", "END"), default=(0, 200))
    parser.add_argument("--out", type=Path, default=OUT)
    words = parser.parse_args()
    for name in STUDIES if words.study == "all" else [words.study]:
        before = pd.read_csv(words.out) if words.out.exists() else pd.DataFrame(columns=["study"])
        done = {s for r in before[before["study"] == name].itertuples() for s in range(r.first_seed, r.last_seed + 1)}
        left = [s for s in range(*words.seeds) if s not in done]
        if not left:
            continue
        new = part(name, left)
        table = joined(pd.concat([before, new], ignore_index=True) if len(before) else new)
        table.to_csv(words.out, index=False, float_format="%.4g")
        print(table[table["study"] == name].groupby(["column", "row"])[["seeds", "covered"]].sum().to_string())


if __name__ == "__main__":
    main()
