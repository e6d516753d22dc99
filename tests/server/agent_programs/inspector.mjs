// The official inspector on its command line: a process for each request.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const [command, ...options] = JSON.parse(process.env.MCP_INSPECTOR);
const calls = JSON.parse(readFileSync(new URL("calls.json", import.meta.url)));
const asked = (...more) => spawnSync(command, [...options, "--cli", process.env.MCP_URL, "--transport", "http",
  "--header", `Authorization: Bearer ${process.env.MCP_TOKEN}`, "--protocol-era", process.argv[2], ...more], { encoding: "utf8" });
const said = (name, isRight, text) => console.log(`${name}\t${isRight ? "ok" : "FAIL"}\t${isRight ? "" : text.replace(/\s+/g, " ").slice(0, 300)}`);

const listed = asked("--method", "tools/list", "--strict");
said("list tools", listed.status === 0 && JSON.parse(listed.stdout).tools.length === 6, listed.stdout + listed.stderr);
said("schemas that every model takes", listed.stderr.trim() === "", listed.stderr);
for (const call of calls) {
  const args = JSON.stringify(call.arguments ?? {}).replace("RUN", process.env.MCP_RUN);
  const found = asked("--method", "tools/call", "--tool-name", call.tool, "--tool-args-json", args);
  // The inspector knows of an unknown tool by the list, and does not ask.
  const words = call.step === "bad: unknown tool" ? "not found on server" : call.words;
  said(call.step, (found.status === 0) === !call.is_error && (found.stdout + found.stderr).includes(words), found.stdout + found.stderr);
}
for (const kind of ["prompts", "resources"]) {
  const found = asked("--method", `${kind}/list`);
  said(`no ${kind}`, found.status === 0 && JSON.parse(found.stdout)[kind].length === 0, found.stdout + found.stderr);
}
