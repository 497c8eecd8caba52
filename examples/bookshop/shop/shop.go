// Package shop is a small bookshop: users with sessions, books in stock, and orders. The programs
// that use this package differ only in their SQLite library.
package shop

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

//go:embed schema.sql
var schema string

// Shop is the shop's database.
type Shop struct{ db *sql.DB }

// The errors that the shop's clients see.
var (
	ErrNotFound     = errors.New("not found")
	ErrNoSession    = errors.New("not logged in")
	ErrOutOfStock   = errors.New("out of stock")
	ErrNothingToBuy = errors.New("the order has no books")
)

// Open returns a Shop on a database. It creates missing tables.
func Open(ctx context.Context, db *sql.DB) (*Shop, error) {
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, fmt.Errorf("making the tables: %w", err)
	}
	return &Shop{db}, nil
}

const sessionLasts = 24 * time.Hour

// Login begins a session of the user with the given address, and returns the session's token. It returns
// [ErrNotFound] if there is no such user.
func (s *Shop) Login(ctx context.Context, email string) (token string, err error) {
	var user int64
	err = s.db.QueryRowContext(ctx, "SELECT id FROM users WHERE email = ?", email).Scan(&user)
	if err != nil {
		return "", orNone(err, ErrNotFound)
	}
	token = rand.Text()
	now := time.Now()
	err = s.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE user = ? AND expires < ?", user, now.Unix()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions (token, user, expires) VALUES (?, ?, ?)", token, user, now.Add(sessionLasts).Unix())
		return err
	})
	return token, err
}

// Logout ends a session.
func (s *Shop) Logout(ctx context.Context, token string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM sessions WHERE token = ?", token)
	return err
}

// User is a user of the shop.
type User struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// User returns the user of a session. It returns [ErrNoSession] if the session does not exist or has
// expired.
func (s *Shop) User(ctx context.Context, token string) (u User, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT users.id, users.name, users.email FROM sessions JOIN users ON users.id = sessions.user
WHERE sessions.token = ? AND sessions.expires > ?`, token, time.Now().Unix()).Scan(&u.ID, &u.Name, &u.Email)
	return u, orNone(err, ErrNoSession)
}

// Book is a book of the shop.
type Book struct {
	ID     int64  `json:"id"`
	Title  string `json:"title"`
	Author string `json:"author"`
	Cents  int64  `json:"cents"`
	Stock  int64  `json:"stock"`
}

// Book returns the book with the given ID, or [ErrNotFound].
func (s *Shop) Book(ctx context.Context, id int64) (b Book, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT id, title, author, cents, stock FROM books WHERE id = ?", id).Scan(&b.ID, &b.Title, &b.Author, &b.Cents, &b.Stock)
	return b, orNone(err, ErrNotFound)
}

const booksOnPage = 20

// Books returns a page of books. If the parameter "author" is not "", the page has only books of this
// author. It has only books whose IDs are greater than the parameter "after".
func (s *Shop) Books(ctx context.Context, author string, after int64) ([]Book, error) {
	query, args := "SELECT id, title, author, cents, stock FROM books WHERE id > ? ORDER BY id LIMIT ?", []any{after, booksOnPage}
	if author != "" {
		query, args = "SELECT id, title, author, cents, stock FROM books WHERE author = ? AND id > ? ORDER BY id LIMIT ?", []any{author, after, booksOnPage}
	}
	var list []Book
	err := s.each(ctx, func(rows *sql.Rows) error {
		var b Book
		err := rows.Scan(&b.ID, &b.Title, &b.Author, &b.Cents, &b.Stock)
		list = append(list, b)
		return err
	}, query, args...)
	return list, err
}

// Item is a book of an order and its number of copies.
type Item struct {
	Book     int64  `json:"book"`
	Title    string `json:"title,omitempty"`
	Quantity int64  `json:"quantity"`
	Cents    int64  `json:"cents,omitempty"` // price of one copy
}

// Order is an order of a user.
type Order struct {
	ID     int64      `json:"id"`
	Placed time.Time  `json:"placed"`
	Cents  int64      `json:"cents"`
	Paid   *time.Time `json:"paid,omitempty"`
	Items  []Item     `json:"items,omitempty"`
}

// Buy places an order and returns its ID. It takes the books out of stock. If it fails, it
// changes nothing.
func (s *Shop) Buy(ctx context.Context, user int64, items []Item) (order int64, err error) {
	if len(items) == 0 {
		return 0, ErrNothingToBuy
	}
	// The order's ID is a random number. It does not reveal how many orders there are, and stays
	// the same when transactions are replayed in another order.
	order = 1 + mathrand.Int64N(1<<53)
	err = s.transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (id, user, placed, cents) VALUES (?, ?, ?, 0)", order, user, time.Now().Unix())
		if err != nil {
			return err
		}
		total := int64(0)
		for _, item := range items {
			// The price is read by its own statement, because RETURNING needs SQLite 3.35 or newer.
			var cents int64
			err := tx.QueryRowContext(ctx, "SELECT cents FROM books WHERE id = ?", item.Book).Scan(&cents)
			if err != nil {
				return orNone(err, ErrNotFound)
			}
			taken, err := tx.ExecContext(ctx, "UPDATE books SET stock = stock - ? WHERE id = ? AND stock >= ?", item.Quantity, item.Book, item.Quantity)
			if err != nil {
				return err
			}
			if n, err := taken.RowsAffected(); err != nil || n == 0 {
				return cmp.Or(err, ErrOutOfStock)
			}
			_, err = tx.ExecContext(ctx, `INSERT INTO items ("order", book, quantity, cents) VALUES (?, ?, ?, ?)
ON CONFLICT ("order", book) DO UPDATE SET quantity = quantity + excluded.quantity`, order, item.Book, item.Quantity, cents)
			if err != nil {
				return err
			}
			total += item.Quantity * cents
		}
		_, err = tx.ExecContext(ctx, "UPDATE orders SET cents = ? WHERE id = ?", total, order)
		return err
	})
	return order, err
}

// Pay marks an order of a user as paid. It returns [ErrNotFound] if the user has no such unpaid order.
func (s *Shop) Pay(ctx context.Context, user, order int64) error {
	result, err := s.db.ExecContext(ctx, "UPDATE orders SET paid = ? WHERE id = ? AND user = ? AND paid IS NULL", time.Now().Unix(), order, user)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, ErrNotFound)
	}
	return nil
}

// Orders returns the last ten orders of a user, the newest first, with their items.
func (s *Shop) Orders(ctx context.Context, user int64) ([]Order, error) {
	var list []Order
	err := s.each(ctx, func(rows *sql.Rows) error {
		var o Order
		var i Item
		var placed int64
		var paid sql.NullInt64
		if err := rows.Scan(&o.ID, &placed, &o.Cents, &paid, &i.Book, &i.Title, &i.Quantity, &i.Cents); err != nil {
			return err
		}
		if len(list) == 0 || list[len(list)-1].ID != o.ID {
			o.Placed = time.Unix(placed, 0).UTC()
			if paid.Valid {
				at := time.Unix(paid.Int64, 0).UTC()
				o.Paid = &at
			}
			list = append(list, o)
		}
		last := &list[len(list)-1]
		last.Items = append(last.Items, i)
		return nil
	}, `SELECT o.id, o.placed, o.cents, o.paid, i.book, b.title, i.quantity, i.cents
FROM (SELECT * FROM orders WHERE user = ? ORDER BY placed DESC, id DESC LIMIT 10) AS o
JOIN items AS i ON i."order" = o.id JOIN books AS b ON b.id = i.book
ORDER BY o.placed DESC, o.id DESC, i.book`, user)
	return list, err
}

// Bestseller is a book with the number of copies that were sold, and their total price in cents.
type Bestseller struct {
	Title string `json:"title"`
	Sold  int64  `json:"sold"`
	Cents int64  `json:"cents"`
}

// Bestsellers returns the ten books that have sold the most copies, in descending order of copies.
func (s *Shop) Bestsellers(ctx context.Context) ([]Bestseller, error) {
	var list []Bestseller
	err := s.each(ctx, func(rows *sql.Rows) error {
		var b Bestseller
		err := rows.Scan(&b.Title, &b.Sold, &b.Cents)
		list = append(list, b)
		return err
	}, `SELECT b.title, sum(i.quantity) AS sold, sum(i.quantity * i.cents)
FROM items AS i JOIN books AS b ON b.id = i.book GROUP BY b.id ORDER BY sold DESC, b.id LIMIT 10`)
	return list, err
}

func (s *Shop) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// orNone returns the parameter "none" if err is [sql.ErrNoRows]. Otherwise it returns err.
func orNone(err, none error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return none
	}
	return err
}

func (s *Shop) transact(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Fill adds users and books to an empty shop, and an order for every second user.
func (s *Shop) Fill(ctx context.Context, users, books int) error {
	random := mathrand.New(mathrand.NewPCG(1, 2))
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(byte('a' + random.IntN(26)))
		}
		return b.String()
	}
	err := s.transact(ctx, func(tx *sql.Tx) error {
		for i := range users {
			_, err := tx.ExecContext(ctx, "INSERT INTO users (email, name, created) VALUES (?, ?, ?)",
				Email(i+1), word(4+random.IntN(8))+" "+word(4+random.IntN(10)), 1_700_000_000+60*i)
			if err != nil {
				return err
			}
		}
		for range books {
			_, err := tx.ExecContext(ctx, "INSERT INTO books (title, author, cents, stock) VALUES (?, ?, ?, ?)",
				word(3+random.IntN(10))+" "+word(2+random.IntN(20)), fmt.Sprint("author ", random.IntN(1+books/10)), 500+random.IntN(5_000), 1_000)
			if err != nil {
				return err
			}
		}
		return nil
	})
	for user := 1; err == nil && user <= users; user += 2 {
		items := make([]Item, 1+random.IntN(4))
		for i := range items {
			items[i] = Item{Book: 1 + random.Int64N(int64(books)), Quantity: 1 + random.Int64N(3)}
		}
		_, err = s.Buy(ctx, int64(user), items)
	}
	return err
}

// Email returns the e-mail address of a user that Fill has added. Users are numbered from 1.
func Email(user int) string { return fmt.Sprintf("user%d@example.com", user) }
