"""Sources that are no local path: fetched completely into the private folder of our own database, or refused."""
