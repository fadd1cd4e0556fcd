//! Results out: terminal table, JSON, Parquet, one self-contained HTML page.
