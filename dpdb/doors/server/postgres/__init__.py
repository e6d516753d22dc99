"""PostgreSQL's protocol, version 3.0: any client of PostgreSQL asks the desk. It translates, and decides nothing."""
