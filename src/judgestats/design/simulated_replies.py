"""Raw replies of simulated judges to a plan, with failures at planted rates: :func:`simulate_replies`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from judgestats.defaults import SEED
from judgestats.design.checklist_tasks import checklists
from judgestats.design.judges import Judge
from judgestats.design.plans import CALL, EARLIER, TEXTS, Plan
from judgestats.design.prompt_templates import Prompt
from judgestats.design.reply_contents import SIDES, side_scores
from judgestats.design.rubric_dimensions import Criterion, read_dimensions, rubric_json
from judgestats.design.simulation import simulate
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator
from judgestats.typing import JsonSchema, Record

_CHOICES = ("first", "second", "tie")
#: Replies that are no answer.
_UNREADABLE = ("Both have their merits, and it depends on the reader.", '{"verdict": ', "", "[[A]] or [[B]]")
_NOTE = "Notes for a later question."
_WHY = {
    "first": "Response A has more of what is asked.",
    "second": "Response B has more of what is asked.",
    "tie": "The responses do not differ in what is asked.",
}
#: What the rubrics of simulated judges are made of.
_DIMENSIONS = {
    "Sources": "names where each claim comes from",
    "Numbers": "figures that add up",
    "Audience": "words that its readers know",
    "Opening": "first lines that say what follows",
    "Argument": "steps that lead to the conclusion",
    "Objections": "answers to what opponents would say",
    "Examples": "cases instead of abstractions",
    "Voice": "one narrator throughout",
    "Brevity": "nothing that could be cut",
    "Scenery": "places described by sound and smell",
    "Rules": "the legal limits of its subject",
    "Surprise": "a turn nobody expects",
}
_REFUSAL = "I'm sorry, but I can't help with that."


def simulate_replies(
    plan: Plan,
    judges: Judge | Sequence[Judge],
    *,
    error: float = 0.0,
    refused: float = 0.0,
    unreadable: float = 0.0,
    seed: int | np.random.Generator = SEED,
) -> pd.DataFrame:
    """Answer a plan in raw text, as a runner would bring it back; a plan of texts gets sentences to try it with.

    Parameters
    ----------
    plan : Plan
        Calls to answer.
    judges : Judge or sequence of Judge
        Those that the plan asks; see :func:`judgestats.design.simulate`.
    error, refused, unreadable : float
        Shares of calls that fail, are refused, or give a reply without one answer.
    seed : int or Generator
        Seed of the answers and failures.

    Returns
    -------
    pandas.DataFrame
        ``call``, ``answer`` (missing where the call failed) and ``error``, for :func:`judgestats.design.collect`.

    Raises
    ------
    DesignError
        If a share is not between 0 and 1, or they sum to more than 1.

    See Also
    --------
    simulate : Judges with planted properties.
    collect : Answers joined to their plan.

    Examples
    --------
    >>> from judgestats.design import vacuum
    >>> simulate_replies(vacuum("m", calls=6), Judge("m", tie_criterion=9.0))["answer"].tolist()[:2]
    ['{"verdict": "tie"}', '{"verdict": "tie"}']
    """
    shares = (error, refused, unreadable)
    if min(shares) < 0 or sum(shares) > 1:
        raise DesignError(f"error={error}, refused={refused}, unreadable={unreadable} are not shares. Each is 0 to 1.")
    later = plan.calls["prompt"].isin([name for name, p in plan.prompts.items() if p.frame == "texts"]).to_numpy()
    written = later & plan.calls["role"].notna().to_numpy() if "role" in plan.calls else np.zeros(len(plan), dtype=bool)
    scored = plan.rows(~later) if plan.kind == "ratings" else plan.rows(~written)
    staged = "stage" in plan.calls
    if staged:  # other draws at each stage
        seed = generator(seed, ("stage", *map(str, sorted(plan.calls["stage"].unique()))))
    if staged or written.any() or plan.kind == "ratings":  # a judge may be asked at one stage only
        several = [judges] if isinstance(judges, Judge) else list(judges)
        judges = [j for j in several if j.name in set(scored.calls["judge"])] or several
    calls = plan.calls
    if plan.kind == "texts":
        text = _texts(plan)
    elif plan.kind == "rankings":
        text = _rankings(plan, judges, seed)
    elif plan.kind == "preferences":
        answers = _texts(plan.rows(written)) if written.any() else []
        if len(scored):
            answers += _compared(scored, simulate(scored.calls, judges, seed=seed)["choice"].astype(str).tolist())
        text = np.array(answers, dtype=object)[np.argsort(np.argsort(~written, kind="stable"))].tolist()
    else:
        text = [_NOTE] * len(plan)
        if later.any():
            number = int(generator(seed, ("rubrics",)).integers(2**63))
            prompts = zip(calls[CALL], calls["prompt"], strict=True)
            text = [_note(plan.prompts[name], [number, int(call, 16)]) for call, name in prompts]
        if len(scored):
            scores = dict(zip(scored.calls[CALL], _scores(scored, judges, seed), strict=True))
            text = [scores.get(call, note) for call, note in zip(calls[CALL], text, strict=True)]
    rng = generator(seed, ("failures",))
    u = rng.random(len(calls))
    odd = rng.integers(len(_UNREADABLE), size=len(calls))
    answer = np.array(text, dtype=object)
    answer[u < sum(shares)] = np.array(_UNREADABLE, dtype=object)[odd[u < sum(shares)]]
    answer[u < error + refused] = _REFUSAL
    answer[u < error] = None
    errors = ["simulated failure" if x < error else None for x in u.tolist()]
    return pd.DataFrame({CALL: calls[CALL].to_numpy(), "answer": answer, "error": errors})


def _compared(plan: Plan, choices: Sequence[str]) -> list[str]:
    """The reply to each comparison; calls that agree in all that a reply depends on share one."""
    quoting = any("notes" in p.schema.get("properties", {}) for p in plan.prompts.values())
    texts = ("first_text", "second_text") if quoting else ()
    used = [c for c in plan.calls if c in ("prompt", "stage", *texts) or c in EARLIER.values()]
    by_key: dict[tuple[object, ...], str] = {}
    replies = []
    for key in zip(choices, *(plan.calls[c].tolist() for c in used), strict=True):
        if key not in by_key:
            by_key[key] = _reply(plan, dict(zip(used, key[1:], strict=True)), key[0])
        replies.append(by_key[key])
    return replies


def _reply(plan: Plan, row: Record, choice: str) -> str:
    """The reply to a comparison: the parts that the schema of the prompt names, in accord with the choice."""
    whole = plan.prompts[row["prompt"]].schema
    parts = whole.get("properties", {"verdict": {}})
    said = plan.texts.get(row.get(f"answer_{row.get('stage', 1) - 1}_text") or "", "")
    scored = side_scores(said) if '"verdict"' not in said else {}
    if len(scored) == 2:  # the scores were given in the turn before
        one, two = (sum(scored[side].values()) for side in ("A", "B"))
        choice = "tie" if one == two else "first" if one > two else "second"
    if choice not in _CHOICES:
        return _UNREADABLE[0]
    fields: Record = {}
    for part, schema in parts.items():
        if part == "verdict":
            fields[part] = schema.get("enum", ("A", "B", "tie"))[_CHOICES.index(choice)]
        elif part == "scores":
            fields[part] = {side: _side(schema["properties"][side], whole, choice == SIDES[side]) for side in SIDES}
        elif part in ("scores_a", "scores_b"):
            fields[part] = _side(schema, whole, choice == SIDES[part[-1].upper()])
        elif part == "notes":
            names = schema["items"]["properties"]["criterion"]["enum"]
            texts = {"A": plan.texts[row["first_text"]], "B": plan.texts[row["second_text"]]}
            fields[part] = [
                {"response": side, "criterion": c, "note": f"It is as {c} asks.", "quotation": text[:60]}
                for side, text in texts.items()
                for c in names
            ]
        else:
            fields[part] = _WHY[choice]
    return json.dumps(fields)


def _side(schema: JsonSchema, whole: JsonSchema, better: bool) -> dict[str, int]:
    """Scores of one side by criterion, which may stand in the ``$defs`` of the schema."""
    part = whole["$defs"][schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema
    return dict.fromkeys(part["properties"], 4 if better else 3)


def _scores(plan: Plan, judges: Judge | Sequence[Judge], seed: int | np.random.Generator) -> list[str]:
    """The reply of each call: one score, or one for each criterion."""
    criteria: dict[str, list[str | None]] = {n: list(p.criteria) or [None] for n, p in plan.prompts.items()}
    rubrics: dict[str, tuple[Criterion, ...]] = {}
    for name, calls in plan.calls.groupby("prompt"):
        if shows := plan.prompts[str(name)].criteria_in:
            keys = calls[TEXTS[shows]]
            dimensions = {key: read_dimensions(plan.texts[key]).criteria for key in keys.unique()}
            rubrics |= {call: dimensions[key] for call, key in zip(calls[CALL], keys, strict=True)}
    pairs = zip(plan.calls[CALL], plan.calls["prompt"], strict=True)
    each = [[d.name for d in rubrics[c]] if c in rubrics else criteria[name] for c, name in pairs]
    expanded = plan.calls.assign(criterion=pd.Series(each, plan.calls.index, dtype=object))
    expanded = expanded.explode("criterion", ignore_index=True)
    single = expanded["criterion"].isna()
    simulated = simulate(expanded.drop(columns="criterion") if single.all() else expanded, judges, seed=seed)
    names = ["score"] * len(simulated) if single.all() else simulated["criterion"].fillna("score").tolist()
    replies: dict[str, dict[str, float]] = {}
    for call, name, score in zip(simulated[CALL].tolist(), names, simulated["score"].round(4).tolist(), strict=True):
        if score == score:
            replies.setdefault(call, {})[name] = score
    written: dict[tuple[object, ...], str] = {(): _UNREADABLE[0]}
    text = []
    for call, name in zip(plan.calls[CALL].tolist(), plan.calls["prompt"].tolist(), strict=True):
        scores = replies.get(call, {})
        schema = plan.prompts[name].schema
        if call in rubrics and scores:
            text.append(_by_dimension(rubrics[call], scores, schema))
            continue
        key = (name, *scores.items()) if scores else ()
        if key not in written:
            whole = '"integer"' in json.dumps(dict(schema))
            numbers = {c: round(x) for c, x in scores.items()} if whole else scores
            fields = numbers if "score" in scores else {"scores": numbers}
            written[key] = json.dumps(_completed(fields, schema))
        text.append(written[key])
    return text


def _by_dimension(rubric: Sequence[Criterion], scores: Mapping[str, float], schema: JsonSchema) -> str:
    """A reply that scores each dimension of a rubric, and states the weighted mean."""
    scored = [d for d in rubric if d.name in scores]
    entry = schema.get("properties", {}).get("scores", {}).get("items", {})
    marks = [_completed({"dimension": d.name, "score": scores[d.name]}, entry) for d in scored]
    total = sum(d.weight for d in scored)
    overall = round(sum(d.weight * scores[d.name] for d in scored) / total, 2) if total else None
    states_overall = "overall" in schema.get("properties", {}) and overall is not None
    return json.dumps(_completed({"scores": marks, **({"overall": overall} if states_overall else {})}, schema))


def _completed(fields: Record, schema: JsonSchema) -> Record:
    """Fields in the order of a schema, with neutral texts for what else it asks for."""
    parts = schema.get("properties", {})
    return {name: fields[name] if name in fields else _example(parts[name]) for name in parts} or fields


def _rankings(plan: Plan, judges: Judge | Sequence[Judge], seed: int | np.random.Generator) -> list[str]:
    """The reply to each call for a ranking: the order of the scores that the judge gives; equal ones share a place."""
    each = plan.calls.drop(columns="candidates").assign(system=plan.calls["candidates"].map(json.loads))
    scores = simulate(each.explode("system", ignore_index=True), judges, seed=seed)
    by_call = {call: dict(zip(part["system"], part["score"], strict=True)) for call, part in scores.groupby(CALL)}
    replies = []
    for call, listed in zip(plan.calls[CALL], plan.calls["candidates"].map(json.loads), strict=True):
        values = [by_call[call][system] for system in listed]
        places = sorted(set(values), reverse=True)
        groups = [[k for k, x in enumerate(values, start=1) if x == value] for value in places]
        ranking = [group[0] if len(group) == 1 else group for group in groups]
        replies.append(json.dumps({"ranking": ranking, "explanation": "By what each has."}))
    return replies


def _note(template: Prompt, seed: Sequence[int]) -> str:
    """The reply to a stage before the scores: a rubric where that is asked for, else what the schema asks for."""
    if "dimensions" not in template.schema.get("properties", {}):
        return json.dumps(_example(template.schema)) if template.schema else _NOTE
    rng = np.random.default_rng(seed)
    names = list(template.criteria) or [list(_DIMENSIONS)[i] for i in rng.permutation(len(_DIMENSIONS))[:5]]
    weights = np.maximum(rng.dirichlet(np.full(len(names), 8.0)), 0.02).round(2)
    levels = {"2": "hardly any", "5": "some", "8": "much", "10": "all"}
    criteria = []
    for name, weight in zip(names, weights, strict=True):
        about = _DIMENSIONS.get(name, f"its {name.lower()}")
        anchors = {score: f"{level} of: {about}" for score, level in levels.items()}
        criteria.append(Criterion(name, about, anchors, float(weight)))
    return rubric_json(criteria)


def _example(schema: JsonSchema) -> object:
    """The least that a schema of objects, lists and texts allows."""
    if "properties" in schema:
        return {name: _example(part) for name, part in schema["properties"].items()}
    return [_example(schema["items"])] if schema.get("type") == "array" else _NOTE


def _texts(plan: Plan) -> list[str]:
    """Neutral sentences as a list in Markdown; after the response, where the prompt shows one."""
    neutral = checklists()[1]
    texts = []
    for i, (_, _, user) in enumerate(plan.messages()):
        key = plan.calls["response_text"].iloc[i] if "response_text" in plan.calls else None
        chosen = [neutral[(len(user) + i + k) % len(neutral)] for k in range(6)]
        if isinstance(key, str):
            texts.append(" ".join([plan.texts[key], *chosen]))
        else:
            texts.append("\n".join([f"**Answer {i + 1}.** {chosen[0]}", "", *(f"- {s}" for s in chosen[1:])]))
    return texts
