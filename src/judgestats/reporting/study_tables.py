"""The main tables of a study, in the shape of its paper's: :func:`study_estimates`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from math import isnan

import pandas as pd

from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.design.plans import by_people
from judgestats.design.studies import of_kind, study_of, study_verdicts
from judgestats.errors import DesignError, JudgestatsError, confidence
from judgestats.flags import NO_DATA, RIGHT_CENSORED, flags_of, has
from judgestats.metrics.agreement.disagreements import disagreement
from judgestats.metrics.agreement.levels_of_agreement import agreement_levels
from judgestats.metrics.agreement.shifts import agreement_shift
from judgestats.metrics.bias.bias_scores import bias_score
from judgestats.metrics.bias.human_preferences import preference_gap
from judgestats.metrics.bias.strategy_comparisons import compare_strategies
from judgestats.metrics.bias.verbosity import verbosity_bias
from judgestats.metrics.consensus.anonymity import blinding_effect
from judgestats.metrics.consensus.deviations import consensus_deviation
from judgestats.metrics.correctness.verdict_accuracy import gold_agreement
from judgestats.metrics.datasheets.datasheet_sections import datasheet
from judgestats.metrics.invariance.cue_anchoring import anchoring
from judgestats.metrics.invariance.revisions import revision
from judgestats.metrics.psychometrics.operating_point import criterion_shift
from judgestats.reporting.estimate_rows import step
from judgestats.reporting.formatting import NONE, interval, number, p_value, spaced, with_interval
from judgestats.reporting.sheets import reasons
from judgestats.reporting.summary_parts import listed
from judgestats.results import COLUMNS
from judgestats.typing import Record

#: Computes the estimates of some columns of a table.
Measure = Callable[[], pd.DataFrame]
_P_VALUES = ("p_value", "p_adjusted")
#: Why a row has nothing in a column.
_NOT_ASKED = "the design has none"


@dataclass(frozen=True)
class Settings:
    """How the tables are estimated."""

    conf_level: float = CONF_LEVEL
    seed: int = SEED
    n_resamples: int = N_RESAMPLES

    @property
    def drawn(self) -> Record:
        """Arguments of a measure that resamples."""
        return {"conf_level": self.conf_level, "seed": self.seed, "n_resamples": self.n_resamples}


@dataclass(frozen=True)
class StudyTable:
    """A table: what its rows are named by, tidy estimates each with its ``column``, and why columns are `absent`."""

    title: str
    about: str
    labels: tuple[str, ...]
    rows: pd.DataFrame
    absent: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, title: str, about: str, labels: Sequence[str], *parts: tuple[Measure, Mapping[str, str]]) -> StudyTable:
        """The table of several measures; of each, the terms that stand in a column."""
        rows: list[pd.DataFrame] = []
        absent: dict[str, str] = {}
        for measure, columns in parts:
            try:
                result = measure()
            except JudgestatsError as problem:
                absent |= dict.fromkeys(columns.values(), str(problem))
                continue
            chosen = result[result["term"].isin(columns)]
            place = chosen["column"] if "column" in chosen else chosen["term"].map(columns)
            rows.append(chosen.assign(column=place)[[*(c for c in labels if c in chosen), "column", *COLUMNS]])
        table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=["column", *COLUMNS])
        return cls(title, about, tuple(c for c in labels if c in table), table, absent)

    def wide(self, bounds: tuple[float | None, float | None] = (None, None)) -> tuple[list[str], list[list[str]]]:
        """Heads and rows as they are printed; `bounds`: first and last step of a ladder."""
        heads = [c.replace("_", " ") for c in self.labels] + self._columns
        if not self.rows["estimate"].notna().any():
            return heads, []
        rows = self._cells.items()
        return heads, [[*k, *(_cell(r[c], bounds) if c in r else NONE for c in self._columns)] for k, r in rows]

    @cached_property
    def _columns(self) -> list[str]:
        return list(dict.fromkeys(self.rows["column"]))

    @cached_property
    def _cells(self) -> dict[tuple[str, ...], dict[str, Record]]:
        """The estimate in each column of each row, which is named by its labels."""
        names = self.rows[list(self.labels)].astype(object).where(self.rows[list(self.labels)].notna(), "")
        names = names.map(lambda name: f"{name:g}" if isinstance(name, float) else name)
        keys = zip(*(names[c].astype(str) for c in self.labels), strict=True)
        cells: dict[tuple[str, ...], dict[str, Record]] = {}
        for key, row in zip(keys, self.rows.to_dict("records"), strict=True):
            cells.setdefault(key, {}).setdefault(row["column"], row)
        return cells

    def no_numbers(self) -> dict[tuple[int, int], str]:
        """Why a cell, by the number of its row and column, has no number."""
        return {
            (i, len(self.labels) + j): reasons([row[c]["flag"]]) or NO_DATA if c in row else _NOT_ASKED
            for i, row in enumerate(self._cells.values())
            for j, c in enumerate(self._columns)
            if c not in row or (isnan(row[c]["estimate"]) and not has(row[c]["flag"], RIGHT_CENSORED))
        }

    def without_numbers(self) -> list[str]:
        """A line for each reason for which cells have no number, with their columns and rows."""
        rows = [" · ".join(filter(None, key)) for key in self._cells]
        of: dict[str, dict[str, list[str]]] = {}
        for (i, j), why in self.no_numbers().items():
            of.setdefault(why, {}).setdefault(self._columns[j - len(self.labels)], []).append(rows[i])
        where = {why: "; ".join(f"{c}: {listed(which)}" for c, which in parts.items()) for why, parts in of.items()}
        return [spaced(f"No number ({why}): {place}.") for why, place in where.items()]

    def cautions(self) -> dict[str, str]:
        """Each flag of the table, with the columns and the rows that it is of."""
        labels = self.rows[list(self.labels)].astype(object)
        row_names = [" · ".join(str(x) for x in row if pd.notna(x) and x != "") for row in labels.to_numpy()]
        of: dict[str, dict[str, list[str]]] = {}
        for row, column, cell in zip(row_names, self.rows["column"], self.rows["flag"], strict=True):
            for flag in ["", *flags_of(cell)]:
                of.setdefault(flag, {}).setdefault(column, []).append(row)
        every = of.pop("", {})

        def place(column: str, rows: list[str]) -> str:
            where = "all rows" if len(rows) > 1 and rows == every[column] else ", ".join(filter(None, rows))
            return f"{column}: {where}" if where else column

        return {flag: "; ".join(place(*part) for part in columns.items()) for flag, columns in of.items()}


def _cell(row: Record, bounds: tuple[float | None, float | None]) -> str:
    """An estimate with its interval, or a p-value, as it is printed."""
    if row["term"] in _P_VALUES:
        return p_value(row["estimate"])
    value, ends = with_interval(row, first=bounds[0], last=bounds[1])
    if row["column"].endswith(", %"):
        value, ends = number(row["estimate"], 0), interval(row["conf_low"], row["conf_high"], decimals=0)
    return value if ends == NONE else f"{value} {ends}"


def _as_column(result: pd.DataFrame, *names: str) -> pd.DataFrame:
    """The p-values of a result as estimates of their own."""
    bare = result.assign(std_error=pd.NA, conf_low=float("nan"), conf_high=float("nan"))
    return pd.concat([result, *(bare.assign(term=name, estimate=result[name]) for name in names)], ignore_index=True)


def _datasheets(calls: pd.DataFrame, settings: Settings) -> Iterator[StudyTable]:
    terms = {
        "valid": "valid",
        "dark_current": "dark current",
        "raw_false_preference": "RFP₀",
        "stable_cross_sensitivity": "SCS",
        "positional_false_preference": "PFP",
        "one_sided_commit": "OSC",
        "target_sensitivity": "correct",
        "detection_threshold": "threshold",
    }
    sections = ("validity", "dark current", "Δ0", "ladder", "threshold")

    def main() -> pd.DataFrame:
        sheet = datasheet(calls, **settings.drawn)
        rows = sheet[sheet["section"].isin(sections) & sheet["term"].isin(terms)]
        rows = rows[(rows["term"] != "dark_current") | rows["detail"].isin(["", "all"])]
        delta = step(rows)
        column = rows["term"].map(terms)
        return rows.assign(column=column.where(delta.isna(), column + " Δ = " + delta.map("{:g}".format)))

    about = "Preferences where there is none to have, what they are made of, and known differences that are found."
    yield StudyTable.of("The datasheet", about, ("judge", "prompt"), (main, terms))
    prompts = [str(p) for p in calls["prompt"].unique()] if "prompt" in calls else []
    strict = [p for p in prompts if p.endswith("_strict") and p.removesuffix("_strict") in prompts]
    for prompt in strict:
        shift = partial(criterion_shift, calls, prompt.removesuffix("_strict"), prompt, conf_level=settings.conf_level)
        yield StudyTable.of(
            "The strict prompt",
            f"How much more often {prompt} gives a tie than the prompt that is not strict, on the same pairs.",
            ("judge", "stimulus", "delta"),
            (shift, {"criterion_shift": "criterion shift"}),
        )


def _debiasing(verdicts: pd.DataFrame, settings: Settings) -> Iterator[StudyTable]:
    for controlled, tables in ((False, _strategies), (True, _biases)):
        if len(part := of_kind(verdicts, controlled)):
            yield from tables(part, settings)


def _strategies(verdicts: pd.DataFrame, settings: Settings) -> Iterator[StudyTable]:
    level = settings.conf_level

    def differences() -> pd.DataFrame:
        return _as_column(compare_strategies(verdicts, baseline="B0", conf_level=level), "p_value", "p_adjusted")

    yield StudyTable.of(
        "Accuracy by strategy",
        "Share of verdicts that match gold, by the rule of each strategy, and of all that call a tie where gold does "
        "not; the difference of the first from B0 on the same pairs.",
        ("judge", "strategy"),
        (
            lambda: gold_agreement(verdicts, by="strategy", conf_level=level),
            {"accuracy": "accuracy", "kappa": "kappa", "tie": "wrong ties"},
        ),
        (differences, {"difference": "minus B0", "p_value": "p, McNemar", "p_adjusted": "p, Holm"}),
    )


def _biases(everybody: pd.DataFrame, settings: Settings) -> Iterator[StudyTable]:
    people, verdicts = (everybody[by_people(everybody) == x] for x in (True, False))
    ordered = verdicts["order_known"].astype(bool) if "order_known" in verdicts else pd.Series(True, verdicts.index)
    options: Record = {"by": "strategy", **settings.drawn}

    def of(bias: str, part: pd.DataFrame = verdicts) -> pd.DataFrame:
        rows = part[part["bias"] == bias]
        if not len(rows):
            raise DesignError(f"No pair tests {bias}.")
        return rows

    def style() -> pd.DataFrame:
        """Averaged over both positions of the formatted answer where mirrored pairs were shown in one order."""
        parts = []
        for in_order, rows in of("style").groupby(ordered, sort=True):
            mirrored = rows.get("bias_type", pd.Series(dtype=object)).nunique() > 1
            average: Record = {"average": "position"} if in_order and mirrored else {}
            parts.append(bias_score(rows, **average, **options))
        return pd.concat(parts, ignore_index=True)

    def own() -> pd.DataFrame:
        rows = of("model_origin")
        families = {str(f) for c in ("family_first", "family_second") if c in rows for f in rows[c].dropna()}
        if not (judges := {j: j for j in rows["judge"].unique() if j in families}):
            raise DesignError(f"No judge has the name of a family ({', '.join(sorted(families))}).")
        return bias_score(rows[rows["judge"].isin(judges)], family=judges, **options)

    length: Record = {"by": "strategy", "conf_level": settings.conf_level}
    yield StudyTable.of(
        "Bias by strategy",
        "Signed preferences between −1 and 1, each from the pairs made for it; position from identical texts.",
        ("judge", "strategy"),
        (lambda: bias_score(of("position", verdicts[ordered]), target="first", **options), {"bias": "position"}),
        (
            lambda: verbosity_bias(verdicts, **length),
            {"expansion_bias": "verbosity", "truncation_accuracy": "truncation right"},
        ),
        (style, {"bias": "style"}),
        (own, {"bias": "own model"}),
    )
    if len(people):
        yield StudyTable.of(
            "Preference beyond that of people",
            f"Share of verdicts for the formatted answer, and that minus the share of {people['judge'].nunique()} "
            "people on the same pairs.",
            ("judge", "strategy"),
            (partial(_beyond_people, verdicts, people, settings), {"rate": "formatted", "gap": "beyond people"}),
        )


def _beyond_people(verdicts: pd.DataFrame, people: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Rates and gaps of judges under each strategy; people have no strategy."""
    parts = []
    for name, rows in verdicts[verdicts["bias"].isin(people["bias"])].groupby("strategy"):
        both = pd.concat([rows, people], ignore_index=True)
        gap = preference_gap(both, humans="rater_type=human", conf_level=settings.conf_level)
        parts.append(gap.assign(strategy=gap["role"].map({"judge": name}), judge=gap["judge"].fillna("people")))
    return pd.concat(parts, ignore_index=True).drop_duplicates(["strategy", "judge", "term"])


def _levels(scores: pd.DataFrame, settings: Settings) -> Iterator[StudyTable]:
    variants = list(dict.fromkeys(scores["condition"]))
    base = "baseline-score" if "baseline-score" in variants else variants[0]

    def shifts() -> pd.DataFrame:
        if len(variants) < 2:
            raise DesignError("There is one variant alone.")
        pairs = [(base, v) for v in variants if v != base]
        parts = [agreement_shift(scores, p, **settings.drawn).assign(condition=p[1]) for p in pairs]
        return pd.concat(parts, ignore_index=True)

    by: Record = {"by": "condition", **settings.drawn}
    yield StudyTable.of(
        "Agreement at three levels by variant",
        "Of systems by their mean scores, of single responses, and of single judges with each other.",
        ("condition",),
        (
            lambda: agreement_levels(scores, **by),
            {"rho_system": "ρ of systems", "r_sample": "r of samples", "icc": "ICC(2,1)"},
        ),
        (shifts, {"shift": f"r minus {base}"}),
        (
            lambda: disagreement(scores, by="condition", conf_level=settings.conf_level),
            {"sd_of_means": "sd of judges' means"},
        ),
    )


def _deviations(ratings: pd.DataFrame, settings: Settings) -> Iterator[StudyTable]:
    human = by_people(ratings)
    judges, people = ratings[~human].drop(columns="rater_type", errors="ignore"), ratings[human]
    arms = [a for a in ("attributed", "anonymized", "style-transferred") if a in set(judges["condition"])]
    level = settings.conf_level

    def of_arms(**options: pd.DataFrame) -> pd.DataFrame:
        parts = []
        for arm in arms:
            rows = judges[judges["condition"] == arm].drop(columns=["condition", "alias"], errors="ignore")
            parts.append(consensus_deviation(rows, conf_level=level, **options).assign(column=arm))
        return pd.concat(parts, ignore_index=True)

    of_peers = cache(of_arms)

    def one_term(term: str, column: str) -> pd.DataFrame:
        rows = of_peers()[of_peers()["term"] == term]
        return rows.assign(column=rows["column"] + column)

    def attenuations() -> pd.DataFrame:
        result = blinding_effect(judges, conf_level=level)
        term = result["term"].replace("mean_attenuation", "attenuation")
        return result.assign(judge=result["judge"].replace("", "mean"), system=result["judge"], term=term)

    yield StudyTable.of(
        "Deviation from the other judges, with and without names",
        "Score minus the mean of the other judges; attenuation: percent by which that on the own system shrinks.",
        ("judge", "system"),
        (of_peers, {"deviation": "deviation"}),
        (attenuations, {"attenuation": "attenuation, %"}),
    )
    yield StudyTable.of(
        "Severity and self-preference",
        "Mean deviation on the systems of others, and on the own system beyond that.",
        ("judge",),
        (partial(one_term, "mean_others", ", others"), {"mean_others": "others"}),
        (partial(one_term, "self_excess", ", own beyond others"), {"self_excess": "own"}),
    )
    if len(people):
        panel = people.drop(columns=["condition", "alias", "rater_type", "replicate"], errors="ignore")
        yield StudyTable.of(
            "Deviation from people",
            f"Score minus the mean of {people['judge'].nunique()} people.",
            ("judge", "system"),
            (partial(of_arms, reference=panel), {"deviation": "deviation"}),
        )


def _cues(calls: pd.DataFrame, settings: Settings) -> Iterator[StudyTable]:
    anchored = cache(partial(anchoring, calls, **settings.drawn))
    yield StudyTable.of(
        "Verdict shifts and anchoring",
        "Change of the share of verdicts for the candidate that the cue favours, against no label.",
        ("judge", "scheme", "probe"),
        (anchored, {"shift_favoured": "shift", "lds": "LDS", "ols": "OLS", "ts": "TS", "lao": "LAO"}),
    )
    yield StudyTable.of(
        "Revision after the labels are put right",
        "Share of verdicts that change, and towards the candidate that gains.",
        ("judge", "scheme"),
        (partial(revision, calls, **settings.drawn), {"revision": "revised", "towards": "towards", "away": "away"}),
    )
    yield StudyTable.of(
        "Without labels",
        "Share of ties, and how far verdicts are from even.",
        ("judge", "scheme"),
        (anchored, {"equality_detection": "EDR", "neutrality_deviation": "neutrality deviation"}),
    )


#: Study -> its tables, the main one first.
TABLES: Mapping[str, Callable[[pd.DataFrame, Settings], Iterator[StudyTable]]] = {
    "dark-current": _datasheets,
    "rubric": _deviations,
    "debiasing": _debiasing,
    "merg": _levels,
    "cues": _cues,
}


def study_tables(verdicts: pd.DataFrame, settings: Settings) -> list[StudyTable]:
    """The tables of the study that verdicts are of."""
    return [t for t in TABLES[study_of(verdicts)](verdicts, settings) if len(t.rows) or t.absent]


def study_estimates(
    calls: pd.DataFrame, *, conf_level: float = CONF_LEVEL, seed: int = SEED, n_resamples: int = N_RESAMPLES
) -> pd.DataFrame:
    """Estimate the main tables of a study, as its page shows them.

    Parameters
    ----------
    calls : pandas.DataFrame
        What :func:`judgestats.design.collect` returned for the plan of a study, or
        :func:`judgestats.design.study_verdicts` made of it.
    conf_level : float
        Coverage of the intervals.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.

    Returns
    -------
    pandas.DataFrame
        ``table`` and ``column``, where each estimate stands; the columns that name its row (``judge``, ``strategy``,
        ``system``, ``condition``, ``scheme``, ``probe``, ...); and the columns of every estimate. A p-value is an
        estimate with the term ``p_value`` or ``p_adjusted``. A column that these calls do not support is one row whose
        ``flag`` says why.

    Raises
    ------
    DesignError
        If the calls are of no study.

    See Also
    --------
    judgestats.design.study : The plan.
    report : The page.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "2"], "first": "u", "second": "v", "gold": "u",
    ...                       "strategy": "B0", "choice": ["first", "tie"]})
    >>> study_estimates(calls).query("column == 'accuracy'")[["judge", "strategy", "estimate", "n"]]
      judge strategy  estimate    n
    0     g       B0       0.5  2.0
    """
    confidence(conf_level)
    if not study_of(calls):
        raise DesignError(f"These calls are of no study: {', '.join(TABLES)}. design.study() plans one.")
    return in_one(study_tables(study_verdicts(calls), Settings(conf_level, seed, n_resamples)))


def in_one(tables: Iterable[StudyTable]) -> pd.DataFrame:
    """The estimates of several tables, and why a column has none."""
    parts = []
    for table in tables:
        reasons = pd.DataFrame({"column": list(table.absent), "flag": list(table.absent.values())})
        parts.append(pd.concat([table.rows, reasons], ignore_index=True).assign(table=table.title))
    result = pd.concat(parts, ignore_index=True)
    labels = [c for c in result if c not in (*COLUMNS, "column", "table")]
    return result[["table", *labels, "column", *COLUMNS]]
