"""The rules of an audit: each turns a few declared columns into statements about printed cells."""

from judgestats.published.rules import groups, rows, statistics
from judgestats.published.rules.registry import RULES, Rule, rule, statements

__all__ = ["RULES", "Rule", "groups", "rows", "rule", "statements", "statistics"]
