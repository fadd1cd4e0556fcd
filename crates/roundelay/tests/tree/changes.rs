//! Trees that change while packets wait.
