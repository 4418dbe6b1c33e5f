"""Bar and line charts as SVG, with what the figures of recall need and no more."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

WIDTH, BARS_WIDTH, LINE_HEIGHT, BAR = 720, 480, 300, 13
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 56, 44
LETTER = 6.4
"""About so wide is a letter."""
COLOURS = ("#2f6fb0", "#e08a1e", "#4f9d5d", "#b04a5a", "#7a63ad", "#6b7280")
STEPS = (1, 2, 2.5, 5, 10)

Row = Mapping[str, float]
Line = Sequence[tuple[float, float]]


def bar_chart(title: str, rows: Mapping[str, Row], unit: str, *, highest: float | None = None) -> str:
    """Return horizontal bars: one group for each row, one bar for each of its series."""
    series = list(dict.fromkeys(name for row in rows.values() for name in row))
    group, labels = BAR * len(series) + 8, 16 + LETTER * max(map(len, rows))
    height, width = TOP + group * len(rows) + BOTTOM, labels + BARS_WIDTH
    scale = _Scale(0, highest or max(max(row.values()) for row in rows.values()), labels, width - RIGHT - 40)
    parts = [*_grid_across(scale, TOP, height - BOTTOM, unit)]
    for place, (name, row) in enumerate(rows.items()):
        top = TOP + place * group
        parts.append(_text(labels - 8, top + group / 2, name, "end"))
        for one, value in row.items():
            index = series.index(one)
            at, end = top + 4 + index * BAR, scale.at(value)
            size = f'width="{end - labels:.1f}" height="{BAR - 2}"'
            parts.append(f'<rect x="{labels:.1f}" y="{at:.1f}" {size} fill="{COLOURS[index]}"/>')
            parts.append(_text(end + 4, at + BAR - 4, f"{value:.3g}", "start", 10))
    return _drawing(title, width, height, [*parts, *_legend(series)])


def line_chart(
    title: str,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    unit: str,
    below: str,
    *,
    highest: float | None = None,
) -> str:
    """Return lines over a logarithmic axis: each point is where it stands and its value."""
    points = [point for line in lines.values() for point in line]
    places = sorted({place for place, _ in points})
    across = _Scale(math.log(places[0]), math.log(places[-1]), LEFT + 10, WIDTH - RIGHT - 20)
    up = _Scale(0, highest or max(value for _, value in points), TOP + LINE_HEIGHT, TOP)
    parts = list(_grid_up(up, unit))
    parts += [_text(across.at(math.log(place)), TOP + LINE_HEIGHT + 18, f"{place:,.0f}", "middle") for place in places]
    parts.append(_text(WIDTH / 2, TOP + LINE_HEIGHT + 38, below, "middle"))
    for colour, line in zip(COLOURS, lines.values(), strict=False):
        spots = [(across.at(math.log(place)), up.at(value)) for place, value in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in spots]
    return _drawing(title, WIDTH, TOP + LINE_HEIGHT + BOTTOM + 8, [*parts, *_legend(list(lines))])


class _Scale:
    """Maps values between two limits to places between two others."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.high = high
        self._low, self._start = low, start
        self._slope = (end - start) / ((high - low) or 1)

    def at(self, value: float) -> float:
        return self._start + (value - self._low) * self._slope

    def marks(self) -> list[float]:
        """Return about five round values."""
        power = 10 ** math.floor(math.log10(self.high / 5))
        step = next(power * one for one in STEPS if self.high / (power * one) <= 6)
        return [step * number for number in range(int(self.high / step) + 1)]


def _grid_across(scale: _Scale, top: float, bottom: float, unit: str) -> Iterator[str]:
    for value in scale.marks():
        x = scale.at(value)
        yield f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="#e5e7eb"/>'
        yield _text(x, bottom + 16, f"{value:g} {unit}".strip(), "middle")


def _grid_up(scale: _Scale, unit: str) -> Iterator[str]:
    for value in scale.marks():
        y = scale.at(value)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e5e7eb"/>'
        yield _text(LEFT - 6, y + 4, f"{value:g} {unit}".strip(), "end")


def _legend(names: Sequence[str]) -> Iterator[str]:
    x = float(LEFT)
    for name, colour in zip(names, COLOURS, strict=False):
        yield f'<rect x="{x:.1f}" y="32" width="10" height="10" fill="{colour}"/>'
        yield _text(x + 15, 41, name, "start")
        x += 36 + LETTER * len(name)


def _text(x: float, y: float, text: str, anchor: str, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _drawing(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" {size}'
    style = 'font-family="system-ui, sans-serif" fill="#1f2937" role="img"'
    background = f'<rect {size} fill="#ffffff"/>'
    heading = f'<text x="{LEFT}" y="22" font-size="15" font-weight="600">{escape(title)}</text>'
    return "\n".join([f"{head} {style}>", f"<title>{escape(title)}</title>", background, heading, *parts, "</svg>", ""])
