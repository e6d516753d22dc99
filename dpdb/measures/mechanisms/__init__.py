"""The mechanisms of the measures, one file each."""
