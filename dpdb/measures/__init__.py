"""Measures: for each one, which statistic, which mechanism, which cost.

A mechanism reads exact statistics through `GraphStatistics`, spends exactly the epsilon it is given through
`dpdb.privacy`, and returns an `Answer` that holds nothing but what may be published.
"""
