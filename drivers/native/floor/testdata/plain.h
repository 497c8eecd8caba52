/*
** The code that the plain C programs in this directory share.
*/
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sqlite3-binding.h"

static sqlite3 *db;

static void fail(const char *what) {
  fprintf(stderr, "floor: %s: %s\n", what, db ? sqlite3_errmsg(db) : "out of memory");
  exit(1);
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* FNV-1a, 64 bits. */
static uint64_t hash(uint64_t h, const void *p, size_t n) {
  const unsigned char *b = p;
  while (n--) h = (h ^ *b++) * UINT64_C(1099511628211);
  return h;
}

static void run(const char *sql) {
  if (sqlite3_exec(db, sql, 0, 0, 0) != SQLITE_OK) fail(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *stmt;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, 0) != SQLITE_OK) fail(sql);
  return stmt;
}

/* The result of a query for an integer and two texts. */
typedef struct {
  int64_t rows, ids, bytes; /* number of rows, sum of the integers, bytes of all texts */
  uint64_t sum;
} contents;

static contents read_all(const char *sql) {
  contents all = {.sum = UINT64_C(14695981039346656037)};
  sqlite3_stmt *select = prepare(sql);
  int rc;
  while ((rc = sqlite3_step(select)) == SQLITE_ROW) {
    int64_t id = sqlite3_column_int64(select, 0);
    unsigned char le[8];
    for (int j = 0; j < 8; j++) le[j] = (unsigned char)((uint64_t)id >> (8 * j));
    all.sum = hash(all.sum, le, sizeof le);
    for (int column = 1; column <= 2; column++) {
      const unsigned char *text = sqlite3_column_text(select, column);
      int n = sqlite3_column_bytes(select, column);
      all.sum = hash(all.sum, text, n);
      all.bytes += n;
    }
    all.rows++;
    all.ids += id;
  }
  if (rc != SQLITE_DONE) fail("checksum");
  sqlite3_finalize(select);
  return all;
}
