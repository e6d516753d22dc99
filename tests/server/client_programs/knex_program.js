// knex.
const { place, states, listed, step } = require("./steps.js");
(async () => {
  const knex = require("knex")({ client: "pg", connection: place, pool: { min: 0, max: 2 } });
  const rows = async (asked) => (await asked).map((row) => Object.values(row));
  await step("start-up", () => knex.raw("SELECT version()"));
  await step("listing", () => knex.schema.hasTable("states"), true);
  await step("columns", async () => Object.keys(await knex("states").columnInfo()), ["state", "people"]);
  await step("query", () => rows(knex.withSchema("public").from("states").select("*").orderBy("state")), states);
  await step("parameters", () => rows(knex("states").select("state").where("people", ">", 20).orderBy("state")), [["CA"], ["TX"]]);
  await step("parameters: in", () => rows(knex("states").select("people").whereIn("state", ["CA", "NY"]).orderBy("people")), [["19"], ["39"]]);
  await step("count", () => rows(knex("states").count()), [["3"]]);
  await step("release", async () => (await knex.raw("SELECT measure FROM dp_count('visits', ?)", [0.01])).rows.length, 1);
  await step("first", async () => (await knex("states").orderBy("people").first()).people, "19");
  await step("transaction", () => knex.transaction(async (inside) => (await inside("states").count())[0].count), "3");
  await step("pool", async () => (await Promise.all([1, 2, 3, 4].map(() => knex("states").count()))).length, 4);
  await step("close", () => knex.destroy());
})();
