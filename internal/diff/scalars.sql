CREATE TABLE texts (id INTEGER PRIMARY KEY, value TEXT)
INSERT INTO texts (value) VALUES (?)	"plain"
INSERT INTO texts (value) VALUES (?)	""
INSERT INTO texts (value) VALUES (?)	"a\x00b"
INSERT INTO texts (value) VALUES (?)	"\x00"
INSERT INTO texts (value) VALUES (?)	"Grüße, 世界"
INSERT INTO texts (value) VALUES (?)	"not UTF-8: \xff\xfe."
INSERT INTO texts (value) VALUES (replace(printf('%5000s', ''), ' ', 'x'))
INSERT INTO texts (value) VALUES (?)	NULL
SELECT id, value FROM texts ORDER BY id
SELECT id, length(value), hex(value) FROM texts WHERE id < 7 ORDER BY id
SELECT id FROM texts WHERE value = ?	"a\x00b"
CREATE TABLE blobs (id INTEGER PRIMARY KEY, value BLOB)
INSERT INTO blobs (value) VALUES (?)	x'0001ff'
INSERT INTO blobs (value) VALUES (?)	x''
INSERT INTO blobs (value) VALUES (zeroblob(0)), (NULL), (zeroblob(1000)), ('a text')
SELECT id, value FROM blobs ORDER BY id
SELECT typeof(value), quote(value) FROM blobs ORDER BY id
CREATE TABLE integers (id INTEGER PRIMARY KEY, value INTEGER)
INSERT INTO integers (value) VALUES (?)	0
INSERT INTO integers (value) VALUES (?)	-1
INSERT INTO integers (value) VALUES (?)	9007199254740992
INSERT INTO integers (value) VALUES (?)	9007199254740993
INSERT INTO integers (value) VALUES (?)	9223372036854775807
INSERT INTO integers (value) VALUES (?)	-9223372036854775808
INSERT INTO integers (value) VALUES (?)	2.5
INSERT INTO integers (value) VALUES (?)	"a text"
SELECT id, value FROM integers ORDER BY id
SELECT sum(value) FROM integers WHERE id <= 5
SELECT typeof(value), quote(value) FROM integers ORDER BY id
CREATE TABLE reals (id INTEGER PRIMARY KEY, value REAL, any)
INSERT INTO reals (value, any) VALUES (?1, ?1)	0.0
INSERT INTO reals (value, any) VALUES (?1, ?1)	1.0
INSERT INTO reals (value, any) VALUES (?1, ?1)	0.1
INSERT INTO reals (value, any) VALUES (?1, ?1)	-2.5
INSERT INTO reals (value, any) VALUES (?1, ?1)	1e300
INSERT INTO reals (value, any) VALUES (?1, ?1)	5e-324
INSERT INTO reals (value, any) VALUES (?1, ?1)	1152921504606846976.0
INSERT INTO reals (value, any) VALUES (?1, ?1)	+Inf
INSERT INTO reals (value, any) VALUES (?1, ?1)	-Inf
INSERT INTO reals (value, any) VALUES (?, ?)	3	3
SELECT id, value, any FROM reals ORDER BY id
SELECT sum(value), avg(value), total(value) FROM reals WHERE id <= 4
SELECT sum(value) FROM (SELECT 0.1 AS value UNION ALL SELECT 0.2 UNION ALL SELECT 0.3 UNION ALL SELECT 1e16 UNION ALL SELECT -1e16)
SELECT 0.1 + 0.2, CAST(0.1 + 0.2 AS TEXT), 1.0, 1e0 = 1, 9007199254740993.0
SELECT typeof(value), quote(value) FROM reals ORDER BY id
CREATE TABLE booleans (id INTEGER PRIMARY KEY, value BOOLEAN)
INSERT INTO booleans (value) VALUES (?)	true
INSERT INTO booleans (value) VALUES (?)	false
INSERT INTO booleans (value) VALUES (TRUE), (2), (NULL), ('true')
SELECT id, value FROM booleans WHERE id < 6 ORDER BY id
SELECT value FROM booleans WHERE id = 6
SELECT value = 1, NOT value FROM booleans ORDER BY id
SELECT typeof(value), quote(value) FROM booleans ORDER BY id
