"""Tables of many files whose log says which of them count: Delta Lake and Apache Iceberg, by their own libraries."""
