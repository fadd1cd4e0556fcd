//! Trees that cannot be: the error names the node.
