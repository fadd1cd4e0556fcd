#!/usr/bin/env python3
"""Draws what docs/simulator/validation.md shows: `make validation`.

plots.py waits FORMULAS OUT      mean waits over load: formulas as lines, runs as dots, from the output of the test `formulas`
plots.py window CUBIC OUT        CUBIC's window and the RFC's curve, from the output of the test `cubic_window`
plots.py goodput FLOWS OUT       goodputs of bulk flows in each simulator, from the file that `compare.py check FLOWS` writes
"""

import sys
from pathlib import Path

WIDTH, HEIGHT = 560, 330
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 30, 46
# Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ["#0072b2", "#d55e00", "#009e73"]


class Drawing:
    """Lines and dots over two linear scales."""

    def __init__(self, title, across, up, ticks):
        self.across, self.up = across, up
        self.parts = [f'<text x="{LEFT}" y="18" font-weight="bold">{title}</text>']
        for tick in ticks[0]:
            x = self.x(tick)
            self.parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#eeeeee"/>')
            self.parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{tick:g}</text>')
        for tick in ticks[1]:
            y = self.y(tick)
            self.parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
            self.parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        self.legend = LEFT + 10

    def x(self, value):
        low, high = self.across
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        low, high = self.up
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def axis(self, text):
        self.parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - BOTTOM + 32}" text-anchor="middle">{text}</text>')

    def line(self, points, colour, dashes="", width=1.6):
        places = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        stroke = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="{width}"{stroke} points="{places}"/>')

    def dots(self, points, colour):
        self.parts += [f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3.5" fill="{colour}"/>' for x, y in points]

    def name(self, text, colour):
        self.parts.append(f'<path d="M{self.legend} {HEIGHT + 2}h18" stroke="{colour}" stroke-width="3"/>')
        self.parts.append(f'<text x="{self.legend + 23}" y="{HEIGHT + 6}">{text}</text>')
        self.legend += 44 + 6.5 * len(text)

    def write(self, path):
        size = f'viewBox="0 0 {WIDTH} {HEIGHT + 18}" width="{WIDTH}" height="{HEIGHT + 18}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
        back = f'<rect width="{WIDTH}" height="{HEIGHT + 18}" fill="white"/>'
        Path(path).write_text("\n".join([head, back, *self.parts, "</svg>\n"]))


def words(path, first):
    lines = (line.split() for line in Path(path).read_text().splitlines())
    return [line for line in lines if line and line[0] in first]


def waits(source, out):
    queues = {"M/M/1": 2.0, "M/G/1": 1.5, "M/D/1": 1.0}
    drawing = Drawing("Mean wait, in times of a mean packet", (0, 1), (0, 10), ([n / 10 for n in range(11)], range(0, 11, 2)))
    drawing.axis("load; lines: Pollaczek and Khinchine, dots: runs")
    measured = words(source, queues)
    for (queue, squares), colour in zip(queues.items(), COLOURS):
        loads = [n / 500 for n in range(456)]
        drawing.line([(load, load / (1 - load) * squares / 2) for load in loads if load / (1 - load) * squares / 2 <= 10], colour)
        drawing.dots([(float(line[1]), float(line[3])) for line in measured if line[0] == queue], colour)
        drawing.name(queue, colour)
    drawing.write(out)


def window(source, out):
    lines = words(source, ["window"])
    # The first run is CUBIC's, the second Reno's.
    end = next((place for place in range(1, len(lines)) if float(lines[place][1]) < float(lines[place - 1][1])), len(lines))
    lines = [[float(word) for word in line[1:]] for line in lines[:end]]
    drawing = Drawing("CUBIC's window on 100 Mbit/s, round trip 100 ms, queue of 400", (0, 60), (0, 1600), (range(0, 61, 10), range(0, 1601, 400)))
    drawing.axis("seconds; windows in segments")
    drawing.line([line[:2] for line in lines], COLOURS[0], width=3)
    curve = []
    for line in [*lines, []]:
        if len(line) == 3:
            curve.append((line[0], line[2]))
        elif curve:
            drawing.line(curve, COLOURS[1], "5 4", 1.4)
            curve = []
    drawing.name("in a simulation", COLOURS[0])
    drawing.name("RFC 9438", COLOURS[1])
    drawing.write(out)


def goodput(source, out):
    drawing = Drawing("Goodput of 50 bulk flows, timeouts of 1 s and more, 300 s, five draws of starts", (0, 190), (0, 1), (range(0, 181, 20), [0, 0.25, 0.5, 0.75, 1]))
    drawing.axis("kbit/s; part of the flows that have no more")
    for line, colour in zip(words(source, ["roundelay", "ns-2", "ns-3"]), COLOURS):
        values = sorted(float(word) for word in line[1:])
        drawing.line([(value, (place + 1) / len(values)) for place, value in enumerate(values)], colour)
        drawing.name(line[0], colour)
    drawing.write(out)


if __name__ == "__main__":
    drawings = {"waits": waits, "window": window, "goodput": goodput}
    if len(sys.argv) != 4 or sys.argv[1] not in drawings:
        sys.exit(__doc__)
    drawings[sys.argv[1]](*sys.argv[2:])
