package logins

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"mizan/ledger"
)

var (
	home  = netip.MustParseAddr("192.0.2.1")
	other = netip.MustParseAddr("192.0.2.2")
)

// text writes attempts as one line.
func text(page []Attempt) string {
	var parts []string
	for _, a := range page {
		parts = append(parts, fmt.Sprintf("%d %s %s %d", a.Number, a.Login, a.Outcome, a.Count))
	}
	return strings.Join(parts, ", ")
}

func want(t *testing.T, l *Log, want string) {
	t.Helper()
	if page, _ := l.Page(0, 1000); text(page) != want {
		t.Errorf("the log has %s, want %s", text(page), want)
	}
}

func TestPagesAreNewestFirst(t *testing.T) {
	var l Log
	for i, a := range []Attempt{{Login: "anna", Outcome: Succeeded}, {Login: "anna", Outcome: Failed}, {Outcome: Failed}, {Login: "bert", Outcome: Deactivated}} {
		a.At = ledger.Micros(i)
		l.Add(a)
	}
	want(t, &l, "4 bert deactivated 1, 3  failed 1, 2 anna failed 1, 1 anna succeeded 1")
	page, more := l.Page(4, 2)
	if text(page) != "3  failed 1, 2 anna failed 1" || !more {
		t.Errorf("the page is %s, more %v", text(page), more)
	}
	if page, more = l.Page(2, 2); text(page) != "1 anna succeeded 1" || more {
		t.Errorf("the last page is %s, more %v", text(page), more)
	}
}

// All attempts on an account's login during a lockout are one entry. If no account has the login, there is one
// entry for each address.
func TestAttemptsOnALockedLoginAreCounted(t *testing.T) {
	var l Log
	for i := range 5 {
		l.Add(Attempt{At: ledger.Micros(i), Login: "anna", Outcome: LockedOut, Source: []netip.Addr{home, other}[i%2]})
	}
	l.Add(Attempt{At: 10, Login: "bert", Outcome: LockedOut, Source: home})
	for _, source := range []netip.Addr{home, other, home} {
		l.Add(Attempt{At: 11, Outcome: LockedOut, Source: source})
	}
	l.Add(Attempt{At: lockoutLife, Login: "anna", Outcome: LockedOut, Source: home})
	want(t, &l, "5 anna locked_out 1, 4  locked_out 1, 3  locked_out 2, 2 bert locked_out 1, 1 anna locked_out 5")
}

// A flood of one kind of attempts pushes out only attempts of that kind.
func TestMemoryIsBoundedForEachKind(t *testing.T) {
	var l Log
	l.Add(Attempt{Login: "anna", Outcome: Succeeded})
	l.Add(Attempt{Login: "anna", Outcome: Failed})
	l.Add(Attempt{Outcome: Failed})
	for _, a := range []Attempt{{Login: "bert", Outcome: Succeeded}, {Login: "bert", Outcome: Failed}, {Outcome: Failed}} {
		before, _ := l.Page(0, 10_000)
		for range 2 * maxOfKind {
			l.Add(a)
		}
		after, _ := l.Page(0, 10_000)
		if len(after) != len(before)-1+maxOfKind || len(after) > 3*maxOfKind {
			t.Errorf("%+v: %d attempts, before %d", a, len(after), len(before))
		}
	}
}

func TestFailuresAreCountedSinceTheLastSuccess(t *testing.T) {
	var l Log
	l.Add(Attempt{At: 1, Login: "anna", Outcome: Failed, Source: home})
	l.Add(Attempt{At: 2, Login: "anna", Outcome: LockedOut, Source: other})
	l.Add(Attempt{At: 3, Outcome: Failed, Source: home})
	if got := l.FailuresOf("anna"); got != (Failures{2, 2, other}) {
		t.Errorf("anna has %+v", got)
	}
	if got := l.FailuresOf(""); got != (Failures{}) {
		t.Errorf("unknown logins have %+v", got)
	}
	l.Add(Attempt{At: 4, Login: "anna", Outcome: Succeeded})
	if got := l.FailuresOf("anna"); got != (Failures{}) {
		t.Errorf("after a success anna has %+v", got)
	}
	for i := range maxAccounts + 5 {
		l.Add(Attempt{At: 5, Login: fmt.Sprint(i), Outcome: Failed})
	}
	if len(l.failures) != maxAccounts {
		t.Errorf("the failures of %d accounts are counted", len(l.failures))
	}
}

func TestNewestSuccessesOfAStoreAreKept(t *testing.T) {
	var n Newest
	const all = 5*maxOfKind + 3
	for i := range all {
		n.Offer(Attempt{At: ledger.Micros(i * 7919 % all), Login: "anna", Outcome: Succeeded}) // the successes come in no order, each once
	}
	var l Log
	n.AddTo(&l)
	page, _ := l.Page(0, 10_000)
	if len(page) != maxOfKind {
		t.Fatalf("%d are kept", len(page))
	}
	for i, a := range page {
		if a.At != ledger.Micros(all-1-i) {
			t.Fatalf("number %d is of %d", i, a.At)
		}
	}
}
