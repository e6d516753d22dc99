// The page of an analyst: cost before running, answers with their intervals, suites, budget, history.

let words = []; // [word, kind], for completion
let planned = { text: null, timer: 0, turn: 0 };
let asked = null; // { who, path, body, key }: asked again under the same key it costs nothing
let known = null; // the account, once it was read
const PENDING = "dpdb asked"; // what was asked and not answered yet: a page that is loaded again may ask for it
const MOST_ROWS = 500; // that are shown; a file has all

async function account() {
  const found = await ask("/v1/account");
  if (known !== null && known.analyst !== found.analyst) return startAnew(); // another one signs in where one was
  known = found;
  $("who").textContent = found.analyst;
  $("statement-section").hidden = found.role === "checker"; // who may run suites alone
  $("budget").replaceChildren(...found.tables.map((table) => {
    const left = table.quota === null ? "no quota of your own" : `${amount(table.remaining)} of ${amount(table.quota)} left`;
    const more = [
      table.most_per_statement === null ? "" : `at most ${amount(table.most_per_statement)} a statement`,
      table.expires ? `until ${table.expires}` : "",
    ].filter(Boolean).join(", ");
    return budgetBar(`${table.table}: ${table.parameter} ${amount(table.spent)} spent, ${left}${more ? ` (${more})` : ""}`, table.spent, table.quota ?? 0);
  }));
  showLeft();
}

function startAnew() {
  sessionStorage.removeItem(PENDING);
  location.reload(); // nothing of what the page has shown stays
  return new Promise(() => {});
}

// -- the statement and its cost --------------------------------------------------------------------------------------

function plan() {
  clearTimeout(planned.timer);
  planned.turn++;
  planned.text = null;
  const wanted = formLacks();
  price(wanted ?? ($("statement").value.trim() ? "\u2026" : "\u00a0"), wanted === null || !$("f-cost").value.trim() ? "soft" : "bad");
  $("run").textContent = "Run";
  showCopies();
  if (wanted === null) planned.timer = setTimeout(planNow, 400);
}

function price(words, name) {
  $("cost").textContent = words;
  $("cost").className = name;
  $("run").disabled = planned.text === null;
}

async function planNow() {
  const text = $("statement").value.trim();
  const turn = ++planned.turn;
  if (!text) return;
  let found;
  try {
    found = await ask("/v1/explain", { statement: text });
  } catch (error) {
    if (turn === planned.turn) price(error.message, "bad");
    return;
  }
  if (turn !== planned.turn) return; // the text has changed since
  planned.text = text;
  const table = known?.tables.length === 1 ? known.tables[0] : null;
  const left = table && table.quota !== null ? table.remaining : null;
  const after = found.charged > 0 && left !== null ? (found.charged > left ? ` That is more than the ${amount(left)} that you have left.` : ` Of your ${amount(left)} then ${amount(left - found.charged)} is left.`) : "";
  $("run").textContent = found.charged > 0 ? `Run ${asked?.body.statement === text ? "again " : ""}for ${found.parameter} ${amount(found.charged)}` : "Run, at no cost";
  price((found.charged > 0 ? `Costs at most ${found.cost}.` : "Costs nothing.") + after, found.charged > left && left !== null ? "bad" : "");
}

async function answered(path, body, key) {
  asked = { who: known.analyst, path, body, key };
  sessionStorage.setItem(PENDING, JSON.stringify(asked));
  $("run").disabled = true;
  $("again").hidden = true;
  $("result-section").hidden = false;
  $("result").replaceChildren(element("p", { className: "soft waiting" }, "Asking; answers come at full seconds or later \u2026"));
  try {
    show(await ask(path, body, { "Idempotency-Key": key }));
    sessionStorage.removeItem(PENDING);
  } catch (error) {
    say($("result"), error);
    $("again").hidden = !["unreachable", "failed", "unavailable", "closing"].includes(error.code);
    if ($("again").hidden) sessionStorage.removeItem(PENDING);
  }
  showCopies();
  $("result-title").focus();
  await Promise.all([account(), history()]).catch(() => {});
  if (formLacks() === null) await planNow(); // what is left has changed
}

function offerPending() {
  const kept = JSON.parse(sessionStorage.getItem(PENDING) ?? "null");
  if (kept !== null && kept.who !== known.analyst) sessionStorage.removeItem(PENDING);
  if (kept === null || kept.who !== known.analyst || asked !== null) return;
  asked = kept;
  $("result-section").hidden = $("again").hidden = false;
  const what = kept.body.statement ?? `Check ${kept.body.suite}`;
  $("result").replaceChildren(element("p", {}, "The page was loaded again before this was answered. If it was paid for, the answer costs nothing more."), element("pre", {}, what));
}

function key() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function show(found) {
  const cost = found.charged > 0 ? `This cost ${found.parameter} ${amount(found.charged)}.` : "This cost nothing.";
  const guarantees = new Set([...found.releases, ...found.checks].map((one) => one.guarantee).filter(Boolean));
  const names = found.columns.map((column) => column.name);
  const isChecks = found.checks.length > 0 && found.rows.length === found.checks[0].words.length && names.includes("verdict");
  const rows = found.rows.slice(0, MOST_ROWS).map((row) => row.map((value) => value ?? element("span", { className: "soft" }, "NULL")));
  const caption = several(found.rows.length, "row") + (rows.length < found.rows.length ? `, of which ${several(rows.length, "row")} are shown` : "");
  const save = () => saveFile("answer.csv", "text/csv", csv(names, found.rows));
  $("result").replaceChildren(
    element("p", {}, cost),
    ...(isChecks ? [] : intervals(found.releases)),
    isChecks ? checks(found.checks[0].words) : grid(caption, names, rows),
    ...(found.rows.length ? [element("div", { className: "row" }, element("button", { onclick: save }, "Save as CSV"))] : []),
    ...[...guarantees].map((guarantee) => element("p", { className: "hint" }, `Guarantee: ${guarantee}.`)),
  );
}

// NULL is an empty cell, empty text a quoted one; lines end as RFC 4180 has it.
function csv(names, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return text === "" || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

// The releases of one answer: a line each, on one axis for all that count the same.
const MOST_LINES = 60;

function intervals(releases) {
  const shown = releases.filter((one) => one.value !== null).slice(0, MOST_LINES);
  const kinds = new Map();
  for (const one of shown) kinds.set(one.quantity, [...(kinds.get(one.quantity) ?? []), one]);
  const left = releases.length - shown.length;
  return [...[...kinds.values()].map((some) => chart(some)),
    ...(left > 0 ? [element("p", { className: "hint" }, `${several(left, "number")} more in the table.`)] : [])];
}

function chart(some) {
  const ends = some.flatMap((one) => [one.value, one.lower ?? one.value, one.upper ?? one.value]);
  const low = Math.min(0, ...ends), high = Math.max(...ends);
  const step = roundStep((high - low || 1) / 4), first = Math.floor(low / step) * step, last = Math.max(Math.ceil(high / step), first / step + 1) * step;
  const at = (value) => 10 + 980 * (value - first) / (last - first);
  const ticks = Array.from({ length: Math.round((last - first) / step) + 1 }, (_, count) => first + count * step);
  const shared = sharedCondition(some);
  const isOne = new Set(some.map((one) => one.measure)).size === 1;
  const line = (one) => {
    const where = one.where?.slice(shared.length);
    const what = isOne ? where || "all rows" : one.measure + (where ? ` where ${where}` : "");
    const range = `${one.lower === null ? "no lower bound" : number(one.lower)} to ${one.upper === null ? "no upper bound" : number(one.upper)}`;
    const from = at(one.lower ?? first), to = at(one.upper ?? last);
    const drawing = drawn("svg", { class: "interval", viewBox: "0 0 1000 24", preserveAspectRatio: "none", "aria-hidden": "true" },
      ...ticks.map((tick) => drawn("line", { class: "tick", x1: at(tick), x2: at(tick), y1: 0, y2: 24 })),
      drawn("rect", { class: "range", x: from, y: 7, width: Math.max(2, to - from), height: 10 }),
      drawn("line", { class: "dot", x1: at(one.value), x2: at(one.value), y1: 12, y2: 12 }));
    return element("li", {}, element("span", { className: "what" }, what), drawing, element("span", { className: "told" }, element("strong", {}, number(one.value)), ` (${range})`));
  };
  const axis = drawn("svg", { class: "interval", viewBox: "0 0 1000 24", preserveAspectRatio: "none", "aria-hidden": "true" },
    ...ticks.map((tick) => drawn("line", { class: "tick", x1: at(tick), x2: at(tick), y1: 0, y2: 5 })));
  const names = element("span", { className: "names" }, ...ticks.map((tick) => element("span", {}, number(tick))));
  const sure = [...new Set(some.map((one) => `${number(100 * one.confidence)}%`))].join(", ");
  const estimands = new Set(some.map((one) => one.estimand));
  const caption = [isOne ? some[0].measure : "several measures", ...(estimands.size === 1 ? [...estimands] : [])].join(": ");
  const whole = shared ? `, where ${shared.replace(/ AND $/, "")}` : "";
  return element("figure", {}, element("figcaption", {}, `${caption}${whole}; in ${some[0].quantity}. Each bar holds its number, ${sure} sure.`),
    element("ul", { className: "chart" }, ...some.map(line), element("li", { "aria-hidden": "true" }, element("span", { className: "what" }), element("span", { className: "axis" }, axis, names), element("span", { className: "told" }))));
}

// What the conditions of all slices begin with: what was asked of all of them.
function sharedCondition(some) {
  const [first, ...others] = some.map((one) => one.where ?? "");
  if (!others.length) return "";
  let size = first.length;
  for (const one of others) while (!one.startsWith(first.slice(0, size))) size--;
  const end = first.slice(0, size).lastIndexOf(") AND ");
  return end < 0 ? "" : first.slice(0, end + 6);
}

function roundStep(about) {
  const power = 10 ** Math.floor(Math.log10(about));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= about * 0.999);
}

// -- suites ----------------------------------------------------------------------------------------------------------

// Verdicts come in words; these are pass, FAIL, WARN, not shown and undecided.
const SIGNS = { pass: "\u2713", FAIL: "\u2717", WARN: "!", "not shown": "~", undecided: "?" };
const CLASSES = { pass: "good", FAIL: "bad", WARN: "warned", "not shown": "open", undecided: "open" };

function checks(said) {
  const place = (check) => ["FAIL", "WARN", "undecided", "not shown", "pass"].indexOf(check.verdict);
  const rows = [...said].sort((one, other) => place(one) - place(other));
  const used = [...new Set(said.map((check) => check.population).filter(Boolean))].map((each) => `; ${each}`).join("");
  return grid(`${several(said.length, "check")}${used}`, ["Verdict", "Check", "How many", "Limit"], rows.map((check) => [
    element("span", { className: CLASSES[check.verdict] }, check.verdict),
    element("span", { title: check.rule }, check.name), check.how_many, check.limit]));
}

function suites(schema) {
  const all = schema.tables.flatMap((table) => table.suites.map((name) => [table.name, name]));
  $("suites-section").hidden = all.length === 0;
  $("suites").replaceChildren(...all.map(([table, name], at) => {
    const epsilon = element("input", { className: "amount", id: `epsilon-${at}`, value: "1", inputMode: "decimal" });
    const run = () => answered("/v1/check", { suite: name, epsilon: epsilon.value.trim() }, key());
    return element("div", { className: "row" }, element("strong", {}, name), element("span", { className: "soft" }, `on ${table}`),
      element("label", { htmlFor: epsilon.id }, "epsilon reserved"), epsilon, element("button", { onclick: run }, `Check ${name}`));
  }), element("p", { className: "hint" }, "All of epsilon is reserved; what passes needs little of it, and what is not needed comes back. A suite that its owner keeps costs nothing."),
  element("div", { id: "days" }));
}

function board(releases) {
  const runs = releases.filter((one) => one.words).slice(0, 30).reverse();
  if (!$("days") || !runs.length) return;
  const lines = new Map();
  for (const [at, run] of runs.entries())
    for (const check of run.words) {
      const name = `${check.name}, ${check.limit.replace(/ (of )?used rows$/, "")}`; // as before its rows were named
      if (!lines.has(name)) lines.set(name, Array(runs.length).fill(null));
      lines.get(name)[at] = check;
    }
  const date = (run) => (run.run_id ?? "").match(/\d{4}-\d{2}-\d{2}/)?.[0] ?? run.at; // that of the data, where the run id names it
  const day = (check, run) => {
    if (check === null) return element("span", { className: "day" });
    const said = `${date(run)}: ${check.verdict}, ${check.how_many}`;
    return element("span", { className: `day ${CLASSES[check.verdict]}`, title: said, role: "img", "aria-label": said }, SIGNS[check.verdict]);
  };
  // What failed stands first, then what changed since the run before, then what is not shown.
  const rank = (days) => {
    const [last, before] = days.filter((check) => check !== null).reverse();
    const changed = before !== undefined && before.verdict !== last.verdict;
    return last.verdict === "FAIL" ? (changed ? 0 : 1) : changed ? 2 : last.verdict === "pass" ? 4 : 3;
  };
  const short = (name) => element("span", { title: name }, name.length > 48 ? `${name.slice(0, 47)}\u2026` : name);
  const rows = [...lines].sort((one, other) => rank(one[1]) - rank(other[1]))
    .map(([name, days]) => [short(name), element("span", { className: "days" }, ...days.map((check, at) => day(check, runs[at])))]);
  $("days").replaceChildren(grid(`Your last ${several(runs.length, "run")}, the latest at the right`, ["Check", "Verdicts"], rows));
}

// -- what is known ---------------------------------------------------------------------------------------------------

async function history() {
  const { releases } = await ask("/v1/history?most=100");
  board(releases);
  const what = (one) => one.suite ?? Object.keys(one.request?.measures ?? { count: 0 }).join(", ") + (one.request?.where ? ` where ${one.request.where}` : "");
  const told = (one) => {
    if (!one.answered) return element("span", { className: "warned" }, "not answered; the same key asks again at no cost");
    const answers = one.answer ?? [];
    const failed = (one.words ?? []).filter((check) => check.verdict === "FAIL" || check.verdict === "WARN").length;
    if (one.words) return element("details", {}, element("summary", {}, `${failed} of ${one.words.length} failed`), checks(one.words));
    const text = (release) => `${number(release.value)} (${number(release.lower ?? "")} to ${number(release.upper ?? "")})`;
    return answers.length === 1 ? text(answers[0]) : element("details", {}, element("summary", {}, `${answers.length} numbers`), ...answers.map((one) => element("p", {}, text(one))));
  };
  $("history").replaceChildren(releases.length
    ? grid(null, ["When", "Table", "What", "Answer", "Cost"], releases.map((one) => [one.at.replace("T", " "), one.table, what(one), told(one), one.cost]))
    : element("p", { className: "soft" }, "Nothing yet."));
}

function publicFacts(schema) {
  $("public").replaceChildren(...schema.tables.map((table) => element("details", {}, element("summary", {}, `${table.name}: ${table.columns.length} columns, ${table.constraints.length} constraints`),
    element("h3", {}, "Constraints"), ...table.constraints.map((rule) => element("p", {}, element("code", {}, rule))),
    element("h3", {}, "Columns"), grid(null, ["Name", "Type"], table.columns.map((column) => [column.name, column.type])))),
  element("p", { className: "hint" }, schema.public.length ? `Statements may read by name: ${schema.public.join(", ")}.` : "There are no public tables beside it."));
  words = [
    ...schema.tables.flatMap((table) => [[table.name, "table"], ...table.suites.map((name) => [name, "suite"]), ...table.columns.map((column) => [column.name, column.type])]),
    ...schema.public.map((name) => [name, "public table"]), ...schema.words.map((word) => [word, ""]),
  ];
}

// -- completion ------------------------------------------------------------------------------------------------------

let offered = [], chosen = 0;

function typed() {
  const box = $("statement");
  return box.value.slice(0, box.selectionStart).match(/[\p{L}\p{N}_]+$/u)?.[0] ?? "";
}

function offer() {
  const start = typed().toLowerCase();
  const seen = new Set();
  offered = start.length < 2 ? [] : words.filter(([word]) => word.toLowerCase().startsWith(start) && word.toLowerCase() !== start && !seen.has(word) && seen.add(word)).slice(0, 8);
  chosen = 0;
  choose();
}

function choose() {
  const box = $("statement"), list = $("words");
  list.hidden = offered.length === 0;
  box.setAttribute("aria-expanded", String(offered.length > 0));
  list.replaceChildren(...offered.map(([word, kind], at) => element("li", { id: `word-${at}`, role: "option", "aria-selected": String(at === chosen), onmousedown: (event) => { event.preventDefault(); chosen = at; take(); } }, word, element("span", {}, kind))));
  if (offered.length) box.setAttribute("aria-activedescendant", `word-${chosen}`);
  else box.removeAttribute("aria-activedescendant");
}

function take() {
  const box = $("statement");
  box.setRangeText(offered[chosen][0], box.selectionStart - typed().length, box.selectionStart, "end");
  offered = [];
  choose();
  attach();
  plan();
}

function pressed(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (!$("run").disabled) $("run").click();
    return;
  }
  if (!offered.length) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : offered.length - 1)) % offered.length;
    choose();
  } else if (event.key === "Tab" && !event.shiftKey) take();
  else if (event.key === "Escape") { offered = []; choose(); }
  else return;
  event.preventDefault();
}

$("statement").addEventListener("input", () => { attach(); plan(); offer(); });
$("statement").addEventListener("keydown", pressed);
$("statement").addEventListener("blur", () => { offered = []; choose(); });
$("run").addEventListener("click", () => answered("/v1/run", { statement: planned.text }, key()));
$("again").addEventListener("click", () => answered(asked.path, asked.body, asked.key));

signIn(async () => {
  await account();
  const schema = await ask("/v1/schema");
  suites(schema);
  publicFacts(schema);
  beginForm(schema);
  await history();
  offerPending();
});
