-- What the tests write: constraints as dpdb reads them, texts as SQL reads them.

{% macro dependency_text(depends_on, dependent) %}
{% if depends_on is string %}{% set depends_on = [depends_on] %}{% endif %}
{% if not depends_on or not dependent %}
    {{ dpdb.refuse('a functional dependency needs depends_on, and a column (or dependent) that depends on it') }}
{% endif %}
{{ return(dpdb.column_names(depends_on) ~ ' -> ' ~ dpdb.column_names([dependent])) }}
{% endmacro %}

{% macro key_text(columns) %}{{ return('UNIQUE(' ~ dpdb.column_names(columns) ~ ')') }}{% endmacro %}

-- Plain names as they are; others, and those of `quote: true`, in quotes.
{% macro column_names(columns) %}
{% set written = [] %}
{% for column in columns %}
    {% set name = column | string %}
    {% if modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*|"([^"]|"")+"', name) %}
        {% do written.append(name) %}
    {% else %}
        {% do written.append('"' ~ name | replace('"', '""') ~ '"') %}
    {% endif %}
{% endfor %}
{{ return(written | join(', ')) }}
{% endmacro %}

{% macro text(value) %}
{{ return('NULL' if value is none else "'" ~ value | string | replace("'", "''") ~ "'") }}
{% endmacro %}

-- dbt hands a test with `where` a subquery; dpdb takes the table and the condition by themselves.
{% macro measured_table(relation) %}
{% if config.get('where') is none %}{{ return(relation | string) }}{% endif %}
{% set tested = model.depends_on.nodes[0] %}
{{ return((graph.nodes.get(tested) or graph.sources[tested]).relation_name) }}
{% endmacro %}

{% macro refuse(problem) %}{{ exceptions.raise_compiler_error('dpdb: ' ~ problem) }}{% endmacro %}
