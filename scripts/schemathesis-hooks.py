"""Hooks of `npm run schemathesis`."""
import json
import re

import schemathesis

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


@schemathesis.serializer("application/x-ndjson")
def one_line(ctx, value):
    """A body of this type is one JSON value per line; one line is enough here."""
    return value if isinstance(value, bytes) else json.dumps(value, default=str).encode()


@schemathesis.hook
def map_query(ctx, query):
    """A valid wait may last an hour. It is cut to a tenth of a second; an invalid one stays."""
    match = re.fullmatch(r"0*([0-9]{1,15})(ms|s|m|h)", str((query or {}).get("wait")))
    if match and 100 < int(match[1]) * UNITS[match[2]] <= UNITS["h"]:
        query = {**query, "wait": "100ms"}
    return query
