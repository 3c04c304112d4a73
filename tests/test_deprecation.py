"""Deprecated names and parameters work, and say what to use."""

import inspect
import warnings

import pytest

from judgestats.deprecation import deprecated


@deprecated("0.2", use="new")
def old(x):
    return x + 1


@deprecated("0.2", parameters={"m": "n_tests"})
def adjusted(p, *, n_tests=1):
    return p * n_tests


def test_a_deprecated_name_works_and_names_its_successor():
    said = r"^old\(\) is deprecated since judgestats 0\.2 and will be removed\. Use new\(\) instead\.$"
    with pytest.warns(FutureWarning, match=said) as caught:
        assert old(1) == 2
    assert caught[0].filename == __file__


def test_a_deprecated_parameter_is_passed_by_its_new_name():
    said = r"^adjusted\(m=\) is deprecated since judgestats 0\.2 and will be removed\. Use n_tests= instead\.$"
    with pytest.warns(FutureWarning, match=said) as caught:
        assert adjusted(0.25, m=2) == 0.5
    assert caught[0].filename == __file__


def test_who_uses_the_new_name_sees_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert adjusted(0.25, n_tests=2) == 0.5


def test_both_names_at_once_are_an_error():
    with pytest.raises(TypeError, match="both n_tests= and m="):
        adjusted(0.25, n_tests=2, m=3)


def test_the_signature_has_the_new_name_only():
    assert list(inspect.signature(adjusted).parameters) == ["p", "n_tests"]
