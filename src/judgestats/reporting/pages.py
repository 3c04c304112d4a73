"""The page of a data set: :func:`report`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.counting.clustering import Cluster
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.metrics.correctness.corrections import Sampling
from judgestats.metrics.references import Baseline, Humans
from judgestats.metrics.supported_measures import quiet
from judgestats.outputs import MarkedOutputs
from judgestats.schema.columns import By

if TYPE_CHECKING:
    from judgestats.reporting.fit_sections import Models
from judgestats.reporting.html_pages import as_html
from judgestats.reporting.markdown_pages import as_markdown
from judgestats.reporting.page_claims import Report
from judgestats.reporting.page_data import PageArguments, PageData, measure_all


@checked_arguments
def report(
    data: IntoFrame,
    path: str | os.PathLike[str] = "report.html",
    *,
    by: By = (),
    title: str | None = None,
    source: object = None,
    cluster: Cluster = "auto",
    identity: Mapping[str, str] | None = None,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
    sampling: Sampling | None = None,
    scale: tuple[float, float] | None = None,
    smallest: float | None = None,
    seed: int = SEED,
    conf_level: float = CONF_LEVEL,
    n_resamples: int = N_RESAMPLES,
    models: Models | None = None,
    study: bool = False,
    overwrite: bool = False,
) -> Report:
    """Write one self-contained page about a data set: which judge to trust, the measures, and a card of each judge.

    Parameters
    ----------
    data : frame
        A canonical frame, preferences or ratings, in any engine Narwhals knows.
    path : path
        File to write; its folder is made. A name that ends in ``.md`` gives Markdown, any other HTML.
    by : str or sequence of str
        Further grouping columns. Each judge and group has a datasheet. A column with the name of a condition in which
        ratings of one thing differ is one in any case; another that nobody named makes no rows of the page, and its
        first sentence says so.
    title : str, optional
        Title of the page; by default a question that the data can answer.
    source : frame or mapping, optional
        What was read, for the page to say: a result of :func:`judgestats.ingest.source_info`, or a mapping of names to
        values: ``format``, ``mapping`` (canonical column -> column), ``labels`` and ``files`` (such a table), and
        anything else to be shown on the page.
    cluster : "auto", str or False
        What calls share, for every interval of the page that takes it: by default the column that they
        share; or a column; False takes all calls as independent.
    identity : mapping of str to str, optional
        For ratings, system -> judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``"column=value"``; by default those whose ``rater_type`` is ``human``, and
        ``()`` for none. Judges are then compared with people, beside the agreement of people with each other; people
        get no datasheet.
    gold : str, optional
        Where right answers come from: a column, a judge (who is then not measured), or a candidate.
    baseline : str or mapping, optional
        The control condition: a value of ``strategy``, ``prompt``, ``probe``, ``scheme`` or ``condition``, or
        ``{column: value}``. Without it the conditions stand side by side, and nothing is compared with a control.
    sampling : {'random', 'by class'}, optional
        How the items with a label in ``gold`` were drawn, where only some have one: the page then has rates corrected
        for the errors of the judges (:func:`judgestats.corrected_rate`).
    scale : (float, float), optional
        Lowest and highest possible score; by default the lowest and highest that occur.
    smallest : float, optional
        Smallest bias of interest: a difference of scores, or of shares of verdicts. By default a tenth of the scale,
        or 0.1. The card on bias counts the judges whose bias is shown to be larger.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.
    models : Fit or mapping of str to Fit, optional
        Results of :func:`judgestats.fit`, or one, to be shown with their parameters and diagnostics:
        ``{"position": fit}``.
    study : bool
        Whether the calls are of a study (:func:`judgestats.design.study`): the rules of its design are applied, and the
        main tables of its paper (:func:`study_estimates`) and the questions that it asks stand first.
    overwrite : bool
        Whether another file may be replaced. A page of an earlier report that nobody has changed always is.

    Returns
    -------
    Report
        The file, a ``pathlib.Path``. The same data and arguments give the same bytes: it contains no time of day. Its
        ``statements`` are what verdict, cards and heads of tables say, a row for each: ``sentence``, ``where``,
        ``question``, ``term``, ``judges``, ``relation`` (``best``, ``may be best``, ``beyond``, say), ``values`` of
        these judges, ``scope`` (the judges that it is over), ``tables`` of the page with the quantity, ``units`` that
        its intervals take as drawn, ``readings`` under which the first judge is first.

    Raises
    ------
    SchemaError
        If `data` is not a canonical frame, or has faults.
    DesignError
        If `path` is a folder, a file that was read, another file that exists, or cannot be written; if `source` is no
        record of what was read; if a name
        in `humans`, `gold` or `baseline` does not occur; if `smallest` is not above 0; if `sampling` is neither of the
        two; if one of `models` is no fit, or has no diagnostics.

    See Also
    --------
    datasheet : The rows of a judge's card.
    available_measures : What the data support.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "second"]})
    >>> page = report(calls, Path(tempfile.mkdtemp()) / "report.html")
    >>> "same verdict in both orders" in page.read_text(encoding="utf-8")
    True
    """
    _check_record(source)
    outputs = MarkedOutputs("report", overwrite=overwrite)
    outputs.check(path)
    drawing = seed, conf_level, n_resamples
    arguments = PageArguments(
        by, cluster, identity, humans, gold, baseline, sampling, scale, smallest, title, models, study, *drawing
    )
    page = measure_all(data, arguments)
    return Report.of(write_report(page, path, outputs, source), page.summary.claims)


def write_report(
    page: PageData,
    path: str | os.PathLike[str],
    outputs: MarkedOutputs,
    source: object = None,
    say: Callable[[str], None] = quiet,
    *,
    to: str = "",
    command: str = "",
) -> Path:
    """Write a page as Markdown or HTML, by `to` or else by the ending; `command`: as typed in a shell, if so."""
    say("Writing the page")
    to = to or ("md" if Path(path).suffix.lower() == ".md" else "html")
    return outputs.write(path, as_markdown(page, command) if to == "md" else as_html(page, source, command))


def _check_record(source: object) -> None:
    """Raise where `source` does not say what was read."""
    tables = list(source.values()) if isinstance(source, Mapping) else [source]
    bare = source is not None and not isinstance(source, Mapping | pd.DataFrame)
    if bare or any(isinstance(table, pd.DataFrame) and "name" not in table.columns for table in tables):
        raise DesignError(
            f"source= is a {type(source).__name__} that does not say what was read. Allowed: the table that "
            "judgestats.ingest.source_info gives for a file, or a mapping such as {'format': 'csv', 'files': that "
            "table}; or leave it out."
        )
