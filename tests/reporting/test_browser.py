"""Hostile names in a real browser: nothing runs, everything is read."""

import re

import pytest

from judgestats.reporting import report
from reporting.designs import dark_current_design, mapped, plain_verdicts, self_ratings

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCRIPT = "<script>document.title='pwned'</script>"
IMAGE = '"><img src=x onerror="document.title=\'pwned\'">'
SVG = "</text></svg><svg onload=\"document.title='pwned'\">"
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def escaped(name):
    """Text as a browser writes it in its dump."""
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unguarded(page):
    """Take the policy that forbids scripts out of a page, so that only the escaping protects it."""
    source = page.read_text(encoding="utf-8")
    assert len(POLICY.findall(source)) == 1
    page.write_text(POLICY.sub("", source), encoding="utf-8")
    return page


@pytest.mark.parametrize("attack", [SCRIPT, f'<p title="{IMAGE}">', SVG], ids=["script", "image", "svg"])
def test_the_browser_runs_what_is_not_escaped(attack, rendered, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        f"<!DOCTYPE html><html><head><title>calm</title></head><body>{attack}</body></html>", encoding="utf-8"
    )
    assert "<title>pwned</title>" in rendered(page)


def test_the_policy_forbids_what_slips_through(rendered, tmp_path):
    page = report(plain_verdicts(["a"]), tmp_path / "report.html", title="calm", n_resamples=50)
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{SCRIPT}</body>"), encoding="utf-8")
    assert "<title>calm</title>" in rendered(page)


@pytest.mark.parametrize("attack", [SCRIPT, IMAGE, SVG], ids=["script", "image", "svg"])
@pytest.mark.parametrize("kind", ["plain", "instrument", "ratings"])
def test_hostile_names_do_not_run_and_are_read_as_text(attack, kind, rendered, tmp_path):
    data = {
        "plain": lambda: plain_verdicts(["judge"], n_items=8).assign(judge=attack, strategy=attack),
        "instrument": lambda: mapped(dark_current_design(["Llama8B"]), {"Llama8B": attack}),
        "ratings": lambda: self_ratings(n_items=3).replace({"judge": {"alpha": attack}, "system": {"alpha": attack}}),
    }[kind]()
    source = {attack: attack, "file": f"{attack}.jsonl"}
    dom = rendered(
        unguarded(report(data, tmp_path / "report.html", source=source, title=f"calm {attack}", n_resamples=50))
    )
    assert f"<title>calm {escaped(attack)}</title>" in dom
    assert "<script" not in dom
    assert "<img" not in dom
    assert dom.count(escaped(attack)) >= 4
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", dom)
    assert any(t.startswith(escaped(attack)[:8]) for t in shown)
