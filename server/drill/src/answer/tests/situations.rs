//! Situations that recordings do not have.
