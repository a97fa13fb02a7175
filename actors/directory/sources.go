package directory

import (
	"context"
	"errors"
	"net/netip"

	"mizan/actors"
	"mizan/internal/fair"
	"mizan/ledger"
)

// maxFromSource bounds the attempts to log in from one source that are under way or
// wait. Those that are too many are refused at once.
const maxFromSource = 64

// ErrCrowded refuses an attempt to log in: too many from its address, or its network,
// are under way. It is no failure of the login.
var ErrCrowded = errors.New("directory.Login: too many attempts from one address at once")

// attempts are those to log in. Anybody may make them, and each costs the hash of a
// password: the places to hash are shared fairly among networks, and among the sources
// of each, so that who floods from however many addresses waits for himself.
type attempts struct{ gate *fair.Gate[netip.Prefix] }

func newAttempts() attempts {
	return attempts{fair.New[netip.Prefix](fair.Bounds{Inside: maxHashing, Waiting: maxHashWaiting, Each: maxFromSource})}
}

// sourceOf is what counts as one source: an IPv4 address, or an IPv6 network of 64
// bits, which is the least that one customer gets. Without an address it is that
// of all who have none.
func sourceOf(a netip.Addr) netip.Prefix { return prefixOf(a, 32, 64) }

// networkOf is what sources have in common that are likely one customer's: an IPv4
// network of 24 bits, or an IPv6 one of 48, which is what a site is given.
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

// enter waits for a place to hash. The error is ErrCrowded, actors.ErrBusy where too
// many sources wait, or Unavailable where ctx ends first.
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
