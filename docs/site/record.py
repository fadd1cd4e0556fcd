"""Records a command in a terminal: an asciicast (version 2), and an animated SVG drawn from it.

    python docs/site/record.py docs/images/live-demo roundelay live --demo

The cast has what the command wrote and when; `asciinema play` shows it. The SVG has the same lines at the
same times, and all of them where animations are off.
"""

import html
import json
import os
import pty
import select
import struct
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

COLUMNS, ROWS = 100, 28
LINE, LETTER, EDGE = 19, 8.4, 14


def record(command):
    """What the command writes to a terminal: seconds and text."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    start, events = time.monotonic(), []
    while True:
        select.select([terminal], [], [])
        try:
            text = os.read(terminal, 65536)
        except OSError:  # the terminal is closed
            break
        if not text:
            break
        events.append((round(time.monotonic() - start, 3), text.decode()))
    _, status = os.waitpid(child, 0)
    return events, os.waitstatus_to_exitcode(status)


def cast(command, events):
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "command": " ".join(command), "title": " ".join(command)}
    lines = [json.dumps(head)] + [json.dumps([seconds, "o", text]) for seconds, text in events]
    return "\n".join(lines) + "\n"


def svg(command, events):
    """Lines of text, each at the time at which its first letter came. Colours and cursor moves are not drawn."""
    lines, fresh = [(0.0, "$ " + " ".join(command))], True
    for seconds, text in events:
        for part in text.replace("\r\n", "\n").splitlines(keepends=True):
            if fresh:
                lines.append((seconds, ""))
            lines[-1] = (lines[-1][0], lines[-1][1] + part.rstrip("\n"))
            fresh = part.endswith("\n")
    width, height = COLUMNS * LETTER + 2 * EDGE, len(lines) * LINE + 2 * EDGE
    title = html.escape("A terminal in which runs: " + " ".join(command))
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        "<style>text { font: 14px ui-monospace, monospace; fill: #e6e6e6; white-space: pre } .first { fill: #8ec07c }"
        " @media (prefers-reduced-motion: no-preference) { text { animation: comes 1ms steps(1) both } }"
        " @keyframes comes { from { opacity: 0 } to { opacity: 1 } }</style>",
        f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#1d2021"/>',
    ]
    for number, (seconds, text) in enumerate(lines):
        y = EDGE + LINE * number + 14
        kind = ' class="first"' if number == 0 else ""
        drawn.append(f'<text x="{EDGE}" y="{y}"{kind} style="animation-delay: {seconds}s">{html.escape(text)}</text>')
    return "\n".join(drawn) + "\n</svg>\n"


def main():
    target, command = sys.argv[1], sys.argv[2:]
    events, status = record(command)
    Path(target + ".cast").write_text(cast(command, events))
    Path(target + ".svg").write_text(svg(command, events))
    return status


if __name__ == "__main__":
    sys.exit(main())
