"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings

# a first call compiles its kernel; the same examples on every machine
settings.register_profile("judgestats", deadline=None, derandomize=True)
settings.load_profile("judgestats")

REAL = os.environ.get("JUDGESTATS_REAL_DATA", "")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Compare pictures with their images where pytest-mpl is installed, unless it is asked to draw them anew."""
    if hasattr(config.option, "mpl") and not config.option.mpl_generate_path:
        config.option.mpl = True


# The collector would walk ten thousand collected tests again and again: it rests while they are collected, and then
# leaves them out.
gc.disable()


def pytest_collection_finish() -> None:
    """Put what was collected out of the garbage collector's sight, and let it look at the rest less often."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    gc.enable()


#: Tests of many cases alike: make test takes the first and about one in so many, make test-slow the others. They are chosen
#: by a hash of their name: every sixth case of six engines would be that of one engine.
ONE_IN = {
    "cli/test_check_command.py::test_places_of_options_lead_to_their_position_bias_by_what_check_says_next": 4,
    "counting/test_repeats.py::test_the_agreement_of_single_answers_is_estimated_without_bias_and_covered": 4,
    "counting/test_study.py::test_a_study_gives_what_its_frame_gives": 6,
    "counting/test_tallies.py::test_every_engine_counts_the_same": 6,
    "design/test_labels.py::test_the_share_assured_is_that_of_the_simulated_studies": 2,
    "design/test_plan_files.py::test_a_filled_form_or_table_of_calls_is_kept_in_whatever_shape_it_comes_back": 4,
    "design/test_round_trips.py::test_what_comes_back_is_what_the_judge_said": 2,
    "fuzz/test_altered_files.py::test_reader": 6,
    "fuzz/test_answers.py::test_every_record_and_every_call_is_accounted_for": 6,
    "ingest/test_databases.py::test_an_address_in_place_of_a_file": 3,
    "ingest/test_databases.py::test_every_function_of_a_lazy_frame_says_that_its_connection_is_closed": 5,
    "ingest/test_delimited.py::test_arrow_reads_a_csv_file_as_the_csv_module_does": 3,
    "ingest/test_json_lines.py::test_arrow_reads_json_lines_as_the_json_module_does": 3,
    "ingest/test_judgebench.py::test_every_combination": 4,
    "ingest/test_mapping.py::test_real_tables": 3,
    "ingest/test_reading.py::test_a_question_id_of_any_type": 3,
    "ingest/test_reading.py::test_odd_cells_in_any_column": 20,
    "ingest/test_reading.py::test_odd_numbers_in_files": 20,
    "ingest/test_scans.py::test_a_pattern_in_a_name_is_no_pattern": 6,
    "ingest/test_scans.py::test_csv_both_ways": 6,
    "ingest/test_scans.py::test_jsonl_both_ways": 3,
    "ingest/test_scans.py::test_many_columns_are_read_as_eagerly": 16,
    "ingest/test_scans.py::test_parquet_both_ways": 10,
    "ingest/test_scans.py::test_three_times_the_columns_take_at_most_four_times_the_time": 3,
    "ingest/test_scans.py::test_what_a_folder_is_called_is_no_data": 10,
    "metrics/test_deviations.py::test_variance_from_runs_is_that_of_the_linear_form": 3,
    "models/test_degrees_of_freedom.py::test_dunnett_of_t_is_the_multivariate_t": 3,
    "models/test_degrees_of_freedom.py::test_means_and_contrasts_are_emmeans": 3,
    "models/test_intervals.py::test_profiles_are_those_of_r": 3,
    "models/test_least_squares.py::test_a_perfect_fit_is_said_and_has_no_errors": 2,
    "real/test_pages_real.py::test_no_sentence_of_a_card_contradicts_the_table": 6,
    "reporting/test_estimate_rows.py::test_each_number_of_the_first_table_is_of_the_level_that_it_names": 12,
    "reporting/test_plots.py::test_a_picture_is_drawn_on_the_axes_given": 6,
    "reporting/test_plots.py::test_axes_print_shares_in_percent_and_differences_in_points": 6,
    "reporting/test_plots.py::test_no_judge_is_lost_and_every_axis_has_its_unit": 6,
    "reporting/test_summary.py::test_no_sentence_of_a_card_contradicts_the_table": 6,
    "schema/test_class_labels.py::test_a_class_is_one_whatever_its_type_or_spelling": 3,
    "studies/test_coverage.py::test_every_planted_value_has_a_row_and_an_interval": 3,
    "studies/test_end_to_end.py::test_two_commands_and_a_page_that_prints_what_the_functions_give": 3,
    "test_docs.py::test_what_the_coverage_of_the_papers_names_runs": 3,
    "test_engines.py::test_free_text_stays_in_the_engine": 3,
    "test_engines.py::test_only_the_tally_leaves_the_engine": 6,
    "test_engines.py::test_the_tally_of_a_relation_is_that_of_pandas": 6,
    "test_layout.py::test_what_an_entry_point_may_load": 3,
    "test_nearly_degenerate.py::test_estimates_lie_in_their_intervals_and_what_is_missing_has_a_reason": 6,
    "test_outputs.py::test_a_file_of_another_maker_is_replaced_only_if_told": 6,
    "test_outputs.py::test_a_full_disk_leaves_everything_as_it_was": 6,
    "test_outputs.py::test_a_kill_between_two_writes_leaves_whole_files": 6,
    "test_outputs.py::test_a_limit_on_the_size_of_files_leaves_everything_as_it_was": 6,
    "test_outputs.py::test_inputs_are_never_outputs": 6,
    "test_outputs.py::test_what_was_read_is_not_written_over_by_any_function": 6,
    "test_outputs.py::test_twice_is_as_good_as_once_until_somebody_changes_it": 6,
    "test_properties.py::test_row_order_does_not_matter": 6,
}


#: Cases that make test-full alone runs.
FULL = {
    line for line in (Path(__file__).parent / "full.txt").read_text(encoding="utf-8").splitlines() if line[:1] != "#"
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark cases as slow or full beside others like them, before -m chooses; skip real verdicts where they are absent."""
    cases = Counter[str]()
    for item in items:
        if item.nodeid.removeprefix("tests/") in FULL:
            item.add_marker(pytest.mark.full)
        family = item.nodeid.partition("[")[0].removeprefix("tests/")
        if family in ONE_IN and "slow" not in item.keywords:
            if cases[family] and crc32(item.nodeid.encode()) % ONE_IN[family]:
                item.add_marker(pytest.mark.slow)
            cases[family] += 1
    if REAL and Path(REAL).is_dir():
        return
    why = f"JUDGESTATS_REAL_DATA={REAL!r} is not a folder" if REAL else "JUDGESTATS_REAL_DATA is not set"
    skip = pytest.mark.skip(reason=f"real verdicts absent: {why}")
    for item in items:
        if "real" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the public verdicts."""
    return Path(REAL)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the published tables in the source tree."""
    return Path(__file__).parents[1] / "data"


@pytest.fixture
def _only_the_first_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page without the measures below its first screen."""
    monkeypatch.setattr("judgestats.reporting.page_data.attempts", lambda *_: {})
