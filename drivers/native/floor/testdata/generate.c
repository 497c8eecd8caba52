/*
** The floor under the command generate: the same INSERTs with no Go at all.
**
**     generate DATABASE VALUES BATCH
**
** fills the table that generate makes, with BATCH rows per INSERT, each INSERT in
** its own transaction, with '?_journal=wal&_sync=0'. The values are ready
** before the clock starts: VALUES is a file with 80 bytes for each row: 16 of
** the column rand and 64 of the column hash. It prints one line of JSON: the wall time of the
** INSERTs in nanoseconds, and a checksum of the rows from an untimed pass.
** generate_test.go does the same through the job.
*/
#include "plain.h"

enum { RAND = 16, HASH = 64, ROW = RAND + HASH };

/* Reads a whole file. */
static char *load(const char *path, int64_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END)) fail(path);
  *size = ftell(f);
  char *data = malloc(*size + 1);
  rewind(f);
  if (!data || fread(data, 1, *size, f) != (size_t)*size) fail(path);
  fclose(f);
  return data;
}

int main(int argc, char **argv) {
  int64_t batch = argc == 4 ? atoll(argv[3]) : 0, size;
  if (batch <= 0) {
    fprintf(stderr, "usage: generate DATABASE VALUES BATCH\n");
    return 2;
  }
  const char *values = load(argv[2], &size);
  int64_t rows = size / ROW;
  if (rows % batch) {
    fprintf(stderr, "generate: %" PRId64 " rows are no multiple of %" PRId64 "\n", rows, batch);
    return 2;
  }

  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(argv[1], &db, flags, 0) != SQLITE_OK) fail(argv[1]);
  run("PRAGMA journal_mode=wal");
  run("PRAGMA synchronous=off");
  run("CREATE TABLE bench(ID int PRIMARY KEY ASC, rand TEXT, hash TEXT)");

  static const char head[] = "INSERT INTO bench(ID, rand, hash) VALUES ", row[] = "(?, ?, ?), ";
  char *sql = malloc(sizeof head + batch * sizeof row), *end = sql;
  if (!sql) fail("statement");
  end = stpcpy(end, head);
  for (int64_t i = 0; i < batch; i++) end = stpcpy(end, row);
  end[-2] = 0; /* overwrites the last comma */
  sqlite3_stmt *insert;
  if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &insert, 0) != SQLITE_OK) fail("prepare");

  int64_t start = now();
  for (int64_t id = 0; id < rows;) {
    int param = 0;
    for (int64_t last = id + batch; id < last; id++) {
      const char *at = values + id * ROW;
      sqlite3_bind_int64(insert, ++param, id);
      sqlite3_bind_text(insert, ++param, at, RAND, SQLITE_STATIC);
      sqlite3_bind_text(insert, ++param, at + RAND, HASH, SQLITE_STATIC);
    }
    if (sqlite3_step(insert) != SQLITE_DONE) fail("insert");
    sqlite3_reset(insert);
  }
  int64_t insert_ns = now() - start;
  sqlite3_finalize(insert);

  contents all = read_all("SELECT ID, rand, hash FROM bench");
  if (sqlite3_close(db) != SQLITE_OK) fail("close");
  printf("{\"sqlite\":\"%s\",\"rows\":%" PRId64 ",\"ids\":%" PRId64 ",\"bytes\":%" PRId64
         ",\"insert_ns\":%" PRId64 ",\"checksum\":\"%016" PRIx64 "\"}\n",
         sqlite3_libversion(), all.rows, all.ids, all.bytes, insert_ns, all.sum);
  return 0;
}
