"""Parents: the other tables that rules across tables look into."""
