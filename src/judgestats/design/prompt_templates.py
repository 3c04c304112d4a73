"""Prompts: templates with placeholders and an output schema, rendered in Jinja2's sandbox."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from jinja2 import StrictUndefined, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from judgestats.errors import DesignError, choose, refuse_unknown
from judgestats.outputs import text_read
from judgestats.schema.columns import Kind
from judgestats.typing import JsonSchema, Record

#: What the answers to a prompt are: a canonical frame, or texts that a later call shows.
AnswerKind = Kind | Literal["rankings", "texts"]
_FOLDER = files("judgestats.design") / "templates"
#: Placeholders that a prompt of each kind must show to the judge.
NEEDED: dict[AnswerKind, tuple[str, ...]] = {
    "preferences": ("first", "second"),
    "ratings": ("response",),
    "rankings": ("responses",),
    "texts": ("task",),
}
#: Placeholders of the replies to the earlier stages of a chain.
REPLIES = tuple(f"answer_{k}" for k in range(1, 10))
#: Placeholders that a plan fills in.
KNOWN: dict[AnswerKind, tuple[str, ...]] = {
    "preferences": ("task", "first", "second", "note", "label_first", "label_second", *REPLIES),
    "ratings": ("task", "response", "rubric", "note", *REPLIES),
    "rankings": ("task", "responses", "note", *REPLIES),
    "texts": ("task", "first", "second", "response", "rubric", "note", "label_first", "label_second", *REPLIES),
}
#: What a template may do: show placeholders, and choose by them. It ends soon and shows no more than it was given.
_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.If, nodes.CondExpr),
    *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Test, nodes.Filter),
)
_FILTERS = ("trim", "upper", "lower", "capitalize", "title", "length", "tojson", "default")
_TESTS = ("defined", "undefined", "none")
#: How often a template may name placeholders: what it shows is at most so many times the texts.
_MOST_NAMES = 200
#: A part of a JSON schema that it refers to.
_REFERENCE = re.compile(r'"\$(?:ref|dynamicRef)": "([^"]+)"')
# texts are shown to a model, not to a browser: nothing is escaped
_SANDBOX = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)
_SANDBOX.globals.clear()  # cycler, lipsum and others are no placeholders


def digest(*parts: str) -> str:
    """Digest of texts, 16 hexadecimal digits; the lengths keep ("ab", "c") and ("a", "bc") apart."""
    hasher = blake2b(digest_size=8)
    for part in parts:
        raw = part.encode()
        hasher.update(len(raw).to_bytes(8, "little"))
        hasher.update(raw)
    return hasher.hexdigest()


@dataclass(frozen=True)
class Prompt:
    """A template of what a judge is shown, and the form of its answer.

    Parameters
    ----------
    name : str
        Its name in the column ``prompt``.
    user : str
        The message, in a part of Jinja2 (placeholders, ``{% if %}``, comparisons and a few filters; no loops):
        ``{{ task }}``, ``{{ first }}``, ``{{ second }}`` for preferences, and the labels ``{{ label_first }}``,
        ``{{ label_second }}`` (empty where none is shown); ``{{ task }}``, ``{{ response }}``, ``{{ rubric }}`` for
        ratings. In a chain, ``{{ answer_1 }}`` is the reply to its first stage.
    system : str
        The system message; empty for none.
    frame : {'preferences', 'ratings', 'rankings', 'texts'}
        What the answers are. ``rankings`` of several responses are opened to preferences; ``texts`` hold no verdict or
        score: they are stimuli of a later plan, or go into a later call of the chain.
    about, paper, ours : str
        One line each: what it is, what of it is a paper's, and what is ours.
    ties_allowed : bool
        Whether a judge may answer that neither is better.
    schema : mapping
        JSON schema of the answer, passed on to runners that take one, and what :func:`collect` holds a reply in JSON
        to; empty for none.
    criteria : sequence of str
        Ratings: criteria that one reply scores, in an object ``scores``; empty for a single score. Texts: names that
        the dimensions of a rubric must have.
    criteria_in : str
        Ratings: the placeholder that shows a rubric in JSON, ``answer_3`` or ``rubric``, say; one reply scores each of
        its dimensions, in a list ``scores``.
    scale : (float, float), optional
        Ratings: lowest and highest score.
    by_scores : bool
        Preferences: whether the verdict is that of the scores in the reply, or in one before it: another one makes no
        sense (status ``semantic``).
    dialogue : bool
        In a chain: the judge is shown the earlier messages and its replies, too.

    Raises
    ------
    DesignError
        If the schema is no JSON schema; or the template is not valid Jinja2, does what no prompt needs (loops,
        arithmetic, calls), lacks a placeholder that the judge must see, or has one that a plan does not fill in.

    See Also
    --------
    prompt : A prompt of the package, by name.
    prompts : All of them.

    Examples
    --------
    >>> prompt = Prompt("short", "{{ task }}\\n1: {{ first }}\\n2: {{ second }}\\nA, B or tie?")
    >>> prompt.render(task="Name a prime.", first="7", second="9").splitlines()
    ['Name a prime.', '1: 7', '2: 9', 'A, B or tie?']
    """

    name: str
    user: str
    system: str = ""
    frame: AnswerKind = "preferences"
    about: str = ""
    paper: str = ""
    ours: str = ""
    ties_allowed: bool = True
    schema: JsonSchema = field(default_factory=dict)
    criteria: Sequence[str] = ()
    criteria_in: str = ""
    scale: tuple[float, float] | None = None
    by_scores: bool = False
    dialogue: bool = False

    def __post_init__(self) -> None:
        if self.schema:
            _refuse_schema(self.schema, self.name)
        placeholders = self._shown(self.user) | self._shown(self.system)
        choose(self.frame, NEEDED, "frame")
        missing = [p for p in NEEDED[self.frame] if p not in placeholders]
        if missing and not (self.dialogue or placeholders & set(REPLIES)):
            braces = ", ".join(f"{{{{ {p} }}}}" for p in missing)
            raise DesignError(f"Prompt {self.name!r} does not show {braces} to the judge. Put it into the template.")
        for p in sorted(placeholders):
            odd = f"Prompt {self.name!r} has the placeholder {p!r}, which a plan does not fill in"
            refuse_unknown(p, KNOWN[self.frame], odd)
        if self.criteria_in and self.criteria_in not in placeholders & {"rubric", *REPLIES}:
            raise DesignError(
                f"Prompt {self.name!r}: criteria_in={self.criteria_in!r} is no rubric that the template shows. "
                "Allowed: 'rubric' or an earlier reply, such as 'answer_1', that is a placeholder of it."
            )

    def _shown(self, template: str) -> set[str]:
        """Placeholders of a template; a DesignError if it does what no prompt needs."""
        try:
            tree = _SANDBOX.parse(template)
            parts = [tree, *tree.find_all(nodes.Node)]
            used = [p for p in parts if not isinstance(p, _ALLOWED)]
            for part in tree.find_all((nodes.Filter, nodes.Test)):
                names = _FILTERS if isinstance(part, nodes.Filter) else _TESTS
                again = part.name == "tojson" and any(f.name == "tojson" for f in part.find_all(nodes.Filter))
                if part.name not in names or (part.args and part.name != "default") or again:  # doubles each backslash
                    used.append(part)
            if len(occurrences := [*tree.find_all(nodes.Name)]) > _MOST_NAMES:
                raise DesignError(
                    f"Prompt {self.name!r} names placeholders {len(occurrences):,} times. Allowed: {_MOST_NAMES}. Put "
                    "what is repeated into the texts."
                )
            if used:
                what = " ".join(filter(None, (type(used[0]).__name__, getattr(used[0], "name", ""))))
                raise DesignError(
                    f"Prompt {self.name!r}, line {used[0].lineno} of a template: it uses {what}. Allowed: "
                    f"placeholders, {{% if %}}, comparisons, and the filters {', '.join(_FILTERS)} without arguments. "
                    "Prepare anything else in the texts."
                )
            return meta.find_undeclared_variables(tree)
        except (TemplateError, ValueError, RecursionError, MemoryError, SyntaxError) as problem:
            said = "it is nested too deeply" if isinstance(problem, RecursionError | MemoryError) else problem
            raise DesignError(f"Prompt {self.name!r} is not a valid template: {said}.") from None
        except (TypeError, AttributeError):
            raise DesignError(f"Prompt {self.name!r}: a template should be text, got {template!r:.60}.") from None

    @cached_property
    def placeholders(self) -> tuple[str, ...]:
        """Placeholders of the template."""
        present = meta.find_undeclared_variables(_SANDBOX.parse(f"{self.system}\n{self.user}"))
        return tuple(p for p in KNOWN[self.frame] if p in present)

    @cached_property
    def digest(self) -> str:
        """Digest of all that the judge is shown of the template: a changed prompt has another."""
        parts = [self.system, self.user, json.dumps(dict(self.schema), sort_keys=True)]
        return digest(*parts, *(["dialogue"] if self.dialogue else []))

    @cached_property
    def _compiled(self) -> Any:
        return _SANDBOX.from_string(self.user.strip())

    def render(self, **values: str) -> str:
        """The user message with its placeholders filled in.

        Raises DesignError if a value is missing.
        """
        try:
            result: str = self._compiled.render(values)
        except (TemplateError, TypeError, RecursionError, MemoryError, SyntaxError) as problem:
            raise DesignError(f"Prompt {self.name!r} cannot be filled in: {problem}.") from None
        return result

    def record(self) -> Record:
        """The prompt as a JSON object, for a manifest."""
        texts = ("name", "user", "system", "frame", "about", "paper", "ours", "criteria_in")
        fields = {n: getattr(self, n) for n in (*texts, "ties_allowed", "scale", "by_scores", "dialogue")}
        return {**fields, "schema": dict(self.schema), "criteria": list(self.criteria)}


def _refuse_schema(schema: JsonSchema, name: str) -> None:
    """Refuse what is no JSON schema, or refers to another document or to what it does not have."""
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        if not isinstance(schema, Mapping):
            raise TypeError(f"{json.dumps(schema)} is no object")
        Draft202012Validator.check_schema(dict(schema))
        references = _REFERENCE.findall(json.dumps(dict(schema)))
    except (SchemaError, TypeError, ValueError, RecursionError) as problem:
        said = problem.message if isinstance(problem, SchemaError) else problem
        raise DesignError(f"The schema of prompt {name!r} is no JSON schema: {str(said)[:200]}.") from None
    if any(not r.startswith("#") for r in references):
        raise DesignError(f"The schema of prompt {name!r} refers to another document. Copy the part into its $defs.")
    resolver = Registry().with_resource("", DRAFT202012.create_resource(dict(schema))).resolver()
    for reference in references if "$id" not in schema else ():  # which moves what a reference starts from
        try:
            resolver.lookup(reference)
        except Unresolvable:
            raise DesignError(
                f"The schema of prompt {name!r} refers to {reference!r}, which it does not have. Add the part."
            ) from None


def _read(name: str, text: str) -> Prompt:
    """A prompt of a TOML file."""
    try:
        fields = tomllib.loads(text)
        schema = fields.get("schema") or "{}"
        if not isinstance(schema, str):
            raise ValueError(
                "its schema is no text. Write it as JSON in quotes, as `judgestats prompts pairwise` shows"
            )
        try:
            fields["schema"] = json.loads(schema)
        except ValueError as problem:
            raise ValueError(f"its schema is no JSON ({problem})") from None
        return Prompt(name=name, **fields)
    except RecursionError:
        raise DesignError(f"Prompt {name!r} cannot be read: it is nested too deeply.") from None
    except (ValueError, TypeError, AttributeError) as problem:  # ValueError: of both parsers, and of long numbers
        raise DesignError(f"Prompt {name!r} cannot be read: {problem}.") from None


def prompt(name: str | Path | Prompt) -> Prompt:
    """Return a prompt by its name, or read one of your own from a TOML file.

    Parameters
    ----------
    name : str, path or Prompt
        One of :func:`prompts`; a file with ``user`` and, optionally, ``system``, ``frame``, ``about``,
        ``ties_allowed`` and ``schema``; or a prompt, returned as it is.

    Returns
    -------
    Prompt

    Raises
    ------
    DesignError
        If there is none of this name, or its template is faulty.

    See Also
    --------
    prompts : Prompts of the package.

    Examples
    --------
    >>> prompt("pairwise").placeholders
    ('task', 'first', 'second')
    """
    if isinstance(name, Prompt):
        return name
    path = Path(name)
    if path.suffix == ".toml":
        try:
            return _read(path.stem, text_read(path))
        except (OSError, ValueError) as problem:  # ValueError: not in UTF-8
            said = getattr(problem, "strerror", None) or "it is not in UTF-8"
            raise DesignError(f"Prompt {str(name)!r} cannot be opened ({said}).") from None
    available = _names()
    refuse_unknown(str(name), available, f"There is no prompt {str(name)!r}", "Prompts", more="; or give a .toml file")
    return _read(str(name), (_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def _names() -> list[str]:
    return sorted(Path(f.name).stem for f in _FOLDER.iterdir() if f.name.endswith(".toml"))


def prompts() -> pd.DataFrame:
    """List the prompts that come with the package.

    Returns
    -------
    pandas.DataFrame
        ``name``, ``frame``, ``about``, ``paper`` (what of it is a paper's) and beside it ``ours``, ``placeholders``,
        ``ties_allowed`` and ``digest``.

    See Also
    --------
    prompt : One prompt.

    Examples
    --------
    >>> prompts().set_index("name").loc["minimal", "ours"]
    'The wording and the names of the fields.'
    """
    columns = ["name", "frame", "about", "paper", "ours", "placeholders", "ties_allowed", "digest"]
    several = [prompt(name) for name in _names()]
    rows = [[getattr(p, c) for c in columns] for p in several]
    return pd.DataFrame(rows, columns=columns).assign(placeholders=[", ".join(p.placeholders) for p in several])


def by_name(chosen: str | Path | Prompt | Iterable[str | Path | Prompt]) -> dict[str, Prompt]:
    """One prompt or several, by name; two of one name are refused."""
    several = [prompt(p) for p in ([chosen] if isinstance(chosen, str | Path | Prompt) else chosen)]
    for name, times in Counter(p.name for p in several).items():
        if times > 1:
            raise DesignError(f"Two prompts are named {name!r}. Rename one.")
    return {p.name: p for p in several}
