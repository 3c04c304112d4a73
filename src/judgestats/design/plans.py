"""A plan: what to ask, a row per call, with a stable id for each: :class:`Plan`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.design.prompts import AnswerKind, Prompt, by_name, digest
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator
from judgestats.schema.columns import By, Finding, as_frame, names

#: The id of a call.
CALL = "call"
#: Columns with digests of the texts that fill a placeholder in.
TEXTS: dict[AnswerKind, dict[str, str]] = {
    "preferences": {"task": "task_text", "first": "first_text", "second": "second_text", "note": "note_text"},
    "ratings": {"task": "task_text", "response": "response_text", "rubric": "rubric_text", "note": "note_text"},
    "texts": {"task": "task_text", "response": "response_text", "note": "note_text"},
}
#: Columns whose values must not stand in what the judge reads.
HIDDEN = ("judge", "strategy", "scheme", "probe", "arm", "alias", "stimulus", "vacuum_kind", "condition")
#: Characters of a token, on average, in English: a rule of thumb for costs.
CHARACTERS_PER_TOKEN = 4
_FILES = ("calls.parquet", "texts.jsonl", "prompts.json")
_SHORTEST_WORD = 3


@dataclass(frozen=True)
class Plan:
    """Calls to be made, without answers: the table, the texts and the prompts.

    Builders such as :func:`judgestats.design.vacuum` return one; plans of one kind are joined by ``+``.

    Attributes
    ----------
    calls : pandas.DataFrame
        A row per call: ``call`` (its id), ``judge``, ``item``, the candidates or the system, the design columns
        (``stimulus``, ``delta``, ``better``, ``prompt``, ``temperature``, ``replicate``, ...), and the digests of the
        texts shown. The id is a digest of the prompt, the texts, the parameters, the judge and the row's place in the
        design: a changed prompt is another call.
    texts : mapping
        Digest -> text.
    prompts : mapping
        Name -> :class:`judgestats.design.Prompt`.
    about : mapping
        Builder, arguments and seed.
    """

    calls: pd.DataFrame
    texts: Mapping[str, str]
    prompts: Mapping[str, Prompt]
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> AnswerKind:
        """``preferences``, ``ratings``, or ``texts`` that are stimuli of a later plan."""
        return next(iter(self.prompts.values())).frame

    def __len__(self) -> int:
        return len(self.calls)

    def __add__(self, other: Plan) -> Plan:
        """Both plans; a call that both have is there once."""
        if self.kind != other.kind:
            raise DesignError(f"A plan of {self.kind} and one of {other.kind} cannot be joined. Keep them apart.")
        for name, one in self.prompts.items():
            if name in other.prompts and other.prompts[name].digest != one.digest:
                raise DesignError(f"The plans have different prompts named {name!r}. Rename one.")
        calls = pd.concat([self.calls, other.calls], ignore_index=True).drop_duplicates(CALL, ignore_index=True)
        return Plan(
            calls, {**self.texts, **other.texts}, {**self.prompts, **other.prompts}, {**self.about, **other.about}
        )

    def rows(self, mask: Any) -> Plan:
        """A part of the plan: the calls where `mask` is true, or those with these ids."""
        chosen = self.calls[CALL].isin(list(mask)) if not hasattr(mask, "dtype") else mask
        return replace(self, calls=self.calls[chosen].reset_index(drop=True))

    def sample(self, n: int, *, stratify: By = (), seed: int | np.random.Generator | None = 0) -> Plan:
        """Return a random part: `n` items, with all their calls, spread evenly over the strata.

        Parameters
        ----------
        n : int
            Number of items.
        stratify : str or sequence of str
            Design columns, such as ``"delta"``: as many items of each combination as possible.
        seed : int, Generator or None
            Seed of the draw.

        Returns
        -------
        Plan

        Raises
        ------
        DesignError
            If there are fewer items, or no such column.
        """
        by = names(stratify)
        absent = [c for c in by if c not in self.calls]
        if absent:
            raise DesignError(f"The plan has no column {absent[0]!r}. It has: {', '.join(self.calls)}.")
        items = self.calls.drop_duplicates("item")
        if not 1 <= n <= len(items):
            raise DesignError(f"n={n} items cannot be drawn from {len(items)}. Allowed: 1 to {len(items)}.")
        rng = generator(seed, ("sample",))
        shuffled = items.iloc[rng.permutation(len(items))]
        turn = shuffled.groupby(list(by), dropna=False, sort=False).cumcount() if by else pd.Series(0, shuffled.index)
        drawn = shuffled.loc[turn.sort_values(kind="stable").index[:n], "item"]
        return self.rows(self.calls["item"].isin(set(drawn)))

    def messages(self) -> Iterator[tuple[str, str, str]]:
        """Yield the id, the system message and the user message of each call."""
        columns = TEXTS[self.kind]
        shown = {n: p.placeholders for n, p in self.prompts.items()}
        used = [p for p in columns if any(p in s for s in shown.values())]
        values = [self.calls[columns[p]].tolist() if columns[p] in self.calls else [None] * len(self) for p in used]
        for call, name, *keys in zip(self.calls[CALL], self.calls["prompt"], *values, strict=True):
            filled = {p: self.texts[k] for p, k in zip(used, keys, strict=True) if p in shown[name] and k is not None}
            yield call, self.prompts[name].system, self.prompts[name].render(**filled)

    def summary(self, prices: Mapping[str, tuple[float, float]] | None = None, *, answer: int = 200) -> pd.DataFrame:
        """Return the cells of the plan with their calls, tokens and cost.

        Parameters
        ----------
        prices : mapping, optional
            Judge -> price of a million input tokens and of a million output tokens.
        answer : int
            Characters of an answer, for the cost.

        Returns
        -------
        pandas.DataFrame
            A row per judge, prompt, stimulus and further cell: ``calls``, ``items``, ``tokens`` (input, at four
            characters a token: a rule of thumb) and, with `prices`, ``cost``.

        Raises
        ------
        DesignError
            If a price is missing or negative.
        """
        cells = [
            c for c in ("judge", "prompt", "strategy", "scheme", "probe", "arm", "stimulus", "delta") if c in self.calls
        ]
        rows = self.calls[[*cells, "item"]].assign(calls=1, tokens=self._characters() / CHARACTERS_PER_TOKEN)
        found = rows.groupby(cells, dropna=False, sort=False)
        table = found.agg(calls=("calls", "sum"), items=("item", "nunique"), tokens=("tokens", "sum")).reset_index()
        table["tokens"] = table["tokens"].round().astype("int64")
        if prices is None:
            return table
        for judge in table["judge"].unique():
            if judge not in prices:
                raise DesignError(f"prices= has no price of judge {judge!r}. Give (input, output) per million tokens.")
            if min(prices[judge]) < 0:
                raise DesignError(f"The price {prices[judge]} of judge {judge!r} is negative.")
        paid = np.array([prices[j] for j in table["judge"]], dtype=float)
        spoken = table["calls"] * answer / CHARACTERS_PER_TOKEN
        return table.assign(cost=(table["tokens"] * paid[:, 0] + spoken * paid[:, 1]) / 1e6)

    def _characters(self) -> NDArray[np.float64]:
        """Characters of each rendered prompt: those of the template and of the texts."""
        size = {k: len(t) for k, t in self.texts.items()}
        bare = {n: len(p.system) + len(p.render(**dict.fromkeys(p.placeholders, ""))) for n, p in self.prompts.items()}
        total: NDArray[np.float64] = self.calls["prompt"].map(bare).to_numpy(dtype=float)
        for column in TEXTS[self.kind].values():
            if column in self.calls:
                total += self.calls[column].map(size).fillna(0).to_numpy(dtype=float)
        return total

    def check(self) -> pd.DataFrame:
        """List what is wrong with the plan, as :func:`judgestats.check` does for a frame.

        Returns
        -------
        pandas.DataFrame
            ``fault``: the prompt or a text shows a word that the judge must not see: the name of a judge, a
            condition, a stimulus or a system. ``caution``: pairs planned in one order only; the better candidate, or
            the target, more often in one slot. Columns as in :func:`judgestats.check`.
        """
        return as_frame([*self._leaks(), *self._imbalance()])

    def _leaks(self) -> Iterator[Finding]:
        ids = ("first", "second") if self.kind == "preferences" else ("system",)
        words: dict[str, str] = {}
        for column in (*HIDDEN, *ids):
            for value in self.calls[column].dropna().unique() if column in self.calls else ():
                if len(str(value)) >= _SHORTEST_WORD:
                    words.setdefault(str(value), column)
        if not words:
            return
        pattern = re.compile("|".join(rf"(?<!\w){re.escape(w)}(?!\w)" for w in sorted(words, key=len, reverse=True)))
        leaking = {k: found[0] for k, t in self.texts.items() if (found := pattern.search(t))}
        for name, p in self.prompts.items():
            template = pattern.search(f"{p.system}\n{p.user}")
            if template:
                rows = np.flatnonzero(self.calls["prompt"] == name)
                yield self._leak(template[0], words[template[0]], rows, f"prompt {name!r}")
        shown_columns = [c for c in self.about.get("shown", ()) if c in self.calls]
        named = {str(v) for c in shown_columns for v in self.calls[c].dropna().unique()}  # by the note, on purpose
        for column in TEXTS[self.kind].values():
            if column in self.calls:
                shown = self.calls[column].map(leaking)
                for word in shown.dropna().unique():
                    if column == "note_text" and word in named:
                        continue
                    rows = np.flatnonzero(shown == word)
                    yield self._leak(word, words[word], rows, f"the {column.removesuffix('_text')}")

    @staticmethod
    def _leak(word: str, column: str, rows: Any, where: str) -> Finding:
        remedy = "Reword the text, or rename the condition."
        return Finding("fault", column, f"{word!r} ({column}) stands in {where}", tuple(map(int, rows)), word, remedy)

    def _imbalance(self) -> Iterator[Finding]:
        if self.kind != "preferences":
            return
        calls = self.calls
        low, high = np.minimum(calls["first"], calls["second"]), np.maximum(calls["first"], calls["second"])
        keys = [c for c in ("judge", "item", "prompt", "strategy", "scheme", "probe", "arm", "replicate") if c in calls]
        orders = calls.assign(_low=low, _high=high).groupby([*keys, "_low", "_high"], dropna=False)["first"]
        alone = (orders.transform("nunique") == 1) & (low != high)
        if alone.any():
            cure = "Plan both orders, orders='both', for measures of position and consistency."
            yield Finding(
                "caution", "first", "pairs in one order only", tuple(map(int, np.flatnonzero(alone))), cure=cure
            )
        for column in ("better", "target"):
            if column not in calls or calls[column].isna().all():
                continue
            known = calls[calls[column].notna()]
            share = float((known[column] == known["first"]).mean())
            if abs(share - 0.5) > 2 / np.sqrt(len(known)):
                what = f"{column!r} is shown first in {share:.0%} of {len(known):,} calls"
                cure = "Plan both orders, or draw the order at random."
                yield Finding(
                    "caution", column, what, tuple(map(int, np.flatnonzero(calls[column].notna()))), cure=cure
                )

    def write(self, folder: str | Path) -> Path:
        """Write the plan to a folder: ``calls.parquet``, ``texts.jsonl``, ``prompts.json`` and ``manifest.json``.

        Parameters
        ----------
        folder : path
            Made if it does not exist.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        DesignError
            If the folder holds another plan.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "manifest.json").exists() and Plan.read(folder).calls[CALL].tolist() != self.calls[CALL].tolist():
            raise DesignError(f"{folder} holds another plan. Give a new folder, or remove that one.")
        self.calls.to_parquet(folder / _FILES[0], index=False)
        lines = (json.dumps({"digest": k, "text": t}, ensure_ascii=False) + "\n" for k, t in self.texts.items())
        (folder / _FILES[1]).write_text("".join(lines), encoding="utf-8")
        records = [p.record() for p in self.prompts.values()]
        (folder / _FILES[2]).write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        manifest = {
            "judgestats": version("judgestats"),
            "kind": self.kind,
            "calls": len(self),
            "about": dict(self.about),
            "prompts": {n: p.digest for n, p in self.prompts.items()},
            "sha256": {n: sha256((folder / n).read_bytes()).hexdigest() for n in _FILES},
        }
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, default=str) + "\n", encoding="utf-8")
        return folder

    @classmethod
    def read(cls, folder: str | Path) -> Plan:
        """Read a plan from its folder.

        Parameters
        ----------
        folder : path
            As written by :meth:`write`.

        Returns
        -------
        Plan

        Raises
        ------
        DesignError
            If a file is missing, or was changed since.
        """
        folder = Path(folder)
        try:
            manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            for name in _FILES:
                if sha256((folder / name).read_bytes()).hexdigest() != manifest["sha256"][name]:
                    raise DesignError(f"{folder / name} was changed after the plan was written. Write the plan again.")
            lines = (folder / _FILES[1]).read_text(encoding="utf-8").split("\n")
            texts = {r["digest"]: r["text"] for r in map(json.loads, filter(None, lines))}
            prompts = [Prompt(**r) for r in json.loads((folder / _FILES[2]).read_text(encoding="utf-8"))]
            calls = pd.read_parquet(folder / _FILES[0])
        except (OSError, KeyError, ValueError, TypeError) as problem:
            raise DesignError(f"{folder} holds no plan ({problem}). `judgestats plan` writes one.") from None
        return cls(calls, texts, {p.name: p for p in prompts}, manifest["about"])


def build(
    table: pd.DataFrame,
    *,
    judges: str | Sequence[str],
    prompts: str | Path | Prompt | Iterable[str | Path | Prompt] = "pairwise",
    temperature: float | Sequence[float] = 0.0,
    replicates: int = 1,
    orders: str = "both",
    about: Mapping[str, Any] | None = None,
) -> Plan:
    """Make a plan of a table of contents: every row under every prompt, temperature, judge and replicate.

    Parameters
    ----------
    table : pandas.DataFrame
        Of preferences: ``item``, ``first``, ``second`` (ids) and the texts ``first_text``, ``second_text``; of ratings:
        ``item``, ``system`` and ``response_text``; of texts to be written: ``item``. ``task_text`` and ``note_text``
        (and ``rubric_text``) where the prompt shows them. All other columns are design columns; ``x_first`` and
        ``x_second`` go with their candidate.
    judges : str or sequence of str
        Who is asked.
    prompts : name, path, Prompt, or several
        See :func:`judgestats.design.prompt`.
    temperature : float or sequence of float
        One or several.
    replicates : int
        How often each call is repeated.
    orders : {'both', 'as given'}
        Preferences: each row in both orders, or as it is.
    about : mapping, optional
        For the manifest.

    Returns
    -------
    Plan

    Raises
    ------
    DesignError
        If a column or a text is missing, or two rows are the same call.

    Examples
    --------
    >>> pairs = pd.DataFrame({"item": ["1"], "first": ["u"], "second": ["v"], "task_text": ["Say hello."],
    ...                       "first_text": ["Hello."], "second_text": ["Good day."]})
    >>> plan = build(pairs, judges=["m1", "m2"], replicates=2)
    >>> len(plan), plan.calls["call"].is_unique
    (8, True)
    """
    if orders not in ("both", "as given"):
        raise DesignError(f"orders={orders!r} is not known. Allowed: 'both', 'as given'.")
    if not isinstance(replicates, int) or replicates < 1:
        raise DesignError(f"replicates={replicates!r} is not a number of repeats. Allowed: 1 or more.")
    chosen = by_name(prompts)
    kinds = {p.frame for p in chosen.values()}
    if len(kinds) != 1:
        raise DesignError(f"The prompts ask for {' and for '.join(sorted(kinds))}. Make a plan of each.")
    kind = kinds.pop()
    columns = TEXTS[kind]
    needed = ["item", *{"preferences": ("first", "second"), "ratings": ("system",), "texts": ()}[kind]]
    needed += [columns[p] for p in dict.fromkeys(q for one in chosen.values() for q in one.placeholders)]
    absent = [c for c in needed if c not in table]
    if absent:
        raise DesignError(f"The table has no column {absent[0]!r}, which the prompt shows. It has: {', '.join(table)}.")
    table = table.reset_index(drop=True)
    texts: dict[str, str] = {}
    for column in columns.values():
        if column in table:
            if table[column].isna().any():
                raise DesignError(
                    f"{column!r} is missing in {int(table[column].isna().sum())} rows. Give '' for an empty text."
                )
            key = {t: digest(t) for t in table[column].unique()}
            texts |= {k: t for t, k in key.items()}
            table = table.assign(**{column: table[column].map(key)})
    if kind == "preferences" and orders == "both":
        table = pd.concat([table, swapped(table)], ignore_index=True)
    several = [judges] if isinstance(judges, str) else list(judges)
    heat = [temperature] if isinstance(temperature, int | float) else list(temperature)
    frame = _crossed(
        table, {"judge": several, "prompt": list(chosen), "temperature": heat, "replicate": range(replicates)}
    )
    if kind == "preferences":
        frame["ties_allowed"] = frame["prompt"].map({n: p.ties_allowed for n, p in chosen.items()})
    frame.insert(0, CALL, _ids(frame, chosen, columns.values()))
    if not frame[CALL].is_unique:
        twice = frame[frame[CALL].duplicated(keep=False)].iloc[0].drop(CALL).to_dict()
        raise DesignError(f"Two rows of the plan are the same call: {twice}. Give them different items.")
    return Plan(frame, texts, chosen, dict(about or {}))


def swapped(table: pd.DataFrame) -> pd.DataFrame:
    """The same pairs in the other order: what belongs to a candidate goes with it."""
    pairs = {c: f"{c[: -len('_first')]}_second" for c in table.columns if c.endswith("_first")}
    pairs |= {"first": "second", "first_text": "second_text"}
    pairs = {a: b for a, b in pairs.items() if a in table.columns and b in table.columns}
    return table.rename(columns={**pairs, **{b: a for a, b in pairs.items()}})[list(table.columns)]


def _crossed(table: pd.DataFrame, factors: Mapping[str, Iterable[Any]]) -> pd.DataFrame:
    """Each row of a table with every combination of the factors, the first factor slowest."""
    levels = {name: list(values) for name, values in factors.items()}
    empty = next((n for n, values in levels.items() if not values), None)
    if empty is not None:
        raise DesignError(f"No {empty} was given. Give at least one.")
    n = len(table)
    grid = np.indices([len(v) for v in levels.values()]).reshape(len(levels), -1)
    frame = table.take(np.tile(np.arange(n), grid.shape[1])).reset_index(drop=True)
    for (name, values), index in zip(levels.items(), grid, strict=True):
        frame[name] = (
            np.array(values)[np.repeat(index, n)]
            if name != "judge"
            else np.array(values, dtype=object)[np.repeat(index, n)]
        )
    return frame


def _ids(frame: pd.DataFrame, prompts: Mapping[str, Prompt], texts: Iterable[str]) -> list[str]:
    """Id of each call."""
    keyed = frame["prompt"].map({n: p.digest for n, p in prompts.items()})
    ids = [c for c in ("item", "first", "second", "system", "criterion", "stage", "strategy") if c in frame]
    parts = [keyed, *(frame[c] for c in texts if c in frame), frame["judge"], frame["temperature"], frame["replicate"]]
    columns = [p.astype(str).tolist() for p in [*parts, *(frame[c] for c in ids)]]
    return [blake2b("\x1f".join(row).encode(), digest_size=8).hexdigest() for row in zip(*columns, strict=True)]
