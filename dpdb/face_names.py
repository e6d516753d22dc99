"""Where the names of each room's face are at home: by room and module.

Written by `tests/project/test_project_faces.py` from what the faces import for type checkers; change those.
"""

from __future__ import annotations

from collections.abc import Mapping

FACES: Mapping[str, Mapping[str, str]] = {
    "dpdb": {
        "dpdb._version": "__version__",
        "dpdb.constraints": "DenialConstraint",
        "dpdb.doors.duckdb_functions": "Registration register",
        "dpdb.doors.notebook": "progress_bar",
        "dpdb.errors": "BudgetExceededError DpdbError",
        "dpdb.owner": "plan",
        "dpdb.reconciliation": "compare",
        "dpdb.release": "Release Releases",
        "dpdb.release.session": "dp_count dp_inconsistency",
        "dpdb.suites": "CheckResult CheckResults Session open",
        "dpdb.suites.at_once": "check diagnose",
    },
    "dpdb.compiled": {
        "dpdb.compiled.kernel": "Kernel kernel",
        "dpdb.compiled.object_file": "NotCompiledError compiled_so_far nothing_compiled tell_when_long",
        "dpdb.compiled.portable_code": "written_to",
    },
    "dpdb.database": {
        "dpdb.database.database": "BATCH_ROWS Database Statement WRITTEN",
        "dpdb.database.sql_functions": ("add_function add_text_function refuse_unusable remove_function remove_macros"),
        "dpdb.database.templates": "Slot filled filled_select sql_file",
    },
    "dpdb.diagnosis": {
        "dpdb.diagnosis.ask": "ASKED DiagnosisAsk",
        "dpdb.diagnosis.plan": "DiagnosisPlan",
        "dpdb.diagnosis.prepare": "PreparedDiagnosis prepare_diagnosis run_diagnosis",
        "dpdb.diagnosis.result": (
            "DIAGNOSIS_SCHEMA Diagnosis DiagnosisLine NamedRule NamedSlice bounds_words "
            "diagnosis_text recorded_diagnosis rule_words"
        ),
    },
    "dpdb.engine": {
        "dpdb.engine.alike": "Alike count_thinned count_together forms_alike may_be_together",
        "dpdb.engine.broken": "BrokenCounts OwnersBroken Told columns_of of_owners of_rows",
        "dpdb.engine.closed_forms": (
            "Form GroupForm KeysForm RuleStatistic SortedForm StatisticKind SteppedForm "
            "exact_statistic why_no_decisions"
        ),
        "dpdb.engine.compared": ("ComparedColumn ComparedColumns Differences Side count_differences write_compared"),
        "dpdb.engine.count_all": (
            "count_gathered counted_in_any_case key_histogram load_counting of_key violating_alone"
        ),
        "dpdb.engine.count_classes": "HASH Hashes histogram_of",
        "dpdb.engine.dependency_counts": "DependencyCounts Direction PairCounts count_dependencies",
        "dpdb.engine.for_owner": (
            "arrow_forgets cells_without_value count_cells export_edges listed_rows read_rows "
            "source_rows suggestions violating_pairs write_rows"
        ),
        "dpdb.engine.interface": "Edges Engine Partners Progress Slice Table Thinning no_progress",
        "dpdb.engine.owners": (
            "OwnerQuestion disjoint_pairs holds is_of_pairs key_of questions_columns sharing_queries"
        ),
        "dpdb.engine.parents.across": "BoundInclusion",
        "dpdb.engine.parents.declared": (
            "DeclaredParent MeasuredSource ParentFiles refuse_second_names same_name table_beside"
        ),
        "dpdb.engine.parents.opened": "FoundParents ParentTable folded_parents refuse_undeclared spelled_as",
        "dpdb.engine.slice": "LocalSlice constrained_columns explained_constraint texts_compared_alone",
        "dpdb.engine.sql.bind": "BoundConstraint BoundPredicate coincidences",
        "dpdb.engine.sql.class_histograms": "ClassHistogram class_histograms has_class_histogram",
        "dpdb.engine.sql.comparison": "untyped_problem",
        "dpdb.engine.sql.decision_counts": "count_decisions",
        "dpdb.engine.sql.input_rows": "AcrossColumn CHILD_ROW KeyPair PARENT_ROW",
        "dpdb.engine.sql.joins": "CrossTerm GroupTerm NESTED_LOOP_ROWS degree_terms refuse_nested_loops",
        "dpdb.engine.sql.key_counts": "sharing_rows",
        "dpdb.engine.sql.rule_counts": "group_count stepped_count",
        "dpdb.engine.sql.where": "WherePredicate comparable_column unit_column",
        "dpdb.engine.table": "BoundTable LocalEngine LocalTable described own_database",
        "dpdb.engine.table_spec": (
            "LIMITS MachineLimits ProtectedChange PublicSizes SETTINGS TableSettings TableSpec with_settings"
        ),
        "dpdb.engine.unit_rows": (
            "ChildKey child_key kept_children kept_children_sql kept_rows kept_rows_sql limited_keys"
        ),
    },
    "dpdb.engine.sql": {
        "dpdb.engine.sql.bind": "BoundConstraint BoundPredicate Operand not_alone self_conflict",
        "dpdb.engine.sql.coded_rows": "CountedGroups ROW",
        "dpdb.engine.sql.comparison": "evaluated is_known shown_as",
        "dpdb.engine.sql.input_rows": (
            "ComputedColumn beside_members column_def in_schema_order members_read read_columns"
        ),
        "dpdb.engine.sql.joins": "CrossTerm GroupTerm degree_terms",
        "dpdb.engine.sql.sorted_rows": "sorted_columns",
        "dpdb.engine.sql.where": "WherePredicate",
    },
    "dpdb.graph": {
        "dpdb.graph.blocks.block_constraint": (
            "BlockConstraint ListedConstraint all_of_rows by_class by_edges by_order by_two_classes"
        ),
        "dpdb.graph.blocks.block_graph": "BlockGraph",
        "dpdb.graph.blocks.histogram": "Histogram",
        "dpdb.graph.blocks.thinned": "CertifiedCover ChainPartners UncertifiedError chain_partners",
        "dpdb.graph.exact.decision_bits": "BIT MOST_BITS_PER_ROW decision_steps",
        "dpdb.graph.exact.deletions": (
            "deletions_of_chain deletions_of_cross deletions_of_intervals greatest_matching "
            "load_greatest_matching load_one_sort"
        ),
        "dpdb.graph.exact.lp_truncation": "twice_truncated_edges",
        "dpdb.graph.exact.search": "CoverBounds count_maximal_independent_sets minimum_vertex_cover",
        "dpdb.graph.listed.edge_graph": (
            "Adjacency EdgeGraph FractionalCover adjacency_of fractional_cover twice_fractional_cover"
        ),
        "dpdb.graph.listed.listed_edges": (
            "DegreeSummary EdgeArrays OrderedEdges ProjectedCounts degree_summary "
            "greedy_cover_size projected_counts witness_counts"
        ),
        "dpdb.graph.loading": "load_all_kernels load_block_kernels load_counted_projection load_edge_kernels",
        "dpdb.graph.steps": "called_all",
    },
    "dpdb.ledger": {
        "dpdb.ledger.amounts": "in_words",
        "dpdb.ledger.kept_suites": "kept_otherwise",
        "dpdb.ledger.ledger": "Ledger",
        "dpdb.ledger.ledger_analysts": "RecordedAnalyst",
        "dpdb.ledger.lines": (
            "Allowance LedgerAct LedgerEntry LedgerSummary RecordedAnswer RecordedLevel "
            "RecordedRearm RecordedSuite UnseenRows"
        ),
        "dpdb.ledger.log": "LedgerLog LoggedDebit Sums",
        "dpdb.ledger.reading": "LedgerReading open_to_read",
        "dpdb.ledger.report": "epsilon_at",
        "dpdb.ledger.reservation": "Reservation SuiteReservation",
        "dpdb.ledger.store.rows": "EntryLine",
        "dpdb.ledger.store.seals": "SourceMark is_rows_of rows_of",
    },
    "dpdb.measures": {
        "dpdb.measures.answer": "Answer GraphStatistics release_degree_cap why_no_upper",
        "dpdb.measures.compared": "noisy_differences sensitivity_of",
        "dpdb.measures.count": "noisy_count noisy_keys rate_answer rate_beta rate_shares",
        "dpdb.measures.estimate": "with_estimate with_theta_limits",
        "dpdb.measures.measure": "Measure",
        "dpdb.measures.measure_names": "COMPARED EXACT MeasureName NAMES",
        "dpdb.measures.mechanism": "ClosedForm Mechanism Run Words read_together",
        "dpdb.measures.mechanisms.at_one_theta": "at_theta declared takes_theta",
        "dpdb.measures.registry": "all_measures counted measure_named measures_named refuse_rho",
        "dpdb.measures.true_values": "ExactValues TrueNumbers",
    },
    "dpdb.overlap": {
        "dpdb.overlap.compact": "load_search",
        "dpdb.overlap.instance": "Bound Deadline MOST_WEIGHT Witness",
        "dpdb.overlap.online": "Added Decision OverlapIndex",
        "dpdb.overlap.report": "OverlapReport overlap_report",
        "dpdb.overlap.solver": "METHODS maximum_overlap",
    },
    "dpdb.owner": {
        "dpdb.owner.conformance.suite": "Conformance run_conformance",
        "dpdb.owner.discovery": "Discovery ExactDependencies discover exact_dependencies prepare_discovery",
        "dpdb.owner.exact": "EXACT_MEASURES ExactMeasures RuleMeasures exact_measures",
        "dpdb.owner.expected_error": "plan",
        "dpdb.owner.proposed_schema": "ProposedSchema propose_schema",
        "dpdb.owner.simulation": "ExpectedError Plan",
    },
    "dpdb.predicates": {
        "dpdb.predicates.bind": "literal_value refuse_unknown_parts",
        "dpdb.predicates.formats": "re2_problem",
        "dpdb.predicates.nodes": (
            "And Arithmetic Call CheckDigits Column Comparison Constant Flag Like Literal "
            "LiteralValue Matches Membership Node Not NullTest Or TRUE Term TermComparison "
            "Value all_of columns_in columns_of"
        ),
        "dpdb.predicates.region": "Box Region covered covered_groups hull meet region_from_text region_to_text",
        "dpdb.predicates.sql": "condition data_type in_type literal_sql parse term_sql",
        "dpdb.predicates.terms": (
            "IN_NANOSECONDS LONGEST_ENUM MOMENTS NANOSECONDS ZONED ZONED_NANOSECONDS "
            "cast_advice enum_type enum_values equality_type is_enum orders_alike "
            "text_problem type_words"
        ),
        "dpdb.predicates.value_sets": "Cut ValueSet",
    },
    "dpdb.privacy": {
        "dpdb.privacy.climbing": (
            "HandicappedNoise HiddenNoise UNIT climb difference_tail draw_hidden_noise height_above in_units"
        ),
        "dpdb.privacy.epsilon": (
            "GDP NANO NOTIONS Notion Number PICO PURE ZCDP as_float as_fraction "
            "format_epsilon format_rho gdp_delta parse_epsilon parse_rho rho_as_float split"
        ),
        "dpdb.privacy.noise": (
            "bounded_range_max check_samplers discrete_gaussian discrete_gaussians "
            "discrete_laplace discrete_laplaces gaussian_scale gaussian_tail gumbel_scale "
            "laplace_difference_tail laplace_scale laplace_sum_tail laplace_tail noisy_max "
            "one_sided_noises"
        ),
        "dpdb.privacy.selection": (
            "marginal_choice paper_exponential_mechanism paper_grid peeled rho_of_choice thirds_grid tripling_grid"
        ),
    },
    "dpdb.receipts": {
        "dpdb.receipts.issue": "Issuer LedgerTree",
        "dpdb.receipts.keys": "SigningKey load_key load_public new_key_file",
        "dpdb.receipts.notes": "Checkpoint parse_checkpoint",
        "dpdb.receipts.receipt": "Receipt ReceiptFile open_receipt read_receipts",
        "dpdb.receipts.statement": "digest",
        "dpdb.receipts.verification": "NOT_PROVEN Verified verify",
        "dpdb.receipts.witness": "WitnessFile read_checkpoints",
    },
    "dpdb.reconciliation": {
        "dpdb.reconciliation.ask": "ASKED ComparisonAsk",
        "dpdb.reconciliation.at_once": "compare opened_side",
        "dpdb.reconciliation.prepare": "PreparedComparison prepare_comparison run_comparison",
        "dpdb.reconciliation.tables": "ComparedTables refuse_reached_units",
    },
    "dpdb.release": {
        "dpdb.release.account": "AnswerRun Budget SuiteLevel SuiteRun as_budget new_run_id",
        "dpdb.release.ask": (
            "Ask COUNT COUNT_OPTIONS Epsilon Key MEASURE_OPTIONS OPTIONS PublicTheta "
            "checked_keys parse_confidence parse_share refuse_unpriced"
        ),
        "dpdb.release.conflict_graph": "by_rule_offer load_kernels",
        "dpdb.release.costs": "Charge Cost Risk pure_units risk_of",
        "dpdb.release.ledger_account": "LedgerAccount",
        "dpdb.release.listed_counts": "listed_words",
        "dpdb.release.parts": "PublicTable Slices new_release_id parse_slices",
        "dpdb.release.privacy_unit": "PrivacyUnit unit_of_table",
        "dpdb.release.publish": "publish_suite",
        "dpdb.release.published.comparisons": "Change Gate GateResult check_gates parse_gate",
        "dpdb.release.published.layouts": (
            "NOTHING_SPENT PreviewPart cost_preview html_table preview_html preview_text releases_table"
        ),
        "dpdb.release.published.release": "Release Releases constraints_digest recorded_releases",
        "dpdb.release.published.release_fields": (
            "KEYS PER_ROW RELEASE_SCHEMA SHARE VERDICT alone_words arrow_fields bounds_words "
            "measured_words missing_words noise_words number_words population_of "
            "population_words promise_words quantity_words release_table releases_words "
            "sentence sure_words theta_words too_noisy_words value_words verdict_words "
            "words_of would_do_words"
        ),
        "dpdb.release.session": "Session refuse_other_settings",
        "dpdb.release.statistics": "CountedStatistics PrivateSlices",
    },
    "dpdb.remote": {
        "dpdb.remote.engine": "RemoteEngine scratch_of",
        "dpdb.remote.opened": "GatheredTable",
        "dpdb.remote.scratch": "Scratch",
        "dpdb.remote.table": "RemoteSet",
        "dpdb.remote.tried": "record trying_out",
    },
    "dpdb.rules": {
        "dpdb.rules.discovered": "DiscoveredRules recorded_discovery why_no_name",
        "dpdb.rules.found": "ImportedRule LeftOut",
        "dpdb.rules.importing": "ImportedRules import_dqd import_rules import_tables",
        "dpdb.rules.linting": "Finding lint",
    },
    "dpdb.settings": {
        "dpdb.engine": ("LIMITS NESTED_LOOP_ROWS Progress SETTINGS TableSettings TableSpec no_progress with_settings"),
        "dpdb.opening": "has_tables is_remote",
        "dpdb.sources": "column_definition is_address refuse_url",
    },
    "dpdb.sources": {
        "dpdb.sources.cells.faults": "Faults",
        "dpdb.sources.cells.typed": "typed",
        "dpdb.sources.cells.writing": "ALL_CELLS split_writing",
        "dpdb.sources.files.json_lines": "member_names",
        "dpdb.sources.files.likely_writing": "likely_writing",
        "dpdb.sources.files.parquet": "parquet_columns parquet_scan",
        "dpdb.sources.kinds": "kind_of with_presence",
        "dpdb.sources.objects.duckdb_connection": "are_of_one_database",
        "dpdb.sources.open": (
            "STANDARD_INPUT declared_schema find_files has_tables is_address is_changed "
            "open_source opened_content refuse_url rows_digest state_of"
        ),
        "dpdb.sources.paths": "Files",
        "dpdb.sources.source": (
            "Reading Rows Source SourceLike column_definition needed presence reason_in_log without_rows"
        ),
    },
    "dpdb.suites": {
        "dpdb.suites.ask": "RUN_OPTIONS SUITE_OPTIONS SuiteAsk",
        "dpdb.suites.bought": "BoughtRun bought_words",
        "dpdb.suites.check": "CheckRun check_columns run_check",
        "dpdb.suites.mechanism.bounds": "Verdict bound_of_quiet size_of_failure verdicts",
        "dpdb.suites.mechanism.levels": "draw_secret run_level",
        "dpdb.suites.mechanism.plan": "Bank SuitePlan Tested",
        "dpdb.suites.mechanism.planned": "plan_suite",
        "dpdb.suites.mechanism.state": "LevelVerdicts Ring SuiteState refuse_small_epsilon spent state_of",
        "dpdb.suites.numbers": "CappedCount",
        "dpdb.suites.planning": (
            "Numbers deciding_words epsilon_for numbers_instead plan_words planned_words surely_found unsure_rows"
        ),
        "dpdb.suites.prepare": "prepare_check",
        "dpdb.suites.registered": "RegisteredSuite SuiteOnTable dated_suite register_suite rules_of",
        "dpdb.suites.result": (
            "COVER CheckResult SCHEMA_WORDS WHERE_IT_IS capped_words check_words cost_words "
            "counts_words how_many kept_words limit_words not_shown_words populations spoken "
            "undecided_words verdict_words"
        ),
        "dpdb.suites.results": "CHECK_SCHEMA CheckResults checked_within recorded_results",
        "dpdb.suites.session": "Session open",
        "dpdb.suites.sizes_run": "SizesRun sizes_words",
        "dpdb.suites.suite": "Suite SuiteLike SuiteLine load_suite",
        "dpdb.suites.tables.apart": "PreparedTables TablesApart",
        "dpdb.suites.tables.table_set": "TableSet",
        "dpdb.suites.truth": "ExactCheck",
        "dpdb.suites.worst_run": "WorstRun worst_words",
    },
}
