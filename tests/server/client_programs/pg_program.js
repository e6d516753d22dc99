// node-postgres with its pool and its cursor.
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");
const { place, states, listed, step } = require("./steps.js");
(async () => {
  const client = new Client(place), pool = new Pool({ ...place, max: 2 });
  const rows = async (...asked) => (await client.query(...asked)).rows.map(Object.values);
  await step("start-up", async () => { await client.connect(); await rows("SELECT version()"); });
  await step("listing", () => rows(listed), [["states"], ["visits"]]);
  await step("columns", () => rows("SELECT column_name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position", ["states"]), [["state"], ["people"]]);
  await step("query", () => rows('SELECT * FROM "public"."states" ORDER BY 1'), states);
  await step("schema", () => rows("SELECT * FROM current_schema()"), [["public"]]);
  await step("parameters: text", () => rows("SELECT people FROM states WHERE state = $1", ["CA"]), [["39"]]);
  await step("parameters: number", () => rows("SELECT state FROM states WHERE people > $1 ORDER BY 1", [20]), [["CA"], ["TX"]]);
  await step("parameters: list", () => rows("SELECT people FROM states WHERE state = ANY($1) ORDER BY 1", [["CA", "NY"]]), [["19"], ["39"]]);
  await step("prepared", async () => { for (const one of ["CA", "NY"]) await client.query({ name: "named", text: "SELECT people FROM states WHERE state = $1", values: [one] }); });
  await step("release", () => rows("SELECT measure FROM dp_count('visits', $1)", [0.01]), [["count"]]);
  await step("cursor", async () => { const cursor = client.query(new Cursor("SELECT people FROM states ORDER BY 1")); const one = await cursor.read(2), two = await cursor.read(2); await cursor.close(); return [one.length, two.length]; }, [2, 1]);
  await step("pool", async () => (await Promise.all([1, 2, 3, 4].map(() => pool.query("SELECT count(*) FROM states")))).map((one) => one.rows[0].count), ["3", "3", "3", "3"]);
  await step("close", async () => { await client.end(); await pool.end(); });
})();
