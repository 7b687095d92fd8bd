"""Write a picture of a page with 256 colours: half the bytes, the same to the eye.

Reads the PNG files that Chromium writes: 8 bits, RGB or RGBA, not interlaced.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = 256
Pixel = bytes  # three bytes


def with_palette(png: bytes) -> bytes:
    """The frequent colours stay; each other becomes the nearest of them."""
    parts = list(_chunks(png))
    width, height, depth, kind, *_ = struct.unpack(">IIBBBBB", parts[0][1])
    if depth != 8 or kind not in (2, 6):
        raise ValueError("not 8 bits RGB or RGBA")
    raw = zlib.decompress(b"".join(data for name, data in parts if name == b"IDAT"))
    channels = 3 if kind == 2 else 4
    rows = [
        [row[at : at + 3] for at in range(0, len(row), channels)]
        for row in _rows(raw, width * channels, channels)
    ]
    counts = Counter(pixel for row in rows for pixel in row)
    palette = [pixel for pixel, _ in counts.most_common(_COLOURS)]
    index = {pixel: _nearest(palette, pixel) for pixel in counts}
    packed = b"".join(b"\0" + bytes(index[pixel] for pixel in row) for row in rows)
    return _SIGNATURE + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", b"".join(palette)),
            _chunk(b"IDAT", zlib.compress(packed, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _nearest(palette: list[Pixel], pixel: Pixel) -> int:
    def distance(at: int) -> int:
        return sum((a - b) ** 2 for a, b in zip(palette[at], pixel, strict=True))

    return min(range(len(palette)), key=distance)


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        at += 12 + size


def _chunk(name: bytes, data: bytes) -> bytes:
    check = zlib.crc32(name + data)
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)


def _rows(raw: bytes, size: int, step: int) -> Iterator[bytes]:
    """Undo the filter of each row."""
    above = bytes(size)
    for start in range(0, len(raw), size + 1):
        row = bytearray(raw[start + 1 : start + 1 + size])
        _unfilter(raw[start], row, above, step)
        above = bytes(row)
        yield above


def _unfilter(kind: int, row: bytearray, above: bytes, step: int) -> None:
    for at in range(len(row) if kind else 0):
        left = row[at - step] if at >= step else 0
        corner = above[at - step] if at >= step else 0
        guess = (
            left,
            above[at],
            (left + above[at]) // 2,
            _paeth(left, above[at], corner),
        )[kind - 1]
        row[at] = (row[at] + guess) & 255


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda value: abs(guess - value))
