/*
** The functions that the Go side calls, and the part of SQLite's interface that
** the C side needs. The prototypes are declared here because the amalgamation and its header
** belong to another Go package, which is linked into the same binary.
*/
#ifndef NATIVE_H
#define NATIVE_H

#include <stdbool.h>
#include <stdint.h>

/* ---- SQLite: see https://www.sqlite.org/c3ref/funclist.html ---- */

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct sqlite3_value sqlite3_value;

enum {
  SQLITE_OK = 0,
  SQLITE_NOMEM = 7,
  SQLITE_INTERRUPT = 9,
  SQLITE_MISUSE = 21,
  SQLITE_ROW = 100,
  SQLITE_DONE = 101,

  SQLITE_NULL = 5, /* a value's type */
  SQLITE_UTF8 = 1,
  SQLITE_PREPARE_PERSISTENT = 0x01,
  SQLITE_STMTSTATUS_REPREPARE = 5,

  SQLITE_OPEN_READWRITE = 0x02,
  SQLITE_OPEN_CREATE = 0x04,
  SQLITE_OPEN_URI = 0x40,
  SQLITE_OPEN_NOMUTEX = 0x8000,
};

extern int sqlite3_open_v2(const char *, sqlite3 **, int flags, const char *vfs);
extern int sqlite3_close(sqlite3 *);
extern int sqlite3_close_v2(sqlite3 *);
extern int sqlite3_extended_result_codes(sqlite3 *, int on);
extern int sqlite3_extended_errcode(sqlite3 *);
extern const char *sqlite3_errmsg(sqlite3 *);
extern const char *sqlite3_errstr(int);
extern int sqlite3_exec(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
extern void sqlite3_interrupt(sqlite3 *);
extern int sqlite3_get_autocommit(sqlite3 *);
extern int sqlite3_limit(sqlite3 *, int id, int value);
extern int sqlite3_changes(sqlite3 *);
extern long long sqlite3_last_insert_rowid(sqlite3 *);

extern int sqlite3_prepare_v3(sqlite3 *, const char *, int, unsigned flags, sqlite3_stmt **, const char **);
extern int sqlite3_step(sqlite3_stmt *);
extern int sqlite3_reset(sqlite3_stmt *);
extern int sqlite3_finalize(sqlite3_stmt *);
extern int sqlite3_bind_null(sqlite3_stmt *, int);
extern int sqlite3_bind_int64(sqlite3_stmt *, int, long long);
extern int sqlite3_bind_double(sqlite3_stmt *, int, double);
extern int sqlite3_bind_text64(sqlite3_stmt *, int, const char *, unsigned long long, void (*)(void *), unsigned char);
extern int sqlite3_bind_blob64(sqlite3_stmt *, int, const void *, unsigned long long, void (*)(void *));
extern int sqlite3_stmt_status(sqlite3_stmt *, int op, int reset);
extern int sqlite3_column_count(sqlite3_stmt *);
extern sqlite3_value *sqlite3_column_value(sqlite3_stmt *, int);
extern int sqlite3_value_type(sqlite3_value *);
extern long long sqlite3_value_int64(sqlite3_value *);
extern double sqlite3_value_double(sqlite3_value *);
extern const unsigned char *sqlite3_value_text(sqlite3_value *);
extern const void *sqlite3_value_blob(sqlite3_value *);
extern int sqlite3_value_bytes(sqlite3_value *);

/* ---- Connections ---- */

typedef struct native_conn {
  sqlite3 *db;

  /* Not 0 if the loops must stop. Go stores it atomically before it interrupts SQLite,
  ** because sqlite3_interrupt has no effect between two executions. */
  int32_t cancelled;
} native_conn;

/* Opens a connection. *out must be closed even if opening fails. *out is NULL
** only if there is no memory. */
int native_open(const char *uri, native_conn **out);

/* Closes a connection and frees c. If statements are still open, the result is
** SQLITE_BUSY, and SQLite closes the connection when the last of them is closed. */
int native_close(native_conn *c);

/* Runs a script. */
int native_script(native_conn *c, const char *sql);

/* The message for the result code of the last call on c; valid until the next
** call. */
const char *native_message(native_conn *c, int rc);

/* ---- Statements ---- */

/* How a value is bound or packed. */
enum { NATIVE_INT = 1, NATIVE_REAL, NATIVE_TEXT, NATIVE_BLOB };

/* The kind of a result's column without a declared type. Each value is packed by its own type
** in SQLite: SQLITE_INTEGER is NATIVE_INT, and so on. */
enum { NATIVE_ANY = 9, NATIVE_TYPE_SHIFT = 8 };

/* Where a text or blob is; the same layout as Go's driver.Span. */
typedef struct native_span {
  uint32_t off, len;
} native_span;

/* One column of values to bind; nulls may be NULL. */
typedef struct native_column {
  int kind;
  const int64_t *ints;
  const double *reals;
  const native_span *spans;
  const char *data;
  uint64_t size; /* bytes of data */
  const bool *nulls;
} native_column;

/* Room for a few small values in C's memory. Copying these costs less than
** pinning Go's memory. */
enum { NATIVE_COPY_COLUMNS = 64, NATIVE_COPY_ROWS = 8, NATIVE_COPY_BYTES = 4096 };

/* Rows to bind: the rows lo <= r < hi of the columns. Each execution binds "per" rows. */
typedef struct native_rows {
  const native_column *columns;
  int count; /* number of columns; 0 for one execution without parameters */
  int64_t lo, hi, per;
} native_rows;

typedef struct native_stmt {
  native_rows in; /* rows of the next execution. Go writes them here, because cgo checks the pointers in each argument. */

  native_conn *conn;
  sqlite3_stmt *stmt; /* NULL while an ad hoc statement does not run */
  bool ad_hoc;
  bool pending; /* SQLite's current row did not fit into the last page */

  native_column *pinned; /* one per parameter; during a call it points to pinned memory of Go, otherwise NULL */
  native_column *copied; /* up to NATIVE_COPY_COLUMNS; it always points to the room for copies */

  int params;
  bool *held; /* one per parameter, from index 1: true if it is bound to bytes that the caller owns */

  int columns;          /* declared number of columns of the result */
  unsigned char *kinds; /* kind of each column, which Go fills in */

  int sql_size;
  char *sql;
} native_stmt;

/* The address of a native_stmt as a number. The calls of every execution take it instead of a
** pointer, because for a pointer cgo would look up each time whether it points to Go's memory. */
typedef uintptr_t native_handle;

/* Makes a statement, and compiles it unless it is ad hoc (compiled at each execution). The caller
** fills in the kinds of parameters and columns. If columns is -1, s->columns becomes the number
** of columns of the result. */
int native_prepare(native_conn *c, const char *sql, int sql_size, bool ad_hoc, int params, int columns,
                   native_stmt **out);

int native_finalize(native_stmt *s);

/* Binds and executes all rows of s->in. Stops at the first error. No binding of a text or blob
** survives the call. */
int native_exec(native_handle s);

/* One value of a result. */
typedef struct native_cell {
  int64_t value; /* the integer, the real's bits, or the offset into the arena */
  uint32_t len;  /* length of a text or blob */
  uint32_t null; /* not 0 for NULL; for NATIVE_ANY it also has SQLite's type << NATIVE_TYPE_SHIFT */
} native_cell;

/* The result of one call. The cells come row by row. The arena holds texts
** from its beginning upwards and blobs from its end downwards. */
typedef struct native_page {
  int32_t max_rows; /* input: rows for which the cells have room, at least 1 */
  int32_t size;     /* input: bytes of the arena */

  int32_t rows;
  int32_t texts; /* bytes of the arena in use at its beginning */
  int32_t blobs; /* bytes of the arena in use at its end */
  bool done;     /* there are no more rows; the statement is reset */
  bool full;     /* the arena had no room for another row */
  bool large;    /* the page has one row, which is larger than the arena: native_bytes reads it */
} native_page;

/* Binds s->in, begins one execution and packs its first page. The bound memory must not
** move or be freed until a page is done, a call fails, or native_stop is called. */
int native_query(native_handle s, native_page *p, native_cell *cells, char *arena);

/* Packs the next page. */
int native_next(native_stmt *s, native_page *p, native_cell *cells, char *arena);

/* The text or blob in a column of a large row, valid until the next call. */
const void *native_bytes(native_stmt *s, int column);

/* Stops a query before its end. */
void native_stop(native_stmt *s);

#endif
