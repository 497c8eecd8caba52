/*
** C code for one table of users, as a C programmer would write it to be called
** from Go: an insert of many rows, a page of a scan, and a read and an update by
** key, each in one call.
*/
#ifndef BYHAND_H
#define BYHAND_H

#include "../../native.h"

/* A user, without the text of the email. */
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
** emails, which has room for max emails of 64 bytes. *n is the number of users
** that it wrote. The result is SQLITE_DONE after the last user. */
int byhand_page(sqlite3_stmt *stmt, byhand_user *users, int max, char *emails, int *n);

/* Reads the user with a key. *n is 1, or 0 if there is no such user. */
int byhand_read(sqlite3_stmt *stmt, int64_t id, byhand_user *user, char *email, int *n);

/* Runs a statement with a key as its parameter; 0 means no parameter. */
int byhand_run(sqlite3_stmt *stmt, int64_t id);

#endif
