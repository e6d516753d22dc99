"""What rules say of parents, put into the parents' own spelling. Reads no row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from dpdb.constraints import Across, ColumnRef, ComputedRef, DenialConstraint, Member, Predicate, computed
from dpdb.engine.sql.where import resolve_column
from dpdb.errors import ParameterError
from dpdb.names import nearest_words
from dpdb.schema import TableSchema

__all__ = ["folded_parents", "refuse_undeclared", "resolved"]


def refuse_undeclared(dc: DenialConstraint, rule: Across, declared: Iterable[str]) -> None:
    """Raise `ParameterError` if nobody has said whether a parent is public or private.

    Parameters
    ----------
    dc
        The constraint that has the rule, for the message.
    rule
        The rule, which names the parent.
    declared
        Names of the declared parents, in lower case.
    """
    known = list(declared)
    if rule.parent.casefold() not in known:
        near = nearest_words(rule.parent, known) if known else ""
        raise ParameterError(
            f"{dc.label}: table {rule.parent!r} is not declared{near}; say whether "
            f"everybody may know its rows (--public-parent {rule.parent}=FILE, public_parents=) or not "
            f"(--private-parent {rule.parent}=FILE, private_parents=)"
        )


def resolved(
    dc: DenialConstraint, parents: Mapping[str, tuple[str, TableSchema]], *, others: bool = False
) -> DenialConstraint:
    """Return a constraint with parents and their columns as these spell them.

    Parameters
    ----------
    parents
        By case-folded name: the name, and the columns.
    others : bool
        Whether rules on other parents are left as they are.

    Raises
    ------
    UnknownColumnError
        If a parent has no such column.
    """

    def spelled(rule: Across) -> Across:
        if others and rule.parent.casefold() not in parents:
            return rule
        name, schema = parents[rule.parent.casefold()]
        names = {column: resolve_column(column, schema, f"{dc.label}: {name}") for column in rule.parents_columns}
        return rule.of_parent(name, names)

    return _with_rules(dc, spelled)


def folded_parents(dc: DenialConstraint) -> DenialConstraint:
    """Return a constraint with parents and their columns in small letters, to compare it with others."""
    return _with_rules(
        dc,
        lambda rule: rule.of_parent(rule.parent.casefold(), {name: name.casefold() for name in rule.parents_columns}),
    )


def _with_rules(dc: DenialConstraint, spelled: Callable[[Across], Across]) -> DenialConstraint:
    if not dc.inclusions:
        return dc

    def of_member(member: Member) -> Member:
        found = spelled(member)
        assert isinstance(found, Member), "spelling changes names only"
        return found

    def of_column(ref: ColumnRef) -> ColumnRef:
        if not isinstance(ref, ComputedRef):
            return ref
        found = ref.expression.with_members(of_member)
        return computed(ref.tuple_index, spelled(found) if isinstance(found, Across) else found)

    def of(predicate: Predicate) -> Predicate:
        right = predicate.right
        return Predicate(
            of_column(predicate.left), predicate.op, of_column(right) if isinstance(right, ColumnRef) else right
        )

    return replace(dc, predicates=tuple(map(of, dc.predicates)))
