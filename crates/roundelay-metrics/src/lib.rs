//! Yardsticks of packet scheduling: B-WFI, T-WFI, lag, Jain index, delay quantiles.
