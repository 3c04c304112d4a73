"""Charts of parameters that are profiled: where they lead, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from judgestats.models.postestimation.profile_coordinates import Turned, chart_of
from judgestats.models.postestimation.profile_likelihood import surface
from models.examples import example


def test_a_chart_of_three_correlated_columns_leads_back_and_has_its_derivatives():
    rng = np.random.default_rng(3)
    L = np.tril(rng.normal(size=(3, 3))) + 2 * np.eye(3)
    params = np.concatenate([[0.3], [L[a, b] for b in range(3) for a in range(b, 3)], [0.7]])
    sd, C = np.sqrt(np.diag(L @ L.T)), L @ L.T
    charts = [(Turned(1, 1, 3, (2, 0, 1), True), sd[2]), (Turned(2, 1, 3, (0, 2, 1), False), C[2, 0] / sd[0] / sd[2])]
    for chart, value in charts:
        coordinates = chart.of(params)
        assert coordinates[chart.place] == pytest.approx(value, rel=1e-12)
        at, turn = chart.at(coordinates)
        np.testing.assert_allclose(at, params, rtol=1e-12)
        moves = 1e-6 * np.eye(len(params))
        numeric = np.column_stack([(chart.at(coordinates + m)[0] - chart.at(coordinates - m)[0]) / 2e-6 for m in moves])
        np.testing.assert_allclose(turn, numeric, atol=1e-8)


def test_free_thresholds_move_together():
    fit = example("wine")
    chart = chart_of(fit, fit.n_fixed)
    coordinates = chart.of(fit.params)
    coordinates[chart.place] += 9
    moved, _ = chart.at(coordinates)
    np.testing.assert_allclose(np.diff(moved[fit.n_fixed : fit.n_location]), np.diff(fit.tau))


def test_a_standard_deviation_whose_square_is_no_number_is_nowhere():
    whole = surface(example("sleepstudy_ml"))
    for log_sd in (400.0, -400.0, np.inf, np.nan):
        value, gradient = whole.objective(np.append(whole.x[:-1], log_sd))
        assert value == np.inf
        assert np.isnan(gradient).all()
