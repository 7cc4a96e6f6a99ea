//! Pages that are written on the server alone, as HTML.

pub(crate) mod handbook;
pub(crate) mod plan;
