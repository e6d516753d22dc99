"""The pieces of a prepared release: slices, parts, shares of epsilon, public thetas."""
