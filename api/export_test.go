package api

import (
	"context"
	"time"

	"mizan/api/description"
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

// Document returns the description of the server's routes.
func (s *Server) Document() *description.Document { return s.reference.Document() }

// AllRoutes returns the routes themselves.
func (s *Server) AllRoutes() []web.Route { return s.routes }

// ServedRoutes returns the routes that the router really has.
func (s *Server) ServedRoutes() (names []RouteName) {
	for _, r := range s.app.GetRoutes(true) {
		names = append(names, RouteName{r.Method, r.Path})
	}
	return names
}

// DocumentOf returns the description of a server with the configuration.
func DocumentOf(cfg Config) *description.Document { return New(cfg).reference.Document() }

// ExportBook returns the content of an export that has everything in an environment.
func (s *Server) ExportBook(ctx context.Context, org ledger.ID, env money.Env) (*export.Book, error) {
	b, err := s.ledger.Book(ctx, &ledgerapi.Range{Env: env, To: web.Forever}, org)
	if err != nil {
		return nil, err
	}
	return b.Book, nil
}

// TakeReadPlaces takes the places of all reads in service until leavePlaces is called, or for the lapse. No read may be under way.
func (s *Server) TakeReadPlaces(lapse time.Duration) (leavePlaces func()) {
	s.reads.lapse = lapse
	var leave []func()
	for range cap(s.reads.places) {
		leave = append(leave, s.reads.enter())
	}
	return func() {
		for _, f := range leave {
			f()
		}
	}
}

// TakePlaces lets the server run only one command at a time, and takes that command's place for longer than a
// test lasts. leavePlace frees it. No command may be under way.
func (s *Server) TakePlaces() (leavePlace func()) {
	s.shed = shed.New(shed.Options{Places: 1, Lapse: time.Hour})
	return s.shed.Enter().Leave
}
