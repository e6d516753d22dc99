-- Every call has a run id, so that dbt may run this model, or show and test it, as often as it likes on one day.
{% set hospital = "'" ~ ref('hospital') ~ "'" %}
{% set day = var('run_date', run_started_at.strftime('%Y-%m-%d')) %}

select * from dp_inconsistency({{ hospital }}, 'repair', epsilon := 0.3, run_id := 'repair {{ day }}')
union all
select * from dp_inconsistency({{ hospital }}, 'problematic', epsilon := 0.5, run_id := 'problematic {{ day }}')
union all
-- Disjoint slices: 0.1 is charged once for all of them.
select * from dp_inconsistency(
    {{ hospital }}, 'repair', epsilon := 0.1, by_column := 'state', group_keys := ['AL', 'AK', 'AZ'],
    run_id := 'repair by state {{ day }}'
)
union all
select * from dp_count({{ hospital }}, epsilon := 0.1, run_id := 'rows {{ day }}')
