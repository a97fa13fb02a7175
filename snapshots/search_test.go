package snapshots

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

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
// writes, and "none" is a decision too.
func TestEveryEventOfATransactionHasItsEntriesDecided(t *testing.T) {
	decided := map[payment.Event]string{
		"create": "none", "refuse": "none", "route": "none", "authorise": "may pending", "process": "none",
		"settle": "must posted capture", "decline": "may void", "fail": "may void", "await": "none", "reverse": "none",
		"return": "must posted",
	}
	for _, event := range payment.Machine.Events() {
		carries, carried := transactionEntries[event]
		got := "none"
		if carried {
			got = "may"
			if carries.must {
				got = "must"
			}
			for _, phase := range carries.phases {
				got += " " + phase.String()
			}
		}
		if want := decided[event]; got != want {
			t.Errorf("%s: %s, want %q", event, got, want)
		}
	}
	for event := range transactionEntries {
		if decided[event] == "" {
			t.Errorf("%s is no event", event)
		}
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
