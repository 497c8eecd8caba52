#!/usr/bin/env python3
"""A sqlite3perf worker for Python's sqlite3 module.

    worker.py [--fetchall]

It was written from docs/worker-protocol.md and docs/generated-values.md, with the
standard library alone, and shares no code with the workers in Go.  Results are
read row by row as SQLite finds them or, with --fetchall, into a list first.
Clients are threads.  It needs Python 3.11 or newer, since older versions do not
report SQLite's result codes.
"""

import base64
import binascii
import contextlib
import datetime
import gc
import hashlib
import itertools
import json
import math
import os
import platform
import queue
import re
import signal
import struct
import sys
import threading
import time
import urllib.parse
import zlib

try:
    import resource  # not on Windows
except ImportError:
    resource = None
try:
    import sqlite3  # not in every build
except ImportError:
    sqlite3 = None

PROTOCOL = 2
OLDEST = (3, 11)

FETCHALL = sys.argv[1:] == ["--fetchall"]

INFO = {
    "name": "python",
    "about": "Python's sqlite3 module over the interpreter's SQLite; results are read row by row.",
    "module": "sqlite3",
    "kind": "other language",
    "interface": "direct",
    "limits": {
        "cold_caches": "its worker does not drop them",
        "context": "calls take no context: a cancellable phase is run as any other, and the timeout of an operation ends its statements, but no wait for a lock",
        "count_syncs": "its worker does not count them",
        "http": "its worker serves no HTTP",
        "job": "its worker does the job bench only",
        "pool_idle": "its worker keeps every connection open",
        "pool_readers": "its worker has one pool",
        "processes": "its worker does a mix in one process",
        "write_mutex": "its worker has only the mutex that a workload asks for",
    },
}
if FETCHALL:
    INFO["name"] = "python-fetchall"
    INFO["about"] = "Python's sqlite3 module over the interpreter's SQLite; each result is fetched into a list first."


class Failure(Exception):
    """Ends a trial. The lab (sqlite3perf itself) gets the reason and its code."""

    def __init__(self, code, message, **subject):
        super().__init__(message)
        self.code = code
        self.subject = subject  # the reason's other fields


# Generated values: docs/generated-values.md.

M64 = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
ARENA = 1 << 20


def mix64(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
    return z ^ z >> 31


class Stream:
    """A random sequence with a name."""

    def __init__(self, seed, name):
        h = 0xCBF29CE484222325
        for b in name.encode():
            h = (h ^ b) * 0x100000001B3 & M64
        self.key = mix64(seed ^ h)

    def draw(self, i, k=0):
        r = mix64(self.key + (i + 1) * GAMMA & M64)
        return r if k == 0 else mix64(r + k * GAMMA & M64)

    def bytes(self, i, n):
        words = b"".join(struct.pack("<Q", self.draw(i, k)) for k in range((n + 7) // 8))
        return words[:n]


def below(u, n):
    return u * n >> 64


def unit(u):
    return (u >> 11) * 2.0**-53


def signed(v):
    """Returns v as a 64-bit two's complement number."""
    v &= M64
    return v - (1 << 64) if v >> 63 else v


def letters(b):
    return bytes(97 + (x * 26 >> 8) for x in b).decode()


arenas = {}


def arena(text):
    """Returns the arena (random letters or bytes) twice in a row, so that values can extend past its end."""
    if text not in arenas:
        b = b"".join(struct.pack("<Q", mix64((j + 1) * GAMMA & M64)) for j in range(ARENA // 8))
        arenas[text] = 2 * (letters(b) if text else b)
    return arenas[text]


def arena_slice(text, start, n):
    a = arena(text)
    if start + n <= len(a):
        return a[start : start + n]
    whole = a[start : start + ARENA]
    return (whole * (n // ARENA + 1))[:n]


def ln(x):
    m, e = math.frexp(x)
    if m < 0.7071067811865476:
        m, e = 2 * m, e - 1
    t = (m - 1) / (m + 1)
    p = 0.0
    for k in range(25, 0, -2):
        p = p * (t * t) + 1 / k
    return 2 * t * p + e * 0.6931471805599453


def exp(x):
    k = math.floor(x * 1.4426950408889634 + 0.5)
    r = x - k * 0.6931471805599453
    p = 1.0
    for j in range(18, 0, -1):
        p = 1 + p * r / j
    return math.ldexp(p, k)


def power(x, y):
    return exp(y * ln(x))


class Zipf:
    def __init__(self, n, s):
        self.n, self.s = n, s
        self.first = self.area(1.5) - 1
        self.last = self.area(n + 0.5)
        self.close = 2 - self.inverse(self.area(2.5) - power(2, -s))

    def area(self, x):
        return ln(x) if self.s == 1 else (power(x, 1 - self.s) - 1) / (1 - self.s)

    def inverse(self, a):
        return exp(a) if self.s == 1 else power(1 + a * (1 - self.s), 1 / (1 - self.s))

    def at(self, stream, i):
        k = 0
        while True:
            u = self.last + unit(stream.draw(i, k)) * (self.first - self.last)
            x = self.inverse(u)
            z = max(1.0, min(float(math.floor(x + 0.5)), float(self.n)))
            if z - x <= self.close or u >= self.area(z + 0.5) - power(z, -self.s):
                return int(z)
            k += 1


class Shuffle:
    """A permutation of the numbers below n."""

    def __init__(self, n):
        self.n, self.half = n, max(1, ((n - 1).bit_length() + 1) // 2)

    def at(self, stream, i):
        x, mask = i % self.n, (1 << self.half) - 1
        while True:
            left, right = x >> self.half, x & mask
            for j in range(1, 5):
                left, right = right, left ^ stream.draw(right, j) >> (64 - self.half)
            x = left << self.half | right
            if x < self.n:
                return x


VERB = re.compile(r"%(?:%|(-?)(0?)(\d*)([dsvx])|([FTj]))")


def moment(verb, ms):
    """Returns the date (F) or the time of day (T) of a time in milliseconds since 1970, in UTC."""
    if verb == "T":
        s = ms // 1000 % 86400
        return f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}"
    # datetime supports only the years 1 to 9999, but the calendar repeats every 400 years.
    cycles, days = divmod(ms // 86_400_000, 146_097)
    d = datetime.date(1970, 1, 1) + datetime.timedelta(days)
    year = d.year + 400 * cycles
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):0{4 - len(sign)}}-{d.month:02}-{d.day:02}"


def in_json(v, type_):
    """Returns a value as JSON."""
    if v is None:
        return "null"
    if type_ == "bool":
        return "true" if v else "false"
    if isinstance(v, int):
        return str(v)
    return '"' + re.sub(r'["\\\x00-\x1f]', lambda m: "\\" + m[0] if m[0] in '"\\' else f"\\u{ord(m[0]):04x}", v) + '"'


class Column:
    """One generated column, or parameter: at(i) is its value in row i."""

    def __init__(self, gen, full, d, owner, siblings):
        self.seed, self.sets, self.full, self.type = gen.seed, gen.sets, full, d["type"]
        self.owner, self.siblings = owner, siblings
        self.g = g = d["generator"]
        self.low, self.high = g.get("low", 0), g.get("high", 0)
        self.stream = Stream(self.seed, full)
        self.nulls = Stream(self.seed, full + "#null")
        self.lengths = Stream(self.seed, full + "#length")
        self.permille = g.get("null_permille", 0)
        kind = g["kind"]
        self.make = getattr(self, kind, None)
        if self.make is None or kind not in KINDS:
            raise Failure("unsupported", f"{full}: no generator of kind {kind!r} here")
        self.bounds = g.get("bounds") or [self.low, self.high]
        self.zipf_law = None
        if kind == "shuffle":
            self.permutation = Shuffle((self.high - self.low) // g["step"] + 1)
        if kind == "zipf":
            self.zipf_law = Zipf(self.high - self.low + 1, g["skew"])
        if kind == "repeat":
            self.repeated = g.get("text", "") * g.get("times", 0)

    def at(self, i):
        if self.permille and below(self.nulls.draw(i), 1000) < self.permille:
            return None
        return self.make(i)

    def serial(self, i):
        return signed(self.low + self.g.get("step", 0) * i // (self.g.get("every") or 1))

    def shuffle(self, i):
        return signed(self.low + self.g["step"] * self.permutation.at(self.stream, i))

    def weighted(self, values, i):
        u = below(self.stream.draw(i), sum(self.g["weights"]))
        for v, w in zip(values, self.g["weights"]):
            if u < w:
                return v
            u -= w

    def between(self, stream, i):
        """Returns a whole number within the bounds."""
        b, k = self.bounds, 0
        if "bounds" in self.g:
            j, k = below(stream.draw(i), len(b) - 1), 1
            b = b[j : j + 2]
        return b[0] + below(stream.draw(i, k), b[1] - b[0] + 1)

    def const(self, i):
        if self.type == "text":
            return self.g.get("text", "")
        if self.type == "real":
            return float(self.g.get("real_low", 0))
        return self.g.get("int", 0)

    def null(self, i):
        return None

    def int(self, i):
        if "weights" in self.g:
            return self.weighted(self.bounds, i)
        return signed(self.between(self.stream, i))

    def zipf(self, i):
        return signed(self.low + self.zipf_law.at(self.stream, i) - 1)

    def real(self, i):
        low, high, k = float(self.g.get("real_low", 0)), float(self.g.get("real_high", 0)), 0
        if "real_bounds" in self.g:
            b, k = self.g["real_bounds"], 1
            j = below(self.stream.draw(i), len(b) - 1)
            low, high = float(b[j]), float(b[j + 1])
        x = low + unit(self.stream.draw(i, k)) * (high - low)
        return low if x >= high else x

    def time(self, i):
        if self.high > self.low:
            return self.low + below(self.stream.draw(i), self.high - self.low)
        return self.serial(i)

    def choice(self, i):
        c = self.g["choice"]
        if "weights" in self.g:
            return self.weighted(c, i)
        return c[below(self.stream.draw(i), len(c))]

    def list(self, i):
        values = self.g["list"]
        v = values[i % len(values)]
        if v is None:
            return None
        if self.type == "blob":
            return binascii.unhexlify(v)
        return float(v) if self.type == "real" else v

    def repeat(self, i):
        return self.repeated

    def length(self, i):
        if self.low == self.high:
            return self.low
        return self.between(self.lengths, i)

    def text(self, i):
        if self.high > 256:
            return arena_slice(True, self.stream.draw(i) >> 44, self.length(i))
        return letters(self.stream.bytes(i, self.length(i)))

    def blob(self, i):
        if self.high > 256:
            return arena_slice(False, self.stream.draw(i) >> 44, self.length(i))
        return self.stream.bytes(i, self.length(i))

    def hex(self, i):
        return self.stream.bytes(i, self.length(i)).hex()

    def sha256(self, i):
        v = self.siblings[self.g["of"][0]].at(i)
        if v is None:
            return None
        if self.g.get("hex"):
            v = binascii.unhexlify(v)
        return hashlib.sha256(v.encode() if isinstance(v, str) else v).hexdigest()

    def format(self, i):
        values = [(self.siblings[name].at(i), self.siblings[name].type) for name in self.g.get("of") or []]
        verbs = [m[5] for m in VERB.finditer(self.g.get("format", "")) if m[0] != "%%"]
        if any(v is None and verb != "j" for (v, _), verb in zip(values, verbs)):
            return None
        values.reverse()

        def verb(m):
            if m[0] == "%%":
                return "%"
            v, type_ = values.pop()
            if m[5]:
                return in_json(v, type_) if m[5] == "j" else moment(m[5], v)
            width = int(m[3] or 0)
            if m[4] == "x":
                s = f"{v:x}" if isinstance(v, int) else v.encode().hex()
            else:
                s = str(v)
            if m[1]:
                return s.ljust(width)
            return s.zfill(width) if m[2] else s.rjust(width)

        return VERB.sub(verb, self.g.get("format", ""))

    def ref(self, i):
        name, _, column = self.g["of"][0].partition(".")
        return self.sets[name].columns[column].at(i // self.owner.rows_per(name))

    def pick(self, i):
        name, _, column = self.g["of"][0].partition(".")
        source = self.sets[name]
        if "at" in self.g:
            number = self.siblings[self.g["at"]].at(i)
            return None if number is None else source.columns[column].at(number % source.total)
        return source.columns[column].at(self.drawn_row(source, i))

    def drawn_row(self, source, i):
        if not self.g.get("skew"):
            return below(self.stream.draw(i), source.total)
        if self.zipf_law is None:
            self.zipf_law = Zipf(source.total, self.g["skew"])
        return self.zipf_law.at(self.stream, i) - 1

    def words(self, i):
        name, _, column = self.g["of"][0].partition(".")
        source = self.sets[name]
        words = source.columns[column]
        return " ".join(words.at(self.drawn_row(source, i << 16 | k)) for k in range(self.length(i)))

    def coalesce(self, i):
        raise Failure("plan", f"{self.full}: its values are known only to SQLite")


KINDS = set("serial const null int zipf real time format text repeat blob choice list hex sha256 ref pick shuffle words coalesce".split())


class DataSet:
    def __init__(self, gen, d):
        self.sets, self.name, self.table = gen.sets, d["name"], d["table"]
        self.parent, self.count, self.total = d.get("parent"), d["count"], d["total"]
        self.columns = {}
        for c in d["columns"]:
            self.columns[c["name"]] = Column(gen, f"{self.name}.{c['name']}", c, self, self.columns)
        self.shown = [c["name"] for c in d["columns"] if not c.get("hidden")]
        self.bound, values = [], []  # the columns whose values are the INSERT's parameters
        for name in self.shown:
            g = self.columns[name].g
            of = g["of"] if g["kind"] == "coalesce" else [name]
            self.bound += of
            values.append("?" if g["kind"] != "coalesce" else f"coalesce({','.join('?' * len(of))})")
        self.group = f"({','.join(values)})"

    def rows_per(self, ancestor):
        """Returns how many rows of this set are nested in one row of ancestor."""
        n, s = 1, self
        while s.name != ancestor:
            n, s = n * s.count, self.sets[s.parent]
        return max(n, 1)

    def rows(self, lo, hi):
        columns = [self.columns[name] for name in self.bound]
        return [tuple(c.at(i) for c in columns) for i in range(lo, hi)]


class Generator:
    def __init__(self, seed, plan):
        self.seed, self.sets = seed, {}
        for d in plan.get("data_sets") or []:
            self.sets[d["name"]] = DataSet(self, d)

    def parameters(self, stream, call, for_each, rows):
        """Returns the parameters of one execution for each number in rows."""
        own, makers = {}, []
        for p in call.get("parameters") or []:
            if "generator" in p:
                c = own[p["name"]] = Column(self, f"{stream}.{p['name']}", p, None, own)
                makers.append((c, 1))
            else:
                name, _, column = p["column"].partition(".")
                makers.append((self.sets[name].columns[column], self.sets[for_each].rows_per(name)))
        return [tuple(c.at(r // per) for c, per in makers) for r in rows]


# Measuring.


class Stopwatch:
    """Adds up wall and CPU time while it runs."""

    def __init__(self):
        self.wall = self.user = self.system = 0

    def __enter__(self):
        self.cpu0 = cpu_times()
        self.wall0 = time.perf_counter_ns()

    def __exit__(self, *exc):
        self.wall += time.perf_counter_ns() - self.wall0
        user, system = cpu_times()
        self.user += user - self.cpu0[0]
        self.system += system - self.cpu0[1]

    def divide(self, n):
        self.wall, self.user, self.system = self.wall // n, self.user // n, self.system // n


def cpu_times():
    if resource is None:
        t = os.times()
        return int(t.user * 1e9), int(t.system * 1e9)
    r = resource.getrusage(resource.RUSAGE_SELF)
    return int(r.ru_utime * 1e9), int(r.ru_stime * 1e9)


def peak_rss():
    try:
        with open("/proc/self/status") as f:
            return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    if resource is None:
        return 0
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return rss if sys.platform == "darwin" else rss << 10


class Histogram:
    """An HdrHistogram of times in ns, from 1 ns to 120 s, with three significant digits."""

    HIGHEST = 120_000_000_000
    HALF = 10  # base-2 logarithm of half the number of buckets of one width

    def __init__(self):
        self.counts, self.total = {}, 0

    def record(self, ns):
        ns = min(max(ns, 1), self.HIGHEST)
        shift = max(ns.bit_length() - self.HALF - 1, 0)
        i = (shift << self.HALF) + (ns >> shift)
        self.counts[i] = self.counts.get(i, 0) + 1
        self.total += 1

    def merge(self, other):
        for i, n in other.counts.items():
            self.counts[i] = self.counts.get(i, 0) + n
        self.total += other.total

    def encode(self):
        body, last = bytearray(), -1
        for i in sorted(self.counts):
            zeros = i - last - 1
            if zeros:
                zigzag_leb128(body, -zeros)
            zigzag_leb128(body, self.counts[i])
            last = i
        head = struct.pack(">iiiiqqd", 0x1C849313, len(body), 0, 3, 1, self.HIGHEST, 1.0)
        packed = zlib.compress(head + bytes(body))
        return base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()

    def summary(self, operation):
        return {"operation": operation, "count": self.total, "histogram": self.encode()}


def zigzag_leb128(out, v):
    """Writes a number in LEB128. Unlike in standard LEB128, a ninth byte has eight bits."""
    v = (v << 1 ^ v >> 63) & M64
    for _ in range(8):
        if v < 0x80:
            out.append(v)
            return
        out.append(v & 0x7F | 0x80)
        v >>= 7
    out.append(v)


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MILLISECOND = datetime.timedelta(milliseconds=1)


def decoder(types):
    """Returns a function that converts a row to Python values of the declared types."""
    plain = all(t.rstrip("?") not in ("bool", "time") for t in types)
    if plain:
        return None
    convert = []
    for t in types:
        t = t.rstrip("?")
        if t == "bool":
            convert.append(lambda v: None if v is None else v != 0)
        elif t == "time":
            convert.append(lambda v: None if v is None else EPOCH + v * MILLISECOND)
        else:
            convert.append(lambda v: v)

    def decode(row):
        try:
            return [f(v) for f, v in zip(convert, row)]
        except (OverflowError, TypeError):
            check_types(types, row)
            raise

    return decode


CLASSES = {type(None): "null", int: "integer", float: "real", str: "text", bytes: "blob"}
WORDS = {"integer": "int"}  # the words of the workload language that differ


def check_types(types, row, number=None, **subject):
    """Refuses a value whose class in SQLite does not match its column's type."""
    for i, (v, t) in enumerate(zip(row, types)):
        got, kind = CLASSES[type(v)], t.rstrip("?")
        wanted = {"real": ("real", "integer"), "text": ("text",), "blob": ("blob",)}.get(kind, ("integer",))
        if got in wanted or got == "null" and t.endswith("?"):
            continue
        declared = kind + " or null" if t.endswith("?") else kind
        instead = kind + " or null" if got == "null" else WORDS.get(got, got)
        where = f" in row {number}" if number else ""
        raise Failure(
            "type",
            f"column {i + 1} is declared {declared} and holds {got.upper()}{where}: "
            f"declare it {instead}, or convert it in the SQL",
            column=i + 1,
            **subject,
        )


def checksum_row(h, row, types):
    for v, t in zip(row, types):
        t = t.rstrip("?")
        if v is None:
            h.update(b"N")
        elif t == "real":
            h.update(b"R" + struct.pack("<d", v))
        elif t in ("text", "blob"):
            b = v.encode() if isinstance(v, str) else v
            h.update((b"T" if t == "text" else b"B") + struct.pack("<Q", len(b)) + b)
        else:
            if t == "time":
                v = (v - EPOCH) // MILLISECOND
            h.update(b"I" + struct.pack("<q", int(v)))


# Settings: the vocabulary of docs/worker-protocol.md, in order of application.

PRAGMAS = {
    "busy_timeout": None,
    "page_size": None,
    "auto_vacuum": ["none", "full", "incremental"],
    "locking_mode": None,
    "journal_mode": None,
    "synchronous": ["off", "normal", "full", "extra"],
    "foreign_keys": ["off", "on"],
    "cache_size": None,
    "mmap_size": None,
    "temp_store": ["default", "file", "memory"],
    "wal_autocheckpoint": None,
    "secure_delete": ["off", "on", "fast"],
}


OPENING = ["mode", "cache", "pool_size", "pool_idle", "txlock"]


def check_settings(settings):
    """Refuses unknown settings, because the lab could not find out that they were not applied."""
    for name, value in settings.items():
        if name not in PRAGMAS and name not in OPENING and (name, value) != ("processes", "1"):
            raise Failure("setting", f"{name}: {INFO['limits'].get(name, 'this worker does not know the setting')}")


def connect(path, settings, files=False):
    uri = "file:" + urllib.parse.quote(path)
    query = {k: settings[k] for k in ("mode", "cache") if k in settings}
    if query:
        uri += "?" + urllib.parse.urlencode(query)
    conn = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    if not files:
        conn.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for name in PRAGMAS:
        if name in settings:
            conn.execute(f"PRAGMA {name}={settings[name]}").fetchall()
    return conn


# Matches a VACUUM of the database itself, without INTO. Comments may precede it.
PLAIN_VACUUM = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(vacuum(?:\s+\w+)?)\s*;?\s*", re.ASCII | re.DOTALL | re.IGNORECASE)


def run_script(conn, sql):
    """Runs a script. Only a VACUUM may attach a database, because it does so by itself."""
    if "vacuum" not in sql.lower():
        conn.executescript(sql)
        return
    before, statement = "", ""
    for piece in re.split("(?<=;)", sql):
        statement += piece
        if not sqlite3.complete_statement(statement):
            continue
        plain = PLAIN_VACUUM.fullmatch(statement)
        if plain is None:
            before += statement
        else:
            conn.executescript(before)
            most = conn.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)
            try:
                conn.execute(plain[1])
            finally:
                conn.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, most)
            before = ""
        statement = ""
    if PLAIN_VACUUM.fullmatch(statement) and not statement.endswith(";"):
        conn.executescript(before)
        run_script(conn, statement + ";")
    else:
        conn.executescript(before + statement)


def read_settings(conn):
    got = {}
    for name, words in PRAGMAS.items():
        row = conn.execute(f"PRAGMA {name}").fetchone()
        if row is None:
            if name == "mmap_size":
                got[name] = "0"  # compiled without memory mapping
            continue
        v = row[0]
        got[name] = words[v] if words and v in range(len(words)) else str(v).lower()
    return got


def is_lock(e):
    """Reports whether a lock caused an error of SQLite."""
    return getattr(e, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_result(op, e):
    """Reports whether an error of SQLite is one of the results that an operation declares."""
    code = getattr(e, "sqlite_errorcode", 0)
    return any(code == r or r <= 0xFF and code & 0xFF == r for r in op.get("results") or ())


# Errors that a statement and its data can cause. Only these can be declared as results.
RESULTS = (1, 18, 19, 20)  # SQLITE_ERROR, TOOBIG, CONSTRAINT, MISMATCH


def undeclared(op, e):
    """Returns an error that ends the trial. It says how to declare the error as a result of the operation."""
    if getattr(e, "sqlite_errorcode", 0) & 0xFF not in RESULTS:
        return e
    name = e.sqlite_errorname
    how = f"if this error is expected, declare it in the operation: results: [{name}]"
    return Failure("sqlite", f"{name}: operation {op['name']}: {e} ({how})", sqlite=e.sqlite_errorcode, operation=op["name"])


def refusal(conn, sql):
    """Returns the primary code of the error if a lock prevents the statement, or 0."""
    try:
        conn.execute(sql).fetchall()
    except sqlite3.OperationalError as e:
        if not is_lock(e):
            raise
        return e.sqlite_errorcode & 0xFF
    return 0


def quote(name):
    return '"' + name.replace('"', '""') + '"'


PHASE = {"name", "untimed", "context", "changes_settings"}  # keys of a phase other than its kind
WORK = ("insert", "query", "mix", "script", "http", "replay")  # the kinds of phases


def check_loading(plan, load, loaded):
    """Refuses a plan if a phase to be loaded, or already loaded, does more than fill the database."""
    phases = plan.get("phases") or []
    for field, n in ("load", load), ("loaded", loaded):
        fill = all(p.get("untimed") and ("insert" in p or "script" in p) for p in phases[:n])
        if not 0 <= n <= len(phases) or not fill or load and loaded:
            raise Failure("plan", f"{field} is {n}: want at most the number of untimed inserts and scripts that the plan begins with")


def check_plan(plan, pool):
    """Refuses a plan that cannot be run, before anything is opened. The reason names the field."""

    def want(right, field, value, wanted):
        if not right:
            raise Failure("plan", f"plan.{field} is {value!r}: want {wanted}")

    sets = {}
    for i, d in enumerate(plan.get("data_sets") or []):
        at = f"data_sets[{i}]"
        parent = d.get("parent")
        want(not parent or parent in sets, f"{at}.parent", parent, "a data set that comes before")
        total = d["count"] * (sets[parent]["total"] if parent else 1)
        want(d["total"] == total >= 0, f"{at}.total", d["total"], f"{total}, as the counts multiply")
        sets[d["name"]] = d
    for i, p in enumerate(plan.get("phases") or []):
        at = f"phases[{i}]"
        kinds = [k for k in WORK if k in p]
        want(len(kinds) == 1, at, kinds, "exactly one of " + ", ".join(WORK))
        at += "." + kinds[0]
        work = p[kinds[0]]
        if kinds == ["insert"]:
            for name in work["sets"]:
                want(name in sets, f"{at}.sets", name, "data sets of the plan")
            want(work["transaction"] in ("one", "set", "each", "every", "per"), f"{at}.transaction", work["transaction"],
                 "one, set, each, every or per")
            want(work["rows_per_statement"] >= 1, f"{at}.rows_per_statement", work["rows_per_statement"], "1 or more")
        elif kinds in (["query"], ["mix"]):
            held = kinds == ["query"] or work.get("own_conn")
            want(work["clients"] >= 1, f"{at}.clients", work["clients"], "1 or more")
            want(not held or work["clients"] <= pool, f"{at}.clients", work["clients"],
                 f"at most {pool}, settings.pool_size, since each keeps a connection")


def environment(request):
    """Returns the environment variables that the request names and that are set."""
    return {name: os.environ[name] for name in request.get("environment") or [] if name in os.environ}


class Trial:
    CHUNK = 20_000  # number of rows, or of a client's operations, that are made at a time
    VERIFIED = 1000  # number of operations of a mix that are run to verify their answers

    def __init__(self, request):
        self.path, self.settings = request["path"], request.get("settings") or {}
        self.plan = request["plan"]
        self.seed = request["seed"]
        self.environment = environment(request)
        self.brief = request.get("brief") or []
        self.load, self.loaded = request.get("load", 0), request.get("loaded", 0)
        self.alternate, self.orders = request.get("alternate", False), threading.Semaphore(0)
        self.slices = (request.get("slices") or {}) if self.alternate else {}
        self.repeats = (request.get("repeats") or {}) if self.alternate else {}
        self.begin = ("BEGIN " + self.settings.get("txlock", "")).strip().upper()
        self.phase = None
        self.conns = []
        self.owned = threading.Lock()
        self.begun = False  # true from when the database belongs to this trial

    def run(self):
        if os.path.exists(self.path) != bool(self.loaded):
            wrong = "does not exist, and is to be loaded already" if self.loaded else "exists already: a trial makes its own database"
            raise Failure("path", f"{self.path} {wrong}")
        self.begun = True
        threading.Thread(target=self.watch, daemon=True).start()
        check_settings(self.settings)
        check_plan(self.plan, int(self.settings.get("pool_size", 1)))
        check_loading(self.plan, self.load, self.loaded)
        try:
            self.gen = Generator(self.seed, self.plan)
        except (ArithmeticError, LookupError, TypeError, ValueError) as e:
            raise Failure("plan", f"the data sets cannot be made: {e!r}") from e
        for _ in range(int(self.settings.get("pool_size", 1))):
            self.conns.append(connect(self.path, self.settings, self.plan.get("files", False)))
        answer(type="ready", protocol=PROTOCOL, proof=self.proof())
        conn = self.conns[0]
        if self.plan.get("schema") and not self.loaded:
            run_script(conn, self.plan["schema"])
        self.read_again()
        phases = self.plan.get("phases") or []
        if self.loaded:
            self.wake_wal(conn)
            self.tell_loaded(phases[: self.loaded])
        for p in phases[self.loaded : self.load or None]:
            self.phase = p["name"]
            self.wait()
            answer(type="phase", phase=p["name"])
            sample = self.run_phase(p)
            self.read_again(phase=p["name"])
            if not p.get("untimed"):
                answer(type="sample", sample=sample)
        self.phase = None
        if self.load:
            self.tell_loaded(phases[: self.load])
        self.wait()

    def wait(self, **within):
        """Waits for the trial's turn, if the trial takes turns with others."""
        if self.alternate:
            answer(type="waiting", **within)
            self.orders.acquire()

    def next_slice(self):
        """Ends a slice (a part) of the current phase, and waits for the turn of the next slice."""
        self.wait(phase=self.phase)

    def chunk(self):
        """Returns the number of rows or operations to make at a time, at most those of a slice."""
        return min(self.CHUNK, self.slices.get(self.phase, self.CHUNK))

    def close(self):
        for conn in self.conns:
            conn.close()
        self.owned.acquire()  # from here on, the lab removes the database

    def watch(self):
        """Counts the orders to proceed, which are lines of input. Gives up the trial when the input ends."""
        while said := os.read(0, 1 << 16):
            for _ in range(said.count(b"\n")):
                self.orders.release()
        if self.owned.acquire(blocking=False):
            self.abandon()

    def abandon(self):
        """Removes the database, and ends the process."""
        if self.begun:
            for suffix in "", "-wal", "-shm", "-journal":
                try:
                    os.remove(self.path + suffix)
                except OSError:
                    pass
        os._exit(1)

    def read_again(self, **after):
        """Reports which settings are in force. It also makes every connection read the schema."""
        connections = []
        for conn in self.conns:
            conn.execute("SELECT count(*) FROM sqlite_master").fetchall()
            connections.append(read_settings(conn))
        answer(type="settings", connections=connections, **after)

    def proof(self):
        seen = self.observe()
        for conn in self.conns:  # with a WAL, SQLite may change synchronous when it first reads the database
            conn.execute("SELECT count(*) FROM sqlite_master").fetchall()
        seen["pool_size"] = str(len(self.conns))
        if "pool_idle" in self.settings:  # all stay open
            seen["pool_idle"] = str(max(int(self.settings["pool_idle"]), len(self.conns)))
        if "processes" in self.settings:
            seen["processes"] = "1"
        conn = self.conns[0]
        version, source = conn.execute("SELECT sqlite_version(), sqlite_source_id()").fetchone()
        return {
            "connections": [{**read_settings(c), **seen} for c in self.conns],
            "sqlite_version": version,
            "sqlite_source_id": source,
            "compile_options": [o for (o,) in conn.execute("PRAGMA compile_options")],
            "module": INFO["module"],
            "environment": self.environment,
            **LINKED,
        }

    def observe(self):
        """Finds out txlock and cache by trying a second handle on the file, and mode by the file."""
        conn, got = self.conns[0], read_settings(self.conns[0])
        if self.settings.get("mode") == "memory":
            conn.executescript("CREATE TABLE sqlite3perf_probe(x); DROP TABLE sqlite3perf_probe")
            return {"mode": "rwc" if file_size(self.path) else "memory"}
        if got.get("locking_mode") == "exclusive":
            return {}
        other = connect(self.path, {**self.settings, "busy_timeout": "0"})
        try:
            conn.execute("BEGIN IMMEDIATE")
            shared = refusal(other, "BEGIN IMMEDIATE") == sqlite3.SQLITE_LOCKED
            seen = {"cache": "shared" if shared else "private"}
            conn.execute("ROLLBACK")
            conn.execute(self.begin)
            if not refusal(other, "BEGIN IMMEDIATE"):
                other.execute("ROLLBACK")
                seen["txlock"] = "deferred"
            elif got["journal_mode"] == "wal":  # in WAL mode, exclusive is the same as immediate
                wanted = self.settings.get("txlock")
                seen["txlock"] = wanted if wanted == "exclusive" else "immediate"
            elif refusal(other, "SELECT count(*) FROM sqlite_master"):
                seen["txlock"] = "exclusive"
            else:
                seen["txlock"] = "immediate"
            return seen
        finally:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            other.close()

    def run_phase(self, p):
        watch = Stopwatch()
        sample = {"phase": p["name"], "rows": 0, "allocs": 0, "alloc_bytes": 0}
        verify = p.get("insert", {}).get("verify") or []
        before = self.stored(verify)
        gc.collect()
        if "insert" in p:
            self.insert(p["insert"], sample, watch)
        elif "query" in p:
            self.query(p, sample, watch)
        elif "mix" in p:
            self.mix(p, sample, watch)
        elif "script" in p:
            with watch:
                run_script(self.conns[0], p["script"])
            sample["operations"] = 1
        else:
            raise Failure("unsupported", f"this worker runs no {' or '.join(p.keys() - PHASE)} phases")
        sample.update(wall_ns=watch.wall, user_ns=watch.user, system_ns=watch.system, peak_rss_bytes=peak_rss())
        sample["wal_bytes"] = file_size(self.path + "-wal")
        if sample["wal_bytes"]:
            checkpoint = Stopwatch()
            with checkpoint:
                busy = self.conns[0].execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if busy:
                raise Failure("checkpoint", "the checkpoint after the phase was blocked")
            sample["checkpoint_ns"] = checkpoint.wall
        sample["database_bytes"] = file_size(self.path)
        if verify:
            self.inserted(verify, before)
        full = p["name"] not in self.brief
        if full and "query" in p and not p.get("untimed"):
            sample["checksum"] = self.checksum(p)
        if full and "mix" in p:
            self.check()
        return sample

    def check(self):
        """Asks SQLite to check the database, on a new connection if there can be one.

        On a connection that has searched an FTS5 index before another one wrote to it,
        quick_check says that the index is corrupt.  In a shared cache it may wait for itself.
        """
        conn, checks = self.conns[0], ["1"]
        if self.settings.get("mode") != "memory" and read_settings(conn).get("locking_mode") != "exclusive":
            conn = connect(self.path, {**self.settings, **({"cache": "private"} if "cache" in self.settings else {})})
        elif self.settings.get("cache") == "shared":
            tables = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").fetchall()
            checks = ["'" + name.replace("'", "''") + "'" for (name,) in tables]
        try:
            for check in checks:
                found = conn.execute(f"PRAGMA quick_check({check})").fetchone()[0]
                if found != "ok":
                    raise Failure("integrity", f"quick_check after the phase: {found}")
        finally:
            if conn is not self.conns[0]:
                conn.close()

    # Insert phases.

    def rows(self, s, lo, hi, phase, watch):
        """Returns rows of a data set. Making them counts as work only if the phase has timed_values."""
        if not phase.get("timed_values"):
            return s.rows(lo, hi)
        with watch:
            return s.rows(lo, hi)

    def insert(self, phase, sample, watch):
        conn, sets = self.conns[0], [self.gen.sets[name] for name in phase["sets"]]
        per, policy = phase["rows_per_statement"], phase["transaction"]
        self.ad_hoc = phase.get("ad_hoc", False)
        self.inserted_rows = 0  # in the current slice
        sample["rows"] = sample["operations"] = sum(s.total for s in sets)
        if policy == "per":
            return self.insert_nested(conn, sets, per, phase, watch)
        for s in sets:
            step = phase["every"] if policy == "every" else per
            step *= max(self.chunk() // step, 1)
            for lo in range(0, s.total, step):
                if lo:
                    self.rest(step)
                rows = self.rows(s, lo, min(lo + step, s.total), phase, watch)
                with watch:
                    if policy == "every":
                        for k in range(0, len(rows), phase["every"]):
                            conn.execute(self.begin)
                            self.write(conn, s, rows[k : k + phase["every"]], per)
                            conn.execute("COMMIT")
                        continue
                    if policy != "each" and not conn.in_transaction:
                        conn.execute(self.begin)
                    self.write(conn, s, rows, per)
            if policy == "set" and conn.in_transaction:
                with watch:
                    conn.execute("COMMIT")
        if conn.in_transaction:
            with watch:
                conn.execute("COMMIT")

    def insert_nested(self, conn, sets, per, phase, watch):
        root = sets[0]
        children = {s.name: [c for c in sets[1:] if c.parent == s.name] for s in sets}
        widest = max(s.rows_per(root.name) for s in sets)
        step = max(self.chunk() // widest, 1)
        for lo in range(0, root.total, step):
            if lo:
                self.rest(step * widest)
            hi = min(lo + step, root.total)
            made, first = {}, {}

            def make(s, lo, hi):
                made[s.name], first[s.name] = self.rows(s, lo, hi, phase, watch), lo
                for c in children[s.name]:
                    make(c, lo * c.count, hi * c.count)

            def tree(s, lo, hi):
                rows, at = made[s.name], first[s.name]
                if not children[s.name]:
                    self.write(conn, s, rows[lo - at : hi - at], per)
                    return
                for r in range(lo, hi):
                    self.write(conn, s, rows[r - at : r - at + 1], per)
                    for c in children[s.name]:
                        tree(c, r * c.count, (r + 1) * c.count)

            make(root, lo, hi)
            with watch:
                for r in range(lo, hi):
                    conn.execute(self.begin)
                    tree(root, r, r + 1)
                    conn.execute("COMMIT")

    def rest(self, rows):
        """Counts rows that were inserted. Waits for the next turn if they complete a slice."""
        size = self.slices.get(self.phase)
        if size:
            self.inserted_rows += rows
            if self.inserted_rows >= size:
                self.inserted_rows = 0
                self.next_slice()

    def write(self, conn, s, rows, per):
        """Inserts rows. Each statement has as many rows as the parameter per; the last one may have fewer."""
        whole = len(rows) // per * per
        if per == 1 and not self.ad_hoc:
            conn.executemany(self.statement(s, 1), rows)
            return
        for lo in range(0, whole, per):
            conn.execute(self.statement(s, per), [v for row in rows[lo : lo + per] for v in row])
        if whole < len(rows):
            conn.execute(self.statement(s, len(rows) - whole), [v for row in rows[whole:] for v in row])

    def statement(self, s, groups):
        columns = ",".join(map(quote, s.shown))
        return f"INSERT INTO {quote(s.table)}({columns}) VALUES {','.join([s.group] * groups)}"

    # Reading back.

    def stored(self, tables):
        """Returns the number of rows of each table, and the sum of their hashes."""
        found, conn = [], self.conns[0]
        for t in tables:
            columns, types = t.get("columns"), t.get("types")
            if not columns:
                rows = conn.execute(f"SELECT count(*) FROM {quote(t['table'])} NOT INDEXED").fetchone()[0]
                found.append((rows, None))
                continue
            decode = decoder(types) or list
            rows = total = 0
            for row in conn.execute(f"SELECT {','.join(map(quote, columns))} FROM {quote(t['table'])} NOT INDEXED"):
                h = hashlib.sha256()
                checksum_row(h, decode(row), types)
                total += int.from_bytes(h.digest(), "big")
                rows += 1
            found.append((rows, total))
        return found

    def inserted(self, tables, before):
        """Returns the number and the checksum of the rows that were added to each table."""
        answers = []
        for t, (rows, total), (rows0, total0) in zip(tables, self.stored(tables), before):
            a = {"table": t["table"], "rows": rows - rows0}
            if total is not None:
                a["checksum"] = f"{(total - total0) % 2**256:064x}"
            answers.append(a)
        answer(type="inserted", phase=self.phase, tables=answers)

    def wake_wal(self, conn):
        """Writes to a database in WAL mode, because before the first write SQLite asks for the file's size in each transaction."""
        if conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            conn.execute(f"PRAGMA user_version = {conn.execute('PRAGMA user_version').fetchone()[0]}")
            if conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise Failure("checkpoint", "the checkpoint of the loaded database was blocked")

    def tell_loaded(self, phases):
        """Reports how many rows there are in the tables into which the phases insert."""
        names = {t["table"]: None for p in phases for t in p.get("insert", {}).get("verify") or []}  # each table once, in order
        tables = [{"table": name} for name in names]
        answer(type="loaded", tables=[{**t, "rows": rows} for t, (rows, _) in zip(tables, self.stored(tables))])

    # Query phases.

    def executions(self, p):
        q = p["query"]
        for_each = q.get("for_each")
        return self.gen.parameters(p["name"], q, for_each, range(self.gen.sets[for_each].total if for_each else 1))

    def query(self, p, sample, watch):
        q, parameters = p["query"], self.executions(p)
        clients = [Client(conn, q, parameters) for conn in self.conns[: q["clients"]]]
        size = self.slices.get(self.phase)
        each = size and max(1, size // len(clients))
        while True:
            with watch:
                at_once([lambda c=c: c.run(each) for c in clients])
            if any(c.error for c in clients) or clients[0].done == len(parameters) * q["repeat"]:
                break
            self.next_slice()
        repeats = self.repeats.get(self.phase, 1) if len(parameters) * q["repeat"] == 1 else 1
        for n in range(1, repeats):
            if any(c.error for c in clients):
                break
            most = max(2, -(-repeats // (12 if len(clients) == 1 else 6)))
            if n % most == 0 and repeats - n >= most:
                self.next_slice()
            for c in clients:
                c.done = 0
            gc.collect()
            with watch:
                at_once([c.run for c in clients])
        watch.divide(repeats)
        if repeats > 1:
            sample["executions"] = repeats
        histogram = Histogram()
        for c in clients:
            if c.error:
                raise c.error
            sample["rows"] += c.rows // repeats
            if c.histogram:
                histogram.merge(c.histogram)
        sample["operations"] = len(parameters) * q["repeat"] * len(clients)
        if histogram.total:
            sample["latency"] = [histogram.summary("query")]

    def checksum(self, p):
        q, h = p["query"], hashlib.sha256()
        types = q["columns"]
        decode = decoder(types) or (lambda row: row)
        for values in self.executions(p):
            for n, row in enumerate(self.conns[0].execute(q["sql"], values), 1):
                check_columns(q, row)
                check_types(types, row, n)
                checksum_row(h, decode(row), types)
        return h.hexdigest()

    # Mix phases.

    def mix(self, p, sample, watch):
        m = p["mix"]
        if any(call.get("another") for op in m["operations"] for call in op["calls"]):
            raise Failure("unsupported", "this worker runs every statement of a transaction within it")
        clients = m["clients"]
        sample["checksum"] = self.verify_mix(p)
        pool = queue.SimpleQueue()
        for conn in self.conns:
            pool.put(conn)
        clock, mutex = MixClock(self.slices.get(self.phase) if not m.get("rate") else None), threading.Lock()
        every = [MixClient(self, p, i, clients, clock, pool, mutex) for i in range(clients)]
        for c in every:
            c.make(m.get("count") or self.CHUNK)
        while not all(c.ended for c in every):
            # A thread that makes parameters would delay the others, since only one
            # thread at a time runs Python. So all threads stop when one has no parameters left.
            with watch, interrupting(every):
                clock.go()
                at_once([c.run for c in every])
                clock.stand()
            for c in every:
                if c.error:
                    raise c.error
            for c in every:
                c.ended |= c.exhausted()
            if clock.over and not all(c.ended for c in every):
                self.next_slice()
                clock.next_slice()
            for c in every:
                c.make(self.CHUNK)
        self.add_up(m, every, sample)

    def add_up(self, m, clients, sample):
        errors, results = {}, {}
        for c in clients:
            sample["rows"] += c.rows
            sample["retries"] = sample.get("retries", 0) + c.retries
            for totals, counts in (errors, c.errors), (results, c.results):
                for code, e in counts.items():
                    total = totals.setdefault(code, {**e, "count": 0, "wait_ns": 0})
                    total["count"] += e["count"]
                    total["wait_ns"] += e["wait_ns"]
        sample["waits"] = waits_of(m, clients)
        sample["errors"] = [errors[code] for code in sorted(errors)]
        sample["results"] = [results[code] for code in sorted(results)]
        sample["latency"] = []
        for i, op in enumerate(m["operations"]):
            histogram = Histogram()
            for c in clients:
                histogram.merge(c.histograms[i])
            failed = sum(c.failed[i] for c in clients)
            early = sum(c.early[i] for c in clients)
            sample["latency"].append({**histogram.summary(op["name"]), "failed": failed, "ended_early": early})
        sample["operations"] = sum(latency["count"] for latency in sample["latency"])
        sample["failed"] = sum(latency["failed"] for latency in sample["latency"])
        if sample["operations"] == sample["failed"]:
            raise Failure("no-operation", f"not one operation of the mix succeeded: {sample['errors']}")

    def verify_mix(self, p):
        m, conn, h = p["mix"], self.conns[0], hashlib.sha256()
        if not any(op.get("results") or any(call.get("columns") for call in op["calls"]) for op in m["operations"]):
            return h.hexdigest()  # no operation returns anything
        client = MixClient(self, p, 0, 1, None, None, None)
        client.make(min(m.get("count") or self.VERIFIED, self.VERIFIED))
        conn.execute(self.begin)
        try:
            for i, parameters in client.todo:
                self.verify_operation(conn, m["operations"][i], parameters, h)
        finally:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
        return h.hexdigest()

    def verify_operation(self, conn, op, parameters, h):
        """Runs an operation. If its own transaction would be rolled back, rolls back to a savepoint instead."""
        within = op.get("results") or any(call.get("if_empty") == "rollback" for call in op["calls"])
        if within:
            conn.execute("SAVEPOINT sqlite3perf")
        back = False
        try:
            last = self.verify_calls(conn, op, parameters, h)
        except sqlite3.Error as e:
            if not is_result(op, e):
                raise undeclared(op, e) from e
            h.update(b"E" + struct.pack("<q", e.sqlite_errorcode & 0xFF))
            back = op.get("transaction", False)
        else:
            if last:
                h.update(b"S")
                back = last["if_empty"] == "rollback"
        if not within:
            return
        if not conn.in_transaction:
            raise Failure("sqlite", f"operation {op['name']}: a statement rolled back the whole transaction, as OR ROLLBACK "
                          "and RAISE(ROLLBACK) do: write OR ABORT or RAISE(ABORT)")
        if back:
            conn.execute("ROLLBACK TO sqlite3perf")
        conn.execute("RELEASE sqlite3perf")

    def verify_calls(self, conn, op, parameters, h):
        """Hashes the results of the calls. Returns the call that ended the operation, if there is one."""
        for call, values in zip(op["calls"], parameters):
            types, n = call.get("columns"), 0
            for row in conn.execute(call["sql"], values).fetchall():
                if types:
                    n += 1
                    check_columns(call, row)
                    check_types(types, row, n, operation=op["name"])
                    checksum_row(h, (decoder(types) or list)(row), types)
            if not n and call.get("if_empty"):
                return call
            check_rows(call, n)
        return None


def at_once(functions):
    """Runs functions at once: the first in this thread, each of the others in its own."""
    threads = [threading.Thread(target=f) for f in functions[1:]]
    for t in threads:
        t.start()
    functions[0]()
    for t in threads:
        t.join()


def result_of(conn, sql, values):
    """Returns an iterable over the rows of a query."""
    rows = conn.execute(sql, values)
    return rows.fetchall() if FETCHALL else rows


def check_rows(call, n):
    if call.get("columns") and call["rows"] >= 0 and n != call["rows"]:
        raise Failure("rows", f"{call['sql']} returned {n} rows, expected {call['rows']}")


def check_columns(call, row):
    if len(row) != len(call["columns"]):
        raise Failure("error", f"the result has {len(row)} columns, and {len(call['columns'])} are declared: {call['sql']}")


class MixClock:
    """A clock in ns that is stopped while parameters are made, and between slices (parts) of the mix."""

    def __init__(self, size):
        self.at, self.since = 0, None
        self.dry = False  # true if all clients must stop: some client has no operation left, or the slice is over
        self.size = size  # operations of all clients in a slice; None if the mix is measured in one piece
        self.next_slice()

    def next_slice(self):
        self.done, self.over = itertools.count(1), False

    def count(self):
        """Counts an operation that has ended."""
        if self.size and next(self.done) == self.size:
            self.over = self.dry = True

    def go(self):
        self.since, self.dry = time.perf_counter_ns(), False

    def stand(self):
        self.at, self.since = self.now(), None

    def now(self):
        return self.at + time.perf_counter_ns() - self.since


NO_MUTEX = NO_LIMIT = contextlib.nullcontext()
CANCELED = -1, "canceled"  # the code, and its name, of an operation that was ended by its timeout


class Waits:
    """Counts how often a client has waited for something, and for how long."""

    def __init__(self):
        self.count = self.ns = 0

    def add(self, began):
        self.count += 1
        self.ns += time.perf_counter_ns() - began


class CountedMutex:
    """The mutex of a mix, for one client. It counts how long the client waits."""

    def __init__(self, mutex):
        self.mutex, self.waits = mutex, Waits()

    def __enter__(self):
        if not self.mutex.acquire(blocking=False):
            began = time.perf_counter_ns()
            self.mutex.acquire()
            self.waits.add(began)

    def __exit__(self, *exc):
        self.mutex.release()


def waits_of(m, clients):
    """Returns how long the clients of a mix have waited, for each thing that the mix makes them wait for."""
    kinds = {"connection": [c.for_connection for c in clients]}
    if m.get("mutex") or any(op.get("mutex") or any(call.get("mutex") for call in op["calls"]) for op in m["operations"]):
        kinds["mutex"] = [c.mutex.waits for c in clients]
    if m.get("retry"):
        kinds["retry"] = [c.backed_off for c in clients]
    return [{"for": k, "count": sum(w.count for w in all), "wait_ns": sum(w.ns for w in all)} for k, all in kinds.items()]


@contextlib.contextmanager
def interrupting(clients):
    """While the context lasts, a thread interrupts statements when their operation's timeout is over."""
    if not any(op.get("timeout_ms") for op in clients[0].mix["operations"]):
        yield
        return

    def interrupt():
        # Timeouts are whole milliseconds. Interrupts are repeated until the operation has ended,
        # because SQLite forgets an interrupt that comes between two statements.
        while not over.wait(0.001):
            for c in clients:
                c.interrupt_late()

    over = threading.Event()
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Running:
    """The connection on which an operation with a timeout is running, if there is one."""

    def __init__(self):
        self.conn, self.lock = None, threading.Lock()

    def on(self, conn):
        self.conn = conn
        return self

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        with self.lock:  # so that the next operation on the connection is not interrupted
            self.conn = None


class MixClient:
    """One thread of a mix."""

    def __init__(self, trial, p, number, clients, clock, pool, mutex):
        self.mix, self.number, self.clients = p["mix"], number, clients
        self.gen, self.name, self.begin = trial.gen, p["name"], trial.begin
        self.clock, self.pool, self.own = clock, pool, None
        self.mutex, self.for_connection, self.backed_off = CountedMutex(mutex), Waits(), Waits()
        self.deadline, self.running = None, Running()
        if self.mix.get("own_conn") and pool:
            self.own = trial.conns[number]
        operations = self.mix["operations"]
        self.order = Stream(self.gen.seed, self.name)
        self.weights = sum(op["weight"] for op in operations)
        self.made = [0] * len(operations)  # number of executions whose parameters were made, by operation
        self.chosen = 0  # number of operations that were chosen so far
        self.todo, self.next = [], 0
        self.histograms = [Histogram() for _ in operations]
        self.failed = [0] * len(operations)
        self.early = [0] * len(operations)  # executions that ended early because a statement returned no rows
        self.decoders = [[decoder(call.get("columns") or []) for call in op["calls"]] for op in operations]
        self.rows, self.errors, self.results, self.error, self.ended = 0, {}, {}, None, False
        self.retries = 0
        self.started = 0  # number of operations that have begun
        self.last = 0  # when the last operation ended

    def make(self, n):
        """Makes the parameters of the client's next operations, until n are ready."""
        self.todo, self.next = self.todo[self.next :], 0
        n -= len(self.todo)
        if self.mix.get("count"):
            left = len(range(self.number + self.chosen * self.clients, self.mix["count"], self.clients))
            n = min(n, left)
        operations, order = self.mix["operations"], []
        for _ in range(n):
            u = below(self.order.draw(self.number + self.chosen * self.clients), self.weights)
            self.chosen += 1
            i = 0
            while u >= operations[i]["weight"]:
                u -= operations[i]["weight"]
                i += 1
            order.append(i)
        made = []
        for i, op in enumerate(operations):
            k = order.count(i)
            first = self.number + self.made[i] * self.clients
            rows = range(first, first + k * self.clients, self.clients)
            self.made[i] += k
            stream = f"{self.name}.{op['name']}"
            made.append(zip(*(self.gen.parameters(stream, call, None, rows) for call in op["calls"])))
        self.todo += [(i, next(made[i])) for i in order]

    def run(self):
        if self.started:  # waiting for the other clients belongs to no operation
            self.last = self.clock.now()
        try:
            while not (self.clock.dry or self.ended):
                self.once()
        except Exception as e:
            self.error, self.ended, self.clock.dry = e, True, True

    def exhausted(self):
        """Reports whether the client has done all of its operations."""
        count = self.mix.get("count") or math.inf
        return self.next == len(self.todo) and self.number + self.chosen * self.clients >= count

    def once(self):
        if self.next == len(self.todo):
            self.ended = self.exhausted()
            self.clock.dry |= not self.ended
            return
        start = self.last
        if self.mix.get("rate"):
            start = int((self.number + self.started * self.clients) / self.mix["rate"] * 1e9)
        if self.mix.get("duration_ms") and start >= self.mix["duration_ms"] * 1_000_000:
            self.ended = True
            return
        wait = start - self.clock.now()
        if wait > 0:
            time.sleep(wait / 1e9)
        i, parameters = self.todo[self.next]
        self.next += 1
        self.started += 1
        op = self.mix["operations"][i]
        self.deadline = None
        if op.get("timeout_ms"):
            self.deadline = time.perf_counter_ns() + op["timeout_ms"] * 1_000_000
        try:
            self.early[i] += self.attempts(op, parameters, self.decoders[i])
        except (sqlite3.Error, TimeoutError) as e:
            self.last = self.clock.now()
            if self.canceled(e):
                code, name, counts = *CANCELED, self.errors
            elif is_lock(e):
                code, name, counts = e.sqlite_errorcode, e.sqlite_errorname, self.errors
            elif is_result(op, e):
                code, name, counts = e.sqlite_errorcode, e.sqlite_errorname, self.results
            else:
                raise undeclared(op, e) from e
            if counts is self.errors:
                self.failed[i] += 1
            count = counts.setdefault(code, {"code": code, "name": name, "count": 0, "wait_ns": 0})
            count["count"] += 1
            count["wait_ns"] += self.last - start
        else:
            self.last = self.clock.now()
        self.histograms[i].record(self.last - start)
        self.clock.count()

    def left(self):
        """Returns how many ns are left of the operation's timeout, or None if it has no timeout."""
        return self.deadline and self.deadline - time.perf_counter_ns()

    def in_time(self):
        """Ends an operation whose timeout is over."""
        if self.deadline and self.left() <= 0:
            raise TimeoutError

    def canceled(self, e):
        """Reports whether an operation was ended by its timeout."""
        if isinstance(e, TimeoutError):
            return True
        interrupted = getattr(e, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT
        return interrupted or self.deadline is not None and self.left() <= 0 and is_lock(e)

    def limited(self, conn):
        """Returns a context in which statements on the connection are interrupted after the operation's timeout."""
        return self.running.on(conn) if self.deadline else NO_LIMIT

    def interrupt_late(self):
        """Interrupts the running operation if its timeout is over."""
        with self.running.lock:
            if self.running.conn and self.left() <= 0:
                self.running.conn.interrupt()

    def attempts(self, op, *work):
        """Does an operation, and repeats it if a lock made it fail. Returns whether it ended early, at a statement without rows."""
        policy = self.mix.get("retry") or {"attempts": 1}
        backoff = policy.get("backoff_us", 0) / 1e6
        for left in reversed(range(policy["attempts"])):
            try:
                with self.mutex if self.mix.get("mutex") or op.get("mutex") else NO_MUTEX:
                    return self.do(op, *work)
            except sqlite3.Error as e:
                if not left or not is_lock(e):
                    raise
            began = time.perf_counter_ns()
            time.sleep(min(backoff, max(self.left(), 0) / 1e9) if self.deadline else backoff)
            self.backed_off.add(began)
            self.in_time()
            backoff *= 2
            self.retries += 1

    def call(self, conn, call, values, decode):
        """Runs one call. Returns whether it ends the operation, because it returned no rows."""
        if not call.get("columns"):
            conn.execute(call["sql"], values)
            return False
        n = 0
        for row in result_of(conn, call["sql"], values):
            if decode:
                decode(row)
            n += 1
        self.rows += n
        if not n and call.get("if_empty"):
            return True
        check_rows(call, n)
        return False

    def do(self, op, *calls):
        if not op.get("transaction"):
            return self.calls(None, op, *calls) is not None
        conn = self.take()
        try:
            with self.limited(conn):
                conn.execute(self.begin)
                last = self.calls(conn, op, *calls)
                self.in_time()
                conn.execute("ROLLBACK" if last and last["if_empty"] == "rollback" else "COMMIT")
            return last is not None
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise
        finally:
            self.give(conn)

    def calls(self, held, op, parameters, decoders):
        """Runs the calls. Returns the call that ended the operation because it returned no rows, or None."""
        for call, values, decode in zip(op["calls"], parameters, decoders):
            with self.mutex if call.get("mutex") else NO_MUTEX:
                self.in_time()
                if held:
                    if self.call(held, call, values, decode):
                        return call
                    continue
                conn = self.take()
                try:
                    with self.limited(conn):
                        if self.call(conn, call, values, decode):
                            return call
                finally:
                    self.give(conn)
        return None

    def take(self):
        """Takes a connection of the pool. Waits until one is free."""
        self.in_time()
        if self.own:
            return self.own
        try:
            return self.pool.get_nowait()
        except queue.Empty:
            pass
        began = time.perf_counter_ns()
        try:
            return self.pool.get(timeout=max(self.left(), 0) / 1e9 if self.deadline else None)
        except queue.Empty:
            raise TimeoutError from None
        finally:
            self.for_connection.add(began)

    def give(self, conn):
        if not self.own:
            self.pool.put(conn)


class Client:
    """One thread of a query phase, on its own connection."""

    def __init__(self, conn, query, parameters):
        self.conn, self.query, self.parameters = conn, query, parameters
        self.rows, self.error = 0, None
        self.done = 0  # executions so far
        self.histogram = Histogram() if len(parameters) * query["repeat"] > 1 else None

    def run(self, most=None):
        """Executes the query repeatedly with each set of parameters. Returns after at most the given number of executions."""
        try:
            whole = len(self.parameters) * self.query["repeat"]
            end = whole if most is None else min(whole, self.done + most)
            while self.done < end:
                first = self.done % len(self.parameters)
                self.some(first, min(len(self.parameters), first + end - self.done))
        except Exception as e:
            self.error = e

    def some(self, lo, hi):
        sql, wanted = self.query["sql"], self.query["rows"]
        decode, histogram = decoder(self.query["columns"]), self.histogram
        last = time.perf_counter_ns()
        for r in range(lo, hi):
            n = 0
            for row in result_of(self.conn, sql, self.parameters[r]):
                if decode:
                    decode(row)
                n += 1
            self.rows += n
            if wanted >= 0 and n != wanted:
                raise Failure("rows", f"execution {r} of the query returned {n} rows, expected {wanted}")
            if histogram:
                now = time.perf_counter_ns()
                histogram.record(now - last)
                last = now
        self.done += hi - lo


class Bench:
    """The job bench: reads every row of a table, hashes its value and compares the hash."""

    COUNTED = 1024  # number of rows between two readings of the clock
    LISTED = 10  # number of mismatches that are described

    def __init__(self, request):
        self.path, self.settings = request["path"], request.get("settings") or {}
        self.job = request["job"]["bench"]
        self.environment = environment(request)
        self.stopped = threading.Event()
        self.mismatches, self.first = 0, []

    def watch(self):
        """Stops the job when the lab closes the input."""
        while os.read(0, 1 << 16):
            pass
        self.stopped.set()

    def run(self):
        if self.job.get("pipeline"):
            raise Failure("usage", "Python hashes where it reads: leave it out", fields=[{"name": "pipeline", "value": "true"}])
        threading.Thread(target=self.watch, daemon=True).start()
        check_settings(self.settings)
        conn = connect(self.path, self.settings)
        try:
            self.prove(conn)
            name = self.job["table"].replace('"', '""')
            have = [c for _, c, *_ in conn.execute(f'PRAGMA table_info("{name}")')]
            if not have:
                raise Failure("database", f"there is no table {self.job['table']}: sqlite3perf generate makes it, or name another", fields=[{"name": "table"}])
            for want in "ID", "rand", "hash":
                if want.lower() not in (c.lower() for c in have):
                    raise Failure("database", f"table {self.job['table']} has no column {want} (it has {', '.join(have)}): want one with ID, rand and hash, as sqlite3perf generate makes it")
            return self.read(conn, f'SELECT ID, rand, hash FROM "{name}"')
        finally:
            conn.close()

    def prove(self, conn):
        got = {**read_settings(conn), "pool_size": "1"}
        wrong = [f"{k}: wanted {v}, got {got[k]}" for k, v in self.settings.items() if k in got and got[k] != v]
        if wrong:
            raise Failure("setting", "; ".join(wrong) + ", on connection 1 of 1")
        version, source = conn.execute("SELECT sqlite_version(), sqlite_source_id()").fetchone()
        proof = {
            "connections": [got],
            "sqlite_version": version,
            "sqlite_source_id": source,
            "compile_options": [o for (o,) in conn.execute("PRAGMA compile_options")],
            "environment": self.environment,
            **LINKED,
        }
        answer(type="ready", protocol=PROTOCOL, proof=proof)

    def read(self, conn, sql):
        every = self.job.get("every_ms", 0) * 1_000_000
        n, first_row, interrupted = 0, 0, False
        begin = time.monotonic_ns()
        rows = conn.execute(sql)
        after_query = time.monotonic_ns() - begin
        if FETCHALL:
            rows = rows.fetchall()
        told = begin
        for row in rows:
            if n == 0:
                first_row = time.monotonic_ns() - begin
                shown = ["NULL" if v is None else str(v) for v in row]
                answer(type="progress", progress={"stage": "first-row", "elapsed_ns": first_row, "first_row": shown})
            self.check(n, *row)
            n += 1
            if n % self.COUNTED == 0:
                now = time.monotonic_ns()
                if every and now - told >= every:
                    told = now
                    answer(type="progress", progress={"stage": "rows", "elapsed_ns": now - begin, "rows": n})
                if self.stopped.is_set():
                    interrupted = True
                    break
        found = {
            "rows": n,
            "after_query_ns": after_query,
            "first_row_ns": first_row,
            "wall_ns": time.monotonic_ns() - begin,
            "mismatches": self.mismatches,
            "first_mismatches": self.first,
        }
        return {"interrupted": interrupted, "bench": found}

    def check(self, n, ident, rand, digest):
        try:
            if hashlib.sha256(binascii.unhexlify(rand)).hexdigest() == digest and ident is not None:
                return
        except (TypeError, ValueError):
            pass
        self.mismatches += 1
        if len(self.first) < self.LISTED:
            shown = "NULL" if ident is None else str(ident)
            self.first.append({"row": n, "id": shown, "why": self.why(ident, rand, digest)})

    @staticmethod
    def why(ident, rand, digest):
        if rand is None or digest is None or ident is None:
            return f"{'rand' if rand is None else 'hash' if digest is None else 'ID'} is NULL"
        try:
            value = binascii.unhexlify(rand)
        except (TypeError, ValueError):
            return f"rand {rand!r:.40} is not hexadecimal"
        if len(digest) != 64:
            return f"hash {digest!r:.80} has {len(digest)} digits, a SHA-256 has 64"
        return f"hash is {digest}, but the SHA-256 of rand {rand} is {hashlib.sha256(value).hexdigest()}"


def file_size(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def answer(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def reason(e, phase):
    r = {"code": "error", "message": f"{type(e).__name__}: {e}".replace("\n", " ")}
    if isinstance(e, Failure):
        r.update(e.subject, code=e.code, message=str(e))
    elif isinstance(e, sqlite3.Error) and hasattr(e, "sqlite_errorcode"):
        full = e.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL
        r["code"], r["message"], r["sqlite"] = "disk-full" if full else "sqlite", f"{e.sqlite_errorname}: {e}", e.sqlite_errorcode
    if phase:
        r["phase"] = phase
    return r


def unable():
    """Returns why this interpreter cannot run the worker, or None."""
    here = f"this is {LINKED['runtime']}, {sys.executable}"
    if sys.version_info < OLDEST:
        return f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed, and {here}"
    if sqlite3 is None:
        return f"Python's sqlite3 module is needed, and {here}, which was built without it"
    return None


def understood(line):
    """Returns the request in a line. Raises a Failure if the line is not a request."""
    try:
        request = json.loads(line)
        kind, protocol = request["type"], request["protocol"]
    except (ValueError, LookupError, TypeError) as e:
        raise Failure("protocol", f"request is not understood: {e!r}") from e
    if protocol != PROTOCOL:
        raise Failure("protocol", f"request speaks protocol {protocol}, this worker {PROTOCOL}")
    if kind == "serve":
        raise Failure("unsupported", "this worker serves no HTTP")
    if kind not in ("describe", "trial", "job"):
        raise Failure("protocol", f"unknown request {kind!r}: known are describe, trial and job")
    if kind == "trial" and not (request.get("path") and request.get("plan") and "seed" in request):
        raise Failure("protocol", "a trial needs a path, a seed and a plan")
    if kind == "job" and not (request.get("path") and request.get("job")):
        raise Failure("protocol", "a job needs a path and says what to do")
    return request


LINKED = {
    "module": INFO["module"],
    "module_version": platform.python_version(),  # the module comes with the interpreter
    "runtime": f"{platform.python_implementation()} {platform.python_version()}",
}


def main():
    if sys.argv[1:] not in ([], ["--fetchall"]):
        sys.exit(f"usage: {sys.argv[0]} [--fetchall]: it speaks the worker protocol on standard input and output")
    if hasattr(signal, "SIGHUP"):
        # The system sends SIGHUP if the lab dies while this process is stopped. The database must still be removed.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    trial = None
    try:
        request = understood(sys.stdin.buffer.readline())
        if unable():
            raise Failure("unsupported", unable())
        if request["type"] == "describe":
            answer(type="info", protocol=PROTOCOL, info=INFO, proof=LINKED)
            return
        if request["type"] == "job":
            if "bench" not in request["job"]:
                raise Failure("usage", f"this worker does the job bench only, not {', '.join(request['job'])}")
            answer(type="result", result=Bench(request).run())
            return
        trial = Trial(request)
        try:
            trial.run()
        finally:
            trial.close()
    except Exception as e:
        last = {"type": "failed", "reason": reason(e, trial and trial.phase)}
    else:
        last = {"type": "done"}
    try:
        answer(**last)
    except BrokenPipeError:  # the lab has gone
        if trial:
            trial.abandon()
        raise


if __name__ == "__main__":
    main()
