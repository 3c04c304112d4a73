"""Real verdicts to try things on: :func:`names` lists the sets, :func:`load` gives one.

May import ingest and all below it.
"""

from __future__ import annotations

import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.ingest.example_sets import FOLDER, example_path
from judgestats.ingest.reading import read
from judgestats.package_data import resources

__all__ = ["load", "names"]

_COLUMNS = (
    *("name", "title", "unit", "rows", "judges", "people", "reference", "family"),
    *("licence", "source", "commit", "citation"),
)


def names() -> pd.DataFrame:
    """List the sets of real verdicts that the package holds.

    Verdicts and ids only, without the texts that were judged; ``docs/data_licences.md`` has the licences.

    Returns
    -------
    pandas.DataFrame
        A row a set: ``name`` (for :func:`load`; ``example:NAME`` on the command line), ``title``, ``unit`` (what is
        judged), ``rows``, ``judges``, ``people`` (number of them), ``reference`` (``gold``, ``people`` or ``none``),
        ``family`` (a mapping, for ``family=``, where judges are of families),
        ``licence``, ``source`` with its ``commit``, and ``citation``.

    See Also
    --------
    load : One set.
    judgestats.published.tables : Printed tables of papers.

    Examples
    --------
    >>> names().set_index("name").loc["llmbar", ["title", "reference", "licence"]].tolist()
    ['LLMBar and three processed sets: which of two outputs follows the instruction, by strategy', 'gold', 'MIT']
    """
    return pd.DataFrame([{c: r.get(c) for c in _COLUMNS} for r in resources(FOLDER).values()])


@checked_arguments
def load(name: str, *, lazy: bool = False) -> IntoFrame:
    """Load a set of real verdicts.

    ``mtbench_position`` has nine judges, three runs of each and both orders of every pair; ``llmbar`` six judges under
    up to fifteen strategies, with gold (equal scores of its Rating strategies are ties); ``pandalm`` two judges and
    three people, order unknown; ``hanna`` five judges with the first of their prompts and three workers a story, six
    criteria, scores off the scale missing; ``frontier_self_bias`` three models that judge pairs of their own and each
    other's answers, and ``frontier_self_bias/rubric`` the same by a rubric of yes and no.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    lazy : bool
        A lazy DuckDB frame that stays in its file, as :func:`judgestats.read` gives it.

    Returns
    -------
    pandas.DataFrame or duckdb relation
        Preferences or ratings, as :func:`judgestats.read` gives them.

    Raises
    ------
    SchemaError
        If there is no such set, or its file is damaged (its SHA-256 is compared).

    See Also
    --------
    names : What there is.
    judgestats.read : ``read("example:llmbar")`` is the same.

    Examples
    --------
    >>> import judgestats as js
    >>> calls = load("mtbench_position")
    >>> rows = js.consistency(calls).query("term == 'consistency'").set_index("judge")
    >>> rows["estimate"].round(3).nlargest(2).to_dict()
    {'gpt-4-0613': 0.872, 'gpt-4-0125-preview': 0.868}
    """
    frame: IntoFrame = read(example_path(name), lazy=lazy)
    return frame
