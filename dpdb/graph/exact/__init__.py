"""What one sort, a matching, a search or a solver finds: fewest deletions, covers, maximal subsets, LP truncation."""
