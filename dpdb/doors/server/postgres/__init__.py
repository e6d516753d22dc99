"""PostgreSQL's protocol: the desk for SQL tools."""
