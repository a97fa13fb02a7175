package power

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"mizan/internal/testkit"
)

// merchant is the merchant's server, on another machine than the one that loses its power. It acknowledges every notification.
type merchant struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	notified map[[2]string]string // transaction and status → id of the event; guarded by mu
	arrivals int
}

func newMerchant(t testing.TB) *merchant {
	m := &merchant{t: t, notified: make(map[[2]string]string)}
	m.Server = httptest.NewServer(m)
	t.Cleanup(func() {
		m.CloseClientConnections()
		m.Close()
	})
	return m
}

// ServeHTTP implements http.Handler.
func (m *merchant) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var n struct {
		EventID string `json:"event_id"`
		Data    struct{ ID, Status string }
	}
	if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
		return // the sender was killed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrivals++
	m.notified[[2]string{n.Data.ID, n.Data.Status}] = n.EventID
}

// notifiedStatuses are the statuses about which a merchant is notified, of those that the clients' cards lead to.
var notifiedStatuses = []string{"payment_suspended", "payout_suspended", "charged", "rejected", "failed", "refunding", "refunded"}

// waitFor waits until the merchant has been notified of the given status of each transaction.
func (m *merchant) waitFor(statuses map[string]string) {
	m.t.Helper()
	testkit.WaitUntil(m.t, "the merchant is notified of every status that a response showed", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		for id, status := range statuses {
			if slices.Contains(notifiedStatuses, status) && m.notified[[2]string{id, status}] == "" {
				return false
			}
		}
		return true
	})
}

// String describes what arrived, for a log.
func (m *merchant) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("%d notifications about %d statuses", m.arrivals, len(m.notified))
}
