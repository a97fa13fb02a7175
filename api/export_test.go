package api

import (
	"context"
	"time"

	ledgerapi "mizan/api/ledger"
	"mizan/api/ledger/export"
	"mizan/api/shed"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
)

// RouteName identifies a route in tests.
type RouteName struct{ Method, Path string }

// Routes returns all routes of the server, without HEAD for routes with GET.
func (s *Server) Routes() (names []RouteName) {
	for _, r := range s.routes {
		names = append(names, RouteName{r.Method, r.Path})
	}
	return names
}

// Served returns the routes that the router really has.
func (s *Server) Served() (names []RouteName) {
	for _, r := range s.app.GetRoutes(true) {
		names = append(names, RouteName{r.Method, r.Path})
	}
	return names
}

// ExportBook returns the book of an export of everything in an environment.
func (s *Server) ExportBook(ctx context.Context, org ledger.ID, env money.Env) (*export.Book, error) {
	return s.ledger.Book(ctx, &ledgerapi.Range{Env: env, To: web.Forever}, org)
}

// TakePlaces leaves the server only one place for commands, which does not lapse during a test, and takes
// that place. leave frees it again. No command may be under way.
func (s *Server) TakePlaces() (leave func()) {
	s.shed = shed.New(shed.Options{Places: 1, Lapse: time.Hour})
	return s.shed.Enter().Leave
}
