-- Fails if even the lower bound of the rows to repair is above the threshold. It reads releases only and costs nothing.
select measure, value, lower
from {{ ref('hospital_quality') }}
where measure = 'repair' and "where" is null and lower > {{ var('most_repairs') }}
