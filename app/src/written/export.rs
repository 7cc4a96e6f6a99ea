//! An incident to be taken elsewhere: a draft for the post-mortem, and the page in one file.

mod file;
mod post_mortem;

pub use file::incident_html;
pub use post_mortem::incident_markdown;
