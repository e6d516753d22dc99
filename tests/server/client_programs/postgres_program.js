// postgres.js, which has a pool of its own.
const postgres = require("postgres");
const { place, states, listed, step } = require("./steps.js");
(async () => {
  const sql = postgres({ ...place, username: place.user, max: 2, onnotice: () => {} });
  const rows = async (asked) => (await asked).map((row) => Object.values(row));
  await step("start-up", () => sql`SELECT version()`);
  await step("listing", () => rows(sql.unsafe(listed)), [["states"], ["visits"]]);
  await step("columns", () => rows(sql`SELECT column_name FROM information_schema.columns WHERE table_name = ${"states"} ORDER BY ordinal_position`), [["state"], ["people"]]);
  await step("query", () => rows(sql`SELECT * FROM "public"."states" ORDER BY 1`), states);
  await step("names", () => rows(sql`SELECT ${sql("people")} FROM ${sql("states")} WHERE state = ${"CA"}`), [["39"]]);
  await step("parameters: number", () => rows(sql`SELECT state FROM states WHERE people > ${20} ORDER BY 1`), [["CA"], ["TX"]]);
  await step("parameters: in", () => rows(sql`SELECT people FROM states WHERE state IN ${sql(["CA", "NY"])} ORDER BY 1`), [["19"], ["39"]]);
  await step("parameters: list", () => rows(sql`SELECT people FROM states WHERE state = ANY(${["CA"]})`), [["39"]]);
  await step("release", () => rows(sql`SELECT measure FROM dp_count('visits', ${0.01})`), [["count"]]);
  await step("cursor", async () => { const found = []; for await (const some of sql`SELECT people FROM states ORDER BY 1`.cursor(2)) found.push(some.length); return found; }, [2, 1]);
  await step("transaction", () => sql.begin(async (inside) => (await inside`SELECT count(*) FROM states`)[0].count), "3");
  await step("pool", async () => (await Promise.all([1, 2, 3, 4].map(() => sql`SELECT count(*) FROM states`))).length, 4);
  await step("close", () => sql.end());
})();
