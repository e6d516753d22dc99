-- Settings of dpdb's own database, run once on a new connection.
-- Text compares by code point, whatever the source declared.
SET default_collation = '';
-- One time zone, so that a comparison never depends on the machine.
SET TimeZone = 'UTC';
-- A name that is not a table must be an error, never a Python variable of the caller.
SET python_enable_replacements = false;
SET autoinstall_known_extensions = false;
SET autoload_known_extensions = false;
-- It moves a view's TRY_CAST of a CSV cell into the reader as a plain cast, which then fails on a cell such as `n/a`.
SET disabled_optimizers = 'type_pushdown';
-- What spills to disk is private. Without httpfs DuckDB refuses to write encrypted files (and so to spill at all) unless
-- told to use its own cipher, whose random numbers it does not vouch for; the directory's mode 0700 is what protects.
SET force_mbedtls_unsafe = true;
SET temp_file_encryption = true;
