"""`dpdb conformance`: one suite that every engine passes, or of which it refuses parts by name. For owners."""
