"""Arguments of another form than annotated: a message where the function has none of its own."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.arguments import checked_arguments, hints_of, words_of
from judgestats.errors import DesignError, SchemaError


@checked_arguments
def measure(
    table: pd.DataFrame,
    weights: Mapping[str, float] | None = None,
    names: Mapping[str, str] | Sequence[str] = (),
    limits: Sequence[float] = (0.5,),
    share: float = 0.5,
    bins: int | Sequence[float] = 3,
    rule: str | Callable[[float], float] = "mean",
) -> float:
    """A sum that fails for whatever it cannot add up."""
    if share == "none":
        raise SchemaError("share='none' is no share.")
    return (
        len(range(bins) if isinstance(bins, int) else list(bins))
        - 3
        + sum(weights.values())
        + sum(limits)
        + share / 2
        + len(names)
        + len(table.columns)
        + len(rule)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": "style"}, r"weights='style' must be a mapping, such as {'NAME': 0.5}, or None."),
        (
            {"weights": {"style": "much"}},
            r"weights={'style': 'much'} must be a mapping, such as {'NAME': 0.5}, or None.",
        ),
        ({"names": 3}, r"names=3 must be a mapping, such as {'NAME': 'VALUE'}, or a list of names."),
        ({"limits": 0.5}, "limits=0.5 must be a list of numbers."),
        ({"limits": ["low"]}, r"limits=\['low'\] must be a list of numbers."),
        ({"share": "half"}, "share='half' must be a number."),
        ({"bins": 0.3}, "bins=0.3 must be a whole number, or a list of numbers."),
        ({"table": "calls.csv"}, "table='calls.csv' must be a pandas.DataFrame."),
        ({"share": pd.DataFrame({"a": [1.0]})}, "share=a DataFrame must be a number."),
    ],
)
def test_the_form_of_an_argument_is_why_it_fails(arguments, message):
    with pytest.raises(DesignError, match=message):
        measure(**{"table": pd.DataFrame(), "weights": {}, **arguments})


def test_a_message_of_the_function_stands_and_other_errors_are_not_hidden():
    with pytest.raises(SchemaError, match="share='none' is no share"):
        measure(pd.DataFrame(), share="none")
    with pytest.raises(TypeError):  # a callable is allowed, whose form is not checked
        measure(pd.DataFrame(), weights={}, rule=abs)
    assert measure(pd.DataFrame({"a": [1]}), {"b": np.float64(1)}, limits=np.array([1.0]), share=2) == 3 + 1 + 4


#: Functions that take a text, which is no name.
OF_TEXTS = ("attacked", "lost_content", "truncated", "with_markdown", "without_markdown")


def name_arguments() -> list[tuple[str, Callable[..., object], str]]:
    """Every argument of a public function that may be a name, and may be no list."""
    rooms = {"": js, **{f"{n}.": getattr(js, n) for n in ("datasets", "design", "hierarchical", "models", "plot")}}
    rooms["published."] = js.published
    each = [
        (room + n, f) for room, home in rooms.items() for n in home.__all__ if inspect.isfunction(f := getattr(home, n))
    ]
    return [
        (label, function, p.name)
        for label, function in each
        if not label.endswith(OF_TEXTS)
        for p in inspect.signature(function, eval_str=False).parameters.values()
        if {*str(p.annotation).split(" | ")} in ({"str"}, {"str", "None"}, {"int", "str", "None"})
    ]


@pytest.mark.parametrize(("label", "function", "argument"), name_arguments())
def test_a_list_is_no_name(label, function, argument):
    """Refused before anything else is looked at: the other arguments are nothing that could be used."""
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and "VAR" not in p.kind.name]
    required = {p.name: next(iter(words_of(hints_of(function)[p.name])), object()) for p in needed}
    with pytest.raises(DesignError, match=rf"^{argument}=\['judge', 'item'\] must be .*a name"):
        function(**{**required, argument: ["judge", "item"]})


@pytest.mark.parametrize("columns", [["judge", "item"], ("judge",), {"judge"}, pd.Series(["judge"])])
def test_every_list_is_refused_where_a_name_is_meant(columns):
    @checked_arguments
    def of_column(over: str, also: str | None = None, **others: str | None) -> str:
        return f"{over}{also}{others}"

    for arguments in ({"over": columns}, {"over": "a", "also": columns}, {"over": "a", "more": columns}):
        with pytest.raises(DesignError, match=r"must be a name(, or None)?\.$"):
            of_column(**arguments)
    assert of_column("a", None, more=None) == "aNone{'more': None}"


def test_a_name_that_only_type_checkers_import_may_be_anything():
    def of_unknown(over: str, form: "Nowhere | None" = None) -> str:  # noqa: F821
        return over

    checked = checked_arguments(of_unknown)
    assert checked("a", form=["b"]) == "a"
    with pytest.raises(DesignError, match="over="):
        checked(["a"])


def test_a_list_of_words_is_no_word():
    @checked_arguments
    def of_links(links: Literal["logit", "probit"] | Sequence[Literal["logit", "probit"]] = "logit") -> int:
        return len(links)

    assert of_links(["logit", "probit"]) == 2
