package conformance_test

import (
	"testing"
	"time"
)

// sizeOfJournal returns a function that counts the organization's events. The service writes an event in the
// background when a key is first used. sizeOfJournal waits for this event of the merchant's key, so that later
// counts differ only by the test's own events.
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
