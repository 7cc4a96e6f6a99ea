//! Pages that are written on the server alone, as HTML.

pub(crate) mod address;
pub(crate) mod export;
pub(crate) mod handbook;
pub(crate) mod history;
pub(crate) mod incident;
pub(crate) mod incidents;
mod markdown;
pub(crate) mod plan;
mod timeline;
pub(crate) mod times;
mod told;

/// What search engines are told of a page of something that only colleagues are to read.
fn not_indexed(description: &str) -> Vec<(String, String)> {
    let mut meta = described(description);
    meta.push(("robots".to_owned(), "noindex, nofollow".to_owned()));
    meta
}

/// What search engines and chats are told of a page.
fn described(description: &str) -> Vec<(String, String)> {
    vec![("description".to_owned(), description.to_owned())]
}
