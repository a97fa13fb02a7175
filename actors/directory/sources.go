package directory

import (
	"context"
	"errors"
	"net/netip"

	"mizan/actors"
	"mizan/internal/fair"
	"mizan/ledger"
)

// maxFromSource bounds the login attempts of one source that run or wait. Attempts beyond it are
// refused at once.
const maxFromSource = 64

// ErrCrowded refuses a login attempt because too many attempts from its address or network are
// running or waiting. It does not count as a failure of the login.
var ErrCrowded = errors.New("directory.Login: too many attempts from one address at once")

// attempts bounds login attempts, which anybody can make and each of which costs a password hash.
// The places to hash are shared fairly among networks, and among the sources of each network, so a
// flood slows down only its own networks.
type attempts struct{ gate *fair.Gate[netip.Prefix] }

func newAttempts() attempts {
	return attempts{fair.New[netip.Prefix](fair.Bounds{Inside: maxHashing, Waiting: maxHashWaiting, Each: maxFromSource})}
}

// sourceOf returns what counts as one source: an IPv4 address, or an IPv6 network of 64 bits, the
// smallest that a customer gets. All requests without an address count as one source.
func sourceOf(a netip.Addr) netip.Prefix { return prefixOf(a, 32, 64) }

// networkOf returns the network that is likely one customer's: an IPv4 network of 24 bits, or an
// IPv6 network of 48 bits, the size that a site is given.
func networkOf(a netip.Addr) netip.Prefix { return prefixOf(a, 24, 48) }

func prefixOf(a netip.Addr, bits4, bits6 int) netip.Prefix {
	a = a.Unmap()
	bits := bits4
	if a.Is6() {
		bits = bits6
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// enter waits for a place to hash. The error is ErrCrowded, actors.ErrBusy if too many sources
// wait, or Unavailable if ctx ends first.
func (t attempts) enter(ctx context.Context, from netip.Addr) (*fair.Place[netip.Prefix], error) {
	place, err := t.gate.Enter(ctx, networkOf(from), sourceOf(from))
	switch {
	case err == nil:
		return place, nil
	case errors.Is(err, fair.ErrCrowded):
		return nil, ErrCrowded
	case errors.Is(err, fair.ErrFull):
		return nil, actors.ErrBusy
	}
	return nil, ledger.Refuse("directory.Login", ledger.Unavailable, "no answer in time; nothing was done")
}
