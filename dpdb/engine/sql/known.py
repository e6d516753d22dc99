"""`is_known`: the condition that a value is there, which queries ask of what they compare."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["is_known"]


def is_known(value: exp.Expr) -> exp.Expr:
    """Condition that a value is not NULL; the value's tree is copied."""
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
