-- Version 2: the workloads of a run as text, which is in the run's record.

CREATE VIEW workloads AS
SELECT run_id,
       json_extract(value, '$.name')     AS name,
       json_extract(value, '$.sha256')   AS sha256,
       json_extract(value, '$.text')     AS text,
       json_extract(value, '$.includes') AS includes -- JSON array; NULL: none
FROM runs, json_each(runs.json, '$.workloads');
