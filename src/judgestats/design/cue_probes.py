"""The study of cues: probes that show labels, schemes of judging, attacks (rationalization, Sec IV and V)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.arguments import checked_arguments
from judgestats.defaults import SEED
from judgestats.design.attacks import Attack, Keeps, attacked, lost_content
from judgestats.design.plans import Plan, build, need_columns, opened_table, seed_noted
from judgestats.design.prompt_templates import Prompt
from judgestats.errors import DesignError, refuse_unknown
from judgestats.kernels.resampling import generator
from judgestats.typing import Record

PROBES = ("blind", "truth", "flip", "placebo", "reveal")
#: Scheme -> its prompts, a turn each.
SCHEMES: dict[str, tuple[str | Path | Prompt, ...]] = {
    "Baseline": ("labelled",),
    "SCoT": ("labelled_criteria",),
    "PBP": ("proof_notes", "proof_scores", "proof_verdict"),
}
_REVEAL = "corrected_labels"


@checked_arguments
def cues(
    judges: str | Sequence[str],
    pairs: pd.DataFrame | str | Path,
    *,
    probes: Sequence[str] = PROBES,
    schemes: Sequence[str] | Mapping[str, Sequence[str | Path | Prompt]] = tuple(SCHEMES),
    labels: tuple[str, str] = ("LLM", "TradML"),
    placebo: tuple[str, str] = ("Series 1", "Series 2"),
    attacks: Iterable[str] | Mapping[str, Attack] = (),
    keeps: Keeps = lost_content,
    orders: str = "random",
    temperature: float | Sequence[float] = 0.0,
    replicates: int = 1,
    seed: int | np.random.Generator | None = SEED,
) -> Plan:
    """Plan a study of cues: each pair without labels, with right, exchanged and empty ones, under each scheme.

    Parameters
    ----------
    judges : str or sequence of str
        Who is asked.
    pairs : pandas.DataFrame or path
        A table, or a file with one: ``item``, ``first``, ``second`` (ids), ``task_text``, ``first_text``,
        ``second_text``; ``source_first`` and ``source_second``, who truly wrote them, each one of `labels`. Other
        columns are design columns.
    probes : sequence of str
        ``blind``: no labels. ``truth``: the right ones. ``flip``: exchanged. ``placebo``: labels without information.
        ``reveal``: a further turn after ``flip``, with the right labels.
    schemes : sequence of str, or mapping
        ``Baseline`` (a verdict and why), ``SCoT`` (scores of criteria first), ``PBP`` (three turns: notes with
        quotations, scores from them, the verdict); or name -> prompts, a turn each.
    labels : (str, str)
        The labels that are shown; the first is the one that is thought to attract.
    placebo : (str, str)
        Those of the placebo.
    attacks : iterable of str, or mapping
        Further probes without labels: ``verbosity``, ``confidence``, or name -> function of a text; see
        :func:`judgestats.design.attacked`. One candidate of each pair is changed.
    keeps : function
        Check that an attack keeps the content.
    orders : {'random', 'both', 'as given'}
        By default one order of each pair, drawn at random, under all probes and schemes.
    temperature, replicates
        As in :func:`judgestats.design.build`.
    seed : int, Generator or None
        Seed of the orders and of the candidates that are marked.

    Returns
    -------
    Plan
        With ``probe``, ``scheme``, ``label_first``, ``label_second`` (as shown), ``favoured`` (the candidate that the
        cue favours: the one with the first label, or attacked) and ``target`` (the same). A plan with later turns in
        ``later``: see :func:`judgestats.design.next_stage`. :func:`judgestats.anchoring`, ``revision``,
        ``rationale_shift``, ``rationale_alignment`` and ``protocol_difference`` take what was collected.

    Raises
    ------
    DesignError
        If a probe, scheme or attack is not known, sources are not the labels, or an attack changes the content.

    See Also
    --------
    judgestats.anchoring : Shift of verdicts by a cue.
    evidence_lock : Check of verdicts given in three turns.
    equal_pairs : Pairs of equal content.

    Notes
    -----
    rationalization, Sec IV.B, IV.D and IV.E. Where both candidates are by one author (no ``source_first``), the first
    label goes to a candidate drawn at random, to each in half of the pairs; so does the first label of the placebo, and
    so do attacks. The paper fixes them to candidate 1. The wording of the placebo is not printed.

    Examples
    --------
    >>> pairs = pd.DataFrame({"item": ["1", "2"], "first": "u", "second": "v", "task_text": "Sum up: ...",
    ...                       "first_text": ["It rose.", "It fell."], "second_text": ["A rise.", "A fall."]})
    >>> plan = cues("my-model", pairs)
    >>> plan.calls["scheme"].value_counts().to_dict(), len(plan.later)
    ({'Baseline': 8, 'SCoT': 8, 'PBP': 8}, 22)
    """
    chains = _chains(schemes)
    labelled_probes = [p for p in probes if p != "reveal"]
    for probe in probes:
        refuse_unknown(probe, PROBES, f"probe {probe!r} is not known")
    if "blind" not in probes or ("reveal" in probes and "flip" not in probes):
        raise DesignError("probes= needs 'blind', which the others are compared with, and 'flip' before 'reveal'.")
    if len({*labels}) < 2 or len({*placebo}) < 2:
        raise DesignError(f"labels={labels} and placebo={placebo} are two different labels each.")
    styles: dict[str, Attack] = dict(attacks) if isinstance(attacks, Mapping) else {a: a for a in attacks}
    if taken := sorted(set(styles) & set(PROBES)):
        raise DesignError(f"The attack {taken[0]!r} has the name of a probe. Rename it.")
    table = _probed(opened_table(pairs).reset_index(drop=True), labelled_probes, labels, placebo, styles, keeps, seed)
    lists = {"probes": probes, "schemes": chains, "labels": labels, "placebo": placebo, "attacks": styles}
    about = {"cues": {**{k: list(v) for k, v in lists.items()}, "orders": orders, "seed": seed_noted(seed)}}
    calls: Record = {"judges": judges, "temperature": temperature, "replicates": replicates, "about": about}
    plans = []
    for scheme, chain in chains.items():
        plan = build(table.assign(scheme=scheme), prompts=chain[0], orders=orders, seed=seed, **calls)
        for prompt in chain[1:]:
            plan = plan.then(prompt)
        if "reveal" in probes:
            plan = plan.then(
                _REVEAL,
                where=lambda calls: calls["probe"] == "flip",
                probe="reveal",
                label_first=lambda calls: calls["label_second"],
                label_second=lambda calls: calls["label_first"],
                favoured=_other_candidate,
                target=_other_candidate,
            )
        plans.append(plan)
    return reduce(add, plans)


def _other_candidate(rows: pd.DataFrame) -> pd.Series:
    """The candidate that is not favoured."""
    return rows["first"].where(rows["favoured"] != rows["first"], rows["second"])


def _chains(
    schemes: Sequence[str] | Mapping[str, Sequence[str | Path | Prompt]],
) -> dict[str, tuple[str | Path | Prompt, ...]]:
    """The prompts of each scheme, a turn each."""
    if isinstance(schemes, Mapping):
        chains = {n: (p,) if isinstance(p, str | Path | Prompt) else tuple(p) for n, p in schemes.items()}
    else:
        several = [schemes] if isinstance(schemes, str) else list(schemes)
        for scheme in several:
            refuse_unknown(scheme, SCHEMES, f"scheme {scheme!r} is not known")
        chains = {s: SCHEMES[s] for s in several}
    if not chains or not all(chains.values()):
        raise DesignError("schemes= is empty, or a scheme has no prompt. Give at least one.")
    return chains


def _probed(
    pairs: pd.DataFrame,
    probes: Sequence[str],
    labels: tuple[str, str],
    placebo: tuple[str, str],
    styles: Mapping[str, Attack],
    keeps: Keeps,
    seed: int | np.random.Generator | None,
) -> pd.DataFrame:
    """The pairs under each probe and attack, with the labels shown and the candidate that the cue favours."""
    need_columns(pairs, ("item", "first", "second", "task_text", "first_text", "second_text"), "table of pairs")
    if not len(pairs):
        raise DesignError("The table of pairs has no rows. Give at least one.")
    rng = generator(seed, ("cues",))
    marked = rng.permutation(np.arange(len(pairs)) % 2 == 0)  # whether the candidate in `first` is
    truly = _sources(pairs, labels, marked)
    parts = []
    for probe in probes:
        if probe == "blind":
            parts.append(pairs.assign(probe=probe, label_first=None, label_second=None, favoured=None, target=None))
            continue
        probe_labels = placebo if probe == "placebo" else labels
        first = {"truth": truly, "flip": ~truly, "placebo": marked}[probe]
        labelled = {"label_first": np.where(first, *probe_labels), "label_second": np.where(first, *probe_labels[::-1])}
        parts.append(_favouring(pairs, first, probe).assign(**labelled))
    for probe, attack in styles.items():
        part = _favouring(pairs, marked, probe).assign(label_first=None, label_second=None)
        for column, attacked_rows in (("first_text", marked), ("second_text", ~marked)):
            text = part[column].astype(object)
            part[column] = [attacked(t, attack, keeps) if h else t for t, h in zip(text, attacked_rows, strict=True)]
        parts.append(part)
    columns = list(dict.fromkeys(c for part in parts for c in part))
    return pd.DataFrame({c: [v for part in parts for v in part[c]] for c in columns})


def _sources(pairs: pd.DataFrame, labels: tuple[str, str], marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether the first label belongs to the candidate in `first`; drawn where no author is named."""
    if not {"source_first", "source_second"} & set(pairs.columns):
        return marked
    if not {"source_first", "source_second"} <= set(pairs.columns):
        raise DesignError("The table of pairs has one of 'source_first' and 'source_second'. Give both, or neither.")
    sources = pairs[["source_first", "source_second"]].astype(str)
    right = [{a, b} == set(labels) for a, b in sources.itertuples(index=False)]
    if not all(right):
        wrong = sources.loc[~np.array(right)].iloc[0].tolist()
        raise DesignError(
            f"source_first and source_second are {wrong} in {right.count(False):,} rows. Each pair needs one of each "
            f"label, {labels[0]!r} and {labels[1]!r}: give labels=, or leave the columns out where both candidates are "
            "by one author."
        )
    return np.asarray(sources["source_first"] == labels[0], dtype=bool)


def _favouring(pairs: pd.DataFrame, first: NDArray[np.bool_], probe: str) -> pd.DataFrame:
    side = pairs["first"].where(first, pairs["second"])
    return pairs.assign(probe=probe, favoured=side, target=side)


def equal_pairs(texts: pd.DataFrame, *, keeps: Keeps = lost_content) -> pd.DataFrame:
    """Make pairs of equal content for :func:`cues`: one text twice, or a text and its paraphrase.

    Parameters
    ----------
    texts : pandas.DataFrame
        ``item``, ``task_text``, ``text`` and, if there is one, ``paraphrase``. Other columns are kept.
    keeps : function
        Check that a paraphrase keeps the content; see :func:`judgestats.design.attacked`.

    Returns
    -------
    pandas.DataFrame
        Pairs of candidates ``u`` and ``v``, with ``content``: ``identical`` or ``paraphrase``.

    Raises
    ------
    DesignError
        If a column is missing, or a paraphrase does not keep the content.

    See Also
    --------
    cues : A study of cues.

    Notes
    -----
    rationalization, Sec V.A: the equal-content pairs, and the one text under two labels (Table X).

    Examples
    --------
    >>> texts = pd.DataFrame({"item": ["1"], "task_text": ["Sum up: ..."], "text": ["Sales rose by 3 %."]})
    >>> equal_pairs(texts)[["first", "second", "content"]].values.tolist()
    [['u', 'v', 'identical']]
    """
    need_columns(texts, ("item", "task_text", "text"), "table of texts")
    second = texts["paraphrase"] if "paraphrase" in texts else texts["text"]
    for item, one, two in zip(texts["item"], texts["text"], second, strict=True):
        if lost := keeps(one, two):
            raise DesignError(f"The paraphrase of item {item!r} does not keep the content: {lost}.")
    columns = texts.drop(columns=["text", "paraphrase"], errors="ignore")
    content = "paraphrase" if "paraphrase" in texts else "identical"
    return columns.assign(first="u", second="v", first_text=texts["text"], second_text=second, content=content)
