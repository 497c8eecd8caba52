#include "byhand.h"

#include <string.h>

extern long long sqlite3_column_int64(sqlite3_stmt *, int);
extern const unsigned char *sqlite3_column_text(sqlite3_stmt *, int);
extern int sqlite3_column_bytes(sqlite3_stmt *, int);

int byhand_open(const char *path, sqlite3 **out) {
  return sqlite3_open_v2(path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0);
}

int byhand_exec(sqlite3 *db, const char *sql) { return sqlite3_exec(db, sql, 0, 0, 0); }

int byhand_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out) {
  return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, 0);
}

int byhand_insert(sqlite3_stmt *stmt, const byhand_user *users, int64_t n, const char *emails) {
  for (int64_t i = 0; i < n; i++) {
    const byhand_user *u = &users[i];
    sqlite3_bind_int64(stmt, 1, u->id);
    sqlite3_bind_int64(stmt, 2, u->created);
    sqlite3_bind_text64(stmt, 3, emails + u->off, u->len, 0, SQLITE_UTF8);
    sqlite3_bind_int64(stmt, 4, u->active);
    int rc = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    if (rc != SQLITE_DONE) return rc;
  }
  return SQLITE_OK;
}

/* Copies the current row of stmt; returns the end of its email. */
static char *copy(sqlite3_stmt *stmt, byhand_user *u, char *start, char *at) {
  u->id = sqlite3_column_int64(stmt, 0);
  u->created = sqlite3_column_int64(stmt, 1);
  const unsigned char *email = sqlite3_column_text(stmt, 2);
  u->active = sqlite3_column_int64(stmt, 3);
  u->off = (uint32_t)(at - start);
  u->len = (uint32_t)sqlite3_column_bytes(stmt, 2);
  if (u->len > 64) u->len = 64;
  memcpy(at, email, u->len);
  return at + u->len;
}

int byhand_page(sqlite3_stmt *stmt, byhand_user *users, int max, char *emails, int *n) {
  char *at = emails;
  for (*n = 0; *n < max; ++*n) {
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW) {
      sqlite3_reset(stmt);
      return rc;
    }
    at = copy(stmt, &users[*n], emails, at);
  }
  return SQLITE_ROW;
}

int byhand_read(sqlite3_stmt *stmt, int64_t id, byhand_user *user, char *email, int *n) {
  sqlite3_bind_int64(stmt, 1, id);
  int rc;
  for (*n = 0; (rc = sqlite3_step(stmt)) == SQLITE_ROW; ++*n) copy(stmt, user, email, email);
  sqlite3_reset(stmt);
  return rc;
}

int byhand_run(sqlite3_stmt *stmt, int64_t id) {
  if (id) sqlite3_bind_int64(stmt, 1, id);
  int rc = sqlite3_step(stmt);
  sqlite3_reset(stmt);
  return rc;
}
