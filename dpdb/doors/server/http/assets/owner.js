// The page of an owner: what is left of every table, who has spent what, suites with re-arming, revoking.

function when(text) {
  return text ? text.slice(0, 16).replace("T", " ") : "";
}

async function done(path, body, question, words) {
  if (!confirm(question)) return;
  try {
    await ask(path, body);
    $("told").replaceChildren(element("p", { className: "good" }, words));
    await board();
  } catch (error) {
    say($("told"), error);
  }
}

function analysts(table) {
  const state = (one) => one.ended ? element("span", { className: "bad" }, one.ended)
    : element("button", { className: "plain", onclick: () => done("/v1/board/revoke", { analyst: one.name }, `Withdraw the access of ${one.name}, for every table of this server?`, `${one.name} has no access any more.`) }, "Revoke");
  return grid("Who has spent what", ["Name", "Role", "Quota", "Spent", "Left", "A statement", "Until", ""],
    table.analysts.map((one) => [one.name, one.role, one.quota ?? "none", one.spent, one.remaining ?? "", one.most_per_statement ?? "", when(one.expires), state(one)]));
}

function suites(table) {
  const failed = (suite) => element("div", {}, ...suite.failed.map(({ check, at }) => {
    const again = suite.rearmed.some((one) => one.check === check && one.at > at);
    const rearm = () => done("/v1/board/rearm", { table: table.table, suite: suite.name, check },
      `Test ${check} again from the next run of ${suite.name} on? Another failure is paid from what the suite has left.`, `${check} is tested again.`);
    const open = suite.name && !suite.ended && !again;
    return element("div", {}, element("span", { className: "bad" }, check), ` ${when(at)} `,
      ...(open ? [element("button", { className: "plain", onclick: rearm }, "Re-arm")] : again ? ["re-armed"] : []));
  }));
  const state = (suite) => suite.ended ? `ended ${when(suite.ended)}` : `since ${when(suite.opened)}`;
  return grid("Suites of checks", ["Suite", "", "Runs", "Reserved", "Spent", "Left", "Failed"],
    table.suites.map((suite) => [suite.name ?? suite.run_id, state(suite), suite.runs, suite.reserved, suite.spent, suite.left, failed(suite)]));
}

function history(table) {
  const what = (one) => [one.suite ?? one.measures.join(", "), one.label ?? ""].filter(Boolean).join(", ");
  return grid("Last debits, jobs among them", ["When", "Who", "What", "Rows", "Run", "Cost", ""],
    table.history.map((one) => [when(one.at), one.analyst ?? "owner", what(one), one.rows, one.run_id ?? "", one.cost, one.answered ? "" : element("span", { className: "warned" }, "not answered")]));
}

async function saveReport(table) {
  try {
    const response = await fetch(`/v1/board/report?table=${encodeURIComponent(table)}`, { headers: { Authorization: "Bearer " + sessionStorage.getItem(KEPT) } });
    if (!response.ok) throw new Refusal("refused", (await response.json()).message);
    saveFile(`${table}.html`, "text/html", await response.blob());
    $("told").replaceChildren(element("p", { className: "good" }, `The report on ${table} was saved as a file.`));
  } catch (error) {
    say($("told"), error);
  }
}

async function board() {
  const found = await ask("/v1/board");
  $("tables").replaceChildren(...found.tables.map((table) => {
    const sum = table.summary;
    const words = `${sum.parameter} ${amount(sum.spent)} of ${amount(sum.budget)} spent, ${amount(sum.remaining)} left for a release of the whole table; ${several(sum.releases, "release")}, ${sum.unanswered} not answered`;
    const report = element("button", { onclick: () => saveReport(table.table) }, "Save the report on its jobs");
    return element("section", {}, element("h2", {}, table.table), budgetBar(words, sum.spent, sum.budget),
      ...(table.has_report ? [element("div", { className: "row" }, report)] : []), analysts(table),
      ...(table.suites.length ? [suites(table)] : []), ...(table.history.length ? [history(table)] : []));
  }));
}

$("refresh").addEventListener("click", () => board().catch((error) => say($("told"), error)));
signIn(async () => {
  $("who").textContent = (await ask("/v1/account")).analyst;
  await board();
});
