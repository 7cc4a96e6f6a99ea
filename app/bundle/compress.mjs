// Writes FILE.br and FILE.gz beside every file of a folder, so that the server need not compress them per request.
// Usage: node compress.mjs target/site/pkg
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node compress.mjs FOLDER");
  process.exit(64);
}

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

const compress = (path) => {
  if (upToDate(`${path}.br`, path) && upToDate(`${path}.gz`, path)) return;
  const content = readFileSync(path);
  const brotli = brotliCompressSync(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  });
  const gzip = gzipSync(content, { level: 9 });
  writeFileSync(`${path}.br`, brotli);
  writeFileSync(`${path}.gz`, gzip);
  console.log(`${path}: ${content.length} bytes, br ${brotli.length}, gz ${gzip.length}`);
};

walk(folder);
