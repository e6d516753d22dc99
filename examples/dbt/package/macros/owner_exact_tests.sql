-- Owner only: true counts, and with `store_failures` the rows in conflict. Not private. They need `exact: true` in the
-- plugin's config, and what they print and store must not reach analysts.

{% test owner_exact_functional_dependency(model, depends_on, column_name=none, dependent=none) %}
{{ dpdb.owner_exact_conflicts(model, dpdb.dependency_text(depends_on, dependent or column_name)) }}
{% endtest %}

{% test owner_exact_denial_constraint(model, constraint, column_name=none) %}
{{ dpdb.owner_exact_conflicts(model, constraint) }}
{% endtest %}


-- One row per conflict: the constraint, the positions of its rows and all their columns, NAME_1 and NAME_2.
{% macro owner_exact_conflicts(relation, constraint) %}
{% if not execute or flags.WHICH not in ['test', 'build', 'retry'] %}
select 'computed when the test runs' as "constraint" where false
{% elif config.get('store_failures_as') == 'view' %}
{{ dpdb.refuse('exact conflicts are kept for one run only: store_failures_as must be table') }}
{% else %}
{% set allowed = "select 1 from duckdb_functions() where function_name = 'dpdb_owner_exact_conflicts'" %}
{% if not dbt.run_query(allowed).rows %}
    {{ dpdb.refuse("exact tests are for owners, who allow them by exact: true in the config of the plugin dpdb.dbt") }}
{% endif %}
{% set file = dbt.run_query(
    'select dpdb_owner_exact_conflicts(' ~ dpdb.text(dpdb.measured_table(relation)) ~ ', ' ~ dpdb.text(constraint)
    ~ ', ' ~ dpdb.text(config.get('where')) ~ ')'
).columns[0][0] %}
select * from read_parquet({{ dpdb.text(file) }})
{% endif %}
{% endmacro %}
