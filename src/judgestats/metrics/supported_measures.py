"""Measures that the data support, and what is missing for the others: :func:`available_measures`."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.counting.clustering import Cluster
from judgestats.counting.split_studies import split_study
from judgestats.counting.study import Calls, Study
from judgestats.kernels.compiling import arrays_only
from judgestats.metrics.measure_registry import MeasureOptions, measures, measures_of
from judgestats.metrics.references import Baseline, Humans, references
from judgestats.schema.columns import By, grouping, kind_of
from judgestats.schema.opening import engine_errors


def quiet(_: str) -> None:
    """Say no step."""


def attempts(
    data: Calls, options: MeasureOptions, besides: Container[str] = (), say: Callable[[str], None] = quiet
) -> dict[str, pd.DataFrame | str]:
    """Estimates of each measure for this kind of data except `besides`, or the reason why there are none."""
    attempted: dict[str, pd.DataFrame | str] = {}
    for name, record in measures_of(data).items():
        if name not in besides:
            say(name)
            attempted[name] = record.attempt(data, options)
    return attempted


@checked_arguments
@engine_errors
def available_measures(
    data: IntoFrame,
    identity: Mapping[str, str] | None = None,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
) -> pd.DataFrame:
    """List the measures, whether the data support them, and what is missing, by trying each.

    Ratings are grouped by the columns with the name of a condition (a scale, a prompt) in which ratings of one thing
    differ. Another such column makes no groups: measures that would mix its values say that it is not named.

    Parameters
    ----------
    data : frame
        Preferences or ratings.
    identity : mapping, optional
        For ratings: system -> judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``"column=value"``; by default those whose ``rater_type`` is ``human``, and
        ``()`` for none. They are a reference, and not measured.
    gold : str, optional
        Source of the correct answers: a column, a judge, or a candidate.
    baseline : str or mapping, optional
        The control condition (a value of ``strategy``, ``prompt``, ``probe``, ``scheme`` or ``condition``), or
        ``{column: value}``.

    Returns
    -------
    pandas.DataFrame
        ``measure``, ``question``, ``supported`` (bool: some estimate is a number) and ``missing``: the reason why not.

    Raises
    ------
    SchemaError
        If `data` is neither canonical frame.
    DesignError
        If a name in `humans`, `gold` or `baseline` does not occur.

    See Also
    --------
    describe : Judges, items, orders and conditions.
    check : Faults, excluded rows and gaps.
    datasheet : Everything about each judge.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "second"]})
    >>> available_measures(calls).set_index("measure")["supported"].to_dict()["consistency"]
    True
    """
    rows = []
    for name, result in tried(data, identity, humans=humans, gold=gold, baseline=baseline, cluster=False)[0].items():
        missing = result if isinstance(result, str) else ""
        rows.append((name, measures()[name].question, not missing, missing))
    return pd.DataFrame(rows, columns=["measure", "question", "supported", "missing"])


@engine_errors
@arrays_only()
def tried(
    data: Calls,
    identity: Mapping[str, str] | None = None,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    say: Callable[[str], None] = quiet,
) -> tuple[dict[str, pd.DataFrame | str], list[str]]:
    """Each measure tried without resampling: its estimates, or what is missing; and the columns that split them."""
    study = Study.whole(data)
    kind = kind_of(study.names)
    groups = [g for g in grouping(by, study.names) if g != "judge"]
    study, conditions, _, _ = split_study(study, kind, groups)
    groups += [s.column for s in conditions] if kind == "ratings" else []
    sources = references(study, humans, gold, baseline)
    people, study = sources.people if sources.humans else None, sources.study
    options = MeasureOptions(
        tuple(groups), dict(identity or {}), cluster, 1, people=people, baseline=sources.baseline, counting=True
    )
    return attempts(study, options, say=say), groups
