"""Criteria of a rubric, and rubrics as judges write them in JSON: dimensions, each with a weight and anchors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judgestats.design.prompt_templates import Prompt
from judgestats.ingest.json_replies import json_objects
from judgestats.ingest.reply_thoughts import without_thoughts
from judgestats.typing import Record
from judgestats.verdicts.composites import WHOLES


@dataclass(frozen=True)
class Criterion:
    """One criterion: what it asks, what its scores mean (``{"0-3": "wrong", ...}``), and its weight in the whole.

    See Also
    --------
    Rubric : Criteria on one scale.

    Examples
    --------
    >>> Criterion("clarity", "Is it clear?", {"1": "no", "5": "yes"}).weight
    1.0
    """

    name: str
    about: str = ""
    anchors: Mapping[str, str] = field(default_factory=dict)
    weight: float = 1.0


@dataclass(frozen=True)
class Dimensions:
    """Dimensions of a rubric in JSON, whose weights sum to 1; `flag`: what is odd; `fault`: why it cannot be used."""

    criteria: tuple[Criterion, ...] = ()
    flag: str = ""
    fault: str = ""


def rubric_json(criteria: Sequence[Criterion]) -> str:
    """Criteria in the form in which a judge writes a rubric, with weights that sum to 1 (none if all are 1)."""
    total = sum(c.weight for c in criteria)
    equal = all(c.weight == 1 for c in criteria)
    dimensions = []
    for c in criteria:
        weight = None if equal else round(c.weight / total, 4)
        optional = {"weight": weight, "about": c.about or None, "anchors": dict(c.anchors) or None}
        dimensions.append({"name": c.name, **{k: v for k, v in optional.items() if v is not None}})
    return json.dumps({"dimensions": dimensions}, ensure_ascii=False, indent=1)


def plain(name: str) -> str:
    """A name without case, a number before it and punctuation, by which scores are matched to dimensions."""
    return " ".join(re.findall(r"\w+", re.sub(r"^\W*\d+[.):]", "", name.casefold())))


def read_dimensions(text: str, template: Prompt | None = None) -> Dimensions:
    """The rubric in a reply, as the schema of its prompt has it; without one, weights that lack are equal."""
    objects = [dict(p) for _, _, p, _ in json_objects(without_thoughts(text)[0]) if isinstance(p, list)]
    several = [o["dimensions"] for o in objects if isinstance(o.get("dimensions"), list)]
    if len(several) != 1:
        return Dimensions(fault="several rubrics in the reply" if several else "no JSON object with dimensions")
    parts = [_fields(p) for p in several[0]]
    names = [str(p.get("name") or "").strip() for p in parts]
    wanted = {} if template is None else template.schema.get("properties", {}).get("dimensions", {})
    size = wanted.get("minItems", len(parts))
    if not parts or len(parts) != size:
        return Dimensions(fault=f"{len(parts)} dimensions" + (f", not {size}" if parts else ""))
    if fault := _fault_of_names(names, template.criteria if template is not None else ()):
        return Dimensions(fault=fault)
    weights = [_weight(p.get("weight")) for p in parts]
    if template is None and all("weight" not in p for p in parts):
        weights = [1.0] * len(parts)
    for name, weight in zip(names, weights, strict=True):
        if math.isnan(weight) or weight < 0:
            return Dimensions(fault=f"the weight of {name!r} is " + ("missing" if weight != weight else "negative"))
    total = sum(weights)
    if total == 0:
        return Dimensions(fault="all weights are 0")
    total = 1.0 if abs(total - 1) < 1e-6 else total
    odd = [f"weights summed to {total:g}"] if template is not None and total != 1 else []
    needed = wanted.get("items", {}).get("properties", {}).get("anchors", {}).get("required", ())
    criteria = []
    for name, weight, part in zip(names, weights, parts, strict=True):
        anchors = {str(k): str(v) for k, v in _fields(part.get("anchors")).items()}
        odd += [f"{name!r} has no anchor {a}" for a in needed if a not in anchors]
        about = part.get("about")
        criteria.append(Criterion(name, about if isinstance(about, str) else "", anchors, weight / total))
    return Dimensions(tuple(criteria), "; ".join(odd))


def _fields(value: object) -> Record:
    """An object within JSON, which is a list of tuples; empty where it is none."""
    return dict(value) if isinstance(value, list) and all(isinstance(x, tuple) for x in value) else {}


def _weight(value: object) -> float:
    """A weight as it is given: a number, or text such as ``30 %``; NaN if it is none."""
    number = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*%?\s*", str(value)) if not isinstance(value, bool) else None
    return float(number[1]) if number else math.nan


def _fault_of_names(names: Sequence[str], wanted: Sequence[str]) -> str:
    """Why the names of dimensions are not possible; empty if they are."""
    if not all(map(plain, names)):
        return "a dimension without a name"
    if whole := next((n for n in names if n.casefold() in WHOLES), None):
        return f"a dimension named {whole!r}"
    keys = [plain(n) for n in names]
    if len(set(keys)) < len(keys):
        return "two dimensions of one name"
    absent = [w for w in wanted if plain(w) not in keys]
    return f"no dimension {absent[0]!r}, which was asked for" if absent else ""
