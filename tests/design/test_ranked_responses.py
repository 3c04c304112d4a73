"""Rankings of more than two responses: plan, prompt, reader, pairs, and the strengths planted in a judge."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import judgestats as js
from judgestats.design import Judge, Plan, collect, export, rankings, remaining, simulate_replies
from judgestats.design.ranked_responses import ranks_in
from judgestats.errors import DesignError

SYSTEMS = ["aa", "bb", "cc", "dd"]


def texts(n: int) -> pd.DataFrame:
    table = pd.DataFrame([(f"i{k}", s) for k in range(n) for s in SYSTEMS], columns=["item", "system"])
    return table.assign(task_text="Task " + table["item"], response_text="Text " + table.index.astype(str), domain="x")


@pytest.mark.parametrize(
    ("reply", "ranks"),
    [
        ('{"ranking": [2, 1, 3], "explanation": "x"}', [2, 1, 3]),
        ("[2,1,3]", [2, 1, 3]),
        ("I compared all.\n\nRanking: [3, 1, 2]", [2, 3, 1]),
        ("2 > 1 = 3", [2, 1, 2]),
        ('{"ranking": [2, [1, 3]], "explanation": "x"}', [2, 1, 2]),
        ('{"ranking": ["Response 2", "3", 1]}', [3, 1, 2]),
        ('{"ranking": [[1, 2, 3]]}', [1, 1, 1]),
        ('{"ranking": [2, 1]}', "the ranking [[2], [1]] does not have each of 3 responses once"),
        ('{"ranking": [2, 1, 3, 3]}', "the ranking [[2], [1], [3], [3]] does not have each of 3 responses once"),
        ('{"ranking": [0, 1, 2]}', "the ranking [[0], [1], [2]] does not have each of 3 responses once"),
        ('{"ranking": [true, 1, 2]}', "the ranking [[0], [1], [2]] does not have each of 3 responses once"),
        ('{"ranking": [1, 2, 3]} {"ranking": [3, 2, 1]}', "two rankings"),
        ("The list has [2,1,3] in it, they say.", ""),
        ("All are good.", ""),
    ],
)
def test_a_ranking_is_read_where_it_ranks_each_response_once(reply, ranks):
    assert ranks_in(reply, 3) == ranks


def test_each_call_shows_all_responses_and_is_opened_to_its_pairs(tmp_path):
    plan = rankings(["g", "h"], texts(5))
    assert plan.kind == "rankings"
    assert len(plan) == 10
    assert plan.check().empty
    orders = plan.calls.groupby("item")["candidates"].unique()
    assert orders.str.len().eq(1).all()  # the same for both judges
    assert orders.map(lambda x: x[0]).nunique() > 1
    row = plan.calls.iloc[0]
    shown = next(user for call, _, user in plan.messages() if call == row["call"])
    table = texts(5).set_index(["item", "system"])["response_text"]
    for place, system in enumerate(json.loads(row["candidates"]), start=1):
        assert f"Response {place}:\n{table[row['item'], system]}" in shown
    plan = Plan.read(plan.write(tmp_path / "plan"))
    assert len(export(plan, tmp_path, "openai")) == 2
    answers = [{"call": c, "answer": '{"ranking": [4, 2, 1, 3], "explanation": "So."}'} for c in plan.calls["call"]]
    answers[0]["answer"] = '{"ranking": [4, 2, 1], "explanation": "So."}'
    answers[1]["answer"] = "I'm sorry, but I can't help with that."
    answers[2] |= {"answer": None, "error": "timeout"}
    answers[3]["answer"] = '{"ranking": [4, 2, 1, 3], "explanation": "So.", "more": 1}'
    data = collect(plan, answers[:-1])
    assert len(data) == 10 * 6
    states = data.groupby("call", sort=False)["status"].unique().map(lambda s: [str(x) for x in s])
    assert states.tolist() == [["schema"], ["refused"], ["error"], ["schema"], *[["ok"]] * 5, ["missing"]]
    assert len(remaining(plan, answers[:-1])) == 2
    whole = data[data["status"] == "ok"]
    places = plan.calls.set_index("call")["candidates"].map(json.loads)
    rank = {4: 1, 2: 2, 1: 3, 3: 4}
    for row in whole.to_dict("records"):
        one, two = (rank[places[row["call"]].index(row[slot]) + 1] for slot in ("first", "second"))
        assert str(row["choice"]) == ("first" if one < two else "second")
        assert (row["rank_first"], row["rank_second"]) == (one, two)
    assert set(whole["rationale"]) == {"So."}


def test_rotated_orders_show_each_response_once_in_each_place():
    plan = rankings("g", texts(3), orders="rotated")
    assert len(plan) == 3 * 4
    for _, part in plan.calls.groupby("item"):
        places = pd.DataFrame(part["candidates"].map(json.loads).tolist())
        assert all(set(places[k]) == set(SYSTEMS) for k in range(4))
    data = collect(plan, simulate_replies(plan, Judge("g")).to_dict("records"))
    slots = js.position_bias(data)
    assert len(slots) > 0


def test_planted_strengths_come_back_from_the_pairs():
    plan = rankings(["g", "h"], texts(60))
    quality = dict(zip(SYSTEMS, (1.5, 0.5, -0.5, -1.5), strict=True))
    judges = [Judge(j, noise=1.0, scale=None) for j in ("g", "h")]
    each = plan.calls.drop(columns="candidates").assign(system=plan.calls["candidates"].map(json.loads))
    each = each.explode("system", ignore_index=True)
    scores = js.design.simulate(each.assign(quality=each["system"].map(quality)), judges, seed=3)
    answers = []
    for call, listed in zip(plan.calls["call"], plan.calls["candidates"].map(json.loads), strict=True):
        score = scores[scores["call"] == call].set_index("system")["score"]
        answers.append({"call": call, "answer": json.dumps({"ranking": [listed.index(s) + 1 for s in score.sort_values(ascending=False).index], "explanation": "x"})})  # fmt: skip
    data = collect(plan, answers)
    assert (data["status"] == "ok").all()
    found = js.rank_systems(data)
    order = found[found["term"] == "strength"].sort_values("estimate", ascending=False)["system"].tolist()
    assert order == SYSTEMS
    u = (data["first"] == "aa") & (data["second"] == "bb") | (data["first"] == "bb") & (data["second"] == "aa")
    wins = ((data["choice"] == "first") == (data["first"] == "aa"))[u].mean()
    assert 0.64 < wins < 0.88  # Phi(1 / sqrt 2) = .76


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (texts(1).head(1), "Item 'i0' has 1 responses"),
        (pd.concat([texts(1), texts(1).head(1)]), "of 4 systems"),
        (texts(1).drop(columns="task_text"), "no column 'task_text'"),
    ],
)
def test_bad_tables(table, message):
    with pytest.raises(DesignError, match=message):
        rankings("g", table)


def test_a_prompt_of_another_kind_is_refused():
    with pytest.raises(DesignError, match=r"no column 'first'|asks for preferences"):
        rankings("g", texts(1), prompts="pairwise")
