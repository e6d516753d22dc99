-- The SQL functions of `dpdb.register`: for each name a scalar macro (one release) and a table macro (one row per release).
-- They are temporary, so they live and die with the connection and are never written into its file. `_dpdb_release` stands
-- for the registration's Python function, which answers a call once per transaction: every statement outside BEGIN is its
-- own transaction. The scalar macros call it directly: as a subquery it would run even in a CASE branch that is not taken.
CREATE TEMP MACRO dp_inconsistency(
    table_name, measure := 'repair', epsilon := 1.0, where_clause := NULL, by_column := NULL, group_keys := NULL,
    mechanism := NULL, confidence := 0.95, max_degree := NULL, run_id := NULL, theta := NULL, constraints := NULL,
    label := NULL, rate := false, each_constraint := false
) AS _dpdb_release(
    true, 'dp_inconsistency', table_name::VARCHAR, measure::VARCHAR, epsilon::DOUBLE, where_clause::VARCHAR,
    by_column::VARCHAR, group_keys::VARCHAR[], mechanism::VARCHAR, confidence::DOUBLE, max_degree::BIGINT,
    run_id::VARCHAR, theta::BIGINT, constraints::VARCHAR, label::VARCHAR, rate::BOOLEAN,
    each_constraint::BOOLEAN, current_database(), current_schema(), txid_current()
)[1];

CREATE TEMP MACRO dp_inconsistency(
    table_name, measure := 'repair', epsilon := 1.0, where_clause := NULL, by_column := NULL, group_keys := NULL,
    mechanism := NULL, confidence := 0.95, max_degree := NULL, run_id := NULL, theta := NULL, constraints := NULL,
    label := NULL, rate := false, each_constraint := false
) AS TABLE SELECT unnest(_dpdb_release(
    false, 'dp_inconsistency', table_name::VARCHAR, measure::VARCHAR, epsilon::DOUBLE, where_clause::VARCHAR,
    by_column::VARCHAR, group_keys::VARCHAR[], mechanism::VARCHAR, confidence::DOUBLE, max_degree::BIGINT,
    run_id::VARCHAR, theta::BIGINT, constraints::VARCHAR, label::VARCHAR, rate::BOOLEAN,
    each_constraint::BOOLEAN, current_database(), current_schema(), txid_current()
), max_depth := 2);

CREATE TEMP MACRO dp_count(
    table_name, epsilon := 1.0, where_clause := NULL, by_column := NULL, group_keys := NULL, confidence := 0.95,
    run_id := NULL, label := NULL
) AS _dpdb_release(
    true, 'dp_count', table_name::VARCHAR, NULL, epsilon::DOUBLE, where_clause::VARCHAR,
    by_column::VARCHAR, group_keys::VARCHAR[], NULL, confidence::DOUBLE, NULL,
    run_id::VARCHAR, NULL, NULL, label::VARCHAR, false, false, current_database(), current_schema(), txid_current()
)[1];

CREATE TEMP MACRO dp_count(
    table_name, epsilon := 1.0, where_clause := NULL, by_column := NULL, group_keys := NULL, confidence := 0.95,
    run_id := NULL, label := NULL
) AS TABLE SELECT unnest(_dpdb_release(
    false, 'dp_count', table_name::VARCHAR, NULL, epsilon::DOUBLE, where_clause::VARCHAR,
    by_column::VARCHAR, group_keys::VARCHAR[], NULL, confidence::DOUBLE, NULL,
    run_id::VARCHAR, NULL, NULL, label::VARCHAR, false, false, current_database(), current_schema(), txid_current()
), max_depth := 2);
