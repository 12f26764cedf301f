"""The tables of a study as Parquet files, for programs that read columns with their types.

The library is imported nowhere else; the extra ``parquet`` installs it.
"""

from __future__ import annotations

import io
from typing import Final

import pyarrow as pa
from pyarrow import parquet

from remuda.study.tables import Sheet

# The types of columns; all others have numbers with a fraction.
_TEXTS: Final = frozenset(
    {
        *("trace", "configuration", "variant", "run", "resource", "queue", "decisions"),
        *("measure", "unit", "verdict"),
    }
)
_COUNTS: Final = frozenset({"seed", "seeds", "tasks", "placed", "node_failures", "better", "worse"})


def packed(sheet: Sheet) -> bytes:
    """Return a table as the content of a Parquet file; the same bytes for the same table.

    Implements: EXT-99. Rules: EXT-59.
    """
    schema = pa.schema([(name, _type(name)) for name in sheet.columns])
    cells = zip(*sheet.rows, strict=True) if sheet.rows else ((),) * len(sheet.columns)
    columns = [pa.array(values, field.type) for values, field in zip(cells, schema, strict=True)]
    file = io.BytesIO()
    parquet.write_table(pa.table(columns, schema), file)
    return file.getvalue()


def _type(column: str) -> pa.DataType:
    if column in _TEXTS:
        return pa.string()
    return pa.int64() if column in _COUNTS else pa.float64()
