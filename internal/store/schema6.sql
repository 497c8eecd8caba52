-- Version 6: profiles, which say where the time of a phase goes.

CREATE TABLE profiles (
  run_id  INTEGER NOT NULL,
  case_id INTEGER NOT NULL,
  status  TEXT AS (json_extract(json, '$.status')),
  reason  TEXT AS (json_extract(json, '$.reason.code')),     -- NULL, like message: it is ok
  message TEXT AS (json_extract(json, '$.reason.message')),
  perf    INTEGER AS (json_extract(json, '$.perf')),         -- 0: sampled by Go's profiler
  wall_ns INTEGER AS (json_extract(json, '$.wall_ns')),
  json    TEXT NOT NULL CHECK (json_valid(json)),
  PRIMARY KEY (run_id, case_id),
  FOREIGN KEY (run_id, case_id) REFERENCES cases ON DELETE CASCADE
);

ALTER TABLE runs ADD COLUMN profiled TEXT AS (json_extract(json, '$.profiles.phase')); -- NULL: the run has samples, not profiles

-- A stack of a profile, with its innermost function.
CREATE VIEW stacks AS
WITH each(run_id, case_id, kind, record, stack) AS (
  SELECT run_id, case_id, 'cpu', profiles.json, value FROM profiles, json_each(profiles.json, '$.cpu')
  UNION ALL
  SELECT run_id, case_id, 'allocations', profiles.json, value FROM profiles, json_each(profiles.json, '$.allocations'))
SELECT run_id, case_id, kind,
       json_extract(record, '$.functions[' || json_extract(stack, '$.functions[0]') || '].name') AS function,
       json_extract(stack, '$.functions') AS functions, -- JSON array of places in the profile's functions, the innermost first
       json_extract(stack, '$.samples')   AS samples,
       json_extract(stack, '$.value')     AS value      -- nanoseconds or bytes
FROM each;
