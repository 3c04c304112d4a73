"""Plans: ids of calls, joins, samples, costs, checks, and the folder."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from judgestats.design import Plan, Prompt, build, cues, ladder, rubric, strategies, vacuum
from judgestats.design.plans import _HiddenWords
from judgestats.errors import DesignError
from refusals import refused

PAIRS = pd.DataFrame(
    {
        "item": ["1", "2"], "first": ["alpha", "alpha"], "second": ["beta", "beta"], "task_text": ["Say hello.", "Say bye."],
        "first_text": ["Hello.", "Bye."], "second_text": ["Good day.", "See you."], "length_first": [6, 4],
        "length_second": [9, 8], "target": ["alpha", "beta"],
    }
)  # fmt: skip


def test_the_second_order_takes_everything_of_a_candidate_along():
    plan = build(PAIRS, judges="m")
    texts = plan.calls.assign(
        one=plan.calls["first_text"].map(plan.texts), two=plan.calls["second_text"].map(plan.texts)
    )
    assert texts[["first", "second", "one", "two", "length_first", "length_second", "target"]].to_numpy().tolist() == [
        ["alpha", "beta", "Hello.", "Good day.", 6, 9, "alpha"],
        ["alpha", "beta", "Bye.", "See you.", 4, 8, "beta"],
        ["beta", "alpha", "Good day.", "Hello.", 9, 6, "alpha"],
        ["beta", "alpha", "See you.", "Bye.", 8, 4, "beta"],
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"judges": "n"},
        {"temperature": 0.7},
        {"prompts": Prompt("pairwise", "{{ first }} {{ second }}")},
        {"table": PAIRS.assign(first_text=["Hello!", "Bye!"])},
        {"table": PAIRS.assign(item=["3", "4"])},
    ],
    ids=["judge", "temperature", "prompt", "text", "item"],
)
def test_another_question_is_another_call(change):
    base = build(PAIRS, judges="m", orders="as given")
    other = build(**{"table": PAIRS, "judges": "m", "orders": "as given", **change})
    assert not set(base.calls["call"]) & set(other.calls["call"])
    assert build(PAIRS, judges="m", orders="as given").calls["call"].tolist() == base.calls["call"].tolist()


def test_calls_are_crossed():
    plan = build(PAIRS, judges=["a", "b"], prompts=["pairwise", "pairwise_strict"], temperature=[0, 1], replicates=3)
    assert len(plan) == 2 * 2 * 2 * 2 * 2 * 3
    assert plan.calls.drop(columns="call").duplicated().sum() == 0
    assert plan.calls["call"].is_unique
    assert plan.calls.groupby(["judge", "prompt", "temperature", "replicate"]).size().unique().tolist() == [4]


def test_plans_are_joined_and_sampled():
    whole = vacuum("m") + ladder("m")
    assert len(whole + whole) == len(whole)
    part = ladder("m").sample(25, stratify=["stimulus", "delta"], seed=3)
    assert part.calls["item"].nunique() == 25
    counts = part.calls.drop_duplicates("item").groupby(["stimulus", "delta"]).size()
    assert counts.min() >= 3
    assert (part.calls.groupby("item").size() == 2).all()
    assert (
        part.calls["item"].tolist()
        == ladder("m").sample(25, stratify=["stimulus", "delta"], seed=3).calls["item"].tolist()
    )


def test_a_generator_draws_the_items_by_its_own_choice():
    """As the debiasing paper does: places in the order of the table, drawn by choice without replacement."""
    pairs = pd.DataFrame({"item": [f"q{i:03}" for i in range(90, 0, -1)], "first": "u", "second": "v"})
    pairs = pairs.assign(task_text="Say hello.", first_text="Hello.", second_text="Good day.")
    part = build(pairs, judges="m").sample(12, seed=np.random.default_rng(42))
    places = np.random.default_rng(42).choice(90, 12, replace=False)
    assert set(part.calls["item"]) == set(pairs["item"].iloc[places])
    assert (part.calls.groupby("item").size() == 2).all()


def test_the_cost_is_that_of_the_messages():
    plan = build(PAIRS, judges=["a", "b"])
    characters = sum(len(s) + len(u) for _, s, u in plan.messages())
    summary = plan.summary({"a": (2.0, 10.0), "b": (0.0, 0.0)}, answer=400)
    assert summary["tokens"].sum() * 4 == pytest.approx(characters, abs=40)
    paid = summary.set_index("judge")
    assert paid.loc["a", "cost"] == pytest.approx((paid.loc["a", "tokens"] * 2 + 4 * 100 * 10) / 1e6)
    assert paid.loc["b", "cost"] == 0


def test_what_the_judge_must_not_see_is_found():
    named = PAIRS.assign(first_text=["Hello, I am alpha.", "Bye."])
    found = build(named, judges="m").check()
    assert found[["level", "column", "n", "example"]].to_numpy().tolist() == [
        ["fault", "first", 1, "alpha"], ["fault", "first", 1, "alpha"],
    ]  # fmt: skip
    told = Prompt("mine", "As the strict judge: {{ first }} {{ second }}")
    leak = build(PAIRS.assign(probe="strict"), judges="m", prompts=told).check()
    assert leak["what"].tolist() == ["'strict' (probe) stands in prompt 'mine'"]
    assert leak["n"].tolist() == [4]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_every_builder_reads_its_table_from_a_file(ending, tmp_path):
    """Ids and texts stay text, numbers of candidates are numbers, an empty cell of another column is missing."""
    table = PAIRS.assign(
        item=["07", "8"], second_text=["", "7"], source_first=["LLM", "TradML"], source_second=["TradML", "LLM"]
    )
    table = table.assign(gold=["alpha", None], better=[None, "beta"]).drop(columns="target")
    path = tmp_path / f"pairs.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_json(path, orient="records", lines=True)
    builders = (
        lambda t: build(t, judges="m"),
        lambda t: strategies("m", t, strategies=["B0", "S1"]),
        lambda t: cues("m", t, seed=1),
    )
    for builder in builders:
        one, two = builder(table), builder(path)
        assert two.calls["call"].tolist() == one.calls["call"].tolist()
        pd.testing.assert_frame_equal(two.calls, one.calls, check_dtype=False)
        assert dict(two.texts) == dict(one.texts)
        assert two.calls["length_first"].dtype.kind in "if"
    scored = table.rename(columns={"first_text": "response_text", "first": "system"})[["item", "system", "task_text", "response_text"]]  # fmt: skip
    scored.to_csv(tmp_path / "responses.csv", index=False)
    assert rubric("m", tmp_path / "responses.csv").calls["call"].tolist() == rubric("m", scored).calls["call"].tolist()


def test_a_label_that_a_template_or_a_text_gives_away_is_found():
    told = Prompt("told", "One of these is by TradML. {{ label_first }} {{ first }} {{ label_second }} {{ second }}")
    plan = cues("m", PAIRS, probes=["blind", "truth"], schemes={"own": [told]})
    (what,) = plan.check()["what"]
    assert re.fullmatch(r"'TradML' \(label_(first|second)\) stands in prompt 'told'", what)
    shown = PAIRS.assign(label_first=["LLM", None], label_second=["TradML", None])
    found = build(shown.assign(second_text=["Good day.", "See you, TradML."]), judges="m", prompts="labelled").check()
    assert found["what"].tolist() == [f"'TradML' (label_first) stands in the {slot}" for slot in ("first", "second")]
    # both with and without labels: the text tells nothing
    both = pd.concat(
        [PAIRS.assign(label_first="LLM", label_second="TradML", probe="truth"), PAIRS.assign(probe="blind")]
    )
    both = both.assign(task_text="Write about an LLM.")
    assert build(both, judges="m", prompts="labelled").check().empty


def test_missing_orders_are_told_from_one_order_by_design():
    for orders in ("as given", "random"):
        assert build(PAIRS, judges="m", orders=orders).check().empty
    both = build(PAIRS, judges=["m", "k"])
    lost = both.rows(~((both.calls["item"] == "2") & (both.calls["first"] == "beta") & (both.calls["judge"] == "m")))
    found = lost.check()
    assert found["what"].tolist() == ["pairs in one order only"]
    assert [lost.calls.loc[list(rows), ["judge", "item"]].to_numpy().tolist() for rows in found["rows"]] == [
        [["m", "2"]]
    ]
    # one strategy asks both orders, the other one
    one = build(PAIRS.assign(strategy="B0"), judges="m", orders="as given")
    assert (one + build(PAIRS.assign(strategy="S1"), judges="m")).check().empty
    same = PAIRS.assign(second="alpha", target=None)
    assert build(same.assign(strategy="S1"), judges="m", orders="as given").check().empty


def test_ids_of_calls_do_not_change_with_the_package():
    """Answers to a plan are joined by these ids: a release that changes them loses the answers to earlier plans."""
    ask = Prompt("ask", "{{ task }} {{ label_first }} {{ first }} {{ label_second }} {{ second }}")
    labelled = PAIRS.assign(label_first=["x", None], label_second=[None, "y"], probe=["p", None], item=[1, 2])
    plan = build(labelled, judges=["a", "b"], prompts=ask, temperature=[0, 0.7], orders="as given")
    assert [call.removeprefix("c") for call in plan.calls["call"] if len(call) == 17] == [
        "eeffbb28ca87b9c5", "2d1b83bdf50506a5", "827b6b8339826054", "c6468262e27a0d1c",
        "f047c03fc8bc3197", "6bfcd6d17f766be3", "88970b60b373b886", "01e48c54327cb757",
    ]  # fmt: skip
    later = plan.then(Prompt("again", "Once more.", dialogue=True), strategy="second look").later
    assert later["call"].tolist()[:2] == ["cb02176d916e3dc49", "c81ede64545c73e0a"]


def test_hidden_words_are_found_as_one_pattern_finds_them():
    """The lookup by runs of letters against the alternation of all words, the longest first."""
    rng = np.random.default_rng(0)
    parts = [
        "model",
        "model-1",
        "a",
        "dark current",
        "--x",
        "x--",
        "-x-y",
        "ünder",
        "1",
        "_",
        " ",
        "-",
        ".",
        "the",
        "{}",
    ]
    for _ in range(300):
        words = ["".join(rng.choice(parts, rng.integers(1, 4))) for _ in range(6)]
        text = "".join(rng.choice([*parts, *words], 12))
        words = [w for w in dict.fromkeys(words) if w]
        by_length = sorted(words, key=len, reverse=True)
        pattern = re.compile("|".join(rf"(?<!\w){re.escape(w)}(?!\w)" for w in by_length))
        assert _HiddenWords(words).found_in(text) == list(dict.fromkeys(pattern.findall(text))), (words, text)


def test_messages_that_recur_are_filled_in_once(monkeypatch):
    filled = []
    render = Prompt.render
    monkeypatch.setattr(Prompt, "render", lambda self, **v: filled.append(self.name) or render(self, **v))
    plan = build(PAIRS, judges=["a", "b"], prompts=["pairwise", "pairwise_strict"], replicates=3)
    shown = [m for *_, m in plan.messages()]
    assert len(shown) == len(plan) == 48
    assert len(filled) == len(set(shown)) == 8
    monkeypatch.setattr("judgestats.design.plans._KEPT", 0)
    assert [m for *_, m in plan.messages()] == shown
    assert len(filled) == 8 + 48


def test_a_plan_is_written_and_read(tmp_path):
    plan = vacuum("m", calls=6)
    again = Plan.read(plan.write(tmp_path / "p"))
    pd.testing.assert_frame_equal(again.calls, plan.calls)
    assert dict(again.texts) == dict(plan.texts)
    assert list(again.messages()) == list(plan.messages())
    manifest = json.loads((tmp_path / "p" / "manifest.json").read_text())
    assert manifest["prompts"] == {"pairwise": plan.prompts["pairwise"].digest}
    with pytest.raises(DesignError, match="holds another plan"):
        vacuum("other", calls=6).write(tmp_path / "p")
    (tmp_path / "p" / "texts.jsonl").write_text("{}\n")
    refused(
        DesignError,
        (tmp_path / "p", r"texts\.jsonl' was changed after the plan was written"),
        (tmp_path, "holds no plan"),
        of=Plan.read,
    )


def test_random_orders_are_even_seeded_and_the_same_wherever_a_pair_stands():
    table = pd.DataFrame({"item": [str(i) for i in range(40)], "first": "u", "second": "v", "length_first": range(40)})
    table = table.assign(length_second=-1, first_text="one", second_text="two", task_text="?")
    table = pd.concat([table.assign(probe=p) for p in ("blind", "truth")], ignore_index=True)
    plan = build(table, judges=["m", "k"], orders="random", seed=4)
    assert len(plan) == 2 * len(table)
    assert (plan.calls["first"] == "u").groupby([plan.calls["judge"], plan.calls["probe"]]).sum().tolist() == [20] * 4
    assert (plan.calls.groupby("item")["first"].nunique() == 1).all()
    turned = plan.calls["first"] == "v"
    assert (plan.calls.loc[turned, "length_second"] == plan.calls.loc[turned, "item"].astype(int)).all()
    assert (plan.calls.loc[turned, "first_text"].map(plan.texts) == "two").all()
    again = build(table, judges=["m", "k"], orders="random", seed=4)
    assert again.calls["call"].tolist() == plan.calls["call"].tolist()
    other = build(table, judges=["m", "k"], orders="random", seed=5)
    assert other.calls["first"].tolist() != plan.calls["first"].tolist()


def test_a_text_under_several_conditions_gives_none_of_them_away():
    table = PAIRS.assign(task_text="Tell the truth.")
    both = pd.concat([table.assign(probe=p) for p in ("blind", "truth")], ignore_index=True)
    assert len(build(both, judges="m").check()) == 0
    told = both.assign(task_text=["Hello."] * 2 + ["Tell the truth."] * 2)
    assert build(told, judges="m").check()["what"].tolist() == ["'truth' (probe) stands in the task"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: build(PAIRS.drop(columns="task_text"), judges="m"), "no column 'task_text'"),
        (lambda: build(PAIRS.assign(first_text=[None, "x"]), judges="m"), "'first_text' is missing in 1 rows"),
        (
            lambda: build(PAIRS.assign(item="1", task_text="t", first_text="a", second_text="b"), judges="m"),
            "the same call",
        ),
        (lambda: build(PAIRS, judges="m", orders="three"), "Allowed: 'both', 'random', 'as given'"),
        (lambda: build(PAIRS, judges="m", replicates=0), "not a number of repeats"),
        (lambda: build(PAIRS, judges="m").summary({"m": (-1.0, 2.0)}), "is negative"),
        (lambda: build(PAIRS, judges="m").summary({"n": (1.0, 2.0)}), "no price of judge 'm'"),
        (lambda: build(PAIRS, judges="m").sample(3), "cannot be drawn from 2"),
        (lambda: build(PAIRS, judges="m").sample(1, stratify="delta"), "no column 'delta'"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DesignError, match=message):
        call()


#: What is planted in a text -> design columns of the pair.
PLANTED = {
    "[delta=1]": {"delta": 1.0, "better": "v"},
    "(better: v)": {"better": "v"},
    "quality_first = 0.8": {"quality_first": 0.8, "quality_second": 0.3},
    "It is of 0.8 in all.": {"quality_first": 0.8, "quality_second": 0.3},
    "A poor one.": {"quality_first": "poor", "quality_second": "fine"},
    "By QX, in haste.": {"first": "QX", "second": "QY"},
    "strategy: S4": {"strategy": "S4"},
    "expected_verdict=tie": {"expected_verdict": "tie"},
}


@pytest.mark.parametrize("planted", PLANTED)
def test_hidden_metadata_in_a_text_is_found(planted):
    pairs = PAIRS.assign(**PLANTED[planted])
    assert build(pairs, judges="m").check().empty
    found = build(pairs.assign(second_text=pairs["second_text"] + " " + planted), judges="m").check()
    assert found["level"].tolist()[:1] == ["fault"], found
    assert found["what"].str.contains("stands in the").any()


def test_what_any_text_has_is_no_hidden_metadata():
    pairs = PAIRS.assign(first="it", second="no", delta=1.0, quality_first=3, quality_second=4.0)
    pairs["second_text"] += " It is no 1 of 3, and delta is a letter."
    assert build(pairs, judges="m").check().empty
