"""Table 2: sensitivity of each measure, by all graphs with up to six nodes, and the lemmas that rest on it.

    python table_2.py FOLDER [--quick]

The lemmas on the projection (1 and 2) are tested on the smallest counterexamples known. n counts the rows of the larger
of two neighbouring tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common import Statement, figure, options, report, write_csv
from small_graphs import MEASURES, sensitivities
from toy import CONSTRAINT, TABLE, kept_nodes

from dpdb.graph import EdgeArrays, greedy_cover_size
from dpdb.owner.exact import exact_measures

NODES = (2, 3, 4, 5, 6)
PAPER_TABLE_2 = {"I_D": "1", "I_MI": "n", "I_P": "n", "I_MC": "O(3^n)", "I_R": "1", "tau*": "not in Table 2"}


def main(arguments: Sequence[str] | None = None) -> Sequence[Statement]:
    """Compute, print, write table_2.csv and table_2.png."""
    chosen = options(__doc__, arguments)
    found = {nodes: sensitivities(nodes) for nodes in NODES}
    print(
        "\nTable 2: largest change by one row, n rows with it\nmeasure "
        + "".join(f"{f'n = {n}':>8}" for n in NODES)
        + "   paper"
    )
    rows = []
    for name in MEASURES:
        values = [found[nodes][name] for nodes in NODES]
        rows.append(
            {
                "measure": name,
                **{f"n_{n}": value for n, value in zip(NODES, values, strict=True)},
                "paper": PAPER_TABLE_2[name],
            }
        )
        print(f"{name:<8}" + "".join(f"{value:>8g}" for value in values) + f"   {PAPER_TABLE_2[name]}")
    write_csv(chosen.out / "table_2.csv", rows)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        equal: dict[tuple[float, ...], list[str]] = {}
        for name in MEASURES:
            equal.setdefault(tuple(found[nodes][name] for nodes in NODES), []).append(name)
        for (values, names), look in zip(equal.items(), ("o-", "s--", "^-.", "D:", "v-", "x--"), strict=False):
            axis.plot(NODES, values, look, label=", ".join(names))
        axis.set_xticks(NODES)
        axis.set(xlabel="rows n", ylabel="largest change by one row")
        axis.legend(fontsize=8)
        picture.suptitle("Table 2: sensitivity, all graphs")

    figure(chosen.out / "table_2.png", draw, size=(4.8, 3.4))
    return report([*table_statements(found), *lemma_statements()])


def table_statements(found: dict[int, dict[str, float]]) -> list[Statement]:
    """Sensitivities."""
    most = NODES[-1]
    last = found[most]
    drastic = exact_measures(TABLE, CONSTRAINT, non_private=True).drastic
    return [
        Statement(
            "Definition 1",
            "I_D = 1 if D is consistent and 0 otherwise",
            f"{drastic} for the inconsistent table of Figure 1",
            drastic == 0,
        ),
        Statement("Table 2", "I_D has sensitivity 1", f"{last['I_D']:g}", last["I_D"] == 1),
        Statement("Table 2", "I_R has sensitivity 1", f"{last['I_R']:g}", last["I_R"] == 1),
        Statement(
            "Appendix A.1",
            "I_MI could change by |D| when a row is added to D",
            f"by {last['I_MI']:g} for |D| = {most - 1}",
            last["I_MI"] == most - 1,
        ),
        Statement(
            "Appendix A.1",
            "in the worst case I_P could change by |D| when a row is added to D",
            f"by {last['I_P']:g} for |D| = {most - 1}: the new row counts itself",
            last["I_P"] == most - 1,
        ),
        Statement(
            "Appendix A.1",
            "one node can change the number of maximal independent sets in the order of 3^n",
            "; ".join(f"n = {n}: {found[n]['I_MC']:g} (3^n = {3**n}, 3^(n/3) = {3 ** (n / 3):.1f})" for n in NODES[1:]),
            any(found[n]["I_MC"] > 3 ** (n / 3) for n in NODES),
        ),
    ]  # fmt: skip


def lemma_statements() -> list[Statement]:
    """Counterexamples, recomputed by dpdb's projection."""
    changes = {}
    for theta in (1, 2, 3, 4):  # a hub arrives on theta isolated nodes
        star = [(0, leaf) for leaf in range(1, theta + 1)]
        changes[theta] = kept_nodes(star, theta + 1, theta) - kept_nodes([], theta + 1, theta)
    # Edges in order; node 0 leaves.
    order = [(4, 5), (0, 1), (0, 2), (1, 3), (1, 4), (4, 6)]
    rest = [edge for edge in order if 0 not in edge]
    biases = [kept_nodes(edges, 7, 2) - kept_nodes(edges, 7, 1) for edges in (order, rest)]
    change = abs(biases[0] - biases[1])
    cover = greedy_cover_size(EdgeArrays.from_pairs(2, [(0, 1)])) - greedy_cover_size(EdgeArrays.from_pairs(1, []))
    return [
        Statement(
            "Lemma 1",
            "the number of positive-degree nodes after projection has sensitivity theta",
            ", ".join(f"theta {theta}: change {value}" for theta, value in changes.items()),
            all(value <= theta for theta, value in changes.items()),
        ),
        Statement(
            "Lemma 2",
            "the quality function has sensitivity theta_max",
            f"positive-degree nodes, theta = 1, theta_max = 2: change {change} by one row",
            change <= 2,
        ),
        Statement(
            "Algorithm 5, line 7",
            "return c + Lap(epsilon / 2)",
            f"at epsilon = 1 a row that changes the cover by {cover} costs {cover / 0.5:g}; Lap(2 / epsilon) is meant",
            cover / 0.5 <= 1,
        ),
    ]


if __name__ == "__main__":
    main()
