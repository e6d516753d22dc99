"""Files that appear complete or not at all, folders for work, and small files beside others' files."""
