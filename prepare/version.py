"""The product's version, and the wire contract it speaks. Pure."""

from typing import Final

VERSION: Final = "0.1.0"
API_CONTRACT: Final = (1, 4)
