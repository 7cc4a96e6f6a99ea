// Writes FILE.br and FILE.gz beside every file of a folder, so that the server need not compress them per request.
// Fails if all of it together, as a browser loads it, is larger than it may be.
// Usage: node compress.mjs target/site/pkg
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node compress.mjs FOLDER");
  process.exit(64);
}

// In bytes, compressed with brotli. On a phone's 3 Mbit/s that is a second and a half.
const LIMIT = 560_000;

const upToDate = (target, source) => {
  try {
    return statSync(target).mtimeMs >= statSync(source).mtimeMs;
  } catch {
    return false;
  }
};

const walk = (at) => {
  for (const entry of readdirSync(at, { withFileTypes: true })) {
    const path = join(at, entry.name);
    if (entry.isDirectory()) walk(path);
    else if (!/\.(br|gz)$/.test(entry.name)) compress(path);
  }
};

let total = 0;

const compress = (path) => {
  if (upToDate(`${path}.br`, path) && upToDate(`${path}.gz`, path)) {
    total += statSync(`${path}.br`).size;
    return;
  }
  const content = readFileSync(path);
  const brotli = brotliCompressSync(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  });
  const gzip = gzipSync(content, { level: 9 });
  writeFileSync(`${path}.br`, brotli);
  writeFileSync(`${path}.gz`, gzip);
  total += brotli.length;
  console.log(`${path}: ${content.length} bytes, br ${brotli.length}, gz ${gzip.length}`);
};

walk(folder);

const inKb = (bytes) => `${Math.round(bytes / 1000)} kB`;
console.log(`the front end: ${inKb(total)} with brotli, of ${inKb(LIMIT)}`);
if (total > LIMIT) {
  console.error(
    `The front end is too large: ${inKb(total)} with brotli, and ${inKb(LIMIT)} is the limit.\n` +
      "What the browser does not need belongs behind `feature = \"ssr\"`: texts, tables, rules. A page is sent its model.\n" +
      "If it has to be that large, raise LIMIT in app/bundle/compress.mjs and say why in the commit.",
  );
  process.exit(1);
}
