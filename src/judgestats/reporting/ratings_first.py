"""The first screen of a page of ratings: scores, or answers that are right or wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from judgestats.counting.study import Study
from judgestats.errors import JudgestatsError
from judgestats.metrics.bias.option_positions import option_position_bias
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.correctness.constant_answers import constant_shares
from judgestats.metrics.marks import distance_marks, error_marks, score_marks, spread_marks
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.metrics.scales import scales_apart
from judgestats.metrics.standings import biased, means_of, widened
from judgestats.reporting.card_questions import (
    SMALLEST_PART,
    BiasWords,
    CardQuestion,
    FirstScreen,
    cluster_of_intervals,
    cluster_plural,
    leniency_bias_words,
    option_bias_words,
    people_question,
    rows_by_judge,
)
from judgestats.reporting.estimate_rows import row_of_each
from judgestats.reporting.people_columns import PeopleAgreement
from judgestats.reporting.summary_parts import SummaryColumn
from judgestats.schema.classes import is_answer
from judgestats.schema.coding import yes_or_no
from judgestats.schema.columns import VERDICTS, answer_column


def _right_or_wrong_first_screen(
    calls: Study, sheet: pd.DataFrame, people: PeopleAgreement, conditions: list[str], options: MeasureOptions
) -> FirstScreen:
    """A table of verdicts that are right or wrong, or of classes."""
    questions: dict[str, CardQuestion] = {}
    columns: list[SummaryColumn] = []
    data, against = calls.data.to_native(), ""
    column, places = answer_column(data.columns), _first_of_options(calls, options)
    line = "dashed: best constant answer"
    if right := rows_by_judge(sheet, "accuracy"):
        said, gold = (data[c].astype("string") if column == "answer" else yes_or_no(data[c]) for c in (column, "gold"))
    elif right := rows_by_judge(places, "accuracy"):
        said, gold = _place_of_answer(data), pd.to_numeric(data["gold_at"])
        line = "dashed: best constant place"
    if right:
        against = "gold"
        scored = data.assign(score=(said == gold).astype(float).where(said.notna() & gold.notna()))
        accuracy = SummaryColumn("accuracy", "Accuracy", "share of verdicts that match gold", "share", right, line=line)
        columns.append(accuracy.references_of(constant_shares(data["judge"], gold)))
        cluster = cluster_of_intervals(data, right)
        questions["right"] = CardQuestion(
            "Most often right",
            score_marks(scored, conditions, cluster),
            "share",
            "accuracy",
            cluster_plural(cluster, "items"),
            alone="Right on gold",
        )
    if people.columns:
        columns += people.columns
        if not against:
            against = "people"
            questions["right"] = people_question(data, people, conditions, options)
    if says := rows_by_judge(sheet, "right"):
        note = "share of valid verdicts; no gold says whether they are right"
        columns.append(SummaryColumn("right", "Verdicts “correct”", note, "share", says))
    if not (first := rows_by_judge(places, "position_bias")):
        return FirstScreen(columns, questions, against)
    head, note = "First-option preference", "points, above its share without a preference"
    columns.append(SummaryColumn("position_bias", head, note, "points", first, False, 0.0, "dashed: none"))
    cluster, part = cluster_of_intervals(data, first), data[data["judge"].isin(first)]
    expected = 1 / pd.to_numeric(part["n_options"])
    if "gold_at" in part:
        right_place = pd.to_numeric(part["gold_at"])
        expected = (right_place == 1).astype(float).where(right_place.notna())
    place = _place_of_answer(part)
    excess = (place == 1).astype(float).where(place.notna()) - expected
    bias = biased(
        score_marks(part.assign(excess_=excess), conditions, cluster, "excess_"),
        conf_level=options.conf_level,
        seed=options.seed,
    )
    return FirstScreen(columns, questions, against, bias, option_bias_words(cluster_plural(cluster, "items"), options))


def _first_of_options(calls: Study, options: MeasureOptions) -> pd.DataFrame:
    """Position bias of the first option, of judges with one number of options, and the share of right ones."""
    try:
        rows = option_position_bias(calls.data.to_native(), cluster=options.cluster, conf_level=options.conf_level)
    except JudgestatsError:
        return pd.DataFrame(columns=["judge", "term", "estimate"])
    one = rows.groupby("judge")["n_options"].transform("nunique") == 1
    return rows[one & (rows["shown_at"].fillna(1) == 1)].drop(columns=["n_options", "shown_at"])


def _place_of_answer(data: pd.DataFrame) -> pd.Series[float]:
    """The place of the chosen option, none where there is no answer."""
    return pd.to_numeric(data["shown_at"]).where(is_answer(data[answer_column(data.columns)]))


def ratings_first_screen(
    calls: Study, sheet: pd.DataFrame, people: PeopleAgreement, conditions: list[str], options: MeasureOptions
) -> FirstScreen:
    """Columns, questions and bias of ratings."""
    data = calls.data.to_native()
    value = answer_column(data.columns)
    if value in VERDICTS:
        return _right_or_wrong_first_screen(calls, sheet, people, conditions, options)
    if pair := scales_apart(data[value], data["judge"]):
        return FirstScreen(
            [], {}, apart=f"there is {pair[0]}, and {pair[1]}; name the scale in a column, one page for each"
        )
    if not (means_of_scores := rows_by_judge(sheet, "mean_score")):
        return FirstScreen([], {})  # no score, or a column that nobody named splits them
    questions: dict[str, CardQuestion] = {}
    columns: list[SummaryColumn] = []
    against = ""
    cluster = clustered_by(calls, ["judge", *conditions], options.cluster, whole="item").column
    units = cluster_plural(cluster, "items")
    for source, name, marks in _distances_from_references(calls, people, conditions, cluster, value, options):
        bounds = (0.0, _width(None, options))
        means = means_of(marks, lower_is_better=True, bounds=bounds, conf_level=options.conf_level, cluster=cluster)
        gold = pd.to_numeric(data["gold"], errors="coerce") if source == "gold" else _middle(data, value, options)
        off = gold.groupby(data["judge"].astype(str)).agg(lambda right: (right - right.median()).abs().mean())
        head, note = f"Distance from {name}", "mean distance of a score on its scale; lower is better"
        line = f"dashed: always the median of {'gold' if source == 'gold' else 'the means of people'}"
        distance = SummaryColumn("distance", head, note, "score", row_of_each(means, ()), True, line=line)
        columns.append(distance.references_of(off.to_dict()))
        if not against:
            against = source
            questions["right"] = CardQuestion(
                f"Closest to {name}",
                marks,
                "score",
                "distance",
                units,
                True,
                "closer than",
                f"Distance from {name}",
            )
    spread = spread_marks(data, conditions, cluster, value)
    if not spread.empty and (runs := rows_by_judge(sheet, "run_sd")):
        columns.append(
            SummaryColumn("run_sd", "Spread when asked again", "standard deviation over repeats", "score", runs, True)
        )
        questions["steady"] = CardQuestion(
            "Steadiest when asked again",
            spread,
            "score",
            "run_sd",
            units,
            True,
            "in variance below",
            "Spread when asked again",
        )
    leniency, bias, words = _leniency(calls, sheet, against, conditions, cluster, value, options)
    columns += leniency
    columns.append(
        SummaryColumn("mean_score", "Mean score", "over systems, of means over their items", "score", means_of_scores)
    )
    return FirstScreen(_on_scale(columns, data[value], options), questions, against, bias, words)


def _on_scale(columns: list[SummaryColumn], scores: pd.Series[float], options: MeasureOptions) -> list[SummaryColumn]:
    """Columns with what their numbers can be: scores and their differences, of the declared scale or of those seen."""
    low, high = options.scale or (float(scores.min()), float(scores.max()))
    width = high - low
    if not 0 < width < math.inf:
        return columns
    of = {"mean_score": (low, high), "distance": (0.0, width), "leniency": (-width, width)}
    return [replace(c, scale=of.get(c.term)) for c in columns]


def _leniency(
    calls: Study,
    sheet: pd.DataFrame,
    against: str,
    conditions: list[str],
    cluster: str,
    value: str,
    options: MeasureOptions,
) -> tuple[list[SummaryColumn], pd.DataFrame | None, BiasWords]:
    """How far judges score above gold, else above people, else above each other: the column, the biases, the words."""
    data, units = calls.data.to_native(), cluster_plural(cluster, "items")
    most = _width(None, options)
    smallest = options.smallest if options.smallest is not None else SMALLEST_PART * _width(data[value], options)
    rows, bias = rows_by_judge(sheet, "mean_others"), None
    if against == "gold":
        marks = error_marks(calls, conditions, cluster, value, signed=True)
        means = means_of(marks, bounds=(-most, most), conf_level=options.conf_level, cluster=cluster)
        rows = row_of_each(means, ())
        bias = _between(biased(marks, conf_level=options.conf_level, seed=options.seed), most)
        other, none, note = "gold", "None shown to differ in leniency from gold", "mean of score minus gold"
    elif options.people is not None:
        other, none, note = "people", "None shown to differ in leniency from people", "mean deviation from people"
    else:
        none, note = "None shown to differ in leniency from the others", "mean deviation from the other judges"
        other = "its peers"
    if bias is None and rows:
        of_sheet = pd.DataFrame([{**r, "judge": j} for j, r in rows.items()])
        of_sheet = of_sheet[of_sheet["judge"].isin(data["judge"].unique())]
        bias = _between(widened(of_sheet, data["item"].nunique(), options.conf_level), most)
    method = "largest |t| over shared items" if against == "gold" else "Bonferroni"
    if rows:
        rows = row_of_each(_between(pd.DataFrame(rows.values()).assign(judge=[*rows]), most), ())
    column = SummaryColumn("leniency", "Leniency", note, "score", rows, False, 0.0, "dashed: none")
    return [column] if rows else [], bias, leniency_bias_words(other, none, method, units, smallest)


def _between(rows: pd.DataFrame, most: float) -> pd.DataFrame:
    """Estimates with intervals that no scale of that width exceeds."""
    return rows.assign(**{end: rows[end].clip(-most, most) for end in ("conf_low", "conf_high")})


def _middle(data: pd.DataFrame, value: str, options: MeasureOptions) -> pd.Series[float]:
    """The people's mean score of what each row is of."""
    assert options.people is not None
    keys = [c for c in ("item", "system", "criterion") if c in data and c in options.people]
    scores = options.people.assign(score_=pd.to_numeric(options.people[value], errors="coerce").astype(float))
    middle = scores.groupby(keys, dropna=False, as_index=False)["score_"].mean()
    return data[keys].merge(middle, on=keys, how="left")["score_"].set_axis(data.index)


def _width(scores: pd.Series[float] | None, options: MeasureOptions) -> float:
    """Width of the declared scale, else of the scores that occur; infinite without either."""
    low, high = options.scale or ((0.0, math.inf) if scores is None else (float(scores.min()), float(scores.max())))
    return high - low


def _distances_from_references(
    calls: Study, people: PeopleAgreement, conditions: list[str], cluster: str, value: str, options: MeasureOptions
) -> Iterable[tuple[str, str, pd.DataFrame]]:
    """What scores are compared with, its name, and the distance of each score from it."""
    if "gold" in calls.names and len(marks := error_marks(calls, conditions, cluster, value)):
        yield "gold", "gold", marks
    if options.people is not None and people.columns:
        try:
            marks = distance_marks(calls.data.to_native(), options.people, conditions, cluster)
        except JudgestatsError:
            return
        if len(marks):
            yield "people", "the people's mean", marks
