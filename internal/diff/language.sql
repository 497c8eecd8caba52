CREATE TABLE mixed (id INTEGER PRIMARY KEY, value)
INSERT INTO mixed (value) VALUES (1), (1.5), ('1'), (x'31'), (NULL)
SELECT value, value AS renamed, value + 0, mixed.value, count(*) OVER () FROM mixed ORDER BY id
SELECT * FROM mixed AS a JOIN mixed AS b ON a.id = b.id ORDER BY a.id
SELECT count(*), sum(id), group_concat(value), max(id) + 1, 'text', NULL FROM mixed
SELECT value FROM mixed WHERE value = ?	1
SELECT value FROM mixed WHERE value = ?	1
CREATE TABLE accounts (name TEXT PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0)) WITHOUT ROWID
INSERT INTO accounts VALUES ('a', 10), ('b', 20)
INSERT INTO accounts VALUES ('a', 1)
INSERT INTO accounts VALUES ('c', -1)
INSERT INTO accounts VALUES ('d', NULL)
INSERT OR IGNORE INTO accounts VALUES ('a', 1)
REPLACE INTO accounts VALUES ('a', 11)
UPDATE accounts SET balance = balance + 1
UPDATE accounts SET balance = 0 WHERE name = 'nobody'
DELETE FROM accounts WHERE name = 'b'
INSERT INTO mixed (value) VALUES ('returned') RETURNING id, value, upper(value)
CREATE TABLE generated (id INTEGER PRIMARY KEY, net INTEGER, gross REAL AS (net * 1.19) STORED)
INSERT INTO generated (net) VALUES (100)
SELECT * FROM generated
CREATE TABLE typed (id INTEGER PRIMARY KEY, value INTEGER) STRICT
INSERT INTO typed (value) VALUES (?)	"a text"
CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES mixed(id))
INSERT INTO children (parent) VALUES (999)
CREATE VIEW views AS SELECT id, value AS shown FROM mixed
SELECT * FROM views ORDER BY id
SELECT json_extract('{"a": [1, 2.0, "x", null, true]}', '$.a[1]'), json_extract('{"a": true}', '$.a'), json('{"a" : 1}')
SELECT upper('grüße'), 'A' LIKE 'a', 'Ä' LIKE 'ä', x'61' LIKE 'a', 'a' = 'A' COLLATE NOCASE
SELECT "no such column"
SELECT 1/0, 7/2, -7/2, -7%3, 1 << 63, 9223372036854775807 + 1, round(2.5), round(-0.4)
SELECT date('2024-02-30'), datetime(1709210096, 'unixepoch'), julianday('2024-02-29'), strftime('%s', '2024-02-29'), unixepoch('2024-02-29')
SELECT pow(2, 10), log(100), sqrt(2)
SELEC 1
SELECT no_such_function(1)
SELECT * FROM no_such_table
