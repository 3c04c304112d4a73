"""Studies by name: all arms and variants as one plan (:func:`study`), and the verdicts by their rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.design.controlled_calls import controlled as controlled_calls
from judgestats.design.controlled_calls import drawn_pairs, forms, written_pairs
from judgestats.design.cue_probes import cues
from judgestats.design.level_explanations import LEVELS, explanations
from judgestats.design.pair_files import read_controlled
from judgestats.design.plans import WITHOUT_RUBRIC, Plan, by_people, opened_table
from judgestats.design.psychometric import dark_current, ladder, vacuum
from judgestats.design.ranked_responses import rankings
from judgestats.design.rubrics import ARMS, Rubric, rubric
from judgestats.design.strategy_calls import OF_THE_CALL, SINGLE, strategies, strategy_verdicts
from judgestats.design.written_rubrics import VARIANTS, merg
from judgestats.errors import DesignError, refuse_unknown
from judgestats.typing import Record
from judgestats.verdicts import composite

Table: TypeAlias = pd.DataFrame | str | Path


@dataclass(frozen=True)
class Recipe:
    """How a study is planned: its function, the argument with its table, other options, those `instead` of a table."""

    plan: Callable[..., Plan]
    table: str = ""
    takes: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


def _ratings(
    judges: str | Sequence[str],
    responses: Table,
    *,
    arms: Sequence[str] = ARMS[:2],
    runs: int = 10,
    annotators: Sequence[str] = (),
    **options: object,
) -> Plan:
    """The arms of the judges; people see each text once, under its alias."""
    responses = opened_table(responses)
    rated: Callable[..., Plan] = rubric
    plan = rated(judges, responses, arms=arms, replicates=runs, **options)
    if not annotators:
        return plan
    _refuse_judges(annotators, plan.calls["judge"])
    people = rated(annotators, responses, arms=("anonymized",), replicates=1, **options)
    sides = (plan, "model"), (people, "human")
    return reduce(add, (replace(p, calls=p.calls.assign(rater_type=who)) for p, who in sides))


def _refuse_judges(annotators: Sequence[str], judges: Iterable[str]) -> None:
    if both := {*annotators} & {*judges}:
        raise DesignError(f"{min(both)!r} is among the judges and among annotators=. Give people names of their own.")


def _variants(
    judges: str | Sequence[str],
    responses: Table,
    *,
    variants: Sequence[str] = ("baseline-score", "original-4-stage"),
    rubric_judge: str | None = None,
    rubrics: str | Path | Rubric | pd.DataFrame | None = None,
    temperature: float | Sequence[float] = 0.0,
) -> Plan:
    """The variants of MERG; `rubrics` are of the universal one, or of the baseline, without items that lack one."""
    for variant in variants:
        refuse_unknown(variant, VARIANTS, f"variant {variant!r} is not known")
    scored = next((v for v in ("universal-rubric", "baseline-score") if v in variants), variants[0])
    of_variant: dict[str, Record] = {} if rubric_judge is None else {"shared-stages": {"rubric_judge": rubric_judge}}
    of_variant |= {scored: {"rubrics": rubrics}} if rubrics is not None else {}
    if rubric_judge is not None and "shared-stages" not in variants:
        raise DesignError("rubric_judge= is of the variant 'shared-stages', which is not planned. Leave it out.")
    responses = opened_table(responses)
    table = dict.fromkeys(variants, responses)
    without: list[object] = []
    if isinstance(rubrics, str | Path) and Path(rubrics).suffix not in ("", ".toml"):
        rubrics = opened_table(rubrics)
    if isinstance(rubrics, pd.DataFrame):
        written = rubrics
        failed = written["fault"].notna() & (written["fault"] != "") if "fault" in written else written["item"].isna()
        rated = responses["item"].isin(written.loc[~failed, "item"])
        without = responses.loc[~rated, "item"].unique().tolist()
        table[scored], of_variant[scored] = responses[rated], {"rubrics": written[~failed]}
    plans = (merg(judges, table[v], variant=v, temperature=temperature, **of_variant.get(v, {})) for v in variants)
    plan = reduce(add, plans)
    return replace(plan, about={**plan.about, WITHOUT_RUBRIC: without}) if without else plan


def _debiasing(
    judges: str | Sequence[str],
    pairs: Table | None = None,
    *,
    controlled: Table | None = None,
    writer: str | None = None,
    models: Sequence[str] = (),
    annotators: Sequence[str] = (),
    sample: int | None = None,
    seed: int | None = None,
    **options: object,
) -> Plan:
    """Strategies on pairs with gold, and on controlled pairs, written or not yet; people see style pairs of these."""
    if models and writer is None:
        raise DesignError("models= is of controlled pairs that are written. Give writer=, too, who writes the others.")
    if sample is not None and pairs is None:
        raise DesignError(
            "sample= draws from pairs=, which is not given. Controlled pairs are all asked. Leave it out."
        )
    if annotators and controlled is None and writer is None:
        raise DesignError("annotators= see style pairs: those of controlled=, or those of writer=. Give one of them.")
    natural: Callable[..., Plan] = strategies
    compared: Callable[..., Plan] = controlled_calls
    plans = [] if pairs is None else [_sampled(natural(judges, pairs, **options), sample, seed)]
    options.setdefault("strategies", SINGLE)
    if controlled is not None:
        controlled = read_controlled(controlled) if isinstance(controlled, str | Path) else controlled
        plans.append(compared(judges, controlled, **options))
    if writer is not None:
        plans.append(written_pairs(judges, writer, models, annotators, options))
    elif controlled is not None and annotators:
        plans += forms(controlled, drawn_pairs(annotators, controlled))
    plan = reduce(add, plans)
    names = [judges] if isinstance(judges, str) else judges
    _refuse_judges(annotators, [*names, *plan.calls.loc[~by_people(plan.calls), "judge"]])
    return plan


def _sampled(plan: Plan, sample: int | None, seed: int | None) -> Plan:
    """Some items of a plan, drawn; spread over the languages and domains that it has."""
    if sample is None:
        return plan
    strata = [c for c in ("language", "domain") if c in plan.calls]
    return plan.sample(sample, stratify=strata, seed=(seed or 0) if strata else np.random.default_rng(seed or 0))


def _texts(
    judges: str | Sequence[str], categories: Table, *, levels: Sequence[str] = LEVELS, temperature: float = 0.7
) -> Plan:
    """Explanations of the levels; the categories are a table of ``code`` and ``name``."""
    table = opened_table(categories).astype(str)
    for name in ("code", "name"):
        refuse_unknown(name, table, f"The table of categories has no column {name!r}", "It has")
    codes = dict(zip(table["code"], table["name"], strict=True))
    plan = explanations(judges, codes, levels=levels, temperature=temperature)
    about = {**plan.about["explanations"], "categories": codes}
    return replace(plan, about={**plan.about, "explanations": about})


STUDIES = {
    "dark-current": Recipe(dark_current, takes=("strict", "prompts", "temperature", "seed")),
    "vacuum": Recipe(vacuum, takes=("prompts", "temperature")),
    "ladder": Recipe(ladder, takes=("prompts", "temperature", "seed")),
    "debiasing": Recipe(
        _debiasing,
        "pairs",
        ("controlled", "writer", "models", "annotators", "strategies", "panel", "temperature", "sample", "seed"),
        ("controlled", "writer"),
    ),
    "cues": Recipe(cues, "pairs", ("attacks", "labels", "temperature", "seed")),
    "explanations": Recipe(_texts, "categories", ("levels", "temperature")),
    "rubric": Recipe(_ratings, "responses", ("by", "arms", "runs", "annotators", "alias", "prompts", "temperature")),
    "rankings": Recipe(rankings, "responses", ("prompts", "temperature", "seed")),
    "merg": Recipe(_variants, "responses", ("variants", "rubric_judge", "rubrics", "temperature")),
}


def takers(option: str) -> tuple[str, ...]:
    """The studies that take an option; those with a table of items can be sampled."""
    of_items = ("sample", "seed")
    taken = {
        n: (s.table, *s.takes, *(of_items if s.table in ("pairs", "responses") else ())) for n, s in STUDIES.items()
    }
    return tuple(name for name, options in taken.items() if option in options)


@checked_arguments
def study(
    name: str, judges: str | Sequence[str], *, sample: int | None = None, seed: int | None = None, **options: object
) -> Plan:
    """Plan a whole study by its name: all arms and variants, as ``judgestats plan`` does.

    Parameters
    ----------
    name : str
        ``dark-current`` (`strict`: with the strict arm), ``rubric`` (`responses`; `arms`, `runs`, `alias`; each of
        `annotators`, who are people, sees every text once under its alias), ``debiasing`` (one or several of `pairs`,
        with gold; `controlled`, pairs as for :func:`controlled`; and `writer` with `models`, who write controlled
        pairs first, as for :func:`generations`; `annotators`, who each see 30 style pairs of these, as for
        :func:`annotation_form`; `strategies`, `panel`), ``merg`` (`responses`; `variants`, by default
        the baseline and the original), ``cues`` (`pairs`; `attacks`, `labels`), ``explanations`` (`categories`:
        ``code`` and ``name``; `levels`), ``rankings`` (`responses`), ``vacuum``, ``ladder``.
    judges : str or sequence of str
        Who is asked.
    sample : int, optional
        Items that are drawn, of studies with a table; spread over ``language`` and ``domain`` where it has them. Of
        controlled pairs, all are asked.
    seed : int, optional
        Seed of the draw, and of what the study draws itself.
    **options
        Those of the study: a table (or a file with one), and arguments of the function that plans it.

    Returns
    -------
    Plan

    Raises
    ------
    DesignError
        If the study or an option is not known, or its table is missing.

    See Also
    --------
    study_verdicts : Verdicts by the rules of the design.
    collect : Answers joined to their plan.

    Notes
    -----
    Without strata the items drawn are those of ``numpy.random.default_rng(seed).choice``, as in the debiasing paper,
    which draws 400 with seed 42.

    Examples
    --------
    >>> len(study("dark-current", "my-model", strict=True))
    900
    """
    refuse_unknown(name, STUDIES, f"Study {name!r} is not known")
    recipe = STUDIES[name]
    options = {k: v for k, v in {**options, "sample": sample, "seed": seed}.items() if v is not None}
    if wrong := [o for o in options if name not in takers(o)]:
        raise DesignError(f"{wrong[0]}= is not an option of the study {name!r}. Leave it out.")
    if recipe.table and not {recipe.table, *recipe.instead} & {*options}:
        raise DesignError(f"The study {name!r} needs {recipe.table}=, a table or a file. docs/studies.md has examples.")
    tables = [options.pop(recipe.table)] if recipe.table in options else []
    own = {o: value for o, value in options.items() if o in recipe.takes}
    plan = recipe.plan(judges, *tables, **own)
    return plan if "sample" in own else _sampled(plan, sample, seed)


def study_of(calls: pd.DataFrame) -> str:
    """The study that calls are of, by the columns and conditions of its plan; empty if of none."""
    has = {*calls.dropna(axis="columns", how="all").columns}
    conditions = set(calls["condition"].dropna()) if "condition" in has else set()
    signs = {
        "dark-current": "stimulus" in has,
        "debiasing": "strategy" in has,
        "cues": {"scheme", "probe"} <= has,
        "merg": bool(conditions) and conditions <= {*VARIANTS},
        "rubric": bool(conditions) and conditions <= {*ARMS},
    }
    return next((name for name, sign in signs.items() if sign), "")


def of_kind(verdicts: pd.DataFrame, controlled: bool) -> pd.DataFrame:
    """The verdicts on controlled pairs, or those on the others, with the columns that they have."""
    tests_bias = verdicts["bias"].notna() if "bias" in verdicts else pd.Series(False, verdicts.index)
    rows = verdicts[tests_bias == controlled]
    return rows if len(rows) == len(verdicts) else rows.dropna(axis="columns", how="all")


def _merged(calls: pd.DataFrame) -> pd.DataFrame:
    """One verdict for each strategy and pair, of controlled pairs apart."""
    if "n_calls" in calls:
        return calls
    people = by_people(calls)
    kinds = (of_kind(calls[~people], controlled) for controlled in (False, True))
    parts = [strategy_verdicts(part) for part in kinds if len(part)]
    parts += [calls[people].drop(columns=list(OF_THE_CALL), errors="ignore")] if people.any() else []
    return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]


def _composites(scores: pd.DataFrame) -> pd.DataFrame:
    """One score for each response: the weighted mean over the dimensions of its rubric."""
    if "weight" not in scores:
        return scores
    apart = scores.drop(columns=["after", "stage", "stated_overall"], errors="ignore")
    result: pd.DataFrame = composite(apart, apart)
    return result.drop(columns=["weight"], errors="ignore")


#: Study -> the rule that makes its verdicts of calls.
_RULES: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]] = {"debiasing": _merged, "merg": _composites}


def study_verdicts(calls: pd.DataFrame) -> pd.DataFrame:
    """Apply the rules of a study's design to its calls.

    Parameters
    ----------
    calls : pandas.DataFrame
        What :func:`collect` returned for the plan of a :func:`study`.

    Returns
    -------
    pandas.DataFrame
        Strategies and controlled pairs: one verdict a pair and strategy (:func:`strategy_verdicts`). Rubrics of MERG:
        one score a response, the weighted mean over the dimensions (:func:`judgestats.composite`). Other studies: the
        calls as they are.

    See Also
    --------
    study : The plan.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": "1", "first": ["u", "v"], "second": ["v", "u"],
    ...                       "strategy": "S1", "choice": ["first", "first"]})
    >>> study_verdicts(calls)["choice"].tolist()
    ['tie']
    """
    rule = _RULES.get(study_of(calls))
    return calls if rule is None else rule(calls)
