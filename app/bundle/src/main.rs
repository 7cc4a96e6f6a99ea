//! Makes the files that the browser loads out of the front end's WebAssembly.
//!
//! A program of its own on `wasm-bindgen`'s library, so that one lockfile holds library and generator together and
//! nothing is installed globally. The whole build, from the root of the repository:
//!
//! ```sh
//! cargo rustc -p unstuck-app --lib --crate-type cdylib --target wasm32-unknown-unknown \
//!     --features hydrate --profile wasm-release
//! cargo build -p unstuck-bundle
//! target/debug/unstuck-bundle target/wasm32-unknown-unknown/wasm-release/unstuck_app.wasm target/site
//! node app/bundle/compress.mjs target/site/pkg        # .br and .gz beside each file
//! ```
//!
//! `target/site` then holds `pkg/<hash>/unstuck.js`, `pkg/<hash>/unstuck.wasm`, and `bundle-hash.txt` with the hash,
//! which changes with any byte of the folder. The server embeds them. Files of earlier bundles are removed;
//! if nothing changed, nothing is written. (`style/` and `public/` are embedded by the server as they are.)
//!
//! With `--nodejs` the files are for Node instead, to prove the hash vectors in WebAssembly:
//!
//! ```sh
//! target/debug/unstuck-bundle --nodejs target/wasm32-unknown-unknown/wasm-release/unstuck_app.wasm target/node
//! cargo test --workspace --test jvm_hash      # reads target/node
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

/// Must equal `LEPTOS_OUTPUT_NAME` in `.cargo/config.toml`.
const NAME: &str = "unstuck";

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let nodejs = arguments.first().is_some_and(|first| first == "--nodejs");
    if nodejs {
        arguments.remove(0);
    }
    let [wasm, out] = arguments.as_slice() else {
        bail!("usage: unstuck-bundle [--nodejs] path/to/unstuck_app.wasm output/folder");
    };
    let (wasm, out) = (PathBuf::from(wasm), PathBuf::from(out));
    if nodejs { for_node(&wasm, &out) } else { for_browsers(&wasm, &out) }
}

fn generator(wasm: &Path) -> Bindgen {
    let mut generator = Bindgen::new();
    generator
        .input_path(wasm)
        .out_name(NAME)
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true);
    generator
}

fn for_node(wasm: &Path, out: &Path) -> Result<()> {
    generator(wasm)
        .nodejs(true)
        .and_then(|generator| generator.generate(out))
        .with_context(|| format!("cannot make files for Node from {}", wasm.display()))?;
    // `require` takes a script for what the nearest package says.
    std::fs::write(out.join("package.json"), "{\"type\":\"commonjs\"}\n").context("cannot write package.json")
}

fn for_browsers(wasm: &Path, out: &Path) -> Result<()> {
    let pkg = out.join("pkg");
    let fresh = out.join("pkg.new");
    remove_if_there(&fresh)?;
    generator(wasm)
        .web(true)
        .and_then(|generator| generator.generate(&fresh))
        .with_context(|| format!("cannot make files for browsers from {}", wasm.display()))?;
    std::fs::rename(fresh.join(format!("{NAME}_bg.wasm")), fresh.join(format!("{NAME}.wasm")))
        .context("wasm-bindgen wrote no WebAssembly file")?;
    let hash = hash_of(&fresh)?;
    if pkg.join(&hash).join(format!("{NAME}.wasm")).exists() {
        remove_if_there(&fresh)?;
    } else {
        remove_if_there(&pkg)?;
        std::fs::create_dir_all(&pkg).with_context(|| format!("cannot make {}", pkg.display()))?;
        std::fs::rename(&fresh, pkg.join(&hash)).context("cannot move the bundle to its place")?;
    }
    std::fs::write(out.join("bundle-hash.txt"), &hash).context("cannot write bundle-hash.txt")?;
    println!("bundle {hash} in {}", pkg.join(&hash).display());
    Ok(())
}

fn remove_if_there(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// A hash of the names and contents of all files of a folder: 64 bits of FNV-1a in hexadecimal.
/// It tells builds apart; nobody has a reason to forge one.
fn hash_of(folder: &Path) -> Result<String> {
    let mut files = BTreeMap::new();
    gather(folder, folder, &mut files)?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (name, content) in &files {
        add(name.as_bytes());
        add(&content.len().to_le_bytes());
        add(content);
    }
    Ok(format!("{hash:016x}"))
}

fn gather(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.is_dir() {
            gather(root, &path, files)?;
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            let content = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(name, content);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::hash_of;

    #[test]
    fn the_hash_follows_names_and_contents() {
        let folder = std::env::temp_dir().join(format!("unstuck-bundle-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("snippets")).expect("a folder");
        std::fs::write(folder.join("a"), "1").expect("a file");
        let one = hash_of(&folder).expect("a hash");
        assert_eq!(hash_of(&folder).expect("a hash"), one);
        std::fs::write(folder.join("snippets/b"), "").expect("a file");
        let two = hash_of(&folder).expect("a hash");
        std::fs::rename(folder.join("snippets/b"), folder.join("snippets/c")).expect("a new name");
        let three = hash_of(&folder).expect("a hash");
        std::fs::remove_dir_all(&folder).expect("removed");
        assert!(one != two && two != three, "{one} {two} {three}");
    }
}
