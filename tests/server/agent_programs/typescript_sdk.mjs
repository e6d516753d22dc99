// The official TypeScript SDK, by one of its two packages: the newest, or the one that most agents have.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const found = createRequire(process.env.NODE_PATH + "/");
const isNewest = process.argv[2] === "newest";
const { Client, StreamableHTTPClientTransport } = isNewest ? found("@modelcontextprotocol/client")
  : { ...found("@modelcontextprotocol/sdk/client/index.js"), ...found("@modelcontextprotocol/sdk/client/streamableHttp.js") };
const calls = JSON.parse(readFileSync(new URL("calls.json", import.meta.url)));

async function step(name, work, right) {
  try {
    const is = await work(), isRight = right === undefined || JSON.stringify(is) === JSON.stringify(right);
    console.log(`${name}\t${isRight ? "ok" : "FAIL"}\t${isRight ? "" : JSON.stringify(is).slice(0, 150)}`);
  } catch (error) {
    // Of the newest version a refused method is a 404 as well, whose body the SDK shows.
    const isRight = right === "refused" && ([-32601, -32602].includes(error.code) || /"code":-32601/.test(error.message));
    console.log(`${name}\t${isRight ? "ok" : "FAIL"}\t${isRight ? "" : String(error.message || error).replace(/\s+/g, " ").slice(0, 150)}`);
  }
}

const troubles = [];
const client = new Client({ name: "steps", version: "1" }, isNewest && process.argv[3] ? { versionNegotiation: { mode: process.argv[3] } } : {});
client.onerror = (error) => troubles.push(String(error.message || error));
const headers = { Authorization: `Bearer ${process.env.MCP_TOKEN}` };
const transport = new StreamableHTTPClientTransport(new URL(process.env.MCP_URL), { requestInit: { headers } });
const called = async (name, args, ...more) => {
  const answer = await client.callTool({ name, ...(args === null ? {} : { arguments: args }) }, ...more);
  if (answer.structuredContent === undefined) throw new Error("no structured content");
  return [Boolean(answer.isError), answer.content[0].text];
};
await step("connect", () => client.connect(transport));
const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
console.log(`protocol ${version}`);
if (version < "2026") await step("ping", () => client.ping());
await step("list tools", async () => (await client.listTools()).tools.map((tool) => tool.name), ["schema", "account", "explain", "run", "check", "receipt"]);
for (const call of calls) {
  const args = JSON.parse(JSON.stringify(call.arguments).replace("RUN", process.env.MCP_RUN));
  await step(call.step, async () => {
    const [isError, text] = await called(call.tool, args);
    return isError === Boolean(call.is_error) && text.includes(call.words) ? true : text;
  }, true);
}
await step("several at once", async () => (await Promise.all(Array.from({ length: 8 }, () => called("schema", {})))).map(([isError]) => isError), Array(8).fill(false));
await step("after one that is given up", async () => {
  const stopped = new AbortController();
  const asked = (isNewest ? called("explain", { statement: "SELECT 1" }, { signal: stopped.signal }) : called("explain", { statement: "SELECT 1" }, undefined, { signal: stopped.signal })).catch(() => {});
  stopped.abort();
  await asked;
  return (await called("account", {}))[0];
}, false);
const raw = (method, params) => (isNewest ? client.request({ method, params }) : client.request({ method, params }, { parse: (one) => one, safeParse: (one) => ({ success: true, data: one }) }));
await step("refused: cursor", () => client.listTools({ cursor: "next" }), "refused");
await step("refused: prompts", () => raw("prompts/list", {}), "refused");
await step("refused: resources", () => raw("resources/list", {}), "refused");
await step("close", () => client.close());
await step("errors of the transport", () => troubles.filter((one) => !/abort|"code":-32601/i.test(one)), []);
