//! The load on which the printed start-time rule and that of Linux break the order of the sets.
