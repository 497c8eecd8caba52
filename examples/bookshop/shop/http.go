package shop

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// Handler returns the shop's web service.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", answer(func(r *http.Request) (any, error) {
		var in struct{ Email string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, badRequest{err}
		}
		token, err := s.Login(r.Context(), in.Email)
		return map[string]string{"token": token}, err
	}))
	mux.HandleFunc("POST /logout", answer(func(r *http.Request) (any, error) {
		return struct{}{}, s.Logout(r.Context(), tokenOf(r))
	}))
	mux.HandleFunc("GET /books", answer(func(r *http.Request) (any, error) {
		after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64) // if it is not a number, after is 0, which means the first page
		return s.Books(r.Context(), r.FormValue("author"), after)
	}))
	mux.HandleFunc("GET /books/{id}", answer(func(r *http.Request) (any, error) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			return nil, ErrNotFound
		}
		return s.Book(r.Context(), id)
	}))
	mux.HandleFunc("GET /bestsellers", answer(func(r *http.Request) (any, error) {
		return s.Bestsellers(r.Context())
	}))
	mux.HandleFunc("GET /orders", answer(s.asUser(func(r *http.Request, u User) (any, error) {
		return s.Orders(r.Context(), u.ID)
	})))
	mux.HandleFunc("POST /orders", answer(s.asUser(func(r *http.Request, u User) (any, error) {
		var items []Item
		if err := json.NewDecoder(r.Body).Decode(&items); err != nil {
			return nil, badRequest{err}
		}
		id, err := s.Buy(r.Context(), u.ID, items)
		return map[string]int64{"id": id}, err
	})))
	mux.HandleFunc("POST /orders/{id}/pay", answer(s.asUser(func(r *http.Request, u User) (any, error) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			return nil, ErrNotFound
		}
		return struct{}{}, s.Pay(r.Context(), u.ID, id)
	})))
	return mux
}

func tokenOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// asUser returns a function that calls the parameter "do" with the user of the request's session. If there
// is no such session, the returned function returns [ErrNoSession].
func (s *Shop) asUser(do func(*http.Request, User) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		u, err := s.User(r.Context(), tokenOf(r))
		if err != nil {
			return nil, err
		}
		return do(r, u)
	}
}

type badRequest struct{ error }

// answer returns a handler that calls the function "do" and writes its result, or its error, as JSON.
func answer(do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := do(r)
		status := http.StatusOK
		if err != nil {
			v, status = map[string]string{"error": err.Error()}, statusOf(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // fails if the client has gone
	}
}

func statusOf(err error) int {
	if errors.As(err, new(badRequest)) {
		return http.StatusBadRequest
	}
	for known, status := range statuses {
		if errors.Is(err, known) {
			return status
		}
	}
	return http.StatusInternalServerError
}

var statuses = map[error]int{
	ErrNothingToBuy: http.StatusBadRequest,
	ErrNotFound:     http.StatusNotFound,
	ErrNoSession:    http.StatusUnauthorized,
	ErrOutOfStock:   http.StatusConflict,
}
