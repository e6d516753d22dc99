"""The commands, a file each or beside another that has the same subject."""
