-- Version 1 of the store. Each table keeps its record as JSON, in the form that
-- the exports have; columns written AS (...) are computed from it when they are
-- read, so that they cannot disagree with it.

CREATE TABLE runs (
  run_id    INTEGER PRIMARY KEY AUTOINCREMENT,
  started   TEXT AS (json_extract(json, '$.started')), -- RFC 3339
  ended     TEXT AS (json_extract(json, '$.ended')),   -- NULL: unfinished
  stopped   TEXT AS (json_extract(json, '$.stopped')),
  version   TEXT AS (json_extract(json, '$.version')),
  command   TEXT AS (json_extract(json, '$.command')), -- JSON array
  scale     TEXT AS (json_extract(json, '$.scale')),
  rounds    INTEGER AS (json_extract(json, '$.rounds')),
  hostname  TEXT AS (json_extract(json, '$.machine.hostname')),
  cpu       TEXT AS (json_extract(json, '$.machine.cpu')),
  seed      TEXT NOT NULL, -- decimal: an INTEGER does not hold 64 bits without a sign
  json      TEXT NOT NULL CHECK (json_valid(json))
);

CREATE TABLE cases (
  run_id    INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  case_id   INTEGER NOT NULL CHECK (case_id > 0),
  workload  TEXT AS (json_extract(json, '$.workload')),
  scale     TEXT AS (json_extract(json, '$.scale')),
  driver    TEXT AS (json_extract(json, '$.driver')),
  settings  TEXT AS (json_extract(json, '$.settings')), -- JSON object
  json      TEXT NOT NULL CHECK (json_valid(json)),
  PRIMARY KEY (run_id, case_id)
);

CREATE TABLE trials (
  run_id    INTEGER NOT NULL,
  trial_id  INTEGER NOT NULL CHECK (trial_id > 0), -- order within the run
  case_id   INTEGER NOT NULL,
  round     INTEGER AS (json_extract(json, '$.round')),
  started   TEXT AS (json_extract(json, '$.started')), -- RFC 3339
  took_ns   INTEGER AS (json_extract(json, '$.took_ns')),
  status    TEXT AS (json_extract(json, '$.status')),
  reason    TEXT AS (json_extract(json, '$.reason.code')),
  message   TEXT AS (json_extract(json, '$.reason.message')),
  sqlite_version TEXT AS (json_extract(json, '$.proof.sqlite_version')),
  module_version TEXT AS (json_extract(json, '$.proof.module_version')),
  json      TEXT NOT NULL CHECK (json_valid(json)),
  PRIMARY KEY (run_id, trial_id),
  FOREIGN KEY (run_id, case_id) REFERENCES cases ON DELETE CASCADE
);

CREATE INDEX trials_by_case ON trials (run_id, case_id);

CREATE TABLE samples (
  run_id         INTEGER NOT NULL,
  trial_id       INTEGER NOT NULL,
  sample_id      INTEGER NOT NULL, -- order within the trial, from 1
  phase          TEXT AS (json_extract(json, '$.phase')),
  metric         TEXT AS (json_extract(json, '$.metric')),
  wall_ns        INTEGER AS (json_extract(json, '$.wall_ns')),
  user_ns        INTEGER AS (json_extract(json, '$.user_ns')),
  system_ns      INTEGER AS (json_extract(json, '$.system_ns')),
  operations     INTEGER AS (json_extract(json, '$.operations')),
  rows           INTEGER AS (json_extract(json, '$.rows')),
  allocs         INTEGER AS (json_extract(json, '$.allocs')),
  alloc_bytes    INTEGER AS (json_extract(json, '$.alloc_bytes')),
  peak_rss_bytes INTEGER AS (json_extract(json, '$.peak_rss_bytes')),
  database_bytes INTEGER AS (json_extract(json, '$.database_bytes')),
  wal_bytes      INTEGER AS (json_extract(json, '$.wal_bytes')),
  checkpoint_ns  INTEGER AS (json_extract(json, '$.checkpoint_ns')), -- NULL: none
  checksum       TEXT AS (json_extract(json, '$.checksum')),
  json           TEXT NOT NULL CHECK (json_valid(json)),
  PRIMARY KEY (run_id, trial_id, sample_id),
  FOREIGN KEY (run_id, trial_id) REFERENCES trials ON DELETE CASCADE
);

CREATE TABLE warnings (
  warning_id INTEGER PRIMARY KEY,
  run_id     INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  trial_id   INTEGER, -- NULL: the run's
  code       TEXT AS (json_extract(json, '$.code')),
  message    TEXT AS (json_extract(json, '$.message')),
  case_id    INTEGER AS (json_extract(json, '$.case')),  -- NULL: all
  phase      TEXT AS (json_extract(json, '$.phase')),    -- NULL: all
  round      INTEGER AS (json_extract(json, '$.round')), -- NULL: all
  json       TEXT NOT NULL CHECK (json_valid(json)),
  FOREIGN KEY (run_id, trial_id) REFERENCES trials ON DELETE CASCADE
);

CREATE INDEX warnings_by_run ON warnings (run_id, trial_id);

-- One row per phase of a trial that is ok, with the number that it is judged by.
CREATE VIEW results AS
SELECT run_id, case_id, trial_id, round, workload, cases.scale, driver, settings, phase, metric,
       CASE metric
         WHEN 'time/op' THEN wall_ns / 1e9 / max(operations, 1)
         WHEN 'latency' THEN (SELECT coalesce(max(json_extract(value, '$.p99_ns')), 0)
                              FROM json_each(samples.json, '$.latency')) / 1e9
         ELSE wall_ns / 1e9
       END AS seconds
FROM samples JOIN trials USING (run_id, trial_id) JOIN cases USING (run_id, case_id)
WHERE status = 'ok';

CREATE VIEW latencies AS
SELECT run_id, trial_id, samples.phase AS phase,
       json_extract(value, '$.operation') AS operation,
       json_extract(value, '$.count')     AS count,
       json_extract(value, '$.mean_ns')   AS mean_ns,
       json_extract(value, '$.p50_ns')    AS p50_ns,
       json_extract(value, '$.p90_ns')    AS p90_ns,
       json_extract(value, '$.p99_ns')    AS p99_ns,
       json_extract(value, '$.p99_9_ns')  AS p99_9_ns,
       json_extract(value, '$.p99_99_ns') AS p99_99_ns,
       json_extract(value, '$.max_ns')    AS max_ns
FROM samples, json_each(samples.json, '$.latency');

CREATE VIEW errors AS
SELECT run_id, trial_id, samples.phase AS phase,
       json_extract(value, '$.code')    AS code,
       json_extract(value, '$.name')    AS name,
       json_extract(value, '$.count')   AS count,
       json_extract(value, '$.wait_ns') AS wait_ns
FROM samples, json_each(samples.json, '$.errors');
