"""Strategies against bias as calls and a rule (debiasing, Sec 3.3): :func:`strategies`, :func:`strategy_verdicts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Literal

import pandas as pd

from judgestats.design.plans import CALL, Plan, build, need_columns, opened_table
from judgestats.design.prompt_templates import Prompt
from judgestats.errors import DesignError, refuse_unknown
from judgestats.schema.columns import CHOICES
from judgestats.verdicts import aggregate

#: Temperature of a single call (Sec 3.2).
TEMPERATURE = 0.1
#: Judges of the panel that the authors used, by which S3 and S7 cost three times a single judge.
PANEL_SIZE = 3


@dataclass(frozen=True)
class Strategy:
    """The calls of a strategy, and the rule that makes one verdict of them.

    Attributes
    ----------
    name, about : str
        As in the paper, and what it does.
    prompt : str
        What the judge is shown.
    orders : {'as given', 'both'}
        Orders of the two responses.
    temperatures : tuple of float
        Temperatures, a call for each; empty: one call at the temperature of the plan.
    panel : bool
        Whether several judges vote.
    rule : tuple of (str, str)
        Arguments ``how`` and ``over`` of :func:`judgestats.aggregate`, applied in turn; empty: the call is the verdict.
    source : str
        Where it is defined.

    See Also
    --------
    STRATEGIES : Those of the paper.
    strategies : The calls of several strategies.
    judgestats.aggregate : The rules.

    Examples
    --------
    >>> Strategy("two", "both orders; a disagreement is a tie", orders="both", rule=(("swap", "order"),)).calls()
    2
    """

    name: str
    about: str
    prompt: str = "minimal"
    orders: str = "as given"
    temperatures: tuple[float, ...] = ()
    panel: bool = False
    rule: tuple[tuple[str, str], ...] = ()
    source: str = "Sec 3.3"

    def calls(self, panel: int = PANEL_SIZE) -> int:
        """Calls per verdict, with `panel` judges on a panel.

        >>> STRATEGIES["S8"].calls()
        2
        """
        return (2 if self.orders == "both" else 1) * max(len(self.temperatures), 1) * (panel if self.panel else 1)


_SWAP = ("swap", "order")
_VOTE = ("majority", "judge")
_UNPRINTED = "not printed; read as in the authors' release"
#: The strategies of the paper by name.
STRATEGIES: dict[str, Strategy] = {
    s.name: s
    for s in (
        Strategy("B0", "baseline: one call"),
        Strategy("S1", "both orders; a disagreement is a tie", orders="both", rule=(_SWAP,)),
        Strategy(
            "S2",
            "three temperatures, majority; three different answers are a tie",
            temperatures=(0.0, 0.3, 0.7),
            rule=(("majority", "temperature"),),
        ),
        Strategy("S3", "judges of several families, majority; a draw is a tie", panel=True, rule=(_VOTE,)),
        Strategy("S4", "rubric of five criteria; the verdict is a field of its own", "rubric_pairwise"),
        Strategy("S5", "reasons before the verdict", "chain_of_thought"),
        Strategy("S6", "with a reference answer", "reference_pairwise", source=_UNPRINTED),
        Strategy(
            "S7",
            "rubric, both orders, judges of several families: S1, then S3",
            "rubric_pairwise",
            orders="both",
            panel=True,
            rule=(_SWAP, _VOTE),
            source=_UNPRINTED,
        ),
        Strategy("S8", "reasons and rubric, both orders", "combined_pairwise", orders="both", rule=(_SWAP,)),
    )
}
#: Strategies that need neither a panel nor a reference.
SINGLE = ("B0", "S1", "S2", "S4", "S5", "S8")
#: Columns of a call that its verdict does not have.
OF_THE_CALL = (CALL, "prompt", "temperature", "rationale", "strength")


def strategies(
    judges: str | Sequence[str],
    pairs: pd.DataFrame | str | Path,
    *,
    strategies: Sequence[str] = SINGLE,
    panel: Sequence[str] = (),
    prompts: Mapping[str, str | Path | Prompt] | None = None,
    temperature: float = TEMPERATURE,
) -> Plan:
    """Plan the calls of several strategies on the same pairs.

    Parameters
    ----------
    judges : str or sequence of str
        Who is asked.
    pairs : pandas.DataFrame or path
        A table, or a file with one, as for :func:`judgestats.design.build`: ``item``, ``first``, ``second``,
        ``first_text``, ``second_text`` and ``task_text``; ``gold`` (one of the two candidates, or ``tie``) where it is
        known; ``reference_text``, an answer that is known to be right, for S6.
    strategies : sequence of str
        Of B0 and S1 to S8; by default those that need neither a panel nor a reference.
    panel : sequence of str
        Judges of S3 and S7, two or more.
    prompts : mapping, optional
        Strategy -> a prompt of your own in place of the package's.
    temperature : float
        Of all strategies except S2.

    Returns
    -------
    Plan
        With ``strategy``. Each strategy has its own calls, also where two ask the same question: B0, S4, S5 and S6 one
        a pair and judge, S1 and S8 two, S2 three, S3 one for each judge of the panel, S7 two.

    Raises
    ------
    DesignError
        If a strategy is not known or lacks a panel or a reference, or a gold answer is neither candidate.

    See Also
    --------
    strategy_verdicts : One verdict of a strategy's calls.
    judgestats.compare_strategies : Accuracy of strategies on the same pairs.

    Notes
    -----
    debiasing, Sec 3.3. The paper gives S3, S6 and S7 by name only; they are read as in the authors' release, where S6
    shows a reference answer and S7 is the rubric in both orders, voted on by judges of several families. The rules are
    data: ``STRATEGIES["S7"].rule``. A draw of votes is a tie; the release takes A before B before tie.

    Examples
    --------
    >>> pairs = pd.DataFrame({"item": ["1"], "first": ["u"], "second": ["v"], "task_text": ["Say hello."],
    ...                       "first_text": ["Hello."], "second_text": ["Good day."]})
    >>> plan = strategies("my-model", pairs)
    >>> plan.calls["strategy"].value_counts(sort=False).to_dict()
    {'B0': 1, 'S1': 2, 'S2': 3, 'S4': 1, 'S5': 1, 'S8': 2}
    """
    chosen = [_strategy(s) for s in dict.fromkeys([strategies] if isinstance(strategies, str) else strategies)]
    if not chosen:
        raise DesignError(f"strategies= is empty. Allowed: {', '.join(STRATEGIES)}.")
    replaced = dict(prompts or {})
    for name in replaced:
        _strategy(name)
    pairs = opened_table(pairs)
    _refuse_unplannable(chosen, pairs, panel)
    table = pairs.drop(columns=[c for c in ("reference_text", "strategy") if c in pairs])
    about = {"strategies": {"strategies": [s.name for s in chosen], "panel": list(panel)}}
    plans = []
    for s in chosen:
        table_shown = table.assign(note_text=pairs["reference_text"]) if s.prompt == "reference_pairwise" else table
        table_shown, who = table_shown.assign(strategy=s.name), list(panel) if s.panel else judges
        prompt, heat = replaced.get(s.name, s.prompt), s.temperatures or temperature
        plans.append(build(table_shown, judges=who, prompts=prompt, temperature=heat, orders=s.orders, about=about))
    return reduce(add, plans)


def _strategy(name: str) -> Strategy:
    refuse_unknown(name, STRATEGIES, f"Strategy {name!r} is not known")
    return STRATEGIES[name]


def _refuse_unplannable(chosen: Sequence[Strategy], pairs: pd.DataFrame, panel: Sequence[str]) -> None:
    if isinstance(panel, str) or len(set(panel)) != len(list(panel)):
        raise DesignError(f"panel={panel!r} is not a list of different judges.")
    voting = [s.name for s in chosen if s.panel]
    if voting and len(panel) < 2:
        raise DesignError(
            f"{' and '.join(voting)} {'take' if len(voting) > 1 else 'takes'} the votes of several judges. Give panel= "
            "with two or more, of different families."
        )
    guided = [s.name for s in chosen if s.prompt == "reference_pairwise"]
    if guided and "reference_text" not in pairs:
        raise DesignError(
            f"{guided[0]} shows a reference answer, and the pairs have no column 'reference_text'. Add it, or leave "
            f"{guided[0]} out of strategies=."
        )
    need_columns(pairs, ("item", "first", "second"), "table of pairs")
    if "gold" in pairs:
        gold = pairs["gold"]
        valid = gold.isna() | (gold == "tie") | (gold == pairs["first"]) | (gold == pairs["second"])
        if not valid.all():
            row = pairs[~valid].iloc[0]
            raise DesignError(
                f"'gold' is {row['gold']!r} for item {row['item']!r}, whose candidates are {row['first']!r} and "
                f"{row['second']!r}. Give one of the two, tie, or nothing."
            )


def strategy_verdicts(calls: pd.DataFrame, *, missing: Literal["invalid", "ignore"] = "invalid") -> pd.DataFrame:
    """Turn the calls of each strategy into its verdicts, by its rule.

    Parameters
    ----------
    calls : pandas.DataFrame
        Preferences with ``strategy``, as :func:`judgestats.design.collect` returns them for :func:`strategies`.
    missing : {'invalid', 'ignore'}
        Verdict of a pair that lacks a call, as in :func:`judgestats.aggregate`.

    Returns
    -------
    pandas.DataFrame
        A row per judge, pair and strategy, for :func:`judgestats.gold_agreement`,
        :func:`judgestats.compare_strategies`, :func:`judgestats.recommend` and measures of bias. ``n_calls``: calls it
        is made of. The verdict of a panel (S3, S7) stands under each judge that has verdicts of its own, whose place
        the panel would take; under ``panel`` where there is none. ``order_known`` is false where both orders were asked
        or votes were taken. The prompt and the temperature belong to the strategy, and are not repeated.

    Raises
    ------
    DesignError
        If there is no column ``strategy``, it has another value than B0 and S1 to S8, or a call occurs twice.

    See Also
    --------
    strategies : Calls of several strategies.
    judgestats.recommend : Strategy that a comparison supports.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": "1", "first": ["u", "u", "v"], "second": ["v", "v", "u"],
    ...                       "strategy": ["B0", "S1", "S1"], "choice": ["first", "first", "first"]})
    >>> strategy_verdicts(calls)[["strategy", "choice", "n_calls"]]
      strategy choice  n_calls
    0       B0  first        1
    1       S1    tie        2
    """
    if "strategy" not in calls or calls["strategy"].isna().any():
        raise DesignError("strategy_verdicts() needs the column 'strategy', filled in. design.strategies() plans it.")
    need_columns(calls, ("judge", "item", "first", "second", "choice"), "table of calls")
    parts = []
    alone: list[str] = []
    by_strategy = {str(name): part for name, part in calls.groupby("strategy", observed=True, sort=True)}
    for name, part in sorted(by_strategy.items(), key=lambda p: _strategy(p[0]).panel):
        strategy = _strategy(name)
        verdicts = part.dropna(axis="columns", how="all")
        if strategy.rule:
            for how, over in strategy.rule:
                verdicts = aggregate(verdicts, how, over, missing=missing)
        else:
            apart = [c for c in ("task", "topic", "bias", "bias_type", "replicate") if c in verdicts]
            if (repeated := verdicts.duplicated(["judge", "item", "first", "second", *apart])).any():
                raise DesignError(f"{name}: {int(repeated.sum()):,} calls repeat a call on the same pair. Give one.")
            tied = verdicts["choice"].astype(str).eq("tie")
            verdicts = verdicts.assign(order_known=True, n_calls=1, tie_kind=tied.map({True: "native", False: ""}))
        if strategy.panel and alone:
            verdicts = pd.concat([verdicts.assign(judge=j) for j in dict.fromkeys(alone)])
        elif not strategy.panel:
            alone += verdicts["judge"].unique().tolist()
        parts.append(verdicts.drop(columns=[c for c in OF_THE_CALL if c in verdicts]))
    result = pd.concat(parts, ignore_index=True)
    result["choice"] = pd.Categorical(result["choice"].astype(object), categories=CHOICES)
    return result
