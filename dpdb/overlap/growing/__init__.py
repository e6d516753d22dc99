"""The overlap of a set that grows: decides whether one more release fits."""
