CREATE TABLE accounts (
    id INTEGER PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL,
    balance INTEGER NOT NULL
);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY NOT NULL,
    account INTEGER NOT NULL REFERENCES accounts(id),
    amount INTEGER NOT NULL,
    memo TEXT NOT NULL
);
CREATE INDEX entries_account ON entries(account);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY NOT NULL,
    entry INTEGER NOT NULL,
    content BLOB NOT NULL
);
