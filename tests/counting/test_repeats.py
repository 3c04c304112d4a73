"""Agreement of single answers where a judge repeats itself, and repeats put together, in memory and in an engine."""

import io
import itertools

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats import tally
from judgestats.counting.repeats import one_answer
from judgestats.errors import SchemaError

COLUMNS = ["judge", "item", "prompt", "first", "second", "replicate", "choice"]


def repeated_calls(rng: np.random.Generator) -> pd.DataFrame:
    """Three judges, 40 items, two orders, one to four repeats, some without a valid verdict."""
    answers = ["first", "second", "tie", "abstain", "invalid"]
    rows = [
        (judge, f"i{item}", f"p{item % 4}", *order, repeat, rng.choice(answers, p=[0.4, 0.3, 0.1, 0.1, 0.1]))
        for judge in "abc"
        for item in range(40)
        for order in (("x", "y"), ("y", "x"))
        for repeat in range(rng.integers(1, 5))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.mark.parametrize("by", [(), ("prompt",)])
def test_an_engine_takes_the_same_modes(by):
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    here = repeated_calls(np.random.default_rng(5))
    one, how, unsettled = one_answer(here, "mode", by)
    want = one.columns.frame([c for c in COLUMNS if c != "replicate"])
    assert unsettled
    in_duckdb = duckdb.from_df(here)
    for there in (in_duckdb, polars.from_pandas(here).lazy()):
        got, how_there, unsettled_there = one_answer(there, "mode", by)
        assert (how_there, unsettled_there) == (how, unsettled)
        made = got.data.collect(backend="pandas").to_native()[[*want]]
        assert sorted(map(tuple, made.to_numpy())) == sorted(map(tuple, want.to_numpy()))
        for cluster in ("auto", False, "prompt") if there is in_duckdb else ("auto",):
            counts = [tally(table, "kappa", by, cluster=cluster) for table in (there, here)]
            pd.testing.assert_frame_equal(*counts, check_dtype=False)
            for measure in (js.kappa, js.ac1, js.scott_pi):
                rows = [measure(table, by=by, cluster=cluster) for table in (there, here)]
                pd.testing.assert_frame_equal(*rows, check_dtype=False)


def test_a_verdict_that_is_none_is_refused_where_it_is_read():
    duckdb = pytest.importorskip("duckdb")
    here = repeated_calls(np.random.default_rng(6))
    here.loc[3, "choice"] = "left"
    for table in (here, duckdb.from_df(here)):
        with pytest.raises(SchemaError, match="left"):
            tally(table, "kappa")


def repeated_scores(seed: int, systems: int = 1, judges: str = "abc") -> pd.DataFrame:
    """Scores of one to three repeats; a fifth of the calls are absent or missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for system, item in itertools.product(range(systems), range(14)):
        quality = rng.integers(1, 5)
        for judge in judges:
            repeats = rng.integers(0, 4)
            noisy = np.where(rng.random(repeats) < 0.5, quality, rng.integers(1, 5, repeats))
            noisy = np.where(rng.random(repeats) < 0.1, np.nan, noisy)
            rows += [(judge, f"s{system}", f"i{item:02d}", r, x) for r, x in enumerate(noisy)]
    return pd.DataFrame(rows, columns=["judge", "system", "item", "replicate", "score"])


def answers_by_unit(table: pd.DataFrame) -> dict[tuple[str, str], dict[str, list[float]]]:
    units: dict[tuple[str, str], dict[str, list[float]]] = {}
    for (judge, system, item), part in table.dropna(subset="score").groupby(["judge", "system", "item"]):
        units.setdefault((system, item), {})[judge] = part["score"].tolist()
    return units


def over_repeats(function, one, two):
    """Mean over all pairs of repeats: each of them weighs 1 / (r_a r_b)."""
    return np.mean([function(x, y) for x in one for y in two])


def differ(x, y):
    return float(x != y)


def alpha_by_pairs(table, level):
    units = [[*u.values()] for u in answers_by_unit(table).values() if len(u) > 1]
    each = [answers for unit in units for answers in unit]
    margin = {x: sum(a.count(x) / len(a) for a in each) for x in sorted({x for a in each for x in a})}
    below = np.cumsum([0.0, *margin.values()])
    rank = {x: b + n / 2 for (x, n), b in zip(margin.items(), below, strict=False)}
    distance = {
        "nominal": differ,
        "ordinal": lambda x, y: (rank[x] - rank[y]) ** 2,
        "interval": lambda x, y: (x - y) ** 2,
        "ratio": lambda x, y: ((x - y) / (x + y)) ** 2,
    }[level]
    n = len(each)
    within = (over_repeats(distance, a, b) / (len(u) - 1) for u in units for a, b in itertools.permutations(u, 2))
    between = (over_repeats(distance, a, b) for a, b in itertools.permutations(each, 2))
    return 1 - sum(within) / n / (sum(between) / (n * (n - 1)))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_counts_all_pairs_of_repeats_between_judges_and_none_within(level):
    for seed in range(4):
        table = repeated_scores(seed, systems=1 + seed % 2)
        row = js.alpha(table, level_of_measurement=level, interval=None).iloc[0]
        assert row["estimate"] == pytest.approx(alpha_by_pairs(table, level), rel=1e-10)
        sets = [a for unit in answers_by_unit(table).values() for a in unit.values()]
        assert f"answers differ in {sum(len({*a}) > 1 for a in sets)} sets of repeats" in row["flag"]
        assert row["method"] == f"{level} level, single answers of repeats"


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_the_jackknife_leaves_out_items_with_all_their_repeats(level):
    table = repeated_scores(5, systems=2)
    items = sorted({item for _, item in answers_by_unit(table)})
    without = np.array([alpha_by_pairs(table[table["item"] != i], level) for i in items])
    value, g = alpha_by_pairs(table, level), len(items)
    error = np.sqrt((g - 1) / g * ((np.arctanh(without) - np.arctanh(without).mean()) ** 2).sum())
    row = js.alpha(table, level_of_measurement=level, cluster="item").iloc[0]
    assert row["std_error"] == pytest.approx((1 - value**2) * error, rel=0.02)


def test_kappa_ac1_and_pi_count_all_pairs_of_repeats():
    for seed in range(3):
        table = repeated_scores(seed, systems=1 + seed % 2)
        units = answers_by_unit(table)
        rows = js.kappa(table).set_index(["judge", "other"])
        linear = js.kappa(table, weights="linear").set_index(["judge", "other"])
        beside = js.kappa(table, reference="c").set_index("judge")
        for one, two in itertools.combinations("abc", 2):
            both = [u for u in units.values() if {one, two} <= {*u}]
            for found, far in ((rows, differ), (linear, lambda x, y: abs(x - y) / 3)):
                within = np.mean([over_repeats(far, u[one], u[two]) for u in both])
                between = np.mean([over_repeats(far, u[one], v[two]) for u in both for v in both])
                assert found.loc[(one, two), "estimate"] == pytest.approx(1 - within / between, rel=1e-12)
                assert found.loc[(one, two), "n"] == len(both)
            if two == "c":
                assert beside.loc[one, "estimate"] == pytest.approx(rows.loc[(one, two), "estimate"], rel=1e-12)
        several = [u for u in units.values() if len(u) > 1]
        pairs = [[over_repeats(differ, a, b) for a, b in itertools.combinations(u.values(), 2)] for u in several]
        agreement = 1 - np.mean([np.mean(p) for p in pairs])
        shares = np.mean([[np.mean([a.count(x) / len(a) for a in u.values()]) for x in (1, 2, 3, 4)]
                          for u in units.values()], axis=0)  # fmt: skip
        for found, chance in (
            (js.ac1(table), (shares * (1 - shares)).sum() / 3),
            (js.kappa(table, pairs="fleiss"), (shares**2).sum()),
        ):
            assert found["estimate"].item() == pytest.approx((agreement - chance) / (1 - chance), rel=1e-12)


def test_pi_counts_all_pairs_of_repeats():
    table = repeated_scores(2, judges="ab").dropna()
    units = [u for u in answers_by_unit(table).values() if len(u) == 2]
    agreement = 1 - np.mean([over_repeats(differ, u["a"], u["b"]) for u in units])
    shares = np.mean(
        [[np.mean([a.count(x) / len(a) for a in u.values()]) for x in (1, 2, 3, 4)] for u in units], axis=0
    )
    chance = (shares**2).sum()
    row = js.scott_pi(table).iloc[0]
    assert row["estimate"] == pytest.approx((agreement - chance) / (1 - chance), rel=1e-12)
    assert np.isnan(row["p_value"])
    assert "clustered by unit" in row["method"]


def test_repeats_that_agree_are_one_answer():
    once = repeated_scores(7).query("replicate == 0")
    again = pd.concat([once.assign(replicate=r) for r in range(3)], ignore_index=True)
    for measure in (js.alpha, js.ac1, js.kappa, js.scott_pi):
        expected, got = measure(once.drop(columns="replicate")), measure(again)
        assert got["method"].str.endswith("single answers of repeats").all()
        numbers = ["estimate", "std_error", "conf_low", "conf_high", "n"]
        pd.testing.assert_frame_equal(got[numbers], expected[numbers])
        assert not got["flag"].str.contains("sets of repeats").any()


def test_small_file_whose_ties_were_dropped():
    text = "judge,item,replicate,answer\n" + "".join(
        f"{judge},{item},{r},{answer}\n"
        for judge, item, answers in (
            *(("g", 1, "yy"), ("h", 1, "yy"), ("g", 2, "nn"), ("h", 2, "nn")),
            *(("g", 3, "yn"), ("h", 3, "nn"), ("g", 4, "n"), ("h", 4, "yn")),
        )
        for r, answer in enumerate(answers)
    )
    table = js.ratings(pd.read_csv(io.StringIO(text)))
    row = js.alpha(table).iloc[0]
    assert (row["estimate"], row["n"]) == (pytest.approx(15 / 29), 4)
    assert "answers differ in 2 sets of repeats" in row["flag"]
    assert js.alpha(table, repeats="majority")["estimate"].item() == 1
    with pytest.raises(Exception, match=r"repeats='mode'.*single.*majority"):
        js.alpha(table, repeats="mode")


@pytest.mark.parametrize("measure", [js.alpha, js.kappa, js.ac1, js.scott_pi])
def test_the_agreement_of_single_answers_is_estimated_without_bias_and_covered(measure):
    """Two judges say yes with the same probability, which differs between items: kappa is its share of the variance."""
    rng = np.random.default_rng(3)
    draws = 1 / (1 + np.exp(-rng.normal(size=10**6)))
    truth = draws.var() / (draws.mean() * (1 - draws.mean()))
    assert truth == pytest.approx(0.17, abs=0.005)
    options = {"n_resamples": 200} if measure is js.alpha else {}
    estimates, covered = [], []
    for _ in range(150):
        yes = 1 / (1 + np.exp(-rng.normal(size=60)))
        rows = [
            (judge, f"i{i:02d}", r, "yes" if rng.random() < p else "no")
            for judge in "gh"
            for i, p in enumerate(yes)
            for r in range(2 + i % 2)
        ]
        row = measure(pd.DataFrame(rows, columns=["judge", "item", "replicate", "answer"]), **options).iloc[0]
        estimates.append(row["estimate"])
        covered.append(row["conf_low"] <= truth <= row["conf_high"])
    assert np.mean(estimates) == pytest.approx(truth, abs=0.015)
    assert 0.89 <= np.mean(covered) <= 0.99
