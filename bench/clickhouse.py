"""The ClickHouse of the benches: chdb, which is ClickHouse within this process.

`python3 clickhouse.py FOLDER` reads one question a line from stdin and answers each by one line on stdout,
both JSON: {"kind": "load" | "funnel" | "size" | "version"}. An answer has "error" where one failed.
clickhouse.ts is the other side, and writes the columns that "load" finds in the folder.
"""

import json
import os
import sys
import time

TABLE = "bench.events"


def text(value):
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def text_of(values, codes):
    return f"[{', '.join(map(text, values))}][{codes} + 1]"


class ClickHouse:
    def __init__(self, folder):
        from chdb import session

        self.folder = folder
        self.session = session.Session(os.path.join(folder, "chdb"))

    def rows(self, sql):
        answer = str(self.session.query(sql, "JSONCompactEachRow"))
        return [json.loads(line) for line in answer.splitlines()]

    def load(self, question):
        """The table in its best case for a funnel: a user's events together, in the order of time."""
        import numpy
        import pyarrow
        from pyarrow import parquet

        types = {"userId": "u4", "timeMs": "u4", "name": "u1", "country": "u1", "plan": "u1"}
        files = {column: os.path.join(self.folder, f"{column}.bin") for column in types}
        columns = {column: numpy.fromfile(files[column], types[column]) for column in types}
        path = os.path.join(self.folder, "events.parquet")
        parquet.write_table(pyarrow.table(columns), path, compression="none")
        del columns

        self.session.query("CREATE DATABASE IF NOT EXISTS bench")
        self.session.query(
            f"""CREATE TABLE {TABLE} (project LowCardinality(String), user UInt64, t DateTime64(3),
              n LowCardinality(String), country LowCardinality(String), plan LowCardinality(String))
            ENGINE = MergeTree ORDER BY (user, t) SETTINGS min_bytes_for_wide_part = 0"""
        )
        started = time.perf_counter()
        self.session.query(
            f"""INSERT INTO {TABLE} SELECT 'p', userId,
              fromUnixTimestamp64Milli(toInt64({int(question["startMs"])}) + timeMs),
              {text_of(question["names"], "name")}, {text_of(question["countries"], "country")},
              {text_of(question["plans"], "plan")} FROM file({text(path)}, Parquet)"""
        )
        inserted = time.perf_counter()
        self.session.query(f"OPTIMIZE TABLE {TABLE} FINAL")
        optimized = time.perf_counter()
        for file in (path, *files.values()):
            os.remove(file)
        return {"insertSeconds": inserted - started, "optimizeSeconds": optimized - inserted}

    def funnel(self, question):
        """How many users take at least each step; all that windowFunnel is given is in whole ms.

        optimize_aggregation_in_order, and country as a second key, take longer on this table.
        """
        steps = question["steps"]
        conditions = [f"n = {text(step)}" for step in steps]
        where = question.get("filter")
        if where is not None:
            column = {"country": "country", "plan": "plan"}[where["property"]]
            conditions[where["step"]] += f" AND {column} = {text(where['value'])}"
        # By default, which is faster, one event takes all steps that follow one another with its name.
        is_repeated = any(step == after for step, after in zip(steps, steps[1:]))
        mode = ", 'strict_once'" if is_repeated else ""
        level = (
            f"windowFunnel({int(question['windowMs'])}{mode})"
            f"(toUInt64(toUnixTimestamp64Milli(t)), {', '.join(conditions)})"
        )
        if question.get("breakdown") is None:
            sql = f"""SELECT '', level, count() FROM (SELECT {level} AS level FROM {TABLE}
              GROUP BY user) GROUP BY level"""
        else:
            sql = f"""SELECT country, level, count() FROM (SELECT any(country) AS country,
              {level} AS level FROM {TABLE} GROUP BY user) GROUP BY country, level"""
        started = time.perf_counter()
        rows = self.rows(sql)
        seconds = time.perf_counter() - started

        counts = {}
        for value, reached, users in rows:
            of_value = counts.setdefault(value, [0] * len(steps))
            for step in range(int(reached)):
                of_value[step] += int(users)
        if question.get("breakdown") is None:
            return {"seconds": seconds, "counts": counts.get("", [0] * len(steps))}
        total = [sum(users) for users in zip(*counts.values())]
        return {"seconds": seconds, "counts": total, "byValue": counts}

    def size(self, _question):
        where = "active AND database = 'bench' AND table = 'events'"
        [[size, rows, parts]] = self.rows(
            f"SELECT sum(bytes_on_disk), sum(rows), count() FROM system.parts WHERE {where}"
        )
        columns = self.rows(
            f"""SELECT column, sum(column_bytes_on_disk) FROM system.parts_columns WHERE {where}
            GROUP BY column ORDER BY column"""
        )
        by_column = {column: int(bytes) for column, bytes in columns}
        return {"bytes": int(size), "rows": int(rows), "parts": int(parts), "byColumn": by_column}

    def version(self, _question):
        [[version, threads]] = self.rows("SELECT version(), getSetting('max_threads')")
        return {"version": version, "threads": int(threads)}


def main():
    # What ClickHouse prints of itself must not come among the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        clickhouse = ClickHouse(sys.argv[1])
    except ImportError as error:
        print(json.dumps({"error": f"{error}: pip install chdb pyarrow numpy"}), file=answers)
        return
    kinds = {
        "load": clickhouse.load,
        "funnel": clickhouse.funnel,
        "size": clickhouse.size,
        "version": clickhouse.version,
    }
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = kinds[question["kind"]](question)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers)


main()
