CREATE TABLE IF NOT EXISTS users (
    id      INTEGER PRIMARY KEY,
    email   TEXT NOT NULL UNIQUE,
    name    TEXT NOT NULL,
    created INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS sessions (
    token   TEXT PRIMARY KEY,
    user    INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,
    expires INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_user ON sessions(user);
CREATE TABLE IF NOT EXISTS books (
    id     INTEGER PRIMARY KEY,
    title  TEXT NOT NULL,
    author TEXT NOT NULL,
    cents  INTEGER NOT NULL,
    stock  INTEGER NOT NULL CHECK (stock >= 0)
);
CREATE INDEX IF NOT EXISTS books_author ON books(author);
CREATE TABLE IF NOT EXISTS orders (
    id     INTEGER PRIMARY KEY,
    user   INTEGER NOT NULL REFERENCES users(id),
    placed INTEGER NOT NULL,
    cents  INTEGER NOT NULL,
    paid   INTEGER
);
CREATE INDEX IF NOT EXISTS orders_user ON orders(user, placed);
CREATE TABLE IF NOT EXISTS items (
    "order"  INTEGER NOT NULL REFERENCES orders(id),
    book     INTEGER NOT NULL REFERENCES books(id),
    quantity INTEGER NOT NULL,
    cents    INTEGER NOT NULL,
    PRIMARY KEY ("order", book)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_book ON items(book);
