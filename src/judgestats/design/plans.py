"""A plan: what to ask, a row per call, with a stable id for each: :class:`Plan`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.arguments import checked_arguments
from judgestats.defaults import SEED
from judgestats.design.plan_files import PlanParts, read_parts, stage_folders, write_plan
from judgestats.design.prompt_templates import NEEDED, REPLIES, AnswerKind, Prompt, by_name, digest
from judgestats.errors import DesignError, choose, masked, refuse_unknown
from judgestats.ingest.tables import as_table
from judgestats.kernels.resampling import generator
from judgestats.outputs import Source
from judgestats.schema.columns import By, names
from judgestats.schema.findings import Finding, as_frame

CALL = "call"
#: Ids begin with a letter, since a spreadsheet takes 1614104646e14338 for a number.
ID_LETTER = "c"
_ID_DIGITS = 16
#: In ``about``: how many later calls cannot be asked.
UNANSWERED = "unanswered"
#: In ``about``: items that a variant leaves out, since no rubric for them can be used.
WITHOUT_RUBRIC = "without rubric"
#: In ``about``: how the texts that are written are compared, and those that are missing or cannot be changed.
WRITES, WITHOUT_TEXT = "written pairs", "without text"
#: What was said earlier in a chain: each reply, and the messages of a dialogue as JSON.
EARLIER = {**{p: f"{p}_text" for p in REPLIES}, "earlier": "earlier_text"}
#: Columns with digests of the texts that fill a placeholder in.
TEXTS = {**{p: f"{p}_text" for p in ("task", "first", "second", "response", "responses", "rubric", "note")}, **EARLIER}
#: Placeholders that are filled in by the column of their name.
SHOWN = ("label_first", "label_second")
#: Columns whose values must not stand in what the judge reads.
HIDDEN = ("judge", "strategy", "scheme", "probe", "arm", "alias", "stimulus", "vacuum_kind", "condition")
#: Characters of a token, on average, in English: a rule of thumb for costs.
CHARACTERS_PER_TOKEN = 4
_CONDITIONS = tuple(c for c in HIDDEN if c not in ("judge", "alias"))
#: What tells two calls of one text apart, in the order of their digest.
_PLACE = ("item", "first", "second", "candidates", "system", "criterion", "stage", "after")
_ASKED_HOW = ("condition", "scheme", "probe", "strategy")
_SHORTEST_WORD = 2
#: Words of two letters that a text has anyway.
_COMMON = frozenset("am an as at be by do go he hi if in is it me my no of oh ok on or so to up us we".split())  # noqa: SIM905
#: Columns that say how good a candidate is, or which is the better.
_TRUTH = ("delta", "better", "target", "gold", "favoured", "expected_verdict")
_RUN = re.compile(r"\w+")
#: Characters of rendered messages that are kept, for calls that show the same.
_KEPT = 200_000_000


@dataclass(frozen=True)
class Plan(PlanParts):
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
    later : pandas.DataFrame
        In a chain: calls of later stages, as ``calls``, with the id of the call that each comes ``after``.
        :meth:`then` adds them, :func:`judgestats.design.next_stage` fills the answers in.

    See Also
    --------
    export : A plan as a file for a runner.
    collect : Its answers as a canonical frame.
    build : A plan from a table of your own.

    Examples
    --------
    >>> from judgestats.design import vacuum
    >>> plan = vacuum(["g", "h"], calls=6)
    >>> len(plan), plan.kind, list(plan.prompts)
    (12, 'preferences', ['pairwise'])
    """

    @property
    def kind(self) -> AnswerKind:
        """``preferences``, ``ratings`` or ``rankings``; ``texts`` where no prompt asks for a verdict or score."""
        return _kind(self.prompts)

    def __len__(self) -> int:
        return len(self.calls)

    def __add__(self, other: Plan) -> Plan:
        """Both plans; a call that both have is there once."""
        if self.kind != other.kind and "texts" not in (self.kind, other.kind):
            raise DesignError(f"A plan of {self.kind} and one of {other.kind} cannot be joined. Keep them apart.")
        for name, one in self.prompts.items():
            if name in other.prompts and other.prompts[name].digest != one.digest:
                raise DesignError(f"The plans have different prompts named {name!r}. Rename one.")
        calls = _joined(self.calls, other.calls)
        later = _joined(self.later, other.later)
        if len(later):  # a later stage that the other plan already asks
            later = later[~later["planned"].isin(calls.get("planned", ()))].reset_index(drop=True)
        about = {**self.about, **other.about}
        if lost := self.about.get(UNANSWERED, 0) + other.about.get(UNANSWERED, 0):
            about[UNANSWERED] = lost
        return Plan(calls, {**self.texts, **other.texts}, {**self.prompts, **other.prompts}, about, later)

    def rows(self, mask: Any) -> Plan:
        """A part of the plan: the calls where `mask` is true, or those with these ids, and all that follows them."""
        chosen = self.calls[CALL].isin(list(mask)) if not hasattr(mask, "dtype") else mask
        calls = self.calls[chosen].reset_index(drop=True)
        return replace(self, calls=calls, later=following(self.later, set(calls[CALL])))

    def then(
        self,
        prompt: str | Path | Prompt,
        table: pd.DataFrame | None = None,
        *,
        on: str | Sequence[str] = "item",
        where: Callable[[pd.DataFrame], Any] | None = None,
        **changes: object,
    ) -> Plan:
        """Add a stage to a chain: a further call after each call of the last stage.

        Parameters
        ----------
        prompt : name, path or Prompt
            What is asked then. It may show the earlier replies, ``{{ answer_1 }}`` that to the first stage, or go on
            with the dialogue (``dialogue = true`` in its file).
        table : pandas.DataFrame, optional
            Where several calls come after one: a row for each, with the columns `on` and those that are new, or are
            others then (``system``, ``response_text``, ``judge``). By default one call comes after each.
        on : str or sequence of str
            Columns that match the rows of `table` to the calls.
        where : function, optional
            Of the table of the last stage: which calls are followed. By default all.
        **changes
            Columns that are others then: a value, or a function of the table.

        Returns
        -------
        Plan
            Its ``later`` has the new calls. The column ``chain`` is the first prompt of each chain; it is ``prompt`` of
            the verdicts that are collected, whatever turn they were given in.

        Raises
        ------
        DesignError
            If nothing is followed, a text is missing, or the prompt is of another kind.

        Examples
        --------
        >>> pairs = pd.DataFrame({"item": ["1"], "first": ["u"], "second": ["v"], "task_text": ["Say hello."],
        ...                       "first_text": ["Hello."], "second_text": ["Good day."]})
        >>> again = Prompt("again", "Look at both once more. A, B or tie?", dialogue=True)
        >>> plan = build(pairs, judges="m").then(again, strategy="second look")
        >>> len(plan), plan.later[["stage", "prompt", "strategy"]].values.tolist()
        (2, [[2, 'again', 'second look'], [2, 'again', 'second look']])
        """
        template = next(iter(by_name(prompt).values()))
        if template.name in self.prompts and self.prompts[template.name].digest != template.digest:
            raise DesignError(f"The plan has another prompt named {template.name!r}. Rename one.")
        calls = self.calls if "stage" in self.calls else self.calls.assign(stage=1, chain=self.calls["prompt"])
        everything = pd.concat([calls, self.later], ignore_index=True)
        last = everything[everything["stage"] == everything["stage"].max()]
        last = last if where is None else last[where(last)]
        if not len(last):
            raise DesignError(f"No call of the last stage is followed by {template.name!r}. Check where=.")
        rows = last.drop(columns=["after", "planned"], errors="ignore").rename(columns={CALL: "after"})
        texts = dict(self.texts)
        if table is not None:
            table = _with_digests(table.reset_index(drop=True), TEXTS.values(), texts)
            rows = _repeated(rows, table, names(on))
        columns = {c: value(rows) if callable(value) else value for c, value in changes.items()}
        rows = rows.assign(**columns, stage=rows["stage"] + 1, prompt=template.name).reset_index(drop=True)
        prompts = {**self.prompts, template.name: template}
        if _kind(prompts) == "preferences":
            rows["ties_allowed"] = template.ties_allowed
        self._require_shown(template, rows, everything)
        rows.insert(0, CALL, _ids(rows, prompts, TEXTS.values()))
        _refuse_repeats(rows)
        rows["planned"] = rows[CALL]
        return replace(self, calls=calls, texts=texts, prompts=prompts, later=_joined(self.later, rows))

    def _require_shown(self, template: Prompt, rows: pd.DataFrame, everything: pd.DataFrame) -> None:
        """Refuse a stage whose prompt cannot be filled in, or with which the judge never sees what it judges."""
        stage = int(rows["stage"].iloc[0])
        for placeholder in template.placeholders:
            column = TEXTS.get(placeholder)
            if placeholder in REPLIES[stage - 1 :]:
                raise DesignError(
                    f"Prompt {template.name!r} is stage {stage} and shows {placeholder!r}. Earlier replies: "
                    f"{', '.join(REPLIES[: stage - 1])}."
                )
            if column and placeholder not in REPLIES and (column not in rows or rows[column].isna().any()):
                raise DesignError(f"There is no {column!r}, which prompt {template.name!r} shows. Give it in table=.")
        visible, now, ids = set(template.placeholders), template, rows["after"]
        while now.dialogue and len(ids):
            before = everything[everything[CALL].isin(ids)]
            for name in before["prompt"].unique():
                now = self.prompts[name]
                visible |= set(now.placeholders)
            ids = before["after"].dropna() if "after" in before else before[CALL][:0]
        missing = [p for p in NEEDED[template.frame] if p not in visible]
        if missing and not visible & set(REPLIES):
            raise DesignError(f"No prompt of the chain up to {template.name!r} shows {missing[0]!r} to the judge.")

    def sample(self, n: int, *, stratify: By = (), seed: int | np.random.Generator | None = SEED) -> Plan:
        """Return a random part: `n` items, with all their calls, spread evenly over the strata.

        Parameters
        ----------
        n : int
            Number of items.
        stratify : str or sequence of str
            Design columns, such as ``"delta"``: as many items of each combination as possible. The
            remainder is spread evenly over the levels of the first column: of 100 items by ``["language", "domain"]``,
            50 are in each of two languages.
        seed : int, Generator or None
            Seed of the draw. A Generator is used as it is: without strata, its ``choice(items, n, replace=False)``
            gives the places of the items drawn, in the order of the plan.

        Returns
        -------
        Plan

        Raises
        ------
        DesignError
            If there are fewer items, or no such column.

        Notes
        -----
        The debiasing paper draws 400 of the 3,355 comparisons of MT-Bench with NumPy's ``default_rng(seed=42).choice``:
        ``plan.sample(400, seed=np.random.default_rng(42))``, of a plan whose items are in the order of the file.
        """
        by = names(stratify)
        need_columns(self.calls, by, "plan")
        items = self.calls.drop_duplicates("item")
        if not 1 <= n <= len(items):
            raise DesignError(f"n={n} items cannot be drawn from {len(items)}. Allowed: 1 to {len(items)}.")
        rng = generator(seed, ("sample",))
        if not by:
            chosen = items["item"].iloc[rng.choice(len(items), n, replace=False)]
            return self.rows(self.calls["item"].isin(set(chosen)))
        shuffled = items.iloc[rng.permutation(len(items))]
        # one of each combination in turn; an incomplete turn is spread over the levels of the first column
        turn = shuffled.groupby(list(by), dropna=False, sort=False).cumcount()
        level = shuffled.assign(_turn=turn).groupby(["_turn", by[0]], dropna=False, sort=False).cumcount()
        chosen = shuffled["item"].iloc[np.lexsort([level, turn])[:n]]
        return self.rows(self.calls["item"].isin(set(chosen)))

    def messages(self) -> Iterator[tuple[str, str, str]]:
        """Yield the id, the system message and the (last) user message of each call."""
        for call, system, _, user in self.dialogues():
            yield call, system, user

    def dialogues(self) -> Iterator[tuple[str, str, list[dict[str, str]], str]]:
        """Yield the id, the system message, the earlier messages of the dialogue, and the user message of each call."""
        columns = {**TEXTS, **{c: c for c in SHOWN}}
        placeholders = {n: {*p.placeholders, *(["earlier"] if p.dialogue else [])} for n, p in self.prompts.items()}
        used = [p for p in columns if any(p in s for s in placeholders.values())]
        values = [self._filled(p, columns[p]) for p in used]
        rendered: dict[tuple[str | None, ...], str] = {}
        characters = 0
        for call, *key in zip(self.calls[CALL], self.calls["prompt"], *values, strict=True):
            name, *texts = key
            template, visible = self.prompts[name], placeholders[name]
            filled = {p: text for p, text in zip(used, texts, strict=True) if text is not None and p in visible}
            earlier = json.loads(filled.pop("earlier")) if "earlier" in filled else []
            first = earlier[0]["content"] if earlier and earlier[0]["role"] == "system" else ""
            turns = earlier[1:] if first else earlier
            user = rendered.get(tuple(key))
            if user is None:
                user = template.render(**filled)
                characters += len(user)
                if characters < _KEPT:
                    rendered[tuple(key)] = user
            yield call, template.system or first, turns, user

    def _filled(self, placeholder: str, column: str) -> list[str | None]:
        """The text of a placeholder in each call, None without one; a label that is not shown is empty."""
        cells = self.calls[column].tolist() if column in self.calls else [None] * len(self)
        if placeholder in SHOWN:
            return ["" if x is None or x != x else str(x) for x in cells]
        texts: dict[Any, str] = dict(self.texts)
        return [texts.get(key) for key in cells]

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
        kinds = ("judge", "stage", "prompt", "strategy", "scheme", "probe", "arm", "condition", "stimulus", "delta")
        every = pd.concat([self.calls, self.later], ignore_index=True)
        cells = [c for c in kinds if c in every]
        rows = every[[*cells, "item"]].assign(calls=1, tokens=self._characters(every, answer) / CHARACTERS_PER_TOKEN)
        groups = rows.groupby(cells, dropna=False, sort=False)
        table = groups.agg(calls=("calls", "sum"), items=("item", "nunique"), tokens=("tokens", "sum")).reset_index()
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

    def _characters(self, calls: pd.DataFrame, answer: int) -> NDArray[np.float64]:
        """Characters of each rendered prompt: those of the template, of the texts and of earlier turns."""
        size = {k: len(t) for k, t in self.texts.items()}
        empty = {n: dict.fromkeys(p.placeholders, "") for n, p in self.prompts.items()}
        bare = {n: len(p.system) + len(p.render(**empty[n])) for n, p in self.prompts.items()}
        total: NDArray[np.float64] = calls["prompt"].map(bare).to_numpy(dtype=float)
        for placeholder, column in TEXTS.items():
            if column in calls:
                shows = {n: placeholder in empty[n] or placeholder == "earlier" for n in self.prompts}
                total += (calls[column].map(size).fillna(0) * calls["prompt"].map(shows)).to_numpy(dtype=float)
        if len(self.later):  # replies to come, and the dialogue up to them
            replies = {n: answer * sum(r in empty[n] for r in REPLIES) for n in self.prompts}
            goes_on = calls["prompt"].map({n: p.dialogue for n, p in self.prompts.items()}).to_numpy(dtype=bool)
            waits = calls[CALL].isin(self.later[CALL]).to_numpy()
            total += np.where(waits, calls["prompt"].map(replies).to_numpy(dtype=float), 0)
            for stage in sorted(calls["stage"].unique()):
                rows = waits & goes_on & (calls["stage"] == stage).to_numpy()
                before = calls.loc[rows, "after"].map(dict(zip(calls[CALL], total, strict=True)))
                total[rows] += before.to_numpy(dtype=float) + answer
        return total

    def check(self) -> pd.DataFrame:
        """List what is wrong with the plan, as :func:`judgestats.check` does for a frame.

        Returns
        -------
        pandas.DataFrame
            ``fault``: the prompt or a text shows a word that the judge must not see: the name of a judge, a
            condition, a stimulus, a candidate or a system, a label that other calls show, a value of a column on
            quality (``quality``, ``quality_first``, ...), or a design column with its value, as in ``[delta=1]``.
            ``caution``: pairs planned in one order only, where others under the same conditions are in both; the better
            candidate, or the target, more often in one slot; calls of a later stage that have no answer to go on from.
            Columns as in :func:`judgestats.check`.
        """
        return as_frame([*self._leaks(), *self._imbalance(), *self._cut_off()])

    def _cut_off(self) -> Iterator[Finding]:
        """Calls of later stages that cannot be asked: no usable answer came to a call before them."""
        if lost := self.about.get(UNANSWERED, 0):
            remedy = "Ask the calls of the earlier stage that failed again: remaining(), then next_stage()."
            what = "later calls without an answer to go on from"
            yield Finding("caution", "stage", what, (), remedy=remedy, unread=lost)
        if items := self.about.get(WITHOUT_RUBRIC):
            what, remedy = "items without a rubric that can be used", "They are left out of the variant: give them one."
            yield Finding("caution", "item", what, (), ", ".join(map(str, items)), remedy, unread=len(items))
        if texts := self.about.get(WITHOUT_TEXT):
            what, remedy = "texts that are missing or cannot be changed", "Their pairs are left out: ask for them."
            yield Finding("caution", "item", what, (), ", ".join(map(str, texts)), remedy, unread=len(texts))

    def _leaks(self) -> Iterator[Finding]:
        ids = ("first", "second") if self.kind == "preferences" else ("system",)
        words: dict[str, str] = {}
        quality = [c for c in self.calls if str(c).startswith("quality")]
        for column in (*HIDDEN, *ids, *SHOWN, *quality):
            for value in self.calls[column].dropna().unique() if column in self.calls else ():
                word = str(value)
                whole = column in quality and word.removesuffix(".0").isdigit()  # 3 stands in any text
                if len(word) >= _SHORTEST_WORD and word not in _COMMON and not whole:
                    words.setdefault(word, column)
        for listed in self.calls["candidates"].unique() if "candidates" in self.calls else ():
            words |= {n: "candidates" for n in json.loads(listed) if len(n) >= _SHORTEST_WORD and n not in _COMMON}
        tags: dict[str, str] = {}
        for column in (*HIDDEN, *_TRUTH, *quality):
            for value in self.calls[column].dropna().unique() if column in self.calls else ():
                written = {str(value), f"{value:g}"} if isinstance(value, float) else {str(value)}
                tags |= {f"{column}{sign}{v}": column for v in written for sign in ("=", " = ", ": ", ":")}
        words |= tags
        if not words:
            return
        hidden = _HiddenWords(words)
        leaking: dict[str, list[str]] = {}
        for key, text in self.texts.items():
            for word in hidden.found_in(text):
                leaking.setdefault(word, []).append(key)
        for name, p in self.prompts.items():
            template = hidden.found_in(f"{p.system}\n{p.user}")
            if template:
                rows = np.flatnonzero(self.calls["prompt"] == name)
                yield self._leak(template[0], words[template[0]], rows, f"prompt {name!r}")
        noted = [c for c in self.about.get("shown", ()) if c in self.calls]  # by the note, on purpose
        noted_names = {str(v) for c in noted for v in self.calls[c].dropna().unique()}
        for column in TEXTS.values():
            if column not in self.calls or column in EARLIER.values():
                continue
            for word, keys in leaking.items():
                if column == "note_text" and word in noted_names:
                    continue
                visible = self.calls[column].isin(keys)
                names_one = words[word] in (*ids, "candidates", "judge", "alias")
                if word not in tags and not names_one:  # a text under several conditions tells none of them
                    under = self.calls[visible].groupby(column)[words[word]].nunique(dropna=False)
                    visible &= ~self.calls[column].isin(under.index[under > 1])
                if visible.any():
                    where = f"the {column.removesuffix('_text')}"
                    yield self._leak(word, words[word], np.flatnonzero(visible), where)

    @staticmethod
    def _leak(word: str, column: str, rows: Iterable[int], where: str) -> Finding:
        remedy = "Reword the text, or rename the condition."
        return Finding("fault", column, f"{word!r} ({column}) stands in {where}", tuple(map(int, rows)), word, remedy)

    def _imbalance(self) -> Iterator[Finding]:
        if self.kind != "preferences" or "first" not in self.calls:  # texts are written first
            return
        calls = self.calls
        if (alone := np.flatnonzero(self._in_one_order())).size:
            remedy = "Plan both orders, orders='both', for measures of position and consistency."
            yield Finding("caution", "first", "pairs in one order only", tuple(alone.tolist()), remedy=remedy)
        for column in ("better", "target"):
            rows = np.flatnonzero(calls[column].notna()) if column in calls else ()
            share = float((calls[column] == calls["first"]).iloc[rows].mean()) if len(rows) else 0.5
            if len(rows) and abs(share - 0.5) > 2 / np.sqrt(len(rows)):
                what = f"{column!r} is shown first in {share:.0%} of {len(rows):,} calls"
                remedy = "Plan both orders, or draw the order at random."
                yield Finding("caution", column, what, tuple(map(int, rows)), remedy=remedy)

    def _in_one_order(self) -> NDArray[np.bool_]:
        """Calls on pairs that are shown in one order, where other pairs under the same conditions are in both."""
        calls = self.calls
        number, _ = pd.factorize(pd.concat([calls["first"], calls["second"]], ignore_index=True))
        one, two = number[: len(calls)], number[len(calls) :]
        low, high = np.minimum(one, two), np.maximum(one, two)
        conditions = [c for c in ("judge", "prompt", *_CONDITIONS, "bias") if c in calls]
        keys = [*conditions, *(c for c in ("item", "replicate") if c in calls)]
        pairs = calls[keys].assign(_low=low, _high=high).groupby([*keys, "_low", "_high"], dropna=False, sort=False)
        pair = pairs.ngroup().to_numpy()
        cell = calls.groupby(conditions, dropna=False, sort=False).ngroup().to_numpy()
        lower_first, higher_first, in_both = (np.zeros(len(calls), dtype=bool) for _ in range(3))
        lower_first[pair[one == low]] = True
        higher_first[pair[one == high]] = True
        both = (lower_first & higher_first)[pair] & (low != high)
        in_both[cell[both]] = True
        return np.asarray(~both & (low != high) & in_both[cell])

    def write(self, folder: str | Path, *, overwrite: bool = False, inputs: Iterable[Source] = ()) -> Path:
        """Write the plan to a folder: ``calls.parquet``, ``texts.jsonl``, ``prompts.json`` and ``manifest.json``.

        Calls of later stages go to ``later.parquet``. A new folder appears when all is in it; in one that exists, the
        manifest is written last.

        Parameters
        ----------
        folder : path
            Made if it does not exist.
        overwrite : bool
            Whether another plan may be replaced. One whose folder has more in it than was written with it (later
            stages, answers, a file that was changed) never is.
        inputs : iterable of path
            Files, folders and globs that are not written over, even so.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        DesignError
            If the folder holds another plan, or cannot be written.
        """
        folder = Path(folder)
        write_plan(self, folder, self.kind, overwrite=overwrite, inputs=tuple(inputs))
        return folder

    @classmethod
    def read(cls, folder: str | Path, *, trust: bool = False) -> Plan:
        """Read a plan from its folder.

        Parameters
        ----------
        folder : path
            As written by :meth:`write`.
        trust : bool
            Whether to read files that are not as they were written.

        Returns
        -------
        Plan

        Raises
        ------
        DesignError
            If a file is missing, is a link, or does not have the digest that the manifest gives.
        """
        parts = read_parts(Path(folder), trust)
        return cls(parts.calls, parts.texts, parts.prompts, parts.about, parts.later)


class _HiddenWords:
    """Words that a judge must not read, by their first run of letters and digits: a whole word of a text with them."""

    def __init__(self, words: Iterable[str]) -> None:
        self._by_run: dict[str, list[str]] = {}
        for word in words:
            run = _RUN.search(word)
            self._by_run.setdefault(run[0] if run else "", []).append(word)

    def found_in(self, text: str) -> list[str]:
        """Those that the text has as whole words, in its order; of two that overlap, the longer."""
        runs = self._by_run.keys() & {*_RUN.findall(text), ""}
        if not (maybe := sorted((w for run in runs for w in self._by_run[run] if w in text), key=len, reverse=True)):
            return []
        pattern = "|".join(rf"(?<!\w){re.escape(w)}(?!\w)" for w in maybe)
        return list(dict.fromkeys(re.findall(pattern, text)))


def opened(plan: Plan | str | Path, trust: bool = False) -> Plan:
    """A plan, or the plans of all stages in a folder and its folders ``stage2``, ``stage3``, ..., joined."""
    if isinstance(plan, Plan):
        return plan
    whole = Plan.read(plan, trust=trust)
    for stage in stage_folders(Path(plan)):  # stage2, stage2-2, stage3: what a later one says of calls counts
        whole = whole + Plan.read(stage, trust=trust)
    return whole


def goes_on(plan: Plan) -> bool:
    """Whether calls may come after those that are planned."""
    return len(plan.later) > 0 or WRITES in plan.about


def by_people(calls: pd.DataFrame) -> pd.Series[bool]:
    """Which calls people answer, beside judges."""
    return calls["rater_type"].eq("human") if "rater_type" in calls else pd.Series(False, calls.index)


def opened_table(source: pd.DataFrame | str | Path) -> pd.DataFrame:
    """A table of contents; from a file, empty cells of ids and texts are empty texts, and other ones are missing."""
    if not isinstance(source, str | Path):
        return source
    table: pd.DataFrame = as_table(source)
    for name in table.columns:
        values = table[name].astype(object).where(table[name].notna(), "")
        if name.endswith("_text") or name in ("item", "first", "second", "system", "text"):
            table[name] = values.astype(str)
            continue
        empty = values.astype(str) == ""
        table[name] = values.mask(empty, None).infer_objects()
        if name == "delta" or name.endswith(("_first", "_second")):
            number = pd.to_numeric(table[name], errors="coerce")
            table[name] = number if (number.notna() == ~empty).all() and not empty.all() else table[name]
    return table


def seed_noted(seed: int | np.random.Generator | None) -> int | str:
    """A seed as the manifest of a plan has it."""
    return seed if isinstance(seed, int) else str(seed)


def need_columns(table: pd.DataFrame, names: Iterable[str], what: str = "table", remedy: str = "") -> None:
    """Raise DesignError if a table lacks a column; `remedy`: what to do about it."""
    for name in names:
        refuse_unknown(name, table, f"The {what} has no column {name!r}", "It has", remedy=remedy)


@checked_arguments
def build(
    table: pd.DataFrame | str | Path,
    *,
    judges: str | Sequence[str],
    prompts: str | Path | Prompt | Iterable[str | Path | Prompt] = "pairwise",
    temperature: float | Sequence[float] = 0.0,
    replicates: int = 1,
    orders: str = "both",
    seed: int | np.random.Generator | None = SEED,
    about: Mapping[str, Any] | None = None,
) -> Plan:
    """Make a plan of a table of contents: every row under every prompt, temperature, judge and replicate.

    Parameters
    ----------
    table : pandas.DataFrame or path
        A table, or a file with one. Of preferences: ``item``, ``first``, ``second`` (ids) and the texts ``first_text``,
        ``second_text``; of ratings: ``item``, ``system`` and ``response_text``; of texts to be written: ``item``.
        ``task_text`` and ``note_text`` (and ``rubric_text``) where the prompt shows them. All other columns are design
        columns; ``x_first`` and ``x_second`` go with their candidate.
    judges : str or sequence of str
        Who is asked.
    prompts : name, path, Prompt, or several
        See :func:`judgestats.design.prompt`.
    temperature : float or sequence of float
        One or several.
    replicates : int
        How often each call is repeated.
    orders : {'both', 'random', 'as given'}
        Preferences: each row in both orders; in one drawn at random, the same wherever the pair is asked about the
        item; or as it is.
    seed : int, Generator or None
        Seed of random orders.
    about : mapping, optional
        For the manifest.

    Returns
    -------
    Plan

    Raises
    ------
    DesignError
        If a column or a text is missing, or two rows are the same call.

    See Also
    --------
    collect : Answers joined to their plan.
    export : Calls written for a runner.

    Examples
    --------
    >>> pairs = pd.DataFrame({"item": ["1"], "first": ["u"], "second": ["v"], "task_text": ["Say hello."],
    ...                       "first_text": ["Hello."], "second_text": ["Good day."]})
    >>> plan = build(pairs, judges=["m1", "m2"], replicates=2)
    >>> len(plan), plan.calls["call"].is_unique
    (8, True)
    """
    choose(orders, ("both", "random", "as given"), "orders")
    if not isinstance(replicates, int) or replicates < 1:
        raise DesignError(f"replicates={replicates!r} is not a number of repeats. Allowed: 1 or more.")
    table = opened_table(table)
    chosen = by_name(prompts)
    kind = _kind(chosen)
    visible = dict.fromkeys(q for one in chosen.values() for q in one.placeholders)
    paired = kind == "preferences" or "first" in visible
    needed = ["item", *(["first", "second"] if paired else []), *(["system"] if kind == "ratings" else [])]
    needed += [TEXTS[p] for p in visible if p in TEXTS]
    need_columns(table, needed)
    table = table.reset_index(drop=True)
    texts: dict[str, str] = {}
    table = _with_digests(table, TEXTS.values(), texts)
    if paired and orders == "both":
        table = pd.concat([table, swapped(table)], ignore_index=True)
    if paired and orders == "random":
        table = _at_random(table, generator(seed, ("orders",)))
    several = [judges] if isinstance(judges, str) else list(judges)
    if secret := next((name for name in map(str, several) if masked(name) != name), ""):
        raise DesignError(
            f"judge {secret!r} has a secret in its name, which stands in files, tables and pages. Give the name of the "
            "model alone."
        )
    heat = [temperature] if isinstance(temperature, int | float) else list(temperature)
    frame = _crossed(
        table, {"judge": several, "prompt": list(chosen), "temperature": heat, "replicate": range(replicates)}
    )
    if paired:
        frame["ties_allowed"] = frame["prompt"].map({n: p.ties_allowed for n, p in chosen.items()})
    frame.insert(0, CALL, _ids(frame, chosen, TEXTS.values()))
    _refuse_repeats(frame)
    return Plan(frame, texts, chosen, dict(about or {}))


def _kind(prompts: Mapping[str, Prompt]) -> AnswerKind:
    """What the calls of a plan give: verdicts or scores, besides texts."""
    kinds: list[AnswerKind] = sorted({p.frame for p in prompts.values()} - {"texts"})
    if len(kinds) > 1:
        raise DesignError(f"The prompts ask for {' and for '.join(kinds)}. Make a plan of each.")
    return kinds[0] if kinds else "texts"


def _with_digests(table: pd.DataFrame, columns: Iterable[str], texts: dict[str, str]) -> pd.DataFrame:
    """The table with digests in place of texts, which go into `texts`."""
    for column in columns:
        if column not in table:
            continue
        if missing := int(table[column].isna().sum()):
            raise DesignError(f"{column!r} is missing in {missing} rows. Give '' for an empty text.")
        key = {t: digest(t) for t in table[column].unique()}
        texts |= {k: t for t, k in key.items()}
        table = table.assign(**{column: table[column].map(key)})
    return table


def _refuse_repeats(frame: pd.DataFrame) -> None:
    """Refuse rows that are the same call."""
    if not frame[CALL].is_unique:
        twice = frame[frame[CALL].duplicated(keep=False)].iloc[0].drop(CALL).to_dict()
        raise DesignError(f"Two rows of the plan are the same call: {twice}. Give them different items.")


def _joined(one: pd.DataFrame, two: pd.DataFrame) -> pd.DataFrame:
    """The calls of both, each once."""
    if not (parts := [t for t in (one, two) if len(t)]):
        return one
    result = pd.concat(parts, ignore_index=True).drop_duplicates(CALL, keep="last", ignore_index=True)
    if "stage" not in result:
        return result
    return result.assign(stage=result["stage"].fillna(1).astype(int), chain=result["chain"].fillna(result["prompt"]))


def following(later: pd.DataFrame, ids: set[str]) -> pd.DataFrame:
    """The calls of later stages that come, at any distance, after some calls."""
    followed = np.zeros(len(later), dtype=bool)
    for stage in sorted(later["stage"].unique()) if len(later) else ():
        rows = (later["stage"] == stage).to_numpy() & later["after"].isin(ids).to_numpy()
        followed |= rows
        ids = ids | set(later.loc[rows, CALL])
    return later[followed].reset_index(drop=True)


def _repeated(rows: pd.DataFrame, table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Each call with its rows of the table; a call without one, and a row without a call, are refused."""
    for frame, other, what in ((rows, table, "call has no row of the table"), (table, rows, "row comes after no call")):
        for key in keys:
            refuse_unknown(key, frame, f"on={key!r} is not a column", "There are")
        if (alone := ~pd.MultiIndex.from_frame(frame[keys]).isin(pd.MultiIndex.from_frame(other[keys]))).any():
            raise DesignError(f"A {what}: {frame.loc[alone, keys].iloc[0].to_dict()}. Check on= and the table.")
    return rows[[c for c in rows if c in keys or c not in table]].merge(table, on=keys)


def _at_random(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The table with each pair in one order, drawn at random: half of the pairs show the lower id first."""
    lower = table["first"] <= table["second"]
    names = {"item": table["item"], "low": table["first"].where(lower, table["second"])}
    pair = pd.DataFrame({**names, "high": table["second"].where(lower, table["first"])})
    pair = pair.groupby(["item", "low", "high"], sort=False).ngroup().to_numpy()
    lower_first = rng.permutation(np.arange(pair.max(initial=-1) + 1) % 2 == 0)[pair]
    other = lower.to_numpy() != lower_first
    return pd.concat([table[~other], swapped(table)[other]]).sort_index()


def swapped(table: pd.DataFrame) -> pd.DataFrame:
    """The same pairs in the other order: what belongs to a candidate goes with it."""
    pairs = {c: f"{c[: -len('_first')]}_second" for c in table.columns if c.endswith("_first")}
    pairs |= {"first": "second", "first_text": "second_text"}
    pairs = {a: b for a, b in pairs.items() if a in table.columns and b in table.columns}
    return table.rename(columns={**pairs, **{b: a for a, b in pairs.items()}})[list(table.columns)]


def _crossed(table: pd.DataFrame, factors: Mapping[str, Iterable[object]]) -> pd.DataFrame:
    """Each row of a table with every combination of the factors, the first factor slowest."""
    levels = {name: list(values) for name, values in factors.items()}
    if empty := next((n for n, values in levels.items() if not values), ""):
        raise DesignError(f"No {empty} was given. Give at least one.")
    n = len(table)
    grid = np.indices([len(v) for v in levels.values()]).reshape(len(levels), -1)
    frame = table.take(np.tile(np.arange(n), grid.shape[1])).reset_index(drop=True)
    for (name, values), index in zip(levels.items(), grid, strict=True):
        frame[name] = np.array(values, dtype=object if name == "judge" else None)[np.repeat(index, n)]
    return frame


def _ids(frame: pd.DataFrame, prompts: Mapping[str, Prompt], texts: Iterable[str]) -> list[str]:
    """Id of each call."""
    keyed = frame["prompt"].map({n: p.digest for n, p in prompts.items()})
    ids = [c for c in (*_PLACE, *_ASKED_HOW, *SHOWN) if c in frame]
    parts = [keyed, *(frame[c] for c in texts if c in frame), frame["judge"], frame["temperature"], frame["replicate"]]
    if "after" in ids:
        frame = frame.assign(after=frame["after"].str[-_ID_DIGITS:])  # as in plans from before ids began with a letter
    columns = [_as_text(p) for p in (*parts, *(frame[c] for c in ids))]
    keys = map("\x1f".join, zip(*columns, strict=True))
    return [f"{ID_LETTER}{blake2b(key.encode(), digest_size=_ID_DIGITS // 2).hexdigest()}" for key in keys]


def _as_text(column: pd.Series) -> list[str]:
    """A column as text, '' where it is missing; each value is written once, however often it occurs."""
    if column.dtype == object:  # 1 and True are the same to a hash table
        return [str(x) for x in column.where(column.notna(), "")]
    codes, values = pd.factorize(column)
    written = np.array([*pd.Series(values).astype(str), ""], dtype=object)
    return list(written[codes])
