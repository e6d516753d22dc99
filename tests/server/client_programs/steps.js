// What every program of npm does: steps under their names, each of which works or says what fails.
const place = { host: "127.0.0.1", port: Number(process.env.PGPORT), user: process.env.PGUSER,
                password: process.env.PGPASSWORD, database: "visits" };
const states = [["CA", "39"], ["NY", "19"], ["TX", "29"]];
const listed = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1";
async function step(name, work, right) {
  try {
    const found = JSON.stringify(await work()), isRight = right === undefined || found === JSON.stringify(right);
    console.log(`${name}\t${isRight ? "ok" : "FAIL"}\t${isRight ? "" : (found || "").slice(0, 150)}`);
  } catch (error) {
    console.log(`${name}\tFAIL\t${String(error.message || error).replace(/\s+/g, " ").slice(0, 150)}`);
  }
}
module.exports = { place, states, listed, step };
