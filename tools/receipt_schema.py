"""Write the JSON Schema of a receipt, cut out of the OpenAPI document.

usage: receipt_schema.py OPENAPI_YAML OUTPUT_JSON
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = "PreparedContextReceipt"
PREFIX = "#/components/schemas/"


def extract(document: dict[str, Any]) -> dict[str, Any]:
    """The receipt's schema with everything it refers to under `$defs`."""
    schemas = document["components"]["schemas"]
    wanted, found = [ROOT], {}
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = schemas[name]
            wanted += [ref.removeprefix(PREFIX) for ref in references(schemas[name])]
    text = json.dumps(found).replace(PREFIX, "#/$defs/")
    definitions = dict(sorted(json.loads(text).items()))
    root = definitions.pop(ROOT)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PowerContext prepared context receipt, version 1",
        **root,
        "$defs": definitions,
    }


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [ref for item in value.values() for ref in references(item)]
    if isinstance(value, list):
        return [ref for item in value for ref in references(item)]
    return []


def main(source: str, target: str) -> None:
    document = yaml.safe_load(Path(source).read_text(encoding="utf-8"))
    schema = json.dumps(extract(document), indent=2, ensure_ascii=False)
    Path(target).write_text(f"{schema}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
