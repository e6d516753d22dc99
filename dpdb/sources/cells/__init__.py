"""Files whose cells are text, or any value: their columns have the types that the owner or the schema declares."""
