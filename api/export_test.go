package api

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

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

// Routes returns all routes of the server except those of the console. It leaves out HEAD for routes with GET.
func (s *Server) Routes() []RouteName { return namesOf(s.describedRoutes()) }

// ConsoleRoutes returns the routes of the console.
func (s *Server) ConsoleRoutes() []RouteName {
	return namesOf(slices.DeleteFunc(slices.Clone(s.routes), func(r web.Route) bool { return !r.IsConsole }))
}

func namesOf(routes []web.Route) (names []RouteName) {
	for _, r := range routes {
		names = append(names, RouteName{r.Method, r.Path})
	}
	return names
}

// Document returns the server's description of the API.
func (s *Server) Document() *description.Document { return s.reference.Document() }

// AllRoutes returns all routes of the server, including those of the console.
func (s *Server) AllRoutes() []web.Route { return s.routes }

// ServedRoutes returns the routes that are registered with the router.
func (s *Server) ServedRoutes() (names []RouteName) {
	for _, r := range s.app.GetRoutes(true) {
		names = append(names, RouteName{r.Method, r.Path})
	}
	return names
}

// DocumentOf returns the description of the API of a server with the configuration.
func DocumentOf(cfg Config) *description.Document { return New(cfg).reference.Document() }

// Ask makes a request to the API as the console does: inside the process, for the person whom the grant describes.
func (s *Server) Ask(grant *web.Grant, call *web.InternalRequest) *web.InternalResponse {
	var outer fasthttp.RequestCtx
	outer.Init(&fasthttp.Request{}, nil, nil)
	outer.Response.Header.SetCanonical(web.HeaderRequestID, []byte(uuid.NewString()))
	internal := web.Internal{Handle: s.inner}
	return internal.Do(&web.Request{RequestCtx: &outer}, netip.MustParseAddr("127.0.0.1"), grant, call)
}

// ExportBook returns the content of an export of all entries of an organization in one environment (test or production).
func (s *Server) ExportBook(ctx context.Context, org ledger.ID, env money.Env) (*export.Book, error) {
	b, err := s.ledger.Book(ctx, &ledgerapi.Range{Env: env, To: web.Forever}, org)
	if err != nil {
		return nil, err
	}
	return b.Book, nil
}

// TakeReadPlaces makes further reads wait: it occupies all places for concurrent reads, until leavePlaces is called or the time
// lapse has passed. Call it only while the server serves no read.
func (s *Server) TakeReadPlaces(lapse time.Duration) (leavePlaces func()) {
	s.reads.placeTimeout = lapse
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

// TakePlaces makes further commands wait: it lets the server run only one command at a time, and occupies this one place until
// leavePlace is called. Call it only while no command is running.
func (s *Server) TakePlaces() (leavePlace func()) {
	s.shed = shed.New(shed.Options{Places: 1, PlaceTimeout: time.Hour})
	return s.shed.Enter().Leave
}
