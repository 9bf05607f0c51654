"""A bar chart as SVG, written by hand: readable on light and dark pages, with its numbers as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_COLOURS = ("#2f6fdb", "#d9822b", "#6b8e3d", "#8a5fbf")
_WIDTH, _HEIGHT = 760, 340
_LEFT, _TOP, _BOTTOM = 44, 64, 36
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#57606a}.title{font-size:15px;font-weight:600}"
    ".axis{stroke:#8c959f;stroke-width:1}.mark{stroke:#8c959f;stroke-dasharray:4 4}"
)


@dataclass(frozen=True, slots=True)
class Bars:
    """Groups along the axis, one bar per series in each; `line` is a value to mark across."""

    title: str
    groups: Sequence[str]
    values: Mapping[str, Sequence[float]]
    line: float


def drawn(bars: Bars) -> str:
    """The chart as an SVG document."""
    highest = max(bars.line, *(value for series in bars.values.values() for value in series))
    height = _HEIGHT - _TOP - _BOTTOM
    floor = _HEIGHT - _BOTTOM
    step = (_WIDTH - _LEFT - 8) / len(bars.groups)
    thick = step * 0.72 / len(bars.values)
    marked = floor - bars.line / highest * height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(bars.title)}"><style>{_STYLE}</style>',
        f'<text class="title" x="{_LEFT}" y="22">{escape(bars.title)}</text>',
        *_legend(list(bars.values)),
        f'<line class="mark" x1="{_LEFT}" y1="{marked:.1f}" x2="{_WIDTH - 8}" y2="{marked:.1f}"/>',
        f'<text x="{_LEFT - 6}" y="{marked + 4:.1f}" text-anchor="end">{bars.line:g}</text>',
        f'<line class="axis" x1="{_LEFT}" y1="{floor}" x2="{_WIDTH - 8}" y2="{floor}"/>',
    ]
    for place, group in enumerate(bars.groups):
        start = _LEFT + place * step + step * 0.14
        parts.append(
            f'<text x="{start + step * 0.36:.1f}" y="{floor + 22}" text-anchor="middle">{escape(group)}</text>'
        )
        for number, series in enumerate(bars.values.values()):
            left, tall = start + number * thick, series[place] / highest * height
            parts.append(
                f'<rect x="{left:.1f}" y="{floor - tall:.1f}" width="{thick - 3:.1f}" height="{tall:.1f}" '
                f'fill="{_COLOURS[number % len(_COLOURS)]}"/>'
                f'<text x="{left + thick / 2 - 1.5:.1f}" y="{floor - tall - 5:.1f}" '
                f'text-anchor="middle">{series[place]:.2f}</text>'
            )
    return "\n".join([*parts, "</svg>\n"])


def _legend(names: Sequence[str]) -> list[str]:
    found = []
    for number, name in enumerate(names):
        left = _LEFT + number * 130
        found.append(
            f'<rect x="{left}" y="34" width="11" height="11" fill="{_COLOURS[number % len(_COLOURS)]}"/>'
            f'<text x="{left + 17}" y="44">{escape(name)}</text>'
        )
    return found
