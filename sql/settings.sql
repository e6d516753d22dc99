-- Settings of dpdb's own database, run once on a new connection.
-- Text compares by code point, whatever the source declared.
SET default_collation = '';
-- One time zone, so that a comparison never depends on the machine.
SET TimeZone = 'UTC';
-- A name that is not a table must be an error, never a Python variable of the caller.
SET python_enable_replacements = false;
SET autoinstall_known_extensions = false;
SET autoload_known_extensions = false;
SET enable_progress_bar = false;
-- What spills to disk is private.
SET temp_file_encryption = true;
