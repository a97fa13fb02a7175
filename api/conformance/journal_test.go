package conformance_test

import (
	"testing"
	"time"
)

// sizeOfJournal counts the organization's events. A key's first use is one, which is
// written down behind the request's back: the merchant's is there by then, so that
// whoever counts again counts nothing but what was done meanwhile.
func sizeOfJournal(t testing.TB, m *merchant) func() string {
	t.Helper()
	m.get(v1 + "/balances").want(200)
	key := admin(t).get(v1 + "/api_keys?partner_id=" + m.number).want(200).at("data.0.id")
	for began := time.Now(); auditor(t).get(v1+"/ledger/events?source="+key).want(200).at("data.0.event") != "use"; {
		if time.Since(began) > time.Minute {
			t.Fatal("the key's first use is not noted")
		}
	}
	return func() string { return auditor(t).get(v1 + "/ledger/head").want(200).at("data.tree_size") }
}
