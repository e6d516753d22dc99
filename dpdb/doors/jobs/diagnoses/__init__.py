"""Diagnoses in jobs: what `[[diagnose]]` asks, and the table of what was named."""
