/*
** What a C programmer would write for one table of users to be called from Go:
** an insert of many rows, a page of a scan, a read and an update by key,
** each in one call.
*/
#ifndef BYHAND_H
#define BYHAND_H

#include "../../native.h"

/* A user, whose email is elsewhere. */
typedef struct byhand_user {
  int64_t id, created, active;
  uint32_t off, len;
} byhand_user;

int byhand_open(const char *path, sqlite3 **out);
int byhand_exec(sqlite3 *db, const char *sql);
int byhand_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out);

/* Inserts n users. */
int byhand_insert(sqlite3_stmt *stmt, const byhand_user *users, int64_t n, const char *emails);

/* Steps through a scan: writes up to max users into users, and their emails into
** emails, which has room for max emails of 64 bytes. *n is how many it wrote;
** SQLITE_DONE: all. */
int byhand_page(sqlite3_stmt *stmt, byhand_user *users, int max, char *emails, int *n);

/* Reads the user with a key, *n is 1 or 0. */
int byhand_read(sqlite3_stmt *stmt, int64_t id, byhand_user *user, char *email, int *n);

/* Runs a statement with a key, or without one (0). */
int byhand_run(sqlite3_stmt *stmt, int64_t id);

#endif
