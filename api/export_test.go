package api

import (
	"context"
	"time"

	ledgerapi "mizan/api/ledger"
	"mizan/api/shed"
	"mizan/api/web"
	"mizan/internal/export"
	"mizan/ledger"
	"mizan/ledger/money"
)

// RouteName is a route as the tests know it.
type RouteName struct{ Method, Path string }

// Routes are all routes of the server, HEAD besides GET left out.
func (s *Server) Routes() (names []RouteName) {
	for _, r := range s.routes {
		names = append(names, RouteName{r.Method, r.Path})
	}
	return names
}

// Served are the routes that the router really has.
func (s *Server) Served() (names []RouteName) {
	for _, r := range s.app.GetRoutes(true) {
		names = append(names, RouteName{r.Method, r.Path})
	}
	return names
}

// ExportBook is what an export of everything in an environment reads.
func (s *Server) ExportBook(ctx context.Context, org ledger.ID, env money.Env) (*export.Book, error) {
	return s.ledger.Book(ctx, &ledgerapi.Range{Env: env, To: web.Forever}, org)
}

// TakePlaces leaves one place for commands, which lasts, and takes it; leave gives it
// back. No command may be under way.
func (s *Server) TakePlaces() (leave func()) {
	s.shed = shed.New(shed.Options{Places: 1, Lapse: time.Hour})
	return s.shed.Enter().Leave
}
