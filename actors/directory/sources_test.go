package directory

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"mizan/actors"
	"mizan/internal/fair"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// takePlaces takes all places for hashing a password, until leave is called.
func (f *fixture) takePlaces() (leave func()) {
	f.t.Helper()
	var places []*fair.Place[netip.Prefix]
	for i := range maxHashing {
		places = append(places, must(f.hashing.enter(f.t.Context(), netip.AddrFrom4([4]byte{10, byte(i), 0, 1}))))
	}
	return func() {
		for _, place := range places {
			place.Leave()
		}
	}
}

// flood starts perAddress attempts to log in from each of the addresses. The returned function waits until all
// attempts have ended.
func (f *fixture) flood(addresses []netip.Addr, perAddress int) (wait func()) {
	f.t.Helper()
	var attempts sync.WaitGroup
	for _, from := range addresses {
		for i := range perAddress {
			attempts.Go(func() {
				_, _, err := f.LogIn(f.t.Context(), Login{Login: fmt.Sprint(from, i), Pass: []byte("x"), Source: from})
				if err == nil {
					f.t.Error("an unknown login has begun a session")
				}
			})
		}
	}
	return attempts.Wait
}

// Sixty addresses of six networks fill the waiting places. A login from another network is still
// admitted; it displaces an attempt from one of the six networks.
func TestFloodFromManyAddressesBlocksNoOther(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newUser(org.ID, "anna", "client")
	leave := f.takePlaces()
	var addresses []netip.Addr
	for i := range 60 {
		addresses = append(addresses, netip.AddrFrom4([4]byte{198, 51, byte(100 + i%6), byte(i)}))
	}
	waitForFlood := f.flood(addresses, 8)
	for f.waiting() < maxHashWaiting {
		runtime.Gosched()
	}
	loginErr := make(chan error, 1)
	go func() {
		_, _, err := f.LogIn(t.Context(), Login{Org: org.ID, Login: "anna", Pass: []byte(goodPass), Source: netip.MustParseAddr("203.0.113.10")})
		loginErr <- err
	}()
	runtime.Gosched()
	leave()
	if err := <-loginErr; err != nil {
		t.Errorf("from another address: %v", err)
	}
	waitForFlood()
	if f.waiting() != 0 {
		t.Error("who has ended still waits")
	}
}

// waiting returns how many attempts wait for a place to hash.
func (f *fixture) waiting() int { return f.hashing.gate.Waiting() }

func TestExcessAttemptFromAnAddressIsNoFailureAndBlocksNoOther(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newUser(org.ID, "anna", "client")
	leave := f.takePlaces()
	waitForFlood := f.flood([]netip.Addr{usualAddress}, maxFromSource)
	for f.waiting() < maxFromSource {
		runtime.Gosched()
	}
	for range 2 * maxFailures {
		if _, _, err := f.logIn(org.ID, "anna", "wrong"); !errors.Is(err, ErrCrowded) {
			t.Fatalf("one too many: %v", err)
		}
	}
	fromOtherAddress := Login{Org: org.ID, Login: "anna", Pass: []byte(goodPass), Source: netip.MustParseAddr("203.0.113.10")}
	_, _, err := f.LogIn(canceledContext(t), fromOtherAddress)
	wantCode(t, "no answer in time", err, ledger.Unavailable, "")
	leave()
	if _, _, err := f.LogIn(t.Context(), fromOtherAddress); err != nil {
		t.Errorf("from another address: %v", err)
	}
	waitForFlood()
	f.mustLogIn(org.ID, "anna", goodPass)
	_, _, err = f.logIn(org.ID, "anna", "wrong")
	wantCode(t, "a wrong password", err, ledger.Unauthorized, "")
}

// A login that is locked out is refused at once even while all places are taken.
func TestLockedOutLoginIsRefusedAtOnce(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	for range maxFailures {
		_, _, _ = f.logIn(o.ID, "anna", "wrong")
	}
	leave := f.takePlaces()
	defer leave()
	_, _, err := f.logIn(o.ID, "anna", "wrong")
	var locked *LockedOut
	if !errors.As(err, &locked) {
		t.Errorf("locked out: %v", err)
	}
}

func TestPasswordsCanBeSetDuringAFloodOfLogins(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	leave := f.takePlaces()
	var addresses []netip.Addr
	for i := range maxHashWaiting {
		addresses = append(addresses, netip.AddrFrom4([4]byte{11, byte(i), 0, 1}))
	}
	waitForFlood := f.flood(addresses, 1)
	for f.waiting() < maxHashWaiting {
		runtime.Gosched()
	}
	u := f.newUser(org.ID, "anna", "client")
	p := f.newPartner(org.ID, "shop")
	must(f.PatchUser(t.Context(), org.ID, u.ID, func(_ *directory.User, _ *schema.Faults) {}, []byte(goodPass+" again")))
	must(f.PatchPartnerPass(t.Context(), org.ID, p.Number, func(_ *directory.Partner, _ *schema.Faults) {}, []byte("another-Lion-paints-9")))
	if _, _, err := f.logIn(org.ID, "anna", goodPass); !errors.Is(err, actors.ErrBusy) {
		t.Errorf("a login without a place to wait: %v", err)
	}
	leave()
	waitForFlood()
}
