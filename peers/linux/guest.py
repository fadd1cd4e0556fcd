"""Starts of a guest of user-mode-linux, and messages where it does not finish."""

import os
import pathlib

# Room for the registers of processors with AMX.
REGISTERS = pathlib.Path(__file__).resolve().parents[2] / "target" / "peers" / "registers.so"


def environment():
    """The environment of the kernel, with our library ahead of the system's."""
    return {**os.environ, "LD_PRELOAD": str(REGISTERS)}


def unfinished(output):
    """Why the guest has not finished."""
    if "ptrace set fp regs failed" in output:
        return f"user-mode-linux has no room for the registers of this processor, and {REGISTERS} does not help: make target/peers/registers.so, or take another machine"
    return f"the guest did not finish:\n{output[-6000:]}"
