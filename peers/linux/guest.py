"""Messages on a guest of user-mode-linux."""


def unfinished(output):
    """Why the guest has not finished. The kernel of user-mode-linux 6.1 has no room for the registers of AMX."""
    if "ptrace set fp regs failed" in output:
        flags = next(line for line in open("/proc/cpuinfo", encoding="ascii") if line.startswith("flags"))
        reason = "which has AMX" if "amx_tile" in flags.split() else "whose registers take too much room"
        return f"user-mode-linux does not run on this processor, {reason}: run the comparison on another machine"
    return f"the guest did not finish:\n{output[-6000:]}"
