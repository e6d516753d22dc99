"""Fewest rows to delete of sets of rules that come apart into steps: which steps, their queries, and the count."""
