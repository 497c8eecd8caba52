#include "native.h"

#include <stdlib.h>
#include <string.h>

/* ---- Connections ---- */

int native_open(const char *uri, native_conn **out) {
  native_conn *c = *out = calloc(1, sizeof *c);
  if (!c) return SQLITE_NOMEM;
  /* A connection is used by one goroutine at a time, so it needs no mutex. */
  int rc = sqlite3_open_v2(
      uri, &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, 0);
  if (rc != SQLITE_OK) return c->db ? sqlite3_extended_errcode(c->db) : rc;
  return sqlite3_extended_result_codes(c->db, 1);
}

int native_close(native_conn *c) {
  int rc = sqlite3_close(c->db);
  if (rc != SQLITE_OK) sqlite3_close_v2(c->db);
  free(c);
  return rc;
}

int native_script(native_conn *c, const char *sql) { return sqlite3_exec(c->db, sql, 0, 0, 0); }

const char *native_message(native_conn *c, int rc) {
  /* If this code found the error, SQLite has no message for it. */
  if (!c || !c->db || sqlite3_extended_errcode(c->db) != rc) return sqlite3_errstr(rc);
  return sqlite3_errmsg(c->db);
}

static bool cancelled(native_conn *c) { return __atomic_load_n(&c->cancelled, __ATOMIC_RELAXED) != 0; }

/* ---- Statements ---- */

static int compile(native_stmt *s) {
  int rc = sqlite3_prepare_v3(s->conn->db, s->sql, s->sql_size, s->ad_hoc ? 0 : SQLITE_PREPARE_PERSISTENT,
                              &s->stmt, 0);
  if (rc != SQLITE_OK) return rc;
  const int has = sqlite3_column_count(s->stmt); /* 0 if there is no statement */
  /* The statement is empty, or does not have the declared number of columns. */
  if (!s->stmt || (has > 0 && s->columns > 0 && has != s->columns)) {
    sqlite3_finalize(s->stmt);
    s->stmt = 0;
    return SQLITE_MISUSE;
  }
  return SQLITE_OK;
}

/* Prepares s for its next execution. Finalizes it if it is ad hoc: compiled for each execution. */
static void rewind(native_stmt *s) {
  s->pending = false;
  if (s->ad_hoc) {
    sqlite3_finalize(s->stmt);
    s->stmt = 0;
  } else {
    sqlite3_reset(s->stmt);
  }
}

/* Removes the bindings of texts and blobs, because they must not point to Go's memory after it
** is unpinned. Numbers stay bound: if a plan depends on a parameter, SQLite 3.54 compiles the
** statement again after sqlite3_clear_bindings. */
static void release(native_stmt *s) {
  for (int i = 1; i <= s->params; i++) {
    if (s->held[i] && s->stmt) sqlite3_bind_null(s->stmt, i);
    s->held[i] = false;
  }
}

int native_prepare(native_conn *c, const char *sql, int sql_size, bool ad_hoc, int params, int columns,
                   native_stmt **out) {
  *out = 0;
  native_stmt *s = calloc(1, sizeof *s);
  if (!s) return SQLITE_NOMEM;
  s->conn = c;
  s->ad_hoc = ad_hoc;
  s->columns = columns < 0 ? 0 : columns;
  s->sql_size = sql_size;
  s->params = params;

  int rc = SQLITE_NOMEM;
  size_t copies = params < NATIVE_COPY_COLUMNS ? params : NATIVE_COPY_COLUMNS;
  s->sql = malloc(sql_size + 1);
  s->kinds = calloc(s->columns + 1, 1);
  s->pinned = calloc(params + 1, sizeof *s->pinned);
  s->copied = calloc(copies + 1, sizeof *s->copied);
  s->held = calloc(params + 1, 1);
  if (!s->sql || !s->kinds || !s->pinned || !s->copied || !s->held) goto failed;
  memcpy(s->sql, sql, sql_size);
  s->sql[sql_size] = 0;
  if (copies > 0) {
    /* Integers, reals and spans are 8 bytes each, and a column has only one of
    ** them. The order keeps everything aligned. */
    size_t values = copies * NATIVE_COPY_ROWS * 8, nulls = copies * NATIVE_COPY_ROWS;
    char *room = calloc(1, values + nulls + NATIVE_COPY_BYTES);
    if (!room) goto failed;
    for (size_t i = 0; i < copies; i++) {
      native_column *k = &s->copied[i];
      char *v = room + i * NATIVE_COPY_ROWS * 8;
      k->ints = (int64_t *)v;
      k->reals = (double *)v;
      k->spans = (native_span *)v;
      k->nulls = (bool *)(room + values + i * NATIVE_COPY_ROWS);
      k->data = room + values + nulls;
      k->size = NATIVE_COPY_BYTES;
    }
  }
  rc = ad_hoc && columns >= 0 ? SQLITE_OK : compile(s);
  if (rc != SQLITE_OK) goto failed;
  if (columns < 0) {
    s->columns = sqlite3_column_count(s->stmt);
    free(s->kinds);
    s->kinds = calloc(s->columns + 1, 1);
    if (ad_hoc) rewind(s);
    if (!s->kinds) {
      rc = SQLITE_NOMEM;
      goto failed;
    }
  }
  *out = s;
  return SQLITE_OK;

failed:
  native_finalize(s);
  return rc;
}

int native_finalize(native_stmt *s) {
  int rc = sqlite3_finalize(s->stmt);
  if (s->copied) free((void *)s->copied[0].ints);
  free(s->copied);
  free(s->held);
  free(s->pinned);
  free(s->kinds);
  free(s->sql);
  free(s);
  return rc;
}

/* SQLITE_STATIC is 0: the bytes stay where they are until the binding is removed. */
static int bind(sqlite3_stmt *stmt, int i, const native_column *k, int64_t r) {
  if (k->nulls && k->nulls[r]) return sqlite3_bind_null(stmt, i);
  switch (k->kind) {
  case NATIVE_INT: return sqlite3_bind_int64(stmt, i, k->ints[r]);
  case NATIVE_REAL: return sqlite3_bind_double(stmt, i, k->reals[r]);
  }
  native_span at = k->spans[r];
  if ((uint64_t)at.off + at.len > k->size) return SQLITE_MISUSE;
  const char *p = at.len ? k->data + at.off : ""; /* a null pointer would bind NULL */
  if (k->kind == NATIVE_TEXT) return sqlite3_bind_text64(stmt, i, p, at.len, 0, SQLITE_UTF8);
  return sqlite3_bind_blob64(stmt, i, p, at.len, 0);
}

/* Begins an execution: compiles an ad hoc statement, and binds rows from r on. */
static int start(native_stmt *s, int64_t r) {
  const native_rows *in = &s->in;
  if (cancelled(s->conn)) return SQLITE_INTERRUPT;
  int rc = s->ad_hoc ? compile(s) : SQLITE_OK;
  if (in->count == 0) return rc;
  int param = 0;
  for (int64_t end = r + in->per; r < end; r++) {
    for (int i = 0; i < in->count && rc == SQLITE_OK; i++) {
      rc = bind(s->stmt, ++param, &in->columns[i], r);
      s->held[param] = in->columns[i].kind >= NATIVE_TEXT;
    }
  }
  return rc;
}

int native_exec(native_handle handle) {
  native_stmt *s = (native_stmt *)handle;
  int rc;
  int64_t r = s->in.lo;
  do {
    rc = start(s, r);
    if (rc == SQLITE_OK) {
      do rc = sqlite3_step(s->stmt);
      while (rc == SQLITE_ROW);
    }
    rewind(s);
    r += s->in.per;
  } while (rc == SQLITE_DONE && r < s->in.hi);
  if (s->in.count > 0) release(s);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Packs SQLite's current row after the rows in the page. Returns false if the arena (the page's
** buffer for texts and blobs) has no room for it; the cells are filled in even then. */
static bool pack(native_stmt *s, native_page *p, native_cell *cell, char *arena, int *rc) {
  int32_t texts = p->texts, blobs = p->blobs;
  bool fits = true;
  for (int i = 0; i < s->columns; i++, cell++) {
    /* The value may be used unprotected, because the connection has no mutex. So it is looked up
    ** once, and read by sqlite3_value functions, which cost less than sqlite3_column functions. */
    sqlite3_value *v = sqlite3_column_value(s->stmt, i);
    cell->null = 0;
    const void *bytes;
    int kind = s->kinds[i];
    if (kind == NATIVE_ANY) {
      kind = sqlite3_value_type(v);
      cell->null = (uint32_t)kind << NATIVE_TYPE_SHIFT;
      if (kind == SQLITE_NULL) continue;
    }
    switch (kind) {
    case NATIVE_INT:
      cell->null |= sqlite3_value_type(v) == SQLITE_NULL;
      cell->value = sqlite3_value_int64(v);
      continue;
    case NATIVE_REAL: {
      double d = sqlite3_value_double(v);
      cell->null |= sqlite3_value_type(v) == SQLITE_NULL;
      memcpy(&cell->value, &d, sizeof d);
      continue;
    }
    case NATIVE_TEXT: bytes = sqlite3_value_text(v); break;
    default: bytes = sqlite3_value_blob(v); break;
    }
    int32_t n = cell->len = sqlite3_value_bytes(v);
    if (!bytes) { /* NULL, an empty blob, or no memory */
      if (sqlite3_value_type(v) == SQLITE_NULL) {
        cell->null |= 1;
        continue;
      }
      if (n > 0 || kind == NATIVE_TEXT) {
        *rc = SQLITE_NOMEM;
        return true;
      }
    }
    fits = fits && n <= p->size - texts - blobs;
    if (!fits) continue;
    if (kind == NATIVE_TEXT) {
      cell->value = texts;
      memcpy(arena + texts, bytes, n);
      texts += n;
    } else {
      blobs += n;
      cell->value = p->size - blobs;
      if (n > 0) memcpy(arena + cell->value, bytes, n);
    }
  }
  if (fits) {
    p->texts = texts;
    p->blobs = blobs;
  }
  return fits;
}

int native_next(native_stmt *s, native_page *p, native_cell *cells, char *arena) {
  p->rows = p->texts = p->blobs = 0;
  p->done = p->full = p->large = false;
  int rc = SQLITE_ROW;
  while (p->rows < p->max_rows) {
    if (cancelled(s->conn)) rc = SQLITE_INTERRUPT;
    else if (!s->pending) rc = sqlite3_step(s->stmt);
    s->pending = false;
    if (rc != SQLITE_ROW) break;

    bool fits = pack(s, p, cells + (int64_t)p->rows * s->columns, arena, &rc);
    if (rc != SQLITE_ROW) break;
    if (!fits) {
      p->full = true;
      if (p->rows > 0) {
        s->pending = true; /* SQLite's current row becomes the first row of the next page */
      } else {
        p->large = true;
        p->rows = 1;
      }
      return SQLITE_OK;
    }
    p->rows++;
  }
  if (rc == SQLITE_ROW) return SQLITE_OK;
  native_stop(s);
  p->done = true;
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int native_query(native_handle handle, native_page *p, native_cell *cells, char *arena) {
  native_stmt *s = (native_stmt *)handle;
  int rc = start(s, s->in.lo);
  if (rc == SQLITE_OK) return native_next(s, p, cells, arena);
  native_stop(s);
  return rc;
}

const void *native_bytes(native_stmt *s, int column) {
  sqlite3_value *v = sqlite3_column_value(s->stmt, column);
  const int kind = s->kinds[column] == NATIVE_ANY ? sqlite3_value_type(v) : s->kinds[column];
  return kind == NATIVE_TEXT ? (const void *)sqlite3_value_text(v) : sqlite3_value_blob(v);
}

void native_stop(native_stmt *s) {
  rewind(s);
  release(s);
}
