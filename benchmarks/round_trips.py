"""Plan, export, a runner's answers, collect, measure: ``python benchmarks/round_trips.py --replications 200``.

Each study goes through the formats of all runners in turn, with calls that fail, are refused or cannot be read. The
table, docs/round_trips.csv, says how often the interval of a measure, as a user gets it without an option, covers what
was planted. The same seed gives the same table.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import judgestats as js
from judgestats import design
from judgestats.design import Judge, Plan
from judgestats.kernels.proportions import wilson

FORMATS = ("openai", "anthropic", "inspect", "promptfoo", "csv", "jsonl")
#: Shares of calls that fail, are refused, and give no one answer.
FAILURES = {"error": 0.02, "refused": 0.02, "unreadable": 0.03}

# ---- What a runner writes: the exported calls with their answers, None where the call failed -------------------------


def _refused(answer: str) -> bool:
    return answer.startswith("I'm sorry")


def _openai(call: Mapping[str, Any], answer: str | None) -> dict[str, Any]:
    """A line of the output of OpenAI's batch endpoint."""
    head = {"id": "batch_req_1", "custom_id": call["custom_id"]}
    if answer is None:
        return {**head, "response": None, "error": {"code": "batch_expired", "message": "expired"}}
    said = {"content": None, "refusal": answer} if _refused(answer) else {"content": answer, "refusal": None}
    body = {"choices": [{"index": 0, "message": {"role": "assistant", **said}, "finish_reason": "stop"}]}
    return {**head, "response": {"status_code": 200, "body": body}, "error": None}


def _anthropic(call: Mapping[str, Any], answer: str | None) -> dict[str, Any]:
    """A line of the results of Anthropic's message batches; a refusal may hold no text."""
    if answer is None:
        result: dict[str, Any] = {"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error"}}}
    else:
        content = [] if _refused(answer) else [{"type": "text", "text": answer}]
        stop = "refusal" if _refused(answer) else "end_turn"
        result = {"type": "succeeded", "message": {"role": "assistant", "content": content, "stop_reason": stop}}
    return {"custom_id": call["custom_id"], "result": result}


def _inspect(call: Mapping[str, Any], answer: str | None) -> dict[str, Any]:
    """A sample of an Inspect AI log."""
    choices = [] if answer is None else [{"message": {"role": "assistant", "content": answer}, "stop_reason": "stop"}]
    error = {"error": {"message": "overloaded", "traceback": "..."}} if answer is None else {}
    output = {"model": call["metadata"]["judge"], "choices": choices}
    return {"id": call["id"], "epoch": 1, "input": call["input"], "messages": call["input"], "output": output, **error}


def _promptfoo(call: Mapping[str, Any], answer: str | None) -> dict[str, Any]:
    """A result of promptfoo, with the prompt as it was sent; an answer that is JSON comes as an object."""
    head = {"vars": call["vars"], "prompt": {"raw": "[" + call["vars"]["messages"], "label": "[{{messages}}"}}
    if answer is None:
        return {**head, "response": None, "error": "API error: 529", "success": False}
    try:
        output = json.loads(answer)
    except ValueError:
        output = answer
    return {**head, "response": {"output": output}, "success": True}


def _table(call: Mapping[str, Any], answer: str | None) -> dict[str, Any]:
    """The row of the table itself, with the answer."""
    return {**call, "answer": answer, "error": "timeout" if answer is None else None}


def _form(call: Mapping[str, Any], answer: str | None) -> dict[str, Any]:
    """The row of a form that somebody filled in, or left empty."""
    if answer is None or not answer.startswith("{") or not answer.endswith("}"):
        return dict(call)
    given = json.loads(answer)
    return {**call, **{k: v for k, v in {**given, **given.get("scores", {})}.items() if k in call}}


_ANSWERED: dict[str, Callable[[Mapping[str, Any], str | None], dict[str, Any]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "inspect": _inspect,
    "promptfoo": _promptfoo,
    "jsonl": _table,
    "csv": _table,
    "form": _form,
}


def exported(path: Path, form: str) -> list[dict[str, Any]]:
    """The calls in a file that ``export`` wrote."""
    if form in ("csv", "form"):
        with path.open(newline="", encoding="utf-8") as rows:
            return list(csv.DictReader(rows))
    text = path.read_text(encoding="utf-8")
    if form == "promptfoo":
        return list(json.loads(text)["tests"])
    return [json.loads(line) for line in text.splitlines()]


def call_of(record: Mapping[str, Any]) -> str:
    """The id of an exported call."""
    found = record.get("custom_id") or record.get("call") or record.get("id") or record["vars"]["call"]
    return str(found)


def answered(files: Sequence[Path], form: str, replies: pd.DataFrame, folder: Path) -> list[Path]:
    """Write what the runner returns for exported files; a file for each.

    `replies`: ``call`` and ``answer``, as :func:`judgestats.design.simulate_replies` gives them.
    """
    said = dict(
        zip(replies["call"], replies["answer"].astype(object).where(replies["answer"].notna(), None), strict=True)
    )
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for file in files:
        if file.suffix == ".py":
            continue
        records = [_ANSWERED[form](r, said[call_of(r)]) for r in exported(file, form)]
        path = folder / f"answers.{file.name}"
        if form in ("csv", "form"):
            with path.open("w", newline="", encoding="utf-8") as out:
                writer = csv.DictWriter(out, list(records[0]))
                writer.writeheader()
                writer.writerows(records)
        elif form == "inspect":
            path = path.with_suffix(".json")
            path.write_text(json.dumps({"version": 2, "status": "success", "eval": {}, "samples": records}))
        elif form == "promptfoo":
            results = {"version": 3, "results": records, "stats": {}}
            path.write_text(json.dumps({"evalId": "eval-1", "results": results}))
        else:
            path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
        written.append(path)
    return written


# ---- The studies: a plan, judges, and the rows of measures with what they should be ----------------------------------

Rows = dict[str, tuple[pd.DataFrame, float]]


@dataclass(frozen=True)
class Study:
    """A study: its plan, who answers, and each estimate with the planted value, from the calls collected."""

    name: str
    plan: Callable[[], Plan]
    judges: Sequence[Judge]
    measured: Callable[[pd.DataFrame], Rows]
    formats: Sequence[str] = FORMATS


def _one(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The one row with these values."""
    for column, value in values.items():
        table = table[table[column] == value]
    if len(table) != 1:
        raise ValueError(f"{len(table)} rows with {values}")
    return table


def _towards(p: pd.DataFrame, side: Any) -> Any:
    """Probability that the candidate named in `side` wins."""
    return np.where(p["first"] == side, p["p_first"], p["p_second"])


@cache
def _dark_current() -> Plan:
    return design.dark_current("m")


_SHARP = Judge("m", dark_current=0.2, sensitivity=0.6, tie_criterion=0.8, slot_bias=0.3)


@cache
def _dark_current_truth() -> dict[str, float]:
    p = design.answer_probabilities(_dark_current().calls, _SHARP)
    same, step = p[p["stimulus"] == "same_subset"], p[(p["stimulus"] == "ladder") & (p["delta"] == 2)]
    twice = p.groupby(["item", "stimulus"])[["p_first", "p_second", "p_tie"]].agg(list).reset_index()
    ladder = twice[twice["stimulus"] == "ladder"]
    agree = [
        f[0] * s[1] + s[0] * f[1] + t[0] * t[1]
        for f, s, t in ladder[["p_first", "p_second", "p_tie"]].itertuples(index=False)
    ]
    return {
        "dark_current": 0.2,
        "false": 1 - float(same["p_tie"].mean()),
        "step": float(_towards(step, step["better"]).mean()),
        "consistency": float(np.mean(agree)),
    }


def _dark_current_rows(calls: pd.DataFrame) -> Rows:
    truth = _dark_current_truth()
    ladder = calls[calls["stimulus"] == "ladder"]
    return {
        "dark_current": (_one(js.dark_current(calls), vacuum_kind="all"), truth["dark_current"]),
        "delta0, raw_false_preference": (_one(js.delta0(calls), term="raw_false_preference"), truth["false"]),
        "target_sensitivity, two steps": (
            _one(js.target_sensitivity(calls), delta=2.0, term="target_sensitivity"),
            truth["step"],
        ),
        "consistency, ladder": (_one(js.consistency(ladder), term="consistency"), truth["consistency"]),
    }


@cache
def _strategies() -> Plan:
    gold = ["u", "v", "tie"] * 40
    pairs = pd.DataFrame({"item": [str(i) for i in range(120)], "first": "u", "second": "v", "gold": gold})
    pairs = pairs.assign(task_text="Say hello.", first_text="Hello.", second_text="Good day.")
    return design.strategies("m", pairs, strategies=["B0", "S1", "S8"])


_CAREFUL = Judge(
    "m", sensitivity=0.8, tie_criterion=0.6, slot_bias=0.3, under={"strategy": {"S8": {"noise": 0.4, "slot_bias": 0.0}}}
)


@cache
def _strategies_truth() -> dict[str, float]:
    """Share of right verdicts: of one call, or of two that are a tie unless they agree."""
    p = design.answer_probabilities(_strategies().calls, _CAREFUL)
    p = p.assign(u=_towards(p, "u"), v=_towards(p, "v"))
    truth = {}
    for strategy, part in p.groupby("strategy"):
        by_item = (
            part.groupby(["item", "gold"])[["u", "v"]].prod() if strategy != "B0" else part.set_index(["item", "gold"])
        )
        u, v, gold = by_item["u"], by_item["v"], by_item.index.get_level_values("gold")
        truth[str(strategy)] = float(np.select([gold == "u", gold == "v"], [u, v], 1 - u - v).mean())
    return truth


def _strategies_rows(calls: pd.DataFrame) -> Rows:
    found = js.gold_agreement(design.strategy_verdicts(calls), by="strategy")
    return {
        f"gold_agreement, accuracy, {s}": (_one(found, strategy=s, term="accuracy"), truth)
        for s, truth in _strategies_truth().items()
    }


@cache
def _controlled() -> Plan:
    models = ["gemini", "claude", "llama", "gpt"]
    writers = [Judge(n) for n in ("writer", *models)]

    def written(plan: Plan) -> pd.DataFrame:
        asked = [j for j in writers if j.name in set(plan.calls["judge"])]
        return design.collect(plan, design.simulate_replies(plan, asked).to_dict("records"))

    first = written(design.generations("writer", models=models))
    responses = pd.concat([first, written(design.generations("writer", written=first))])
    return design.controlled("gemini", design.controlled_pairs(responses, extension=True))


_STYLED = Judge(
    "gemini",
    style={"format": {"markdown": 1.0}},
    target_preference=0.4,
    tie_criterion=0.5,
    sensitivity=0.0,
    slot_bias=0.2,
)


@cache
def _controlled_truth() -> dict[str, float]:
    p = design.answer_probabilities(_controlled().calls, _STYLED)
    lean = _towards(p, p["target"]) - np.where(p["first"] == p["target"], p["p_second"], p["p_first"])
    return {str(b): float(lean[p["bias"] == b].mean()) for b in ("style", "expansion", "truncation")}


def _controlled_rows(calls: pd.DataFrame) -> Rows:
    return {
        f"bias_score, {bias}": (_one(js.bias_score(calls[calls["bias"] == bias]), term="bias"), truth)
        for bias, truth in _controlled_truth().items()
    }


_MODELS = ("GPT", "Gemini", "Grok")
_RATERS = tuple(
    Judge(m, leniency=s, self_preference=own, noise=0.6, item_difficulty=0.5, interaction=0.0)
    for m, s, own in zip(_MODELS, (0.4, 0.0, -0.4), (0.8, 0.0, -0.5), strict=True)
)


@cache
def _rubric() -> Plan:
    items = [f"r{i:02d}" for i in range(20)]
    table = pd.DataFrame([(i, m) for i in items for m in _MODELS], columns=["item", "system"])
    table["task_text"] = "Explain the risk levels of " + table["item"]
    table["response_text"] = "The answer, text " + table.index.astype(str)
    return design.rubric(_MODELS, table, arms=["attributed"], by="explanation", replicates=2)


@cache
def _rubric_truth() -> dict[str, float]:
    """Scores as the judges give them, averaged over items; deviation from the mean of the other judges."""
    criteria = list(next(iter(_rubric().prompts.values())).criteria)
    asked = _rubric().calls.assign(criterion=[criteria] * len(_rubric())).explode("criterion", ignore_index=True)
    p = design.answer_probabilities(asked, list(_RATERS))
    means = p.pivot_table(index="judge", columns="system", values="mean")
    others = (means.sum() - means) / (len(means) - 1)
    return {m: float(means.loc[m, m] - others.loc[m, m]) for m in _MODELS}


def _rubric_rows(calls: pd.DataFrame) -> Rows:
    found = js.consensus_deviation(calls, identity={m: m for m in _MODELS})
    return {
        f"consensus_deviation, {m} of itself": (_one(found, judge=m, system=m, term="deviation"), truth)
        for m, truth in _rubric_truth().items()
    }


def pairs_to_cue(n: int) -> pd.DataFrame:
    """Pairs of texts of which each says the same."""
    pairs = pd.DataFrame({"item": [str(i) for i in range(n)], "first": "u", "second": "v"})
    pairs["task_text"] = [f"Sum up: sales in Peru rose by {i} % last year." for i in range(n)]
    pairs["first_text"] = [f"Sales rose by {i} % in Peru." for i in range(n)]
    pairs["second_text"] = [f"In Peru, sales rose by {i} %." for i in range(n)]
    return pairs


@cache
def _cues() -> Plan:
    return design.cues("m", pairs_to_cue(80), probes=["blind", "truth"], schemes=["Baseline", "PBP"])


#: A judge whom labels move, less after three turns.
CUED = Judge(
    "m",
    tie_criterion=0.8,
    label_susceptibility=1.0,
    slot_bias=0.2,
    under={"scheme": {"PBP": {"label_susceptibility": 0.3}}},
)


@cache
def _cues_truth() -> dict[str, float]:
    """How much more often the favoured candidate wins with labels than without."""
    p = design.answer_probabilities(_every_call(_cues()), CUED)
    truth = {}
    for scheme, part in p.groupby("scheme"):
        favoured = part.groupby("item")["favoured"].transform("first")
        wins = pd.Series(_towards(part, favoured)).groupby(part["probe"].to_numpy()).mean()
        truth[str(scheme)] = float(wins["truth"] - wins["blind"])
    return truth


def _cues_rows(calls: pd.DataFrame) -> Rows:
    found = js.anchoring(calls)
    return {
        f"anchoring, shift_favoured, {s}": (_one(found, scheme=s, probe="truth", term="shift_favoured"), truth)
        for s, truth in _cues_truth().items()
    }


_SHARED, _CALL, _OWN = 0.4, 0.2, 0.6  # variances: of items, of a call, of what a judge's own rubric adds
_WRITERS = tuple(
    Judge(
        m,
        leniency=s,
        item_difficulty=_SHARED**0.5,
        noise=_CALL**0.5,
        step=None,
        under={"condition": {"original-4-stage": {"item_interaction": _OWN**0.5}}},
    )
    for m, s in zip(_MODELS, (0.5, 0.0, -0.5), strict=True)
)


@cache
def _merg() -> Plan:
    table = pd.DataFrame({"item": [f"i{i:02d}" for i in range(40)], "system": "m"})
    table["task_text"] = "Write a text about " + table["item"] + "."
    table["response_text"] = "A text on " + table["item"] + "."
    return design.merg(_MODELS, table, variant="baseline-score") + design.merg(_MODELS, table)


def _merg_rows(calls: pd.DataFrame) -> Rows:
    """Correlation of two judges' means over five dimensions: shared variance over all of it."""
    found = js.correlation(js.composite(calls, calls.assign(weight=1.0)), by="condition", n_resamples=400)
    own = {"baseline-score": 0.0, "original-4-stage": _OWN}
    return {
        f"correlation, {variant}": (_one(found, condition=variant), _SHARED / (_SHARED + u + _CALL / 5))
        for variant, u in own.items()
    }


def _every_call(plan: Plan) -> pd.DataFrame:
    """The calls of all stages that give a verdict."""
    every = pd.concat([plan.calls, plan.later], ignore_index=True)
    return every[every["prompt"].map({n: p.frame == "preferences" for n, p in plan.prompts.items()}).astype(bool)]


#: The studies; people fill in the form of those that are asked in one call.
STUDIES = (
    Study("dark current", _dark_current, (_SHARP,), _dark_current_rows),
    Study("strategies", _strategies, (_CAREFUL,), _strategies_rows, (*FORMATS, "form")),
    Study("controlled pairs", _controlled, (_STYLED,), _controlled_rows, (*FORMATS, "form")),
    Study("rubric", _rubric, _RATERS, _rubric_rows, (*FORMATS, "form")),
    Study("cues", _cues, (CUED,), _cues_rows),
    Study("MERG", _merg, _WRITERS, _merg_rows),
)


# ---- One trip, and many ----------------------------------------------------------------------------------------------


def trip(study: Study, form: str, seed: int, folder: Path) -> tuple[Plan, pd.DataFrame, pd.DataFrame]:
    """Plan, export, answers as the runner writes them, collect, stage by stage: all calls, replies and verdicts."""
    plan = stage = study.plan()
    replies, files = [], []
    while True:
        here = folder / f"stage{len(replies)}"
        said = design.simulate_replies(stage, list(study.judges), **FAILURES, seed=seed)
        files += answered(design.export(stage, here, form), form, said, here / "answers")
        replies.append(said)
        if not len(stage.later):
            break
        stage = design.next_stage(stage, [str(f) for f in files if here in f.parents])
        plan = plan + stage
    return plan, pd.concat(replies, ignore_index=True), design.collect(plan, [str(f) for f in files])


def rows(study: Study, trips: int, seed: int) -> Iterator[dict[str, Any]]:
    """The estimates of one trip through one format; the formats take turns."""
    form = study.formats[trips % len(study.formats)]
    with tempfile.TemporaryDirectory() as folder:
        _, _, calls = trip(study, form, seed + trips, Path(folder))
    for measure, (row, planted) in study.measured(calls).items():
        estimate, low, high = (float(row[c].item()) for c in ("estimate", "conf_low", "conf_high"))
        yield {
            "study": study.name, "format": form, "measure": measure, "planted": planted, "estimate": estimate,
            "low": low, "high": high, "covered": low <= planted <= high, "interval": low == low and high == high,
        }  # fmt: skip


def table(replications: int, seed: int, processes: int) -> pd.DataFrame:
    """A row per study and measure: how often its interval covers the planted value, with Monte Carlo error."""
    tasks = [(study, i) for study in range(len(STUDIES)) for i in range(replications)]
    with ProcessPoolExecutor(processes) as pool:
        found = [row for part in pool.map(partial(_rows, seed=seed), tasks, chunksize=5) for row in part]
    every = pd.DataFrame(found)
    result = []
    for (study, measure), part in every.groupby(["study", "measure"], sort=False):
        given = part[part["interval"]]
        share = float(given["covered"].mean())
        low, high = wilson(float(given["covered"].sum()), float(len(given)))
        result.append(
            {
                "study": study, "measure": measure, "planted": part["planted"].iloc[0],
                "mean_estimate": part["estimate"].mean(), "mean_width": (given["high"] - given["low"]).mean(),
                "coverage": share, "coverage_low": float(low), "coverage_high": float(high),
                "formats": part["format"].nunique(),
                "replications": len(part), "no_interval": len(part) - len(given), "seed": seed,
            }
        )  # fmt: skip
    return pd.DataFrame(result)


def _rows(task: tuple[int, int], seed: int) -> list[dict[str, Any]]:
    return list(rows(STUDIES[task[0]], task[1], seed))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "round_trips.csv")
    given = parser.parse_args()
    found = table(given.replications, given.seed, given.processes)
    found.to_csv(given.out, index=False, float_format="%.4g")
    print(found.drop(columns=["seed", "formats"]).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
