/*
** The floor under the native driver: the same work with no Go at all.
**
**     floor DATABASE ROWS
**
** inserts ROWS rows of three columns (an integer key, a text of 16 bytes, a
** text of 64 hexadecimal digits) in one transaction with one prepared
** statement, then scans them, copying each value out. All values are made
** before the clock starts. It prints one line of JSON: the wall time of each
** part in nanoseconds, and a checksum of the rows from an untimed pass.
** floor_test.go does the same through the driver.
*/
#include "plain.h"

enum { NAME = 16, HASH = 64 };

/* SplitMix64: the digits of the hash column. */
static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

int main(int argc, char **argv) {
  int64_t rows = argc == 3 ? atoll(argv[2]) : 0;
  if (rows <= 0) {
    fprintf(stderr, "usage: floor DATABASE ROWS\n");
    return 2;
  }
  int64_t *ids = malloc(rows * sizeof *ids);
  char *names = malloc(rows * NAME);
  char *hashes = malloc(rows * HASH + 1);
  if (!ids || !names || !hashes) fail("values");
  for (int64_t i = 0; i < rows; i++) {
    ids[i] = i + 1;
    char name[32];
    snprintf(name, sizeof name, "name%012" PRId64, i + 1);
    memcpy(names + i * NAME, name, NAME);
    for (int j = 0; j < 4; j++)
      snprintf(hashes + i * HASH + j * 16, 17, "%016" PRIx64, mix(i * 4 + j));
  }

  /* No mutex, because the driver uses none. No sync, so that the disk's
  ** time, the same for both, does not hide the difference. */
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(argv[1], &db, flags, 0) != SQLITE_OK) fail(argv[1]);
  run("PRAGMA synchronous=off");
  run("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL)");

  sqlite3_stmt *insert = prepare("INSERT INTO t VALUES (?, ?, ?)");
  int64_t start = now();
  run("BEGIN");
  for (int64_t i = 0; i < rows; i++) {
    sqlite3_bind_int64(insert, 1, ids[i]);
    sqlite3_bind_text(insert, 2, names + i * NAME, NAME, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, hashes + i * HASH, HASH, SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE) fail("insert");
    sqlite3_reset(insert);
  }
  run("COMMIT");
  int64_t insert_ns = now() - start;
  sqlite3_finalize(insert);

  sqlite3_stmt *select = prepare("SELECT id, name, hash FROM t");
  struct {
    int64_t id;
    int name_len, hash_len;
    char name[NAME], hash[HASH];
  } row;
  int64_t scanned = 0, ids_sum = 0, bytes = 0;
  int rc;
  start = now();
  while ((rc = sqlite3_step(select)) == SQLITE_ROW) {
    row.id = sqlite3_column_int64(select, 0);
    const unsigned char *name = sqlite3_column_text(select, 1);
    row.name_len = sqlite3_column_bytes(select, 1);
    memcpy(row.name, name, row.name_len);
    const unsigned char *hex = sqlite3_column_text(select, 2);
    row.hash_len = sqlite3_column_bytes(select, 2);
    memcpy(row.hash, hex, row.hash_len);
    __asm__ volatile("" : : "g"(&row) : "memory"); /* keeps the copies from being optimized away */
    scanned++;
    ids_sum += row.id;
    bytes += row.name_len + row.hash_len;
  }
  if (rc != SQLITE_DONE) fail("scan");
  sqlite3_reset(select);
  int64_t scan_ns = now() - start;
  sqlite3_finalize(select);

  uint64_t sum = read_all("SELECT id, name, hash FROM t").sum;
  if (sqlite3_close(db) != SQLITE_OK) fail("close");

  printf("{\"sqlite\":\"%s\",\"rows\":%" PRId64 ",\"ids\":%" PRId64 ",\"bytes\":%" PRId64
         ",\"insert_ns\":%" PRId64 ",\"scan_ns\":%" PRId64 ",\"checksum\":\"%016" PRIx64 "\"}\n",
         sqlite3_libversion(), scanned, ids_sum, bytes, insert_ns, scan_ns, sum);
  return 0;
}
