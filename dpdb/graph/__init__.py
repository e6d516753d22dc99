"""Pure graph statistics over ordered edge batches: arrays in, integers out.

This package knows no SQL, no privacy parameters and no randomness. Everything here is exact and private:
only `dpdb.privacy` and `dpdb.measures` turn these integers into releases.

    listed/    the sentence: ordered edges, scanned once or read as adjacency lists
    blocks/    the same graph, never listed: rows in groups, with the same statistics, value for value
    exact/     what a sort, a matching, a search or a solver finds: deletions, covers, maximal subsets, LP truncation
    kernels/   their loops, compiled

Importing it is cheap: kernels (numba) and solvers (scipy) are imported by the functions that use them, and modules when
one of their names is first used; those of `listed/` alone are imported at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names
from dpdb.graph.listed.edge_graph import (
    FractionalCover as FractionalCover,
    fractional_cover as fractional_cover,
    twice_fractional_cover as twice_fractional_cover,
)
from dpdb.graph.listed.listed_edges import DegreeSummary as DegreeSummary, degree_summary as degree_summary

if TYPE_CHECKING:
    from dpdb.graph.blocks.block_constraint import (
        BlockConstraint as BlockConstraint,
        ListedConstraint as ListedConstraint,
        all_of_rows as all_of_rows,
        by_class as by_class,
        by_edges as by_edges,
        by_order as by_order,
        by_two_classes as by_two_classes,
    )
    from dpdb.graph.blocks.block_graph import BlockGraph as BlockGraph
    from dpdb.graph.blocks.histogram import Histogram as Histogram
    from dpdb.graph.blocks.thinned import (
        CertifiedCover as CertifiedCover,
        ChainPartners as ChainPartners,
        UncertifiedError as UncertifiedError,
        chain_partners as chain_partners,
    )
    from dpdb.graph.exact.decision_bits import (
        BIT as BIT,
        MOST_BITS_PER_ROW as MOST_BITS_PER_ROW,
        decision_steps as decision_steps,
    )
    from dpdb.graph.exact.deletions import (
        deletions_of_chain as deletions_of_chain,
        deletions_of_cross as deletions_of_cross,
        deletions_of_intervals as deletions_of_intervals,
        greatest_matching as greatest_matching,
        load_greatest_matching as load_greatest_matching,
        load_one_sort as load_one_sort,
    )
    from dpdb.graph.exact.lp_truncation import twice_truncated_edges as twice_truncated_edges
    from dpdb.graph.exact.search import (
        CoverBounds as CoverBounds,
        count_maximal_independent_sets as count_maximal_independent_sets,
        minimum_vertex_cover as minimum_vertex_cover,
    )
    from dpdb.graph.listed.edge_graph import (
        Adjacency as Adjacency,
        EdgeGraph as EdgeGraph,
        adjacency_of as adjacency_of,
    )
    from dpdb.graph.listed.listed_edges import (
        EdgeArrays as EdgeArrays,
        OrderedEdges as OrderedEdges,
        ProjectedCounts as ProjectedCounts,
        greedy_cover_size as greedy_cover_size,
        projected_counts as projected_counts,
        witness_counts as witness_counts,
    )
    from dpdb.graph.loading import (
        load_all_kernels as load_all_kernels,
        load_block_kernels as load_block_kernels,
        load_counted_projection as load_counted_projection,
        load_edge_kernels as load_edge_kernels,
    )
    from dpdb.graph.steps import called_all as called_all
else:
    __getattr__, __all__ = lazy_names(__name__)
