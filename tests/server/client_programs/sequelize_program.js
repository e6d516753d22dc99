// sequelize.
const { Sequelize, DataTypes, Op } = require("sequelize");
const { place, states, step } = require("./steps.js");
(async () => {
  const found = new Sequelize("visits", place.user, place.password, { host: place.host, port: place.port, dialect: "postgres", logging: false, pool: { max: 2 } });
  const States = found.define("states", { state: { type: DataTypes.TEXT, primaryKey: true }, people: DataTypes.BIGINT }, { timestamps: false, freezeTableName: true, schema: "public" });
  const rows = async (asked) => (await asked).map((row) => [row.state, row.people]);
  await step("start-up", () => found.authenticate());
  await step("listing", async () => (await found.getQueryInterface().showAllTables()).map((one) => one.tableName || one).sort(), ["states", "visits"]);
  await step("columns", async () => Object.keys(await found.getQueryInterface().describeTable("states")), ["state", "people"]);
  await step("query", () => rows(States.findAll({ order: ["state"] })), states);
  await step("parameters", async () => (await States.findAll({ where: { people: { [Op.gt]: 20 } } })).length, 2);
  await step("parameters: in", async () => (await States.findAll({ where: { state: ["CA", "NY"] } })).length, 2);
  await step("one", async () => (await States.findByPk("CA")).people, "39");
  await step("count", () => States.count(), 3);
  await step("release", async () => (await found.query("SELECT measure FROM dp_count('visits', $1)", { bind: [0.01] }))[0].length, 1);
  await step("transaction", () => found.transaction(async (transaction) => States.count({ transaction })), 3);
  await step("pool", async () => (await Promise.all([1, 2, 3, 4].map(() => States.count()))).length, 4);
  await step("close", () => found.close());
})();
