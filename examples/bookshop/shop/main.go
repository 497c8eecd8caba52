package shop

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/record"
)

// Main is the program: the service or, with -load, its clients. The parameter "driver" is the library's
// name in database/sql, and the function dsn returns the data source name for a file.
func Main(driver string, dsn func(file string) string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, driver, dsn, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bookshop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, driver string, dsn func(file string) string, args []string) (err error) {
	flags := flag.NewFlagSet("bookshop", flag.ContinueOnError)
	file := flags.String("db", "bookshop.db", "the database; users and books are added if it is new")
	fill := flags.Bool("fill", false, "add users and books to a new database, and exit")
	listen := flags.String("listen", "127.0.0.1:8080", "where the service listens")
	users := flags.Int("users", 1_000, "users of a new database")
	books := flags.Int("books", 2_000, "books of a new database")
	requests := flags.Int("load", 0, "do not listen: let clients send this many requests, and exit")
	clients := flags.Int("clients", 8, "clients at once, with -load")
	recording := flags.String("record", "", "a new file, to which all that is run on the database is recorded")
	values := flags.Bool("values", false, "record the values of parameters too, with -record")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil // the user asked for help, and the flags have been printed
	} else if err != nil {
		return err
	}
	if *clients < 1 || *users < 1 || *books < 1 || *requests < 0 {
		return errors.New("-clients, -users and -books: want at least 1")
	}
	db, err := sql.Open(driver, dsn(*file))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s, err := Open(ctx, db)
	if err != nil {
		return err
	}
	load := Load{Requests: *requests, Clients: *clients}
	if load.Users, load.Books, err = s.fillIfNew(ctx, *users, *books); err != nil {
		return err
	}
	if *fill {
		return nil
	}
	if *recording != "" {
		rec, err := record.Create(*recording, record.Options{Values: *values})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rec.Close()) }()
		sql.Register("recorded", rec.Driver(db.Driver()))
		recorded, err := sql.Open("recorded", dsn(*file))
		if err != nil {
			return err
		}
		defer recorded.Close()
		s = &Shop{recorded}
	}
	if *requests == 0 {
		return serve(ctx, *listen, s.Handler())
	}
	out, err := load.Run(ctx, s)
	if err != nil {
		return err
	}
	fmt.Printf("%d requests of %d clients in %v\n", *requests, *clients, out.Took)
	for _, status := range slices.Sorted(maps.Keys(out.Statuses)) {
		fmt.Printf("%6d %s\n", out.Statuses[status], http.StatusText(status))
	}
	return nil
}

// fillIfNew adds users and books if the database has none. It returns how many users and books the
// database has afterwards.
func (s *Shop) fillIfNew(ctx context.Context, users, books int) (haveUsers, haveBooks int, err error) {
	count := func() error {
		return s.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM books)").Scan(&haveUsers, &haveBooks)
	}
	if err := count(); err != nil || haveUsers > 0 && haveBooks > 0 {
		return haveUsers, haveBooks, err
	}
	if err := s.Fill(ctx, users, books); err != nil {
		return 0, 0, fmt.Errorf("filling the database: %w", err)
	}
	return haveUsers, haveBooks, count()
}

func serve(ctx context.Context, address string, handler http.Handler) error {
	server := &http.Server{Addr: address, Handler: handler}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	fmt.Printf("listening on http://%s\n", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
