"""The mechanisms of the measures, by subject."""
