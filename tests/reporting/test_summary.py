"""What a page says first: which cards are shown for which data, and by which rule each sentence is chosen."""

import re
import time
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.metrics.measure_registry import measures
from judgestats.published import paper_tables
from judgestats.reporting import page_data
from judgestats.reporting.formatting import printed
from judgestats.reporting.html_pages import as_html
from judgestats.reporting.markdown_pages import as_markdown
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.reporting.summary import MOST_COMPARED, MOST_JUDGES
from judgestats.reporting.summary_parts import SummaryColumn, listed
from judgestats.schema import preferences, ratings
from reporting.designs import dark_current_design, plain_verdicts, self_ratings
from reporting.sentences import contradictions, random_study


def summary(data, **options):
    return measure_all(data, PageArguments(n_resamples=50, **options)).summary


def kinds(made):
    return [c.kind for c in made.cards]


def verdicts(shares, n_items=200, seed=0, first=0.0, invalid=0.0):
    """Judges that are right with a probability each, in both orders alike; or else prefer what is shown first."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge, share in shares.items():
        for i in range(n_items):
            right = rng.random() < share
            slot = rng.random() < first
            for a, b in (("x", "y"), ("y", "x")):
                gold = "x" if i % 2 else "y"
                winner = gold if right else ("y" if gold == "x" else "x")
                choice = "first" if slot or winner == a else "second"
                choice = "invalid" if rng.random() < invalid else choice
                rows.append({"judge": judge, "item": f"i{i}", "first": a, "second": b, "choice": choice, "gold": gold})
    return preferences(pd.DataFrame(rows))


@pytest.fixture(scope="module")
def clear():
    return summary(verdicts({"good": 0.95, "fair": 0.6, "poor": 0.55}))


def test_a_judge_that_stands_out_is_named_with_the_difference_to_the_next(clear):
    card = clear.cards[0]
    assert (card.kind, card.head) == ("right", "Most often right")
    assert card.claim.startswith("good, 9")
    assert "points above fair (simultaneous 95\u202f% interval " in card.detail
    assert "simultaneous for all pairs of judges" in card.method


def test_the_comparison_is_sorted_and_has_the_line_of_chance(clear):
    assert clear.groups[0].judges[0] == "good"
    accuracy = clear.columns[0]
    assert (accuracy.reference, accuracy.line) == (0.5, "dashed: chance, 50\u202f%")
    assert clear.columns[0].text("good")[0].endswith("\u202f%")
    assert "." not in clear.columns[0].text("fair")[0]  # n allows no decimals


def test_without_a_judge_that_stands_out_none_is_named():
    card = summary(verdicts({"a": 0.7, "b": 0.7, "c": 0.7}, n_items=60)).cards[0]
    assert card.claim == "None of 3 judges stands out"
    few = summary(verdicts({"a": 0.9, "b": 0.9, "c": 0.5})).cards[0]
    assert few.claim.startswith(("a and b, ", "b and a, "))
    assert "the last, c, has" in few.detail


def test_the_judges_that_are_not_distinguishable_from_the_best_are_named():
    shares = {"a": 0.9, "b": 0.9, "c": 0.9, "x": 0.4, "y": 0.4, "z": 0.4}
    card = summary(verdicts(shares)).cards[0]
    assert card.claim.startswith("3 of 6 judges, ")
    assert all(name in card.detail.split(" are not distinguishable")[0] for name in "abc")
    assert sorted(card.method.rpartition(": ")[2].split(", ")) == ["a", "b", "c"]


def test_ties_make_the_line_that_of_the_best_constant_answer():
    made = summary(plain_verdicts(["a", "b"], n_items=20))
    assert made.columns[0].line == "dashed: best constant answer (always first)"


def test_a_biased_judge_is_named():
    table = pd.concat([verdicts({"even": 0.8}), verdicts({"leaning": 0.8}, first=0.3, seed=1)])
    card = next(c for c in summary(table).cards if c.kind == "biased")
    assert card.head == "Prefers what is shown first"
    assert card.claim.startswith("leaning, +")
    none = next(c for c in summary(verdicts({"a": 0.7, "b": 0.8})).cards if c.kind == "biased")
    assert none.claim == "No position bias found"


def test_without_gold_there_is_no_card_on_who_is_right():
    made = summary(plain_verdicts(["a", "b"], gold=False))
    assert "right" not in kinds(made)
    assert kinds(made)[:2] == ["agreement", "steady"]
    assert made.title == "How 2 judges answer"
    assert "no right answers known" in made.line


def test_judges_in_conditions_are_counted_as_such():
    """Four judges under three prompts are not twelve judges."""
    parts = [plain_verdicts(["a", "b", "c", "d"], n_items=12, gold=False, seed=i).assign(prompt=p) for i, p in
             enumerate("pqr")]  # fmt: skip
    made = summary(pd.concat(parts, ignore_index=True))
    assert made.title == "How 4 judges in 3 conditions answer"
    assert made.groups[0].about.startswith("4 judges in 3 conditions, ")
    assert made.cards[1].claim.startswith("None of 4 judges in 3 conditions stands out")
    lacking = pd.concat([parts[0], parts[1][parts[1]["judge"] != "d"]], ignore_index=True)
    assert summary(lacking).title == "How 4 judges in 2 conditions (7 in all) answer"
    alone = pd.concat(parts, ignore_index=True).query("judge == 'a'")
    assert summary(alone).title == "How a answers in 3 conditions"


def test_intervals_of_cards_say_whether_they_are_simultaneous(clear):
    several = next(c for c in clear.cards if c.kind == "biased")
    assert "simultaneous 95\u202f% interval" in several.detail or several.detail == "every estimate is 0"
    two = summary(verdicts({"good": 0.95, "poor": 0.5})).cards[0]
    assert "(95\u202f% interval " in two.detail  # one pair: nothing is selected
    leniency = next(c for c in summary(self_ratings()).cards if c.kind == "biased")
    assert "simultaneous 95\u202f% interval" in leniency.detail
    assert "Bonferroni" in leniency.method


def test_verdicts_on_answers_are_not_called_right_without_gold():
    rng = np.random.default_rng(5)
    rows = [{"judge": j, "item": f"i{i}", "correct": bool(rng.random() < 0.6)} for j in "ab" for i in range(40)]
    made = summary(ratings(pd.DataFrame(rows)))
    assert [c.label for c in made.columns] == ["Verdicts “correct”"]
    assert made.line.startswith("80 verdicts on 40 items")


@pytest.mark.slow
def test_one_judge_gets_its_numbers_and_no_ranking():
    made = summary(plain_verdicts(["a"]))
    assert made.title == "Can a be trusted?"
    right = made.cards[0]
    assert right.head == "Right on gold"
    value, ends = made.columns[0].text("a")
    assert right.claim == f"a, {value}"
    assert ends in right.detail  # the interval of the table
    alone = summary(plain_verdicts(["a"], gold=False))
    assert alone.cards[-1].claim == "One judge, no reference"


def test_a_judge_alone_has_as_many_decimals_as_its_interval():
    rows = verdicts({"g": 0.955}, n_items=4000)
    card = next(c for c in summary(rows).cards if c.kind == "right")
    value, ends = card.claim.removeprefix("g, "), card.detail.split("interval ")[1].split("\u202f%")[0]
    assert [len(t.partition(".")[2].rstrip("\u202f%")) for t in (value, *ends.split(" to "))] == [1, 1, 1]


def test_a_ladder_has_the_cards_of_its_design():
    made = summary(dark_current_design())
    assert kinds(made)[:3] == ["right", "dark", "biased"]
    assert [c.term for c in made.columns[:2]] == ["target_sensitivity", "dark_current"]
    assert made.cards[1].claim == "All but Llama8B, 0\u202f%" or made.cards[1].claim == "Qwen14B and Qwen32B, 0\u202f%"


def test_ratings_have_the_cards_of_scores():
    made = summary(self_ratings())
    assert kinds(made) == ["agreement", "steady", "biased", "care"]
    assert made.cards[3].claim == "Only 12 items"
    assert made.columns[0].term == "run_sd"


@pytest.mark.slow
def test_people_are_the_reference_where_there_is_no_gold():
    made = summary(plain_verdicts(["a", "b", "Ann", "Bob"], gold=False), humans=["Ann", "Bob"])
    assert made.title == "Which of 2 judges agrees with people?"
    assert made.cards[0].head == "Agrees most with people"
    assert made.groups[0].judges in (("a", "b"), ("b", "a"))  # people stand in no ranking
    assert "people's most frequent answer" in made.columns[0].line
    scores = summary(self_ratings(["x", "y", "Ann"]), humans=["Ann"])
    assert scores.cards[0].head == "Closest to the people's mean"
    assert scores.columns[0].lower_is_better


@pytest.mark.parametrize(("harsher", "said"), [(1.0, "Scores lower than people"), (0.0, "Leniency")])
def test_the_leniency_of_a_card_is_that_of_the_table(harsher, said):
    """Where people are the reference, both say how far a judge is from people, and not from the other judges."""
    rng = np.random.default_rng(2)
    lower = {"strict": harsher, "like them": 0.0, "Ann": 0.0, "Bob": 0.0}
    rows = [
        {"judge": j, "system": "s", "item": f"i{i}", "score": 5 - off + rng.normal(scale=0.3)}
        for i in range(40) for j, off in lower.items()
    ]  # fmt: skip
    made = summary(ratings(pd.DataFrame(rows)), humans=["Ann", "Bob"])
    column = next(c for c in made.columns if c.label == "Leniency")
    card = next(c for c in made.cards if c.kind == "biased")
    assert column.note == "mean deviation from people"
    assert card.head == said
    if harsher:
        assert card.claim == f"strict, {column.text('strict')[0]}"
    else:
        assert card.claim == "None shown to differ in leniency from people"


def test_scores_with_gold_are_compared_with_the_constant_answer():
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 4, 120)
    rows = [
        {"judge": j, "system": "s", "item": f"i{i}", "score": float(g + rng.choice([0, e])), "gold": float(g)}
        for j, e in (("near", 1), ("far", 5)) for i, g in enumerate(gold)
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    made = summary(ratings(table).assign(gold=table["gold"]))
    assert made.cards[0].claim.startswith("near, 0.")
    assert made.columns[0].reference == pytest.approx(np.abs(gold - np.median(gold)).mean())
    assert next(c for c in made.cards if c.kind == "care").claim == "far: worse than a constant answer"


def test_judges_that_share_no_item_are_never_in_one_ranking():
    other = plain_verdicts(["z"], gold=True).assign(item=lambda t: "other " + t["item"].astype(str))
    made = summary(pd.concat([plain_verdicts(["a", "b"]), other], ignore_index=True))
    assert [set(g.judges) for g in made.groups] == [{"a", "b"}, {"z"}]
    assert made.cards[-1].claim == "z judged other pairs"
    assert all("z" not in set(s.means["judge"]) for s in made.differences.values())


@pytest.mark.slow
def test_many_missing_answers_are_a_caution():
    made = summary(verdicts({"a": 0.8, "b": 0.7}, invalid=0.2))
    care = made.cards[-1]
    assert care.kind == "care"
    assert care.claim == "a and b: answers missing" or care.claim == "b and a: answers missing"


def test_judges_asked_in_different_ways_are_compared_on_what_they_judged():
    table = verdicts({"good": 0.95, "fair": 0.5})
    table["strategy"] = table["judge"].astype(str).map({"good": "chain", "fair": "plain"})
    assert summary(table).cards[0].claim.startswith("good, 9")


@pytest.mark.slow
def test_conditions_are_part_of_a_name_only_where_a_judge_has_several():
    one = pd.concat([plain_verdicts(["a"]).assign(strategy="p"), plain_verdicts(["b"]).assign(strategy="q")])
    assert set(summary(one).groups[0].judges) == {"a", "b"}
    two = pd.concat([plain_verdicts(["a"], seed=i).assign(strategy=s) for i, s in enumerate("pq")])
    assert set(summary(two).groups[0].judges) == {"a · strategy = p", "a · strategy = q"}


def test_tasks_are_columns_of_their_own():
    table = plain_verdicts(["a", "b"], n_items=40)
    table["task"] = np.where(table["item"].astype(str).str[-1].isin([*"01234"]), "maths", "code")
    tasks = summary(table).tasks
    assert [c.label for c in tasks] == ["code", "maths"]
    right = (table["choice"].map({"first": "first", "second": "second"}).notna()) & (
        table["first"].where(table["choice"] == "first", table["second"]) == table["gold"]
    )
    used = (table["choice"] != "invalid") & (table["task"] == "maths") & (table["judge"] == "a")
    assert tasks[1].cells["a"]["estimate"] == pytest.approx(right[used].mean())


def test_numbers_are_printed_as_the_interval_allows():
    column = SummaryColumn("x", "x", "", "share", {"a": {"estimate": 0.5, "conf_low": 0.495, "conf_high": 0.505}})
    assert column.text("a") == ("50.0\u202f%", "49.5 to 50.5\u202f%")
    assert column.text("b") == ("—", "")
    assert printed(0.456, "score") == "0.46"
    assert printed(0.7271, "share", 0.07) == "73\u202f%"
    assert printed(0.11, "points") == "+11"
    assert listed(["a", "b", "c", "d"]) == "a, b, c and d"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_printed_means_are_no_constant_answers():
    means = paper_tables.scores()
    made = summary(means[means["condition"] == "attributed"].drop(columns="condition"))
    care = made.cards[-1]
    assert (care.kind, care.claim) == ("care", "Only 1 item")  # to be as severe as the others is no fault


def test_pairs_are_counted_as_pairs_and_repeats_are_said():
    """Two judges on three pairs of each of four items, both orders; the same again under two lengths."""
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    rows = [(j, f"i{i}", *p[::o], "first") for j in "gh" for i in range(4) for p in pairs for o in (1, -1)]
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])
    once = measure_all(calls, PageArguments(n_resamples=20)).summary
    assert once.line.startswith("48 verdicts on 12 pairs of 4 items · each shown in both orders")
    assert once.groups[0].about == "2 judges, 12 pairs judged by all of them"
    twice = pd.concat([calls.assign(length=k) for k in ("long", "short")], ignore_index=True)
    assert "some shown again in the same order" in measure_all(twice, PageArguments(n_resamples=20)).summary.line


def _sentences_hold(seed, monkeypatch):
    people = measures()["judge_against_people"]
    monkeypatch.setattr(page_data, "attempts", lambda data, options, *_: {people.name: people.attempt(data, options)})
    frame, options = random_study(seed)
    assert contradictions(measure_all(frame, PageArguments(n_resamples=20, **options))) == []


@pytest.mark.parametrize("seed", range(30))
def test_no_sentence_of_a_card_contradicts_the_table(seed, monkeypatch):
    _sentences_hold(seed, monkeypatch)


@pytest.mark.parametrize(
    "start", [pytest.param(s, marks=pytest.mark.full if s >= 120 else pytest.mark.slow) for s in range(0, 500, 20)]
)
def test_no_sentence_of_500_studies_contradicts_the_table(start, monkeypatch):
    for seed in range(1000 + start, 1020 + start):
        _sentences_hold(seed, monkeypatch)


def test_what_was_not_computed_is_not_called_none():
    """Nine judges on nine items: no interval holds for all of them at once, and one prefers the second in each call."""
    table = pd.concat([verdicts({f"j{k}": 0.7 for k in range(8)}, n_items=9), verdicts({"odd": 0.7}, n_items=9)])
    table.loc[table["judge"] == "odd", "choice"] = "second"
    cards = {c.kind: c for c in summary(preferences(table)).cards}
    assert cards["right"].claim == "Cannot be said"
    assert "fewer than 10 items on which" in cards["right"].detail
    assert cards["biased"].claim.startswith("Cannot be said")
    assert "the interval of odd alone excludes 0" in cards["biased"].detail


def test_a_judge_biased_the_other_way_is_in_a_list_of_its_own():
    table = pd.concat([verdicts({"one": 0.5}, first=0.5), verdicts({"two": 0.5}, first=0.4, seed=1)])
    turned = verdicts({"other": 0.5}, first=0.4, seed=2)
    other = turned.assign(choice=turned["choice"].map({"first": "second", "second": "first"}))
    card = next(c for c in summary(pd.concat([table, other])).cards if c.kind == "biased")
    assert card.head == "Position bias"
    assert card.claim == "2 prefer what is shown first by more than 10 points, other the second"
    assert re.match(r"one, \+\d+ points \(.+\); other, −\d+ points \(", card.detail)


@pytest.mark.parametrize(
    ("smallest", "head", "claim"),
    [
        (None, "Leniency", "2 score higher than gold by more than 0.40, strict lower"),
        (0.9, "Scores higher than gold", "kind, +0."),
        (2.0, "Leniency", "None shown to be above 2.00"),
    ],
)
def test_a_bias_is_counted_from_the_smallest_size_of_interest(smallest, head, claim):
    """Scores are compared with gold where it is known: two are .98 and .6 above it, one .6 below, one .1 above."""
    rng = np.random.default_rng(4)
    gold = rng.integers(2, 5, 200)
    above = {"kind": 0.98, "mild": 0.6, "near": 0.1, "strict": -0.6}
    rows = [
        {"judge": j, "system": "s", "item": f"i{i}", "score": g + off + rng.normal(scale=0.2), "gold": float(g)}
        for i, g in enumerate(gold) for j, off in above.items()
    ]  # fmt: skip
    made = summary(ratings(pd.DataFrame(rows)), scale=(1, 5), smallest=smallest)
    card = next(c for c in made.cards if c.kind == "biased")
    assert card.head == head
    assert card.claim.startswith(claim)
    assert "near" in card.detail.partition("clear of 0")[2]
    column = next(c for c in made.columns if c.label == "Leniency")
    assert column.cells["mild"]["estimate"] == pytest.approx(0.6, abs=0.05)
    with pytest.raises(DesignError, match="smallest=0 must be above 0"):
        summary(ratings(pd.DataFrame(rows)), smallest=0)


def test_order_that_is_one_with_the_candidate_gives_no_card_and_no_column():
    rows = [(j, f"i{i}", "base", "new", "first" if i % 4 else "second") for j in "gh" for i in range(40)]
    calls = preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"]))
    page = measure_all(calls, PageArguments(n_resamples=20))
    assert "biased" not in kinds(page.summary)
    assert page.summary.columns == ()
    flagged = page.estimates.sheet[page.estimates.sheet["term"] == "position_bias"]["flag"]
    assert flagged.str.contains("order and candidate confounded").all()


def test_cards_are_clustered_by_what_the_table_is():
    """Twelve items of each of 13 prompts: what differs, differs between prompts."""
    rng = np.random.default_rng(4)
    rows = []
    for p in range(13):
        hard = {"a": rng.random() < 0.2, "b": rng.random() < 0.5}
        for i in range(12):
            right = rng.choice(["first", "second"])
            wrong = "second" if right == "first" else "first"
            rows += [("Ann", f"p{p}i{i}", f"p{p}", right)]
            rows += [(j, f"p{p}i{i}", f"p{p}", wrong if hard[j] else right) for j in "ab"]
    calls = pd.DataFrame(rows, columns=["judge", "item", "prompt", "choice"]).assign(first="x", second="y")
    page = measure_all(preferences(calls), PageArguments(n_resamples=20, humans="Ann"))
    made = page.summary
    column = next(c for c in made.columns if c.term == "agreement")
    assert {cell["method"] for cell in column.cells.values()} == {"Wilson, clustered by prompt (G = 13)"}
    assert made.differences["right"].pairs["clusters"].tolist() == [13]
    assert made.cards[0].method.endswith("; over prompts")


def test_people_with_right_and_wrong_are_what_judges_are_compared_with():
    rng = np.random.default_rng(6)
    truth = rng.random(80) < 0.6
    rows = [("Ann", f"i{i}", bool(t)) for i, t in enumerate(truth)]
    rows += [("good", f"i{i}", bool(t if rng.random() < 0.95 else not t)) for i, t in enumerate(truth)]
    rows += [("always", f"i{i}", True) for i in range(80)]
    page = measure_all(
        ratings(pd.DataFrame(rows, columns=["judge", "item", "correct"])), PageArguments(n_resamples=20, humans="Ann")
    )
    made = page.summary
    assert [c.label for c in made.columns[:2]] == ["Agrees with people", "Kappa with people"]
    assert made.groups[0].judges == ("good", "always")  # not by the share called correct
    assert made.cards[0].head == "Agrees most with people"
    assert made.cards[0].claim.startswith("good, 9")
    assert made.title == "Which of 2 judges agrees with people?"
    assert "no right answers known" not in made.line
    assert "is compared with people" not in as_html(page)


def test_a_column_without_a_value_is_neither_shown_nor_sorted_by():
    """The people answered once; the judges under two prompts, which the datasheets keep apart."""
    calls = [plain_verdicts(["a", "b"], n_items=24, gold=False, seed=i).assign(prompt=p) for i, p in enumerate("pq")]
    people = plain_verdicts(["Ann"], n_items=24, gold=False, seed=5).drop_duplicates("item")
    table = pd.concat([*calls, people], ignore_index=True)
    page = measure_all(preferences(table), PageArguments(n_resamples=20, humans="Ann"))
    judges = page.summary.groups[0].judges
    assert len(judges) == 4
    assert all(any(c.text(j)[0] != "—" for j in judges) for c in page.summary.columns)
    assert contradictions(page) == []


def crowd(judges: int) -> pd.DataFrame:
    """Verdicts of many judges, each on four pairs in both orders."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"judge": np.repeat([f"j{k:04}" for k in range(judges)], 8)})
    rows["item"] = np.tile(np.repeat(["a", "b", "c", "d"], 2), judges)
    rows["first"] = np.tile(["x", "y"], 4 * judges)
    rows["second"] = np.tile(["y", "x"], 4 * judges)
    return rows.assign(choice=rng.choice(["first", "second"], len(rows)))


def test_of_very_many_judges_the_two_ends_are_shown_and_the_rest_is_said():
    found = measure_all(crowd(MOST_COMPARED + 1), PageArguments(n_resamples=20))
    summary = found.summary
    assert len(summary.judges) == MOST_JUDGES
    assert summary.left_out.startswith(f"Shown are {MOST_JUDGES} of {MOST_COMPARED + 1} judges: ")
    assert summary.left_out in summary.note
    everybody = summary.columns[0].cells
    values = [everybody[j]["estimate"] for j in summary.judges]
    rest = [cell["estimate"] for judge, cell in everybody.items() if judge not in summary.judges]
    half = MOST_JUDGES // 2
    assert min(values[:half]) >= max(rest)
    assert max(values[half:]) <= min(rest)
    compared = [c for c in summary.cards if c.claim.startswith("Not compared")]
    assert compared
    assert f"at most {MOST_COMPARED} judges" in compared[0].detail
    assert not summary.differences


def test_what_a_page_leaves_out_is_said_on_it():
    found = measure_all(crowd(MOST_JUDGES + 1), PageArguments(n_resamples=20))
    page, text = as_html(found), as_markdown(found)
    said = found.summary.left_out
    assert page.count('<details class="judge"') == MOST_JUDGES
    assert f"<b>Left out.</b> {said}" in page
    assert page.count(said) >= 3  # under the table, under the picture, above the cards
    assert said in text.partition("## Datasheets")[2]
    (absent,) = set(found.estimates.sheet["judge"]) - set(found.summary.judges)
    assert absent not in text


def test_all_judges_are_shown_where_there_are_not_very_many():
    summary = measure_all(crowd(MOST_JUDGES), PageArguments(n_resamples=20)).summary
    assert (len(summary.judges), summary.left_out) == (MOST_JUDGES, "")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param("preferences", marks=pytest.mark.full), "ratings"])
def test_three_times_the_judges_take_at_most_four_times_the_time(kind):
    def seconds(judges: int) -> float:
        calls = crowd(judges)
        if kind == "ratings":
            calls = calls.assign(system=calls["first"], score=(calls["choice"] == "first") + 1.0)
            calls = calls.drop(columns=["first", "second", "choice"])
        start = time.process_time()
        as_html(measure_all(calls, PageArguments(n_resamples=20)))
        return time.process_time() - start

    seconds(30)
    small = min(seconds(300), seconds(300))
    assert seconds(900) < 4 * small + 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["preferences", pytest.param("ratings", marks=pytest.mark.full)])
def test_three_times_the_columns_take_at_most_four_times_the_time(kind, tmp_path):
    """Of a file that is read, checked, tried and shown on a page."""

    def seconds(columns: int) -> float:
        calls = crowd(3)
        if kind == "ratings":
            calls = calls.assign(system=calls["first"], score=(calls["choice"] == "first") + 1.0)
            calls = calls.drop(columns=["first", "second", "choice"])
        further = {f"c{i}": np.arange(len(calls)) % 3 for i in range(columns)}
        pd.concat([calls, pd.DataFrame(further, index=calls.index)], axis=1).to_csv(tmp_path / "t.csv", index=False)
        start = time.process_time()
        read = js.read(tmp_path / "t.csv")
        js.check(read)
        js.available_measures(read)
        as_html(measure_all(read, PageArguments(n_resamples=20)))
        return time.process_time() - start

    seconds(30)
    small = min(seconds(1_700), seconds(1_700))
    assert seconds(5_100) < 4 * small + 1


def test_judges_are_compared_on_what_all_judged():
    """Six judges of LLMBar, three of them on twice as many pairs, in the eight ways that all were asked in: by plain pandas."""
    calls = js.datasets.load("llmbar")
    made = summary(calls, gold="gold")
    ways = calls.groupby("strategy")["judge"].nunique().loc[lambda n: n == 6].index
    shared = calls.groupby("item")["judge"].nunique().loc[lambda n: n == 6].index
    raw = calls[calls["item"].isin(shared) & calls["strategy"].isin(ways) & (calls["choice"] != "invalid")]
    chosen = raw["first"].where(raw["choice"] == "first", raw["second"]).mask(raw["choice"] == "tie", "tie")
    right = (chosen == raw["gold"]).groupby(raw["judge"]).mean()
    column = made.columns[0]
    assert {j: c["estimate"] for j, c in column.cells.items()} == pytest.approx(right.to_dict(), abs=1e-12)
    assert list(made.groups[0].judges) == right.sort_values(ascending=False).index.tolist()
    answered = raw.groupby("item")["judge"].nunique().eq(6).sum()
    assert made.groups[0].about == f"6 judges, {answered} pairs judged by all of them, 8 strategies pooled"
    own = calls[~(calls["item"].isin(shared) & calls["strategy"].isin(ways))]
    own = own.drop_duplicates(["judge", "item", "strategy"]).groupby("judge").size()
    assert {j: c["estimate"] for j, c in made.columns[-1].cells.items()} == own.to_dict()
    assert len(ways) == 8
    assert "15 strategies pooled" in made.line


def test_people_among_themselves_beside_the_judges():
    calls = js.datasets.load("pandalm")
    made = measure_all(calls, PageArguments(humans={"rater_type": "human"})).summary
    (card,) = [c for c in made.cards if c.kind == "people"]
    answers = calls[calls["rater_type"] == "human"].pivot_table(
        "choice", "item", "judge", aggfunc="first", observed=True
    )
    same = [(answers[a] == answers[b]).mean() for a, b in combinations(answers.columns, 2)]
    assert card.claim == f"agree in {100 * np.mean(same):.0f}\u202f%" == "agree in 92\u202f%"
    assert "gpt_3_5_turbo with them in 71\u202f%" in card.detail


def chosen_places(preferences, n_items=600, options=4, seed=3, **columns):
    """Judges that know the right option of a share of the items, and else prefer a place with a weight."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge, (place, weight, known) in preferences.items():
        weights = np.ones(options)
        weights[place - 1] += weight
        right = rng.integers(1, options + 1, n_items)
        free = rng.choice(np.arange(1, options + 1), n_items, p=weights / weights.sum())
        chosen = np.where(rng.random(n_items) < known, right, free)
        rows.append(pd.DataFrame({"judge": judge, "item": range(n_items), "shown_at": chosen, "gold_at": right}))
    return pd.concat(rows, ignore_index=True).assign(n_options=options, **columns)


def test_the_share_of_right_options_and_the_preference_for_the_first_are_on_cards():
    table = chosen_places({"g": (1, 2, 0.5)})
    made = summary(ratings(table))
    right, bias = made.cards
    share = (table["shown_at"] == table["gold_at"]).mean()
    excess = (table["shown_at"] == 1).mean() - (table["gold_at"] == 1).mean()
    assert (right.head, right.claim) == ("Right on gold", f"g, {printed(share, 'share')}")
    assert "best constant place" in right.detail
    assert (bias.kind, bias.head) == ("biased", "Prefers the first option")
    assert bias.claim == f"g, +{100 * excess:.0f} points"
    assert "pairs" not in bias.detail
    assert made.verdict == f"g is right in {printed(share, 'share')}."
    assert "gold labels" in made.line
    assert (made.title, made.against) == ("Can g be trusted?", "gold")
    measured = js.position_bias(ratings(table))
    first = measured[(measured["term"] == "position_bias") & (measured["shown_at"] == 1)].iloc[0]
    cell = next(c for c in made.columns if c.term == "position_bias").cells["g"]
    assert [cell[k] for k in ("estimate", "conf_low", "conf_high")] == [
        first[k] for k in ("estimate", "conf_low", "conf_high")
    ]


def test_without_the_place_of_the_right_option_the_bias_is_against_chance_and_nothing_is_right():
    table = chosen_places({"g": (1, 2, 0.5)}).drop(columns="gold_at")
    made = summary(ratings(table))
    assert kinds(made) == ["biased", "care"]
    assert made.cards[0].claim == f"g, +{100 * (table['shown_at'] == 1).mean() - 25:.0f} points"
    assert "no right answers known" in made.line
    assert made.title == "How g answers"


def test_several_judges_are_compared_and_the_first_is_to_be_asked_in_several_orders():
    table = chosen_places({"g": (1, 20, 0.7), "h": (2, 20, 0.1), "k": (1, 0, 0.3)}, answer="text")
    page = measure_all(ratings(table), PageArguments(n_resamples=50))
    made = page.summary
    assert made.cards[0].claim.startswith("g, ")
    biased = next(c for c in made.cards if c.kind == "biased")
    assert biased.claim == "g prefers the first option by more than 10 points, h another"
    assert "Ask it in several orders: it prefers the first option (+" in made.verdict
    assert contradictions(page) == []


def test_a_preference_for_another_place_is_none_for_the_first():
    biased = [c for c in summary(ratings(chosen_places({"g": (4, 9, 0.5)}))).cards if c.kind == "biased"]
    assert [c.head for c in biased] == ["Position bias"]
    assert biased[0].claim == "None shown to be above 10 points"
    none = summary(ratings(chosen_places({"g": (1, 0, 0.5)})))
    (card,) = [c for c in none.cards if c.kind == "biased"]
    assert card.claim == "No preference for the first option found"


@pytest.mark.parametrize("known", [True, False])
def test_a_page_says_that_no_right_answer_is_known_only_where_none_is(known):
    table = chosen_places({"g": (1, 2, 0.5), "h": (1, 0, 0.5)}, n_items=60)
    table = table if known else table.drop(columns="gold_at")
    for calls in (table, table.assign(n_options=4 + table["item"] % 2)):
        page = as_html(measure_all(ratings(calls), PageArguments(n_resamples=50)))
        assert ("No right answer is known" not in page) == known
        assert ("no right answers known" not in page) == known
        assert ("(gold=)" not in page) == known
