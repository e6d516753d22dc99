// TypeORM.
require("reflect-metadata");
const { DataSource, EntitySchema, In, MoreThan } = require("typeorm");
const { place, states, step } = require("./steps.js");
(async () => {
  const State = new EntitySchema({ name: "State", tableName: "states", columns: { state: { type: "text", primary: true }, people: { type: "bigint" } } });
  const source = new DataSource({ type: "postgres", ...place, username: place.user, entities: [State], installExtensions: false, extra: { max: 2 } });
  await step("start-up", async () => { await source.initialize(); });
  const held = source.getRepository(State), rows = async (asked) => (await asked).map((row) => [row.state, row.people]);
  await step("listing", async () => { const runner = source.createQueryRunner(); const found = await runner.hasTable("states"); await runner.release(); return found; }, true);
  await step("columns", async () => { const runner = source.createQueryRunner(); const found = (await runner.getTable("states")).columns.map((one) => one.name); await runner.release(); return found; }, ["state", "people"]);
  await step("query", () => rows(held.find({ order: { state: "ASC" } })), states);
  await step("parameters", () => rows(held.find({ where: { people: MoreThan(20) }, order: { state: "ASC" } })), [states[0], states[2]]);
  await step("parameters: in", () => rows(held.find({ where: { state: In(["CA"]) } })), [states[0]]);
  await step("one", async () => (await held.findOneBy({ state: "CA" })).people, "39");
  await step("count", () => held.count(), 3);
  await step("portion", () => rows(held.find({ order: { people: "ASC" }, take: 1, skip: 1 })), [states[2]]);
  await step("release", async () => (await source.query("SELECT measure FROM dp_count('visits', $1)", [0.01])).length, 1);
  await step("transaction", () => source.transaction(async (inside) => inside.getRepository(State).count()), 3);
  await step("pool", async () => (await Promise.all([1, 2, 3, 4].map(() => held.count()))).length, 4);
  await step("close", () => source.destroy());
})();
