"""Plain words: private jargon and archaic turns stay out of the documents, and out of strings and docstrings in src."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "judgestats"

#: What we avoid (a regular expression) -> what to write instead. Identifiers and code are not looked at.
BANNED = {
    r"told": "stated, said, distinguished, or nothing",
    r"sets? aside": "excluded",
    r"doubts?|doubtful": "caution, cautions",
    r"lean(s|ing|ings|ed)?": "position bias, first-position preference",
    r"the house": "package layout, conventions",
    r"rooms?": "package; space",
    r"speaks? (of|against|louder)|spoken of": "is about; cautions; dominates",
    r"bears? (on|our|the names?)": "determines; no mapping needed",
    r"what is left( of)?": "the rest, the remainder",
    r"leaves? over": "the remainder",
    r"nothing (here|there) does": "no remedy is implemented",
    r"nothing is known of": "is not known",
    r"if .{1,40} are none": "are not valid ...",
    r"nothing to divide by": "no cases, so no estimate",
    r"by structure": "structural zero",
    r"(hold|holds|held|holding) against": "compared with",
    r"at (its|their) word": "as given",
    r"share of things|things judged": "rated items",
    r"(is|are|was) that be(ing)?": "is",
    r"first light": "first release",
    r"gives? no thought": "careless responding",
    r"wants? a look": "needs attention",
    r"mend(s|ed|ing)?": "fix, correct",
    r"astray|amiss|whither|wherein|thereof|hitherto": "a current word",
    r"but for (a|an|the|it|its|their|one|what|where|those|identifiers|runs|settings)": "except for",
    r"for (they|it|there) (is|are|have|has|may|can|cannot|would)": "because ...",
    r"(is|are) seen to": "the data show that ...",
    r"know(s)? no ": "takes no account of",
    r"knows? of": "has, lists, takes account of",
    r"a word away": "pass the argument",
    r"of our own": "our own ...",
    r"worth of a response|their worth": "quality",
    r"(its|the) cure|cures": "remedy",
    r"whoever": "who, anyone who",
    r"of ours": "our own ..., ...Error",
    r"counts? behind it": "the counts it uses",
}
#: Words may be on two lines; what belongs to code (a call, a path, an option) is no hit.
PATTERN = re.compile(rf"(?<![\w`=./-])(?:{'|'.join(BANNED)})(?![\w`=(/-])".replace(" ", r"\s+"), re.I)

PAGES = sorted(
    p for folder in (".", "docs", "docs/decisions", "notebooks", "data") for p in (ROOT / folder).glob("*.md")
)
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
CONFIGURATION = [ROOT / "Makefile", ROOT / "pyproject.toml", *sorted((ROOT / ".ci").iterdir())]
PACKAGES = sorted({p.relative_to(SOURCE).parts[0].removesuffix(".py") for p in SOURCE.rglob("*.py")})


def blank(match: re.Match[str]) -> str:
    """Spaces in place of code, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", match.group())


def prose(text: str) -> str:
    """Text without code: fenced blocks, spans, examples, targets of links, comments of HTML."""
    for code in (r"```.*?```", r"<!--.*?-->", r"``[^`]+``", r"`[^`\n]+`", r"\]\([^)]*\)"):
        text = re.sub(code, blank, text, flags=re.S)
    return re.sub(r"^\s*(>>>|\.\.\.( |$)).*", blank, text, flags=re.M)


def found(text: str, first_line: int = 1) -> list[str]:
    """Each banned word of a text, with its line."""
    text = prose(text)
    hits = [(first_line + text.count("\n", 0, m.start()), m.group()) for m in PATTERN.finditer(text)]
    return [f"{line}: {' '.join(word.split())!r}" for line, word in hits]


def strings(path: Path) -> list[str]:
    """Banned words in the strings and docstrings of a module; a single word is a name (of a term, a column)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str) and " " in n.value]
    return [hit for n in texts for hit in found(n.value, n.lineno)]


def comments(path: Path) -> list[str]:
    """Banned words in the comments of a script, markdown cells among them."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return found("\n".join(line.partition("#")[2] if line.lstrip().startswith("#") else "" for line in lines))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_documents_are_in_plain_words(page):
    assert found(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.name)
def test_notebooks_are_in_plain_words(notebook):
    assert comments(notebook) + strings(notebook) == []


@pytest.mark.parametrize("path", CONFIGURATION, ids=lambda p: p.name)
def test_comments_of_the_set_up_are_in_plain_words(path):
    assert comments(path) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_strings_in_src_are_in_plain_words(package):
    files = [SOURCE / f"{package}.py"] if (SOURCE / f"{package}.py").exists() else (SOURCE / package).rglob("*.py")
    hits = [f"{p.relative_to(ROOT)}:{hit}" for p in sorted(files) for hit in strings(p)]
    assert hits == []


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("what the two told us", 1),
        ("rows are set\naside", 1),
        ("rows set aside, or in doubt", 2),
        ("`told` and ``position_bias`` are names\n\n```\ntold\n```", 0),
        (">>> told = 1\n... lean", 0),
        ("a clean column, cleaned; a setaside", 0),
        ("there is room", 1),
        ("held against [the gold](told.md)", 1),
    ],
)
def test_words_are_found_in_prose_only(text, hits):
    assert len(found(text)) == hits
