// Runs the cases of a program and prints a line of JSON for each, as the tests that start it read them.
import assert from "node:assert/strict";

const timeMax = 40_000; // of one case; most of it is for machines that run many tests at once

/** Runs one case. */
export async function check(name, run) {
  const line = { case: name };
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${timeMax} ms`)), timeMax);
  });
  try {
    await Promise.race([run(), late]);
  } catch (error) {
    process.exitCode = 1;
    line.error = error instanceof assert.AssertionError ? error.message : String(error.stack ?? error);
  } finally {
    clearTimeout(timer);
  }
  console.log(JSON.stringify(line));
}
