package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/payment"
)

func TestTheSearchFindsWhatBytesIndexFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		canaries := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,9}`), 1, 6).Draw(t, "canaries")
		text := rapid.StringMatching(`[ab]{0,60}`).Draw(t, "text") // few letters: there is much to find
		var want []string
		for i, canary := range canaries {
			for at := 0; ; at++ {
				n := bytes.Index([]byte(text[at:]), []byte(canary))
				if n < 0 {
					break
				}
				at += n
				want = append(want, fmt.Sprint(i+1, at))
			}
		}
		var got []string
		reader := iotest.HalfReader(strings.NewReader(text))
		s := newSearch(canaries)
		s.chunk = rapid.IntRange(1, 20).Draw(t, "chunk")
		if err := s.read(t.Context(), reader, func(canary int, at int64) { got = append(got, fmt.Sprint(canary, at)) }); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("found %v, want %v", got, want)
		}
	})
}

// Every event of the transaction's machine is judged: POSTINGS says what it
// writes where nothing is held, and where something is; "none" is a decision too.
func TestEveryEventOfATransactionHasItsEntriesDecided(t *testing.T) {
	const nothing = ledger.Phase(0)
	decided := map[payment.Event][2]ledger.Phase{
		"create": {}, "refuse": {}, "route": {}, "process": {}, "act": {}, "reissue": {}, "submit": {}, "await": {},
		"pass_pre_authorized_3ds": {}, "pass_auth_required": {}, "pass_unknown": {}, "pass_cancelled": {},
		"commit": {}, "commit_refused": {}, "cancel": {}, "lapse": {}, "void_failed": {}, "refund_pending": {},
		"reverse": {}, "correct": {}, "give_back": {}, "give_back_failed": {},
		"hold_payout": {}, // it was held when it was sent

		"authorise": {ledger.Pending, ledger.Pending}, "hold_payment": {ledger.Pending, ledger.Pending}, "refund": {ledger.Pending, ledger.Pending},
		"settle": {ledger.Posted, ledger.Capture}, "capture": {ledger.Capture, ledger.Capture}, "refund_done": {ledger.Capture, ledger.Capture},
		"refund_refused": {ledger.Void, ledger.Void}, "further_refund_refused": {ledger.Void, ledger.Void},
		"decline": {nothing, ledger.Void}, "fail": {nothing, ledger.Void}, "void": {nothing, ledger.Void}, "expire": {nothing, ledger.Void},
		"reroute": {nothing, ledger.Void},
		"return":  {ledger.Posted, ledger.Posted}, "settle_late": {ledger.Posted, ledger.Posted}, "gave_back": {ledger.Posted, ledger.Posted},
	}
	for _, event := range payment.Machine.Events() {
		want, known := decided[event]
		c := entryOf(ledger.Transaction, string(event))
		if got := [2]ledger.Phase{c.phase(false), c.phase(true)}; !known || got != want {
			t.Errorf("%s: %v, want %v (known: %v)", event, got, want, known)
		}
		if (c == mayHold) != (event == "authorise") {
			t.Errorf("%s may be without its hold: %v", event, c == mayHold)
		}
		delete(decided, event)
	}
	if len(decided) != 0 {
		t.Errorf("%v are no events", decided)
	}
}

func TestUnbalancedEntriesAreNamed(t *testing.T) {
	for _, c := range []struct {
		lines, want string
	}{
		{"A:bank D 5 USD prod, I:fees C 5 USD prod", ""},
		{"A:bank D 5 USD prod, I:fees C 4 USD prod", "does not balance in prod/USD/"},
		{"A:bank D 5 USD prod, I:fees C 5 EUR prod", "does not balance in prod/USD/"},
		{"A:bank D 5 USD prod, I:fees C 5 USD prod, A:bank D 7 EUR prod, I:fees C 7 EUR prod", ""},
		{"A:bank D 5 USD prod, I:fees C 5 USD prod, A:bank D 7 EUR prod, I:fees C 8 EUR prod", "does not balance in prod/EUR/"},
		{"A:bank D 5 USD prod, I:fees C 5 USD test", "crosses environments"},
		{"A:bank D 5 USD prod, M:arrears C 5 USD prod", "does not balance in prod/USD/"},
		{"A:bank D 5 USD prod, I:fees C 5 USD prod, M:a D 3 USD prod, M:b C 3 USD prod", ""},
		{"A:bank D 0 USD prod, I:fees C 0 USD prod", "has a posting of zero"},
		{"A:bank X 5 USD prod, I:fees C 5 USD prod", "has a posting without a side"},
		{"bank D 5 USD prod, I:fees C 5 USD prod", "has a posting without an account"},
		{"A:bank D 5 USD prod", "has fewer than two postings"},
	} {
		if got := unbalanced(parsePostings(t, c.lines)); got != c.want {
			t.Errorf("%s: %q, want %q", c.lines, got, c.want)
		}
	}
}
