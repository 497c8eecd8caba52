package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// maxAnswer is the greatest size in bytes of an answer's record. An answer is the stored result of a
// command such as tune. maxAnswerRuns is the greatest number of other runs that an answer may name.
const (
	maxAnswer     = 8 << 20
	maxAnswerRuns = 1000
)

// questions lists the commands, such as tune, whose results are stored as the answers of runs.
var questions = []string{result.QuestionAdvise, result.QuestionCluster, result.QuestionCrash, result.QuestionDiff, result.QuestionGate, result.QuestionLocks, result.QuestionTune}

// checkAnswer returns an error if an answer contradicts itself or is too large. The parameter runID is the run
// of the answer, and "size" is the length of the answer's record in bytes. Only the package of the question can
// check the contents of the answer's value, so checkAnswer only checks that the value is a JSON object.
func checkAnswer(a *result.Answer, runID, size int64) error {
	switch {
	case size > maxAnswer:
		return fmt.Errorf("it has %d bytes: want at most %d", size, maxAnswer)
	case !slices.Contains(questions, a.Question):
		return fmt.Errorf("there is no question %.40q", a.Question)
	case a.Version < 1:
		return fmt.Errorf("its version is %d", a.Version)
	case len(a.Runs) > maxAnswerRuns:
		return fmt.Errorf("it names %d runs: want at most %d", len(a.Runs), maxAnswerRuns)
	case slices.ContainsFunc(a.Runs, func(id int64) bool { return id < 0 || id >= runID }):
		return errors.New("it names a run that is not an earlier one")
	}
	if err := decode(a.Value, &map[string]json.RawMessage{}); err != nil {
		return fmt.Errorf("its value: %w", err)
	}
	return nil
}

// SetAnswer stores the answer of a run (the result of a command such as tune), and replaces the
// run's previous answer if it has one.
func (s *Store) SetAnswer(ctx context.Context, runID int64, a *result.Answer) error {
	return s.write(ctx, func(ctx context.Context, c *sql.Conn) error { return addAnswer(ctx, c, runID, a) })
}

// addAnswer stores the answer of a run (the result of a command such as tune), and replaces the
// run's previous answer if it has one. It does nothing if the parameter "a" is nil.
func addAnswer(ctx context.Context, c execer, runID int64, a *result.Answer) error {
	if a == nil {
		return nil
	}
	record, err := encode(a)
	if err == nil {
		err = checkAnswer(a, runID, int64(len(record)))
	}
	if err == nil {
		_, err = c.ExecContext(ctx, `INSERT OR REPLACE INTO answers (run_id, json) VALUES (?, ?)`, runID, record)
	}
	if err != nil {
		return fmt.Errorf("answer of run %d: %w", runID, err)
	}
	return nil
}

// loadAnswer reads the answer of a run (the result of a command such as tune) into r. If the
// answer's record is too large, the query replaces it by "{}", so that it does not fill the memory.
func loadAnswer(ctx context.Context, c *sql.Conn, r *result.Run) error {
	return each(ctx, c, `SELECT run_id, octet_length(json), iif(octet_length(json) > ?2, '{}', json) FROM answers WHERE run_id = ?1`,
		func(_, size int64, a result.Answer) error {
			if err := checkAnswer(&a, r.ID, size); err != nil {
				return fmt.Errorf("its answer: %w", err)
			}
			r.Answer = &a
			return nil
		}, r.ID, maxAnswer)
}

// hasAnswers reports whether the store's schema is new enough to have a table of answers (results
// of commands such as tune).
func (s *Store) hasAnswers() bool {
	const since = 7
	return !s.foreign || s.version >= since
}

// noteAnswers sets the field Question of each entry whose run has a stored answer. If the question
// of an answer cannot be read or is unknown, it sets the field Damaged instead.
func (s *Store) noteAnswers(ctx context.Context, c *sql.Conn, at map[int64]*Entry) error {
	if !s.hasAnswers() {
		return nil
	}
	const query = `SELECT run_id, CASE WHEN octet_length(json) <= ?1 AND json_valid(json) THEN json_extract(json, '$.question') END FROM answers`
	return scan(ctx, c, query, func(rows *sql.Rows) error {
		var run, question any
		if err := rows.Scan(&run, &question); err != nil {
			return err
		}
		e := at[number(run)]
		if e == nil {
			return nil
		}
		if e.Question, _ = question.(string); !slices.Contains(questions, e.Question) {
			e.Question, e.Damaged = "", "its answer is of no known question"
		}
		return nil
	}, maxAnswer)
}

// Sampled reports whether the run was made to have samples. Some runs have profiles or only an
// answer instead.
func (e *Entry) Sampled() bool {
	return e.Profiled == "" && !slices.Contains(result.UnsampledQuestions, e.Question)
}
