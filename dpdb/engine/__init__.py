"""The engine: the one place where SQL runs.

Constraints become sqlglot trees (`compile`), trees become DuckDB SQL inside `Database`, and the conflict table leaves
this room only as ordered Arrow batches and integers. No noise is drawn and no budget is known here.
"""
