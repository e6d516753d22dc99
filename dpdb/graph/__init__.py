"""Pure graph statistics over ordered edge batches: arrays in, integers out.

This room knows no SQL, no privacy parameters and no randomness. Everything here is exact and private:
only `dpdb.privacy` and `dpdb.measures` turn these integers into releases.

Importing it is cheap: kernels (numba) and solvers (scipy) are imported by the functions that use them, and modules when
one of their names is first used; `edge_graph` and `listed_edges` alone are imported at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names
from dpdb.graph.edge_graph import FractionalCover, fractional_cover, twice_fractional_cover
from dpdb.graph.listed_edges import DegreeSummary, degree_summary

if TYPE_CHECKING:
    from dpdb.graph.block_constraint import (
        BlockConstraint,
        ListedConstraint,
        all_of_rows,
        by_class,
        by_edges,
        by_order,
        by_two_classes,
    )
    from dpdb.graph.block_graph import BlockGraph
    from dpdb.graph.deletions import (
        deletions_of_chain,
        deletions_of_cross,
        deletions_of_intervals,
        greatest_matching,
        load_greatest_matching,
        load_one_sort,
    )
    from dpdb.graph.edge_graph import Adjacency, EdgeGraph, adjacency_of
    from dpdb.graph.exact import CoverBounds, count_maximal_independent_sets, minimum_vertex_cover
    from dpdb.graph.histogram import Histogram
    from dpdb.graph.listed_edges import (
        EdgeArrays,
        OrderedEdges,
        ProjectedCounts,
        greedy_cover_size,
        projected_counts,
        witness_counts,
    )
    from dpdb.graph.loading import (
        load_all_kernels,
        load_block_kernels,
        load_counted_projection,
        load_edge_kernels,
    )
    from dpdb.graph.lp_truncation import twice_truncated_edges
    from dpdb.graph.steps import called_all
    from dpdb.graph.thinned import CertifiedCover, ChainPartners, UncertifiedError, chain_partners

__all__ = [
    "Adjacency",
    "BlockConstraint",
    "BlockGraph",
    "CertifiedCover",
    "ChainPartners",
    "CoverBounds",
    "DegreeSummary",
    "EdgeArrays",
    "EdgeGraph",
    "FractionalCover",
    "Histogram",
    "ListedConstraint",
    "OrderedEdges",
    "ProjectedCounts",
    "UncertifiedError",
    "adjacency_of",
    "all_of_rows",
    "by_class",
    "by_edges",
    "by_order",
    "by_two_classes",
    "called_all",
    "chain_partners",
    "count_maximal_independent_sets",
    "degree_summary",
    "deletions_of_chain",
    "deletions_of_cross",
    "deletions_of_intervals",
    "fractional_cover",
    "greatest_matching",
    "greedy_cover_size",
    "load_all_kernels",
    "load_block_kernels",
    "load_counted_projection",
    "load_edge_kernels",
    "load_greatest_matching",
    "load_one_sort",
    "minimum_vertex_cover",
    "projected_counts",
    "twice_fractional_cover",
    "twice_truncated_edges",
    "witness_counts",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "block_constraint": (
                "BlockConstraint ListedConstraint all_of_rows by_class by_edges by_order by_two_classes"
            ),
            "block_graph": "BlockGraph",
            "deletions": (
                "deletions_of_chain deletions_of_cross deletions_of_intervals greatest_matching "
                "load_greatest_matching load_one_sort"
            ),
            "edge_graph": "Adjacency EdgeGraph adjacency_of",
            "exact": "CoverBounds count_maximal_independent_sets minimum_vertex_cover",
            "histogram": "Histogram",
            "listed_edges": "EdgeArrays OrderedEdges ProjectedCounts greedy_cover_size projected_counts witness_counts",
            "loading": "load_all_kernels load_block_kernels load_counted_projection load_edge_kernels",
            "lp_truncation": "twice_truncated_edges",
            "steps": "called_all",
            "thinned": "CertifiedCover ChainPartners UncertifiedError chain_partners",
        },
    )
