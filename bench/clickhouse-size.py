"""How many bytes ClickHouse (chdb) takes for the events of the bench `storage`.

`python3 clickhouse-size.py FOLDER` reads FOLDER/events.ndjson and prints one line of JSON: bytes of all
columns and of each, and the rows.
"""

import json
import os
import sys

from chdb import session

COLUMNS = """user UInt64, t DateTime64(3), n LowCardinality(String), id UUID,
  path LowCardinality(String), country LowCardinality(String), browser LowCardinality(String),
  price Float64, trial Bool"""


def main(folder):
    database = session.Session(os.path.join(folder, "chdb"))
    rows = lambda sql: [
        json.loads(line)
        for line in str(database.query(sql, "JSONCompactEachRow")).splitlines()
    ]
    database.query("CREATE DATABASE bench")
    database.query(
        f"""CREATE TABLE bench.events ({COLUMNS}) ENGINE = MergeTree ORDER BY (user, t)
        SETTINGS min_bytes_for_wide_part = 0"""
    )
    path = os.path.join(folder, "events.ndjson").replace("'", "\\'")
    database.query(
        f"""INSERT INTO bench.events SELECT user, fromUnixTimestamp64Milli(t), n, id, path, country,
        browser, price, trial FROM file('{path}', JSONEachRow, 'user UInt64, t Int64, n String,
        id UUID, path String, country String, browser String, price Float64, trial Bool')"""
    )
    database.query("OPTIMIZE TABLE bench.events FINAL")
    where = "active AND database = 'bench' AND table = 'events'"
    [[size, count]] = rows(
        f"SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE {where}"
    )
    columns = rows(
        f"""SELECT column, sum(column_bytes_on_disk) FROM system.parts_columns WHERE {where}
        GROUP BY column ORDER BY column"""
    )
    by_column = {column: int(bytes) for column, bytes in columns}
    print(json.dumps({"bytes": int(size), "rows": int(count), "byColumn": by_column}))


main(sys.argv[1])
