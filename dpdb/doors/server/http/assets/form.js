// The fields of a question: they write the statement, and the statement alone is asked. A cost is never filled in.

let tables = []; // of the schema
let postgres = null; // the port of PostgreSQL's protocol
let written = ""; // the statement that the fields wrote last

const NUMBERS = /INT|DECIMAL|DOUBLE|FLOAT|REAL|NUMERIC/i;
const AMOUNT = /^(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?$/i;

function beginForm(schema) {
  const first = tables.length === 0;
  [tables, postgres] = [schema.tables, schema.postgres];
  if (!first || !tables.length) return;
  const choice = (value, words) => element("option", { value }, words);
  $("f-table").replaceChildren(...tables.map((table) => choice(table.name, table.name)));
  $("f-measure").replaceChildren(...schema.measures.map((one) => choice(one.name, `${one.words} (${one.name})`)));
  chosenTable();
  $("f-table").addEventListener("change", () => { chosenTable(); changed(); });
  for (const name of ["f-measure", "f-where", "f-by", "f-keys", "f-cost"]) $(name).addEventListener("input", changed);
  $("form").addEventListener("submit", (event) => event.preventDefault());
  $("form").addEventListener("keydown", pressed);
  $("rewrite").addEventListener("click", () => { $("statement").value = written; changed(); $("f-cost").focus(); });
  changed();
}

function chosenTable() {
  const table = tables.find((one) => one.name === $("f-table").value);
  $("f-by").replaceChildren(element("option", { value: "" }, "no column: one number"), ...table.columns.map((column) => element("option", { value: column.name }, column.name)));
  // What has no rules has rows to count, and nothing else.
  for (const option of $("f-measure").options) option.disabled = table.constraints.length === 0 && option.value !== "count";
  if ($("f-measure").selectedOptions[0]?.disabled) $("f-measure").value = "count";
  $("f-cost").value = ""; // it was meant for another table
  showLeft();
}

function showLeft() {
  const table = known?.tables.find((one) => one.table === $("f-table").value);
  if (!table) return;
  const unit = table.parameter === "epsilon" ? "" : `${table.parameter} `; // a ledger of rho or mu says what epsilon is there
  $("f-left").textContent = [
    table.quota === null ? "" : `${unit}${amount(table.remaining)} of ${amount(table.quota)} left`,
    table.most_per_statement === null ? "" : `at most ${unit}${amount(table.most_per_statement)} a statement`,
  ].filter(Boolean).join(", ");
}

const literal = (text) => `'${text.replaceAll("'", "''")}'`;

// Keys as people write them: by commas or lines; what stands in double quotes is one key, and text.
function keysOf(text) {
  const found = [];
  for (const [, quoted, plain] of text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*|([^,\n]*))(?:[,\n]|$)/g)) {
    if (quoted !== undefined) found.push({ text: quoted.replaceAll('""', '"'), isText: true });
    else if (plain.trim()) found.push({ text: plain.trim(), isText: false });
  }
  return found;
}

function formStatement() {
  const table = tables.find((one) => one.name === $("f-table").value);
  const measure = $("f-measure").value, where = $("f-where").value.trim(), by = $("f-by").value, cost = $("f-cost").value.trim();
  const isNumber = NUMBERS.test(table.columns.find((column) => column.name === by)?.type ?? "");
  const key = (one) => (isNumber && !one.isText && /^-?\d+(\.\d+)?$/.test(one.text) ? one.text : literal(one.text));
  const given = [
    literal(table.name),
    ...(measure === "count" ? [] : [`measure := ${literal(measure)}`]),
    ...(where ? [`where_clause := ${literal(where)}`] : []),
    ...(by ? [`by_column := ${literal(by)}`, `group_keys := ARRAY[${keysOf($("f-keys").value).map(key).join(", ")}]`] : []),
    ...(AMOUNT.test(cost) ? [`epsilon := ${cost}`] : []),
  ];
  return `SELECT ${by ? '"where" AS slice, ' : ""}value, lower, upper\nFROM ${measure === "count" ? "dp_count" : "dp_inconsistency"}(${given.join(", ")})`;
}

const isAttached = () => $("statement").value === written;

// What the fields still lack before their statement has a price; null of a whole one, and of one that was edited.
function formLacks() {
  if (!tables.length || !isAttached()) return null;
  const cost = $("f-cost").value.trim();
  if ($("f-by").value && !keysOf($("f-keys").value).length) return `List the values of ${$("f-by").value} that you want a number for.`;
  if (!cost) return "Name the epsilon that the answer may cost, and its price is shown here.";
  return AMOUNT.test(cost) ? null : "epsilon is a number, such as 0.1.";
}

function changed() {
  $("f-keys-row").hidden = !$("f-by").value;
  const isFree = isAttached() || !$("statement").value.trim();
  written = formStatement();
  if (isFree) $("statement").value = written;
  attach();
  if (isFree) plan();
}

function attach() {
  $("detached").hidden = isAttached();
  $("attached").hidden = !isAttached();
}

// -- the same elsewhere ----------------------------------------------------------------------------------------------

const shellWord = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const connectionWord = (text) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

function asPsql(text) {
  const tls = location.protocol === "https:" ? " sslmode=require" : "";
  return `psql ${shellWord(`host=${location.hostname.replace(/[[\]]/g, "")} port=${postgres} user=${connectionWord(known.analyst)} dbname=dpdb${tls}`)} -c ${shellWord(text)}`;
}

function asPython(text) {
  const isAnswered = asked?.body.statement === text;
  return [
    ...(isAnswered ? ["# the answer that was given: at no cost"] : ["# a new answer: it costs its price"]),
    "import json, os, urllib.request",
    "",
    `headers = {"Authorization": "Bearer " + os.environ["DPDB_TOKEN"]${isAnswered ? `, "Idempotency-Key": ${JSON.stringify(asked.key)}` : ""}}`,
    `body = json.dumps({"statement": ${JSON.stringify(text)}}).encode()`,
    `request = urllib.request.Request(${JSON.stringify(`${location.origin}/v1/run`)}, body, headers)`,
    "print(json.load(urllib.request.urlopen(request)))",
  ].join("\n");
}

function showCopies() {
  const text = $("statement").value.trim();
  $("copies").hidden = !text || !known || formLacks() !== null;
  if ($("copies").hidden) return;
  const one = (title, code) => {
    const shown = element("pre", { tabIndex: 0 }, code);
    const copy = async (event) => {
      const button = event.currentTarget;
      getSelection().selectAllChildren(shown);
      const isCopied = await navigator.clipboard?.writeText(code).then(() => true, () => false);
      button.textContent = isCopied ? "Copied" : "Selected: press Ctrl+C";
    };
    return [element("h3", {}, title), shown, element("button", { type: "button", onclick: copy }, `Copy it as ${title}`)];
  };
  $("copied").replaceChildren(
    ...(postgres === null ? [] : [...one("psql", asPsql(text)), element("p", { className: "hint" }, "psql asks for your token as the password, and for a new answer at its price.")]),
    ...one("Python", asPython(text)),
    element("p", { className: "hint" }, "Put your token into the environment variable DPDB_TOKEN."));
}
