"""The graph as its ordered edges: one scan counts degrees, projections and witnesses; adjacency lists give the rest."""
