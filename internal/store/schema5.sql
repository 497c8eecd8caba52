-- Version 5: the CPU time of a trial, trials that were robbed of it, and instructions.

ALTER TABLE trials ADD COLUMN cpu_user_ns   INTEGER AS (json_extract(json, '$.cpu.user_ns'));   -- NULL: there was no process
ALTER TABLE trials ADD COLUMN cpu_system_ns INTEGER AS (json_extract(json, '$.cpu.system_ns'));
ALTER TABLE trials ADD COLUMN involuntary_switches INTEGER AS (json_extract(json, '$.cpu.involuntary_switches')); -- NULL, like those below: not known
ALTER TABLE trials ADD COLUMN waited_ns INTEGER AS (json_extract(json, '$.cpu.waited_ns'));
ALTER TABLE trials ADD COLUMN stolen_ns INTEGER AS (json_extract(json, '$.cpu.stolen_ns'));
ALTER TABLE trials ADD COLUMN others_ns INTEGER AS (json_extract(json, '$.cpu.others_ns'));
ALTER TABLE trials ADD COLUMN robbed    INTEGER AS (coalesce(json_extract(json, '$.robbed'), 0));
ALTER TABLE trials ADD COLUMN repeated  INTEGER AS (coalesce(json_extract(json, '$.repeated'), 0));

ALTER TABLE samples ADD COLUMN instructions INTEGER AS (json_extract(json, '$.instructions')); -- NULL: not counted

DROP VIEW results;

-- One row per phase of a trial that counts, with the number that it is judged by.
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
WHERE status = 'ok' AND NOT repeated;
