//! Embeds the scenarios again when one is added: rust-embed alone does not notice new files.

fn main() {
    println!("cargo::rerun-if-changed=scenarios");
}
