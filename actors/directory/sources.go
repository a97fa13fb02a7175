package directory

import (
	"errors"
	"net/netip"
	"sync"

	"mizan/actors"
)

// Bounds of the attempts to log in that are under way: of one source, so that
// nobody fills the places to wait from one address, and sources at all. Those that
// find no place go at once, so that the second is only reached by a crowd.
const (
	maxFromSource = 64
	maxSources    = 1024
)

// ErrCrowded refuses an attempt to log in: as many as may be from its address are
// under way. It is no failure of the login.
var ErrCrowded = errors.New("directory.Login: too many attempts from one address at once")

// sources counts the attempts to log in that are under way, by where they come
// from. A source without one is not remembered.
type sources struct {
	mu     sync.Mutex
	trying map[netip.Prefix]int // guarded by mu
}

func newSources() *sources { return &sources{trying: make(map[netip.Prefix]int)} }

// sourceOf is what counts as one source: an IPv4 address, or an IPv6 network of 64
// bits, which is the least that one customer gets. Without an address it is that
// of all who have none.
func sourceOf(a netip.Addr) netip.Prefix {
	a = a.Unmap()
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// enter lets an attempt begin; it has to end by calling leave. The error is
// ErrCrowded, or actors.ErrBusy where there are too many sources.
func (s *sources) enter(a netip.Addr) (leave func(), err error) {
	from := sourceOf(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.trying[from]
	switch {
	case n >= maxFromSource:
		return nil, ErrCrowded
	case n == 0 && len(s.trying) >= maxSources:
		return nil, actors.ErrBusy
	}
	s.trying[from] = n + 1
	return func() { s.leave(from) }, nil
}

func (s *sources) leave(from netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trying[from]--; s.trying[from] == 0 {
		delete(s.trying, from)
	}
}
