"""HTTP: routes, JSON and Arrow, bearer tokens, and the guard of connections."""
