package directory

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// crowd begins so many attempts from the address.
func crowd(t *testing.T, s *sources, from netip.Addr, many int) (leave []func()) {
	t.Helper()
	for range many {
		leave = append(leave, must(s.enter(from)))
	}
	return leave
}

func TestAttemptsOfASourceAreBounded(t *testing.T) {
	for from, c := range map[string]struct{ same, others []string }{
		"203.0.113.9":      {[]string{"203.0.113.9", "::ffff:203.0.113.9"}, []string{"203.0.113.8", "::cb00:7109", "::"}},
		"2001:db8:1:2::1":  {[]string{"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::9%eth0"}, []string{"2001:db8:1:3::1", "203.0.113.9"}},
		"fe80::1%eth0":     {[]string{"fe80::1", "fe80::2%eth1"}, []string{"fe80:0:0:1::1"}},
		"::ffff:192.0.2.1": {[]string{"192.0.2.1"}, []string{"::ffff:192.0.2.2"}},
	} {
		s := newSources()
		leave := crowd(t, s, netip.MustParseAddr(from), maxFromSource)
		for _, same := range c.same {
			if _, err := s.enter(netip.MustParseAddr(same)); !errors.Is(err, ErrCrowded) {
				t.Errorf("%s as %s: %v, want ErrCrowded", from, same, err)
			}
		}
		for _, other := range append(c.others, "198.51.100.1") {
			must(s.enter(netip.MustParseAddr(other)))()
		}
		leave[0]()
		must(s.enter(netip.MustParseAddr(from)))() // there is a place again
		for _, l := range leave[1:] {
			l()
		}
		if len(s.trying) != 0 {
			t.Errorf("%s: %d sources are remembered for nothing", from, len(s.trying))
		}
	}
}

func TestAttemptsWithoutAnAddressAreOneSource(t *testing.T) {
	s := newSources()
	crowd(t, s, netip.Addr{}, maxFromSource)
	if _, err := s.enter(netip.Addr{}); !errors.Is(err, ErrCrowded) {
		t.Errorf("one too many: %v", err)
	}
	must(s.enter(somewhere))()
}

func TestSourcesAreBounded(t *testing.T) {
	s := newSources()
	at := func(n uint32) netip.Addr { return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n))) }
	for n := range uint32(maxSources) {
		crowd(t, s, at(n), 1)
	}
	if _, err := s.enter(at(maxSources)); !errors.Is(err, actors.ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	must(s.enter(at(0)))() // one that is there already takes no place
	if len(s.trying) != maxSources {
		t.Errorf("%d sources", len(s.trying))
	}
}

func TestOneTooManyFromAnAddressIsNoFailureAndKeepsNobodyElseOut(t *testing.T) {
	h := open(t)
	o := h.organization("One")
	h.userOf(o.ID, "anna", "client")
	leave := crowd(t, h.sources, somewhere, maxFromSource)
	for range 2 * maxFailures {
		if _, _, err := h.logIn(o.ID, "anna", "wrong"); !errors.Is(err, ErrCrowded) {
			t.Fatalf("one too many: %v", err)
		}
	}
	elsewhere := Login{Org: o.ID, Login: "anna", Pass: []byte(goodPass), Source: netip.MustParseAddr("203.0.113.10")}
	if _, _, err := h.LogIn(t.Context(), elsewhere); err != nil {
		t.Errorf("from another address: %v", err)
	}
	for _, l := range leave {
		l()
	}
	h.in(o.ID, "anna", goodPass)
	_, _, err := h.logIn(o.ID, "anna", "wrong")
	wantCode(t, "a wrong password", err, ledger.Unauthorized, "")
	for range maxHashing {
		h.passwords.compared.inside <- struct{}{}
	}
	_, _, err = h.LogIn(canceled(t), elsewhere)
	wantCode(t, "no answer in time", err, ledger.Unavailable, "")
	if len(h.sources.trying) != 0 {
		t.Errorf("%d sources are remembered for nothing", len(h.sources.trying))
	}
}

func TestAFloodOfLoginsKeepsNoPasswordFromBeingSet(t *testing.T) {
	h := open(t)
	o := h.organization("One")
	for range maxHashing { // they never end
		h.passwords.compared.inside <- struct{}{}
	}
	for range maxHashing + maxHashWaiting {
		h.passwords.compared.admitted <- struct{}{}
	}
	u := h.userOf(o.ID, "anna", "client")
	p := h.partnerOf(o.ID, "shop")
	must(h.PatchUser(t.Context(), o.ID, u.ID, directory.UserPatch{}, []byte(goodPass+" again")))
	must(h.PatchPartnerPass(t.Context(), o.ID, p.Number, directory.PartnerPatch{}, []byte("another")))
	if _, _, err := h.logIn(o.ID, "anna", goodPass); !errors.Is(err, actors.ErrBusy) {
		t.Errorf("a login without a place to wait: %v", err)
	}
}
