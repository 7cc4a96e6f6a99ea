// Proves the placement function in WebAssembly on recorded vectors.
// Usage: node hash-vectors.mjs target/node/unstuck.js tests/data/hash_vectors.tsv
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [script, table] = process.argv.slice(2);
if (!script || !table) {
  console.error("usage: node hash-vectors.mjs UNSTUCK_JS HASH_VECTORS_TSV");
  process.exit(64);
}

const { place } = createRequire(import.meta.url)(resolve(script));
const lines = readFileSync(table, "utf8").split("\n").slice(1).filter((line) => line !== "");
const wrong = [];
for (const line of lines) {
  const [group, partitions, partition] = line.split("\t");
  const placed = place(group, Number(partitions));
  if (placed !== Number(partition)) wrong.push(`${group} mod ${partitions}: ${placed} instead of ${partition}`);
}
if (place("any", 0) !== -1) wrong.push("no partitions, yet a place");
if (lines.length === 0) wrong.push("the table is empty");
if (wrong.length > 0) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
console.log(`${lines.length} vectors hold in WebAssembly`);
