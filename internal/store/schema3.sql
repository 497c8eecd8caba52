-- Version 3: operations that failed, of samples and of each operation of a mix.

ALTER TABLE samples ADD COLUMN failed INTEGER AS (coalesce(json_extract(json, '$.failed'), 0)); -- of operations

DROP VIEW results;
DROP VIEW latencies;

-- One row per phase of a trial that is ok, with the number that it is judged by.
CREATE VIEW results AS
SELECT run_id, case_id, trial_id, round, workload, cases.scale, driver, settings, phase, metric,
       CASE metric
         WHEN 'time/op' THEN wall_ns / 1e9 / max(operations, 1)
         WHEN 'latency' THEN (SELECT coalesce(max(json_extract(value, '$.p99_ns')), 0)
                              FROM json_each(samples.json, '$.latency')) / 1e9
         ELSE wall_ns / 1e9
       END AS seconds,
       operations, failed
FROM samples JOIN trials USING (run_id, trial_id) JOIN cases USING (run_id, case_id)
WHERE status = 'ok';

CREATE VIEW latencies AS
SELECT run_id, trial_id, samples.phase AS phase,
       json_extract(value, '$.operation') AS operation,
       json_extract(value, '$.count')     AS count,
       coalesce(json_extract(value, '$.failed'), 0)      AS failed,      -- of count
       coalesce(json_extract(value, '$.ended_early'), 0) AS ended_early, -- of count
       json_extract(value, '$.mean_ns')   AS mean_ns,
       json_extract(value, '$.p50_ns')    AS p50_ns,
       json_extract(value, '$.p90_ns')    AS p90_ns,
       json_extract(value, '$.p99_ns')    AS p99_ns,
       json_extract(value, '$.p99_9_ns')  AS p99_9_ns,
       json_extract(value, '$.p99_99_ns') AS p99_99_ns,
       json_extract(value, '$.max_ns')    AS max_ns
FROM samples, json_each(samples.json, '$.latency');
