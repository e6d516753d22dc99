"""Tables of other engines: they answer queries with small Arrow tables, and everything else stays as it is."""
