// Holds the placement in WebAssembly against given answers.
// Usage: node place.mjs target/node/unstuck.js < LINES, each line JSON: [group, partition count, expected partition]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [script] = process.argv.slice(2);
const { place } = createRequire(import.meta.url)(resolve(script));
const lines = readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
for (const line of lines) {
  const [group, partitions, expected] = JSON.parse(line);
  const placed = place(group, partitions);
  if (placed !== expected) {
    console.error(`${line}: WebAssembly says ${placed}`);
    process.exit(1);
  }
}
console.log(lines.length);
