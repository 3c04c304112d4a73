"""Tables with hardly any disagreement: every measure gives an interval about its estimate, or the reason for none."""

import numpy as np
import pandas as pd
import pytest

import registry
from judgestats.errors import JudgestatsError

#: Numbers of judges are whole: their interval may be one number.
WHOLE = (
    "judges_for_generalizability",
    "judges_for_dependability",
    "runs_for_generalizability",
    "runs_for_dependability",
)
#: What says nothing about which answer is due.
BESIDE = {"judge", "replicate", "n_identical", "gold", "confidence"}


def answer(table):
    return "choice" if "choice" in table else "score"


def first_judge(table):
    return table["judge"].astype(str) == min(table["judge"].astype(str))


def constant_judge(table):
    own = answer(table)
    return table.assign(**{own: table[own].where(~first_judge(table), table[own].mode().iloc[0])})


def agreed(table):
    own = answer(table)
    keys = [c for c in table if c not in BESIDE | {own}]
    return table.assign(**{own: table.groupby(keys, dropna=False)[own].transform("first")})


def one_disagreement(table):
    own, result = answer(table), agreed(table).reset_index(drop=True)
    place = len(result) // 2
    others = [x for x in sorted(result[own].dropna().unique().tolist()) if x != result.loc[place, own]]
    result.loc[place, own] = others[0]
    return result


def one_item(table):
    return table[table["item"] == table["item"].iloc[0]].reset_index(drop=True)


def one_answer(table):
    own = answer(table)
    return table.assign(**{own: table[own].mode().iloc[0]})


def no_common_category(table):
    one = first_judge(table)
    if answer(table) == "choice":
        return table.assign(choice=np.where(one, "first", "second"))
    return table.assign(score=2 * (table["score"] // 2) + one)


CASES = registry.registry()
TABLES = (constant_judge, agreed, one_disagreement, one_item, one_answer, no_common_category)


def fits(data):
    return isinstance(data, pd.DataFrame) and {"judge", "item"} <= set(data) and {"choice", "score"} & set(data)


MEASURES = [name for name, case in CASES.items() if fits(case.data())]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", MEASURES)
def test_estimates_lie_in_their_intervals_and_what_is_missing_has_a_reason(name):
    data = CASES[name].data()
    usual = CASES[name].call(data)
    bounded = usual["term"][usual["conf_low"].notna()] if "conf_low" in usual else ()
    results = 0
    for degenerate in TABLES:
        try:
            table = CASES[name].call(degenerate(data))
        except JudgestatsError:
            continue
        results += 1
        about = f"{name} of {degenerate.__name__}:\n"
        low, high, estimate = (
            table.get(c, pd.Series(np.nan, table.index)) for c in ("conf_low", "conf_high", "estimate")
        )
        rounding = 1e-9 * estimate.abs().clip(lower=1)
        outside = (estimate < low - rounding) | (estimate > high + rounding)
        assert not outside.any(), about + table[outside].to_string()
        assert (low.isna() == high.isna()).all(), about + table[low.isna() != high.isna()].to_string()
        narrow = (high - low < 1e-9) & ~table["term"].isin(WHOLE)
        assert not narrow.any(), about + table[narrow].to_string()
        unknown = (estimate.isna() | (low.isna() & table["term"].isin(bounded))) & (table["flag"] == "")
        assert not unknown.any(), about + table[unknown].to_string()
    assert results
