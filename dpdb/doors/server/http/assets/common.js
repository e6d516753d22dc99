"use strict";
// What both pages share. Whatever comes from the server is set as text, never as HTML.

const KEPT = "dpdb token"; // in this tab only: sessionStorage ends with it
const $ = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function ask(path, body, headers = {}) {
  const options = { headers: { ...headers, Authorization: "Bearer " + sessionStorage.getItem(KEPT) }, cache: "no-store" };
  if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refusal("unreachable", "the server cannot be reached; nothing was lost: ask again");
  }
  const found = await response.json().catch(() => ({ error: "failed", message: "the answer cannot be read; ask again" }));
  if (response.status === 401) signOut("The server does not take this token.");
  if (!response.ok) throw new Refusal(found.error, found.message);
  return found;
}

function amount(value) {
  if (value === null || value === undefined) return "no limit";
  return value.toLocaleString("en", { maximumFractionDigits: 9 });
}

function number(value) {
  return typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 6 }) : String(value ?? "");
}

function several(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function budgetBar(words, spent, total) {
  const share = total > 0 ? Math.min(1, spent / total) : 0;
  const bar = drawn("svg", { class: "budget", viewBox: "0 0 100 3", preserveAspectRatio: "none", role: "img", "aria-label": words },
    drawn("rect", { class: "left", width: 100, height: 3 }), drawn("rect", { class: "spent", width: 100 * share, height: 3 }));
  return element("figure", {}, element("figcaption", {}, words), bar);
}

function grid(caption, columns, rows) {
  const numeric = columns.map((_, at) => rows.some((row) => typeof row[at] === "number"));
  const cell = (kind, value, at) => element(kind, { className: numeric[at] ? "number" : "" }, value instanceof Node ? value : number(value));
  const head = element("tr", {}, ...columns.map((name, at) => element("th", { scope: "col", className: numeric[at] ? "number" : "" }, name)));
  const body = rows.map((row) => element("tr", {}, ...row.map((value, at) => cell("td", value, at))));
  const table = element("table", {}, ...(caption ? [element("caption", {}, caption)] : []),
    element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { className: "scroll", tabIndex: 0 }, table);
}

function saveFile(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function say(where, error) {
  where.replaceChildren(element("p", { className: "message", role: "alert" }, error.message));
}

function signOut(words = "") {
  sessionStorage.removeItem(KEPT);
  $("inside").hidden = true;
  $("sign-in").hidden = false;
  $("sign-in-words").textContent = words;
  $("token").value = "";
  $("token").focus();
}

function signIn(enter) {
  const tried = async () => {
    try {
      await enter();
      $("sign-in").hidden = true;
      $("inside").hidden = false;
      $("sign-in-words").textContent = "";
    } catch (error) {
      $("sign-in").hidden = false;
      $("sign-in-words").textContent = error.message;
    }
  };
  $("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEPT, $("token").value.trim());
    $("token").value = "";
    tried();
  });
  $("sign-out").addEventListener("click", () => {
    sessionStorage.clear();
    location.replace(location.pathname); // what the page has shown goes, too
  });
  if (sessionStorage.getItem(KEPT)) tried();
  else signOut();
}
