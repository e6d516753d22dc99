-- Tests whose number is released under differential privacy. The result of a test is one released row or none, so what
-- dbt prints and stores (`store_failures`) is public; nothing exact is computed in SQL. See the README for all arguments.

{% test functional_dependency(
    model, depends_on, epsilon=none, column_name=none, dependent=none, fail_above=none, measure='repair',
    confidence=0.95, theta=none, gate='bounds'
) %}
{{ config(fail_calc = 'coalesce(max(failures), 0)') }}
{{ dpdb.released_above(
    model, dpdb.dependency_text(depends_on, dependent or column_name), epsilon, fail_above, measure, confidence, theta, gate
) }}
{% endtest %}

{% test denial_constraint(
    model, constraint, epsilon=none, column_name=none, fail_above=none, measure='repair', confidence=0.95, theta=none, gate='bounds'
) %}
{{ config(fail_calc = 'coalesce(max(failures), 0)') }}
{{ dpdb.released_above(model, constraint, epsilon, fail_above, measure, confidence, theta, gate) }}
{% endtest %}

{% test unique_combination_of_columns(
    model, combination_of_columns, epsilon=none, fail_above=none, measure='repair', confidence=0.95, theta=none, gate='bounds'
) %}
{{ config(fail_calc = 'coalesce(max(failures), 0)') }}
{{ dpdb.released_above(
    model, dpdb.key_text(combination_of_columns), epsilon, fail_above, measure, confidence, theta, gate
) }}
{% endtest %}

-- A suite of checks that the plugin has registered, or one check of it, by name. All tests of one invocation of dbt that
-- name a suite share one run of it: the first runs it, the others read its verdicts. What warns, warns; what fails, is
-- not shown or undecided fails, unless `undecided` is 'warn'. `date` is what {date} stands for in the suite.
{% test check(model, suite, check=none, epsilon=none, column_name=none, undecided='fail', date=none, within=none) %}
{{ config(fail_calc = 'coalesce(max(outcome), 0)', warn_if = '= 1', error_if = '> 1') }}
{% if not execute %}
select 0 as outcome
{% elif config.get('where') is not none %}
{{ dpdb.refuse('a suite has conditions of its own; leave where out') }}
{% elif undecided not in ['fail', 'warn'] %}
{{ dpdb.refuse("undecided is 'fail' or 'warn', got " ~ undecided) }}
{% elif epsilon is not none and (epsilon is not number or epsilon is boolean) %}
{{ dpdb.refuse('epsilon is a number, got ' ~ epsilon) }}
{% elif within is not none and (within is not number or within is boolean) %}
{{ dpdb.refuse('within is a number of rows, got ' ~ within) }}
{% else %}
{% set of_check = 'true' if check is none else 'name = ' ~ dpdb.text(check) %}
{% set run = 'dbt check ' ~ suite ~ ('' if date is none else ' ' ~ date) ~ ' ' ~ dpdb.run_name('invocation') %}
with verdicts as materialized (
    select * from dp_check(
        {{ dpdb.text(suite) }}, {% if epsilon is not none %}epsilon := {{ epsilon }},{% endif %}
        {% if within is not none %}within := {{ within }},{% endif %}

        date := {{ 'NULL' if date is none else dpdb.text(date) }}, run_id := {{ dpdb.text(run) }}, table_name := {{ dpdb.text(dpdb.measured_table(model)) }}
    )
)
select
    case when severity = 'fail' and verdict in ('fail'{{ ", 'not shown', 'undecided'" if undecided == 'fail' }})
        then 2 else 1 end as outcome, *
from verdicts
where {{ of_check }} and verdict <> 'pass'
{% if check is not none %}
union all
select error({{ dpdb.text("dpdb: suite '" ~ suite ~ "' has no check '" ~ check ~ "'") }})::integer, *
from (select any_value(columns(*)) from verdicts)
where not exists (from verdicts where {{ of_check }})
{% endif %}
{% endif %}
{% endtest %}


-- The release, where its value is above the threshold, or not shown to be within: no upper bound is at most the threshold.
-- `gate='value'` compares the value alone.
{% macro released_above(relation, constraint, epsilon, fail_above, measure, confidence, theta, gate) %}
{% if not execute %}
select 0 as value
{% else %}
{% set where = config.get('where') %}
{% do dpdb.check_private(constraint, epsilon, fail_above, measure, confidence, theta, gate) %}
{% set table = dpdb.measured_table(relation) %}
{% set asked = [table, constraint, measure, epsilon, where, confidence, theta] %}
-- Two tests that ask the same of a table in one run are one release, paid once: the threshold is no part of its name.
{% set run = 'dbt test ' ~ local_md5(tojson(asked))[:16] ~ ' ' ~ dpdb.run_name() %}
select
    measure, value, lower, upper, confidence, epsilon, mechanism, theta, "where", release_id,
    {{ dpdb.text(constraint) }} as constraints, {{ dpdb.text(run) }} as run_id,
    {% if fail_above is none %}cast(ceil(value) as bigint){% else %}cast(greatest(1, ceil(value)) as bigint){% endif %} as failures
from dp_inconsistency(
    {{ dpdb.text(table) }}, {{ dpdb.text(measure) }}, epsilon := {{ epsilon }}, where_clause := {{ dpdb.text(where) }},
    confidence := {{ confidence }}, theta := {{ 'NULL' if theta is none else theta }}, run_id := {{ dpdb.text(run) }},
    constraints := {{ dpdb.text(constraint) }}
)
{% if fail_above is not none %}where value > {{ fail_above }}{% if gate == 'bounds' %} or upper is null or upper > {{ fail_above }}{% endif %}{% endif %}
{% endif %}
{% endmacro %}


{% macro check_private(constraint, epsilon, fail_above, measure, confidence, theta, gate) %}
{% set measures = ['repair', 'problematic', 'minimal_inconsistency', 'maximal_consistency'] %}
{% set thresholds = [config.get('warn_if', '!= 0'), config.get('error_if', '!= 0')] %}
{% if epsilon is not number or epsilon is boolean %}
    {{ dpdb.refuse('epsilon is missing: the privacy cost of the answer, such as epsilon: 0.5') }}
{% elif measure not in measures %}
    {{ dpdb.refuse("there is no measure '" ~ measure ~ "' (" ~ measures | join(', ') ~ ')') }}
{% elif fail_above is none and thresholds == ['!= 0', '!= 0'] %}
    {{ dpdb.refuse('give fail_above, a public threshold (or warn_if and error_if): a noisy value is rarely 0') }}
{% elif fail_above is not none and (fail_above is not number or fail_above is boolean or fail_above < 0) %}
    {{ dpdb.refuse('fail_above is a number of at least 0, got ' ~ fail_above) }}
{% elif gate not in ['bounds', 'value'] %}
    {{ dpdb.refuse("gate is 'bounds' or 'value', got " ~ gate) }}
{% elif confidence is not number or confidence is boolean %}
    {{ dpdb.refuse('confidence is a number between 0 and 1, got ' ~ confidence) }}
{% elif theta is not none and theta is not integer %}
    {{ dpdb.refuse('theta is a whole number, got ' ~ theta) }}
{% endif %}
{% endmacro %}


-- A run is a day, or what the variable `run_date` says; with the variable `dpdb_run: invocation` each invocation of dbt.
{% macro run_name(default='day') %}
{% if var('dpdb_run', default) == 'invocation' %}{{ return(invocation_id) }}{% endif %}
{{ return(var('run_date', run_started_at.strftime('%Y-%m-%d')) | string) }}
{% endmacro %}
