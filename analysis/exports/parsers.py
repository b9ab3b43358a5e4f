"""The API's JSON parser, which refuses what is nested too deeply."""

import io
from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from surveys.reading.nesting import is_deep_json


class WholeJSONParser(JSONParser):
    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        content = stream.read()
        encoding = (parser_context or {}).get("encoding") or "utf-8"
        if is_deep_json(content.decode(encoding, "replace")):
            raise ParseError("This JSON is nested too deeply.")
        return super().parse(io.BytesIO(content), media_type, parser_context)
