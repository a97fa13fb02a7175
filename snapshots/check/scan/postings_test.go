package scan

import (
	"fmt"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
)

// parsePostings reads "account D|C amount currency env, …".
func parsePostings(t *testing.T, lines string) (postings []ledger.Posting) {
	t.Helper()
	for line := range strings.SplitSeq(lines, ", ") {
		var path, side, currency, env string
		var amount uint64
		if _, err := fmt.Sscan(line, &path, &side, &amount, &currency, &env); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		p := ledger.Posting{Account: ledger.Path(path), Amount: money.FromUint64(amount), Side: map[string]ledger.Side{"D": ledger.Debit, "C": ledger.Credit}[side]}
		p.Asset.Currency = money.Currency(currency)
		p.Asset.Env, _ = money.ParseEnv(env)
		postings = append(postings, p)
	}
	return postings
}

func TestFingerprintIgnoresTheSplitOfAPartnersBalance(t *testing.T) {
	h := newHistories()
	unsplit := h.Fingerprint(parsePostings(t, "A:provider:x D 10 USD prod, L:partner:1:available C 9 USD prod, I:fees C 1 USD prod"))
	for lines, want := range map[string]bool{
		"A:provider:x D 10 USD prod, A:partner:1:receivable C 4 USD prod, L:partner:1:available C 5 USD prod, I:fees C 1 USD prod": true,
		"I:fees C 1 USD prod, A:partner:1:receivable C 9 USD prod, A:provider:x D 10 USD prod":                                     true,
		"A:provider:x D 10 USD prod, L:partner:1:available C 9 USD prod, I:fees C 1 USD prod, A:bank D 0 USD prod":                 true,
		"A:provider:x D 10 USD prod, L:partner:2:available C 9 USD prod, I:fees C 1 USD prod":                                      false,
		"A:provider:x D 10 USD prod, L:partner:1:available C 8 USD prod, I:fees C 2 USD prod":                                      false,
		"A:provider:y D 10 USD prod, L:partner:1:available C 9 USD prod, I:fees C 1 USD prod":                                      false,
		"A:provider:x D 10 USD test, L:partner:1:available C 9 USD test, I:fees C 1 USD test":                                      false,
		"A:provider:x C 10 USD prod, L:partner:1:available D 9 USD prod, I:fees D 1 USD prod":                                      false,
	} {
		if got := h.Fingerprint(parsePostings(t, lines)) == unsplit; got != want {
			t.Errorf("%s: the same %v, want %v", lines, got, want)
		}
	}
}

func TestPostingsFaultNamesTheFault(t *testing.T) {
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
		if got := PostingsFault(parsePostings(t, c.lines)); got != c.want {
			t.Errorf("%s: %q, want %q", c.lines, got, c.want)
		}
	}
}
