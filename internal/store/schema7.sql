-- Version 7: answers to questions. A run has one at most.

CREATE TABLE answers (
  run_id   INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
  question TEXT AS (json_extract(json, '$.question')),
  version  INTEGER AS (json_extract(json, '$.version')), -- of value
  runs     TEXT AS (json_extract(json, '$.runs')),       -- JSON array of earlier runs that it names; NULL: none
  value    TEXT AS (json_extract(json, '$.value')),      -- JSON object
  json     TEXT NOT NULL CHECK (json_valid(json))
);
