"""What reading a Parquet file will take, judged by its page headers before any value is read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pyarrow.parquet import ColumnChunkMetaData, FileMetaData, ParquetSchema, RowGroupMetaData

from surveys.reading.nesting import MEMORY

PAGES = MEMORY // 4  # unpacked bytes of a row group's largest pages, one per column, which are held at once
SHARED = MEMORY // 8  # of a row group's texts that rows share, held until it ends, and twice while it begins
REPEATED = MEMORY // 4  # of its columns of lists, as one row may hold all of them
PORTION = MEMORY // 8  # of the pages with the rows of one batch
FOOTER = MEMORY // 8  # bytes
MOST_COLUMNS = 2_000
MOST_IN_PAGE, MOST_SHARED = 16_000_000, 2_000_000  # values
BATCHES = (256, 64, 16, 4, 1)  # rows
DICTIONARY, V1, V2 = 7, 5, 8  # fields of a page header
FRONT_CODED = 7  # the encoding DELTA_BYTE_ARRAY
HEADER = 1 << 13  # bytes; those with long statistics are read once more
LONGEST_HEADER = 1 << 20
SLACK = 100  # bytes that old writers leave out of a column's length


class ParquetPage(NamedTuple):
    size: int  # bytes when unpacked
    values: int
    is_shared: bool


def check_footer(path: Path) -> None:
    """Raise ValueError if the description of the file, which is read whole, is too long."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
    if length > FOOTER:
        raise ValueError(f"its description has more than {FOOTER:,} bytes; write larger row groups")


def rows_at_once(path: Path, shape: FileMetaData, number: int) -> int:
    """How many rows of a row group to read at a time. Raises ValueError if its columns are too many or too large."""
    group, columns, schema = shape.row_group(number), [], shape.schema
    if group.num_columns > MOST_COLUMNS:
        raise ValueError(f"it has more than {MOST_COLUMNS:,} columns")
    with path.open("rb", buffering=0) as file:
        for place in range(group.num_columns):
            columns.append(list(_pages(file, group.column(place))))
    _check_shared(columns)
    _check_repeated(group, schema, columns)
    flat = [
        ([page for page in pages if not page.is_shared], schema.column(place))
        for place, pages in enumerate(columns)
        if not schema.column(place).max_repetition_level
    ]
    for rows in BATCHES:
        if sum(_most_bytes(pages, rows) + rows * max(column.length, 0) for pages, column in flat) <= PORTION:
            break
    return rows


def _check_shared(columns: Sequence[list[ParquetPage]]) -> None:
    if sum(page.size for pages in columns for page in pages if page.is_shared) > SHARED:
        raise ValueError(f"the dictionaries of one row group have more than {SHARED:,} bytes; write smaller row groups")
    if sum(max((page.size for page in pages if not page.is_shared), default=0) for pages in columns) > PAGES:
        raise ValueError(f"the pages of one row group have more than {PAGES:,} bytes; write smaller pages")


def _check_repeated(group: RowGroupMetaData, schema: ParquetSchema, columns: Sequence[list[ParquetPage]]) -> None:
    size = 0
    for place, pages in enumerate(columns):
        if schema.column(place).max_repetition_level:
            each = 8 + max(schema.column(place).length, 0)
            size += sum(page.size + each * page.values for page in pages if not page.is_shared)
    if size > REPEATED:
        raise ValueError(f"the lists of one row group have more than {REPEATED:,} bytes; write smaller row groups")


def _most_bytes(pages: Sequence[ParquetPage], rows: int) -> int:
    """The most bytes that the pages of so many consecutive rows may have, wherever the rows begin."""
    most = size = values = first = 0
    for page in pages:
        size, values = size + page.size, values + page.values
        while first < len(pages) and values - pages[first].values >= rows - 1 and pages[first] is not page:
            size, values, first = size - pages[first].size, values - pages[first].values, first + 1
        most = max(most, size)
    return most


# --- page headers, which are structures in Thrift's compact protocol


def _pages(file: BinaryIO, column: ColumnChunkMetaData) -> Iterator[ParquetPage]:
    begin = column.data_page_offset
    if column.has_dictionary_page and 0 < (column.dictionary_page_offset or 0) < begin:
        begin = column.dictionary_page_offset
    end, seen = begin + column.total_compressed_size + SLACK, 0
    while begin < end and seen < column.num_values:
        header, length = _header_at(file, begin)
        size, packed = header.get(2, -1), header.get(3, -1)
        said = next((header[field] for field in (V1, V2, DICTIONARY) if field in header), None)
        values = said.get(1, -1) if isinstance(said, dict) else 0
        if min(size, packed, values) < 0 or max(size, packed) > PAGES or values > MOST_IN_PAGE:
            raise ValueError(f"a page has more than {PAGES:,} bytes or {MOST_IN_PAGE:,} values; write smaller pages")
        if DICTIONARY in header and values > MOST_SHARED:
            raise ValueError(f"a dictionary has more than {MOST_SHARED:,} values; write smaller row groups")
        if said and FRONT_CODED in (said.get(2) if V1 in header else None, said.get(4) if V2 in header else None):
            raise ValueError("a column has the encoding DELTA_BYTE_ARRAY, of which nobody can say how long it becomes")
        yield ParquetPage(size, values, DICTIONARY in header)
        seen += 0 if DICTIONARY in header else values
        begin += length + packed


def _header_at(file: BinaryIO, place: int) -> tuple[dict[int, Any], int]:
    """A page's header, by the numbers of its fields, and its length in bytes."""
    for most in (HEADER, LONGEST_HEADER):
        file.seek(place)
        reader = _Compact(file.read(most))
        try:
            return reader.structure(), reader.at
        except IndexError:
            continue
    raise ValueError("the sizes of its pages cannot be read")


class _Compact:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def structure(self, levels: int = 4) -> dict[int, Any]:
        """Read numbers and structures by their fields' numbers. Raises IndexError if the content ends too early."""
        fields: dict[int, Any] = {}
        number = 0
        while kind := self.byte():
            number = number + (kind >> 4) if kind >> 4 else self.integer()
            fields[number] = self.value(kind & 15, levels)
        return fields

    def value(self, kind: int, levels: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self.byte()
            case 4 | 5 | 6:
                return self.integer()
            case 7:
                return self.skip(8)
            case 8:
                return self.skip(self.unsigned())
            case 12 if levels:
                return self.structure(levels - 1)
        raise ValueError("the sizes of its pages cannot be read")

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def unsigned(self) -> int:
        number = shift = 0
        while (part := self.byte()) & 128 and shift < 63:
            number |= (part & 127) << shift
            shift += 7
        return number | part << shift

    def integer(self) -> int:
        number = self.unsigned()
        return number >> 1 ^ -(number & 1)

    def skip(self, length: int) -> None:
        self.at += length
