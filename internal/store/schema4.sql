-- Version 4: the list of runs is read from indexes, not from every trial's record.
-- Columns that are indexed must have a value even for a damaged record, or the store
-- could not be upgraded: NULL.

ALTER TABLE trials ADD COLUMN listed_status TEXT
  AS (CASE WHEN json_valid(json) AND json_type(json, '$.status') = 'text' THEN json_extract(json, '$.status') END);
ALTER TABLE cases ADD COLUMN listed_driver TEXT
  AS (CASE WHEN json_valid(json) AND json_type(json, '$.driver') = 'text' THEN json_extract(json, '$.driver') END);
ALTER TABLE cases ADD COLUMN listed_workload TEXT
  AS (CASE WHEN json_valid(json) AND json_type(json, '$.workload') = 'text' THEN json_extract(json, '$.workload') END);
DROP INDEX trials_by_case;
CREATE INDEX trials_by_case ON trials (run_id, case_id, listed_status);
CREATE INDEX cases_listed ON cases (run_id, case_id, listed_driver, listed_workload);
