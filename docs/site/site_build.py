"""Build the site: ``python docs/site/site_build.py`` puts its sources together, runs Sphinx, and follows every link.

The pages of docs are the source and are not changed: copies go to build/site-source with their links turned from files
of the repository to pages of the site. Beside them are written the reference (from docstrings and the commands), "Which
function for my data?" (from the records of the measures), the gallery and the notebooks, as they
stand beside their sources.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import site_chooser
import site_gallery
import site_notebooks
import site_reference

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
SOURCE = ROOT / "build" / "site-source"
OUT = ROOT / "build" / "site"
REPOSITORY = "https://github.com/judgestats/judgestats/blob/main/"
#: Chapters of the site: file -> title, introduction, and pages: files of the repository, or pages written here.
CHAPTERS: dict[str, tuple[str, str, list[str]]] = {
    "beginning": ("Start", "From a file to a page, in five minutes.", ["docs/start.md", "docs/inspect_and_people.md", "choose"]),
    "guides": (
        "Guides",
        "One page per job.",
        [
            "docs/mapping.md",
            "docs/formats.md",
            "docs/labels.md",
            "docs/replies.md",
            "docs/reading_a_report.md",
            "docs/measures.md",
            "docs/judges_and_people.md",
            "docs/classes.md",
            "docs/models.md",
            "bayesian_models",
            "docs/for-r-users.md",
            "docs/audit.md",
            "docs/studies.md",
            "repeat_dark_current",
            "repeat_merchant_risk",
            "repeat_debiasing",
            "repeat_rationalization",
            "repeat_consensus_illusion",
            "docs/scale.md",
        ],
    ),
    "gallery": ("", "", ["gallery/index"]),
    "notebooks": ("", "", ["notebooks/README.md"]),
    "reference": (
        "Reference",
        "Every public name, from its docstring; every flag; every command.",
        [*(f"reference/{site_reference.page_of(m)}" for m in site_reference.MODULES), "reference/commands", "docs/flags.md"],
    ),
    "explanation": (
        "Explanation",
        "How the numbers are made, how far they can be trusted, and what this package is not.",
        [
            "docs/intervals.md",
            "docs/coverage.md",
            "docs/calibration.md",
            "docs/generalising.md",
            "docs/comparing_models.md",
            "docs/readings.md",
            "docs/alternatives.md",
            "docs/limitations.md",
            "docs/coverage_of_papers.md",
            "docs/reliability.md",
            "docs/benchmarks.md",
            "docs/glossary.md",
            "ARCHITECTURE.md",
            "docs/decisions/README.md",
        ],
    ),
    "about": ("About", "For people and programs that use or change the package.", [
        "docs/citing.md", "docs/agents.md", "docs/stability.md", "docs/releasing.md", "docs/data_licences.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md",
    ]),
}  # fmt: skip
#: Sections that are pages of their own on the site: file -> words in the heading of the section -> page.
PARTS = {
    "docs/models.md": {"bayesian models": "bayesian_models"},
    "docs/studies.md": {
        "dark current": "repeat_dark_current",
        "merchant risk": "repeat_merchant_risk",
        "debiasing": "repeat_debiasing",
        "rationalization": "repeat_rationalization",
        "consensus": "repeat_consensus_illusion",
    },
}
#: What the page of a paper ends with.
PAPER = """
The paper's own numbers: [a notebook](notebooks/{paper}.ipynb) recomputes what is printed, then asks what the paper left
open; `js.published.load` has its tables; [what of it is here](coverage_of_papers.md).
"""
#: Heading of the start before which the page of its file is shown, and how.
AFTER_PAGE = "## The same in Python"
PAGE = """This is the page of this file, made with the site. It stands in a file of its own:

```{raw} html
<iframe class="page" src="first_report.html" title="The page of docs/verdicts.csv" loading="lazy"></iframe>
<p><a href="first_report.html">Open the page</a></p>
```

"""
#: Pages that are written here, by the names that pages of docs link to.
WRITTEN = re.compile(r"docs/site/(reference/|gallery/|(choose|guides|reference|explanation|about)\.md)")
_LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\])\(([^)\s]+)\)")


def home(path: str) -> str:
    """Place in the site, without its ending, of a page of the repository or of one written here."""
    name = path.removeprefix("docs/").removeprefix("site/").removesuffix(".md").removesuffix(".py")
    if name.startswith(("notebooks/", "decisions/")):
        return name.replace("/README", "/index")
    return name.lower() if name.isupper() else name


def listed() -> list[str]:
    """Files of the repository that the chapters name."""
    return [p for _, _, pages in CHAPTERS.values() for p in pages if p.endswith(".md")]


def sources() -> dict[str, str]:
    """File of the repository that is a page -> its place in the site."""
    pages = [p for p in listed() if (ROOT / p).exists()] + ["docs/site/index.md"]
    pages += [p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    pages += [p.relative_to(ROOT).as_posix() for p in notebooks()]
    return {p: home(p) for p in pages}


def notebooks() -> list[Path]:
    """The notebooks."""
    return [p for p in sorted((ROOT / "notebooks").glob("*.py")) if p.read_text(encoding="utf-8").startswith("# ---\n")]


def divided(text: str, parts: Mapping[str, str]) -> dict[str, str]:
    """A page by sections: those that are pages of their own by their name, the rest, with links to them, by ""."""
    found: dict[str, str] = {"": ""}
    for section in re.split(r"(?m)^(?=## )", text):
        heading = section.partition("\n")[0]
        page = next((page for words, page in parts.items() if words in heading.lower()), "")
        if page and heading.startswith("## "):
            found[page] = re.sub(r"(?m)^#(#+ )", r"\1", section)
            section = f"{heading}\n\n[A page of its own]({page}.md).\n\n"
        found[""] += section
    if absent := set(parts.values()) - set(found):
        raise SystemExit(
            f"No section of the page is {', '.join(sorted(absent))}: PARTS of site_build.py names its heading."
        )
    return found


def anchors(path: str) -> dict[str, str]:
    """Anchor -> page, of the sections of a file that are pages of their own."""
    if path not in PARTS:
        return {}
    pages = divided((ROOT / path).read_text(encoding="utf-8"), PARTS[path])
    return {_anchor(h): page for page in pages if page for h in re.findall(r"(?m)^#+ (.+)$", pages[page])}


def linked(text: str, path: str, places: Mapping[str, str]) -> str:
    """Text of a file of the repository with its links as they are in the site; files that are no pages are on GitHub."""
    here = places[path]

    def turned(match: re.Match[str]) -> str:
        words, target = match.groups()
        parts = urlsplit(target)
        if parts.scheme or parts.netloc or not (parts.path or path in PARTS):
            return match.group()
        found = os.path.normpath((Path(path).parent / parts.path).as_posix()).rstrip("/") if parts.path else path
        anchor = f"#{parts.fragment}" if parts.fragment else ""
        if page := anchors(found).get(parts.fragment):
            found = page
        elif found == "docs/decisions":
            found = "decisions/index"
        elif found in places:
            found = places[found]
        elif found.endswith((".png", ".svg")) and words.startswith("!"):
            return f"{words}({os.path.relpath(Path(found).name, Path(here).parent.as_posix())})"
        elif (ROOT / found).exists():
            return f"{words}({REPOSITORY}{found}{anchor})"
        elif not WRITTEN.match(found):
            raise SystemExit(f"{path}: there is no {found}, which it links to as {target}")
        else:
            found = found.removeprefix("docs/site/").removesuffix(".md").removesuffix(".rst")
        ending = ".rst" if re.match(r"reference/(?!module-|measures|commands)", found) else _ending(found)
        return f"{words}({os.path.relpath(found + ending, Path(here).parent.as_posix())}{anchor})"

    pieces = re.split(r"(^```.*?^```$|`[^`\n]+`(?!\]))", text, flags=re.S | re.M)
    joined = "".join(piece if i % 2 else _LINK.sub(turned, piece) for i, piece in enumerate(pieces))
    return joined.replace("```mermaid", "```text")


def _ending(found: str) -> str:
    return ".ipynb" if found.startswith("notebooks/") and found != "notebooks/index" else ".md"


def contents(pages: list[str], *, hidden: bool = True) -> str:
    """A table of contents of MyST."""
    return "\n".join(["```{toctree}", *([":hidden:"] if hidden else []), ":maxdepth: 2", "", *pages, "```", ""])


def chapter(key: str, texts: Mapping[str, str]) -> str:
    """Page of a chapter: its pages, each with its first sentence."""
    title, words, pages = CHAPTERS[key]
    inside = [home(p) for p in pages if not p.endswith(".md") or home(p) in texts]
    lines = [f"# {title}", "", words, ""]
    for page in inside:
        lines.append(f"- **[{_title(texts[page])}]({page}.md)**{_gist(texts[page])}")
    return "\n".join([*lines, "", contents([f"/{p}" for p in inside])])


def _title(text: str) -> str:
    return re.search(r"^# (.+)$", text, re.M).group(1)  # type: ignore[union-attr]


def _anchor(heading: str) -> str:
    """Anchor of a heading, as MyST and GitHub make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _gist(text: str) -> str:
    """First sentence after the title, without links."""
    paragraph = next(
        (
            p
            for p in re.split(r"\n\s*\n", text.partition("\n# ")[2] if not text.startswith("# ") else text)[1:]
            if re.match(r"[\w`]", p)
        ),
        "",
    )
    sentence = re.match(r".+?[.:](?=\s|$)", " ".join(_LINK.sub(lambda m: m.group(1)[1:-1], paragraph).split()))
    return f": {sentence.group().rstrip(':.')}." if sentence else ""


def stage() -> None:
    """Put the sources of the site together."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    site_notebooks.write(notebooks(), SOURCE / "notebooks")
    pages_and_pictures()


def pages_and_pictures() -> None:
    """All sources of the site except the notebooks."""
    places = sources()
    texts: dict[str, str] = {}
    for path, place in places.items():
        if path.endswith(".md"):
            texts[place] = linked((ROOT / path).read_text(encoding="utf-8"), path, places)
            pages = divided(texts[place], PARTS.get(path, {}))
            texts |= {place: pages.pop(""), **pages}
    made = site_reference.pages() | {"choose.md": site_chooser.page()}
    texts |= {path.removesuffix(".md"): text for path, text in made.items() if path.endswith(".md")}
    extra = SOURCE / "_extra"
    for folder in (SOURCE / "gallery", extra / "gallery"):
        folder.mkdir(parents=True)
    for place in [t for t in texts if t.startswith("repeat_")]:
        texts[place] += PAPER.format(paper=place.removeprefix("repeat_"))
    texts["gallery/index"] = site_gallery.write(SOURCE / "gallery", extra / "gallery")
    texts["decisions/index"] += "\n" + contents([Path(t).name for t in sorted(texts) if re.match(r"decisions/\d", t)])
    texts = not_searched(texts)
    texts["notebooks/index"] += "\n" + contents([p.stem for p in notebooks()])
    for key in CHAPTERS:
        if CHAPTERS[key][0]:
            texts[key] = chapter(key, texts)
    texts["start"] = texts["start"].replace(AFTER_PAGE, PAGE + AFTER_PAGE)
    tops = [key if title else pages[0] for key, (title, _, pages) in CHAPTERS.items()]
    texts["index"] += "\n" + contents([home(t) if t.endswith(".md") else t for t in tops])
    pages = {f"{place}.md": text for place, text in texts.items()} | {
        p: t for p, t in made.items() if p.endswith(".rst")
    }
    for name, text in pages.items():
        path = SOURCE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for picture in (ROOT / "docs").iterdir():
        if picture.suffix in (".png", ".svg"):
            shutil.copy2(picture, SOURCE)
    shutil.copytree(HERE / "_static", SOURCE / "_static")
    shutil.copy2(HERE / "conf.py", SOURCE)
    (extra / "llms.txt").write_text(for_programs(texts), encoding="utf-8")
    first_page(extra)


def not_searched(texts: Mapping[str, str]) -> dict[str, str]:
    """The pages, decisions marked so that the search leaves them out: who searches wants what holds, not why."""
    return {
        place: f"---\nnosearch: true\n---\n\n{text}" if re.match(r"decisions/\d", place) else text
        for place, text in texts.items()
    }


def for_programs(texts: Mapping[str, str]) -> str:
    """``llms.txt``: what the package is, and where each page is."""
    lines = ["# judgestats", "", "> Statistics for the verdicts of LLM judges (Python). It never calls a model.", ""]
    lines += ["Read agents.html first: the two frames, the shape of every result, and what not to do.", ""]
    for title, _, pages in CHAPTERS.values():
        inside = [home(p) for p in pages if home(p) in texts]
        lines += [f"## {title or _title(texts[inside[0]])}", ""]
        lines += [f"- [{_title(texts[p])}]({p}.html){_gist(texts[p])}" for p in inside]
        lines.append("")
    lines += ["## Functions", ""]
    for full, thing in site_reference.public().items():
        room, _, name = full.rpartition(".")
        lines.append(f"- [{full}](reference/{site_reference.folder(room)}{name}.html): {site_reference.summary(thing)}")
    return "\n".join(lines) + "\n"


def first_page(folder: Path) -> None:
    """The page that the start makes of docs/verdicts.csv."""
    from judgestats.cli import app

    file = os.path.relpath(ROOT / "docs" / "verdicts.csv")
    app(["report", file, "--out", str(folder / "first_report.html")], standalone_mode=False)


class _Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.ids |= {known[k] or "" for k in ("id", "name") if k in known}
        self.links += [(tag, known[k] or "") for k in ("href", "src") if known.get(k)]


def broken(folder: Path) -> Iterator[str]:
    """Each link inside the site that leads nowhere, and each thing that a page loads from elsewhere."""
    pages = {
        p: _Page(p.read_text(encoding="utf-8")) for p in sorted(folder.rglob("*.html")) if "_static" not in p.parts
    }
    for path, page in pages.items():
        for tag, link in page.links:
            parts = urlsplit(link)
            where = f"{path.relative_to(folder)}: {link}"
            if parts.scheme or parts.netloc:
                if tag in ("script", "img", "iframe") and parts.scheme != "data":
                    yield f"{where} is loaded from elsewhere"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{where} leads nowhere"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{where} has no such place"


def timed(words: str, step: Callable[[], object]) -> None:
    """Say how long a step takes."""
    start = time.perf_counter()
    step()
    sys.stdout.write(f"{words}: {time.perf_counter() - start:.0f} s\n")
    sys.stdout.flush()


def sphinx() -> None:
    """Build, a warning being an error."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-j",
            "2",
            "-b",
            "html",
            "-d",
            str(ROOT / "build" / "site-cache"),
            str(SOURCE),
            str(OUT),
        ],
        check=True,
    )


def main() -> None:
    """Build the site."""
    timed("sources", stage)
    shutil.rmtree(OUT, ignore_errors=True)
    timed("Sphinx", sphinx)
    if faults := list(broken(OUT)):
        sys.exit("\n".join([*faults, f"{len(faults)} links"]))
    sys.stdout.write(f"{OUT / 'index.html'}: {sum(1 for _ in OUT.rglob('*.html'))} pages, every link inside followed\n")


if __name__ == "__main__":
    main()
