//! Embeds the front end again when it changed: rust-embed alone does not notice new files.

use std::path::Path;

fn main() {
    let site = Path::new("../target/site");
    // A path that does not exist would make Cargo run this, and compile the crate, on every build.
    if let Err(error) = std::fs::create_dir_all(site) {
        println!("cargo::warning={} cannot be made: {error}", site.display());
    }
    for folder in ["../target/site", "../style", "../public"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
