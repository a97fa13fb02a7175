package api

import (
	"context"
	"io"
	"net"
	"time"

	"mizan/api/shed"
	"mizan/internal/export"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/posting"
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

// SearchBack is how a page far behind is found.
var SearchBack = searchBack

// NewStreamed is what the transport sends of an answer of any length.
func NewStreamed(r io.ReadCloser, to net.Conn) io.Reader {
	return &streamed{ReadCloser: r, to: to}
}

// ExportBook is what an export of everything in an environment reads.
func (s *Server) ExportBook(ctx context.Context, org ledger.ID, env string) (*export.Book, error) {
	return s.ledger.bookOf(ctx, &exportQuery{query: &query{values: map[string]string{"env": env}}, to: forever}, org)
}

// ContractPage is a page of a product's contracts in a reading: so many of them behind
// so many newer ones, where so many are passed over rather than searched for. Passed is
// how many were.
func ContractPage(view *posting.View, org ledger.ID, product *contract.Product, reading *contract.Reading, skip uint64, n int, near uint64, envs ...money.Env) (ids []ledger.ID, passed uint64, err error) {
	p := contractPage{org: org, product: product, reading: reading, skip: skip, n: n, near: near}
	found, err := p.find(view, envs)
	if err != nil || len(found) == 0 {
		return nil, 0, err
	}
	for i := range found {
		ids = append(ids, found[i].Record.ID)
	}
	_, _, passed, err = p.begin(view, envs)
	return ids, passed, err
}

// TakePlaces leaves one place for commands, which lasts, and takes it; leave gives it
// back. No command may be under way.
func (s *Server) TakePlaces() (leave func()) {
	s.shed = shed.New(shed.Options{Places: 1, Lapse: time.Hour})
	return s.shed.Enter().Leave
}
