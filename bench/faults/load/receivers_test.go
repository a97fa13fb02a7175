package load

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// deadReceivers returns the addresses of four receivers of notifications that do not work. Nothing listens at the first one. The
// second accepts connections and never responds. The third responds with 500 to every request. The fourth never accepts a
// connection.
func deadReceivers(t *testing.T) (addresses []string) {
	t.Helper()
	listen := func() *net.TCPListener {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	closed, silent, backlog := listen(), listen(), listen()
	_ = closed.Close()
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, conn) // until the server gives up
				_ = conn.Close()
			}()
		}
	}()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(failing.Close)
	return []string{"http://" + closed.Addr().String() + "/", "http://" + silent.Addr().String() + "/", failing.URL + "/", "http://" + backlog.Addr().String() + "/"}
}

// livingReceiver is a working receiver of a merchant's notifications.
type livingReceiver struct {
	*httptest.Server
	mu      sync.Mutex
	arrived map[string]time.Time // when a transaction was first reported, by its id
}

func newLivingReceiver(t *testing.T) *livingReceiver {
	r := &livingReceiver{arrived: make(map[string]time.Time)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var notice struct{ Data struct{ ID string } }
		content, err := io.ReadAll(request.Body)
		if err != nil || json.Unmarshal(content, &notice) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if _, known := r.arrived[notice.Data.ID]; !known {
			r.arrived[notice.Data.ID] = time.Now()
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// newForgetfulReceiver returns the address of a receiver that fails every fifth request and keeps no record of requests, so
// that its memory does not grow.
func newForgetfulReceiver(t *testing.T) string {
	var requests atomic.Int64
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1)%5 == 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(r.Close)
	return r.URL + "/"
}

// merchant makes payments whose notifications it awaits.
type merchant struct {
	key      string
	receiver *livingReceiver

	mu      sync.Mutex
	charged map[string]time.Time // the transaction's id → when the response arrived
	refused int
}

// run makes a payment every 50 ms until ctx ends.
func (m *merchant) run(ctx context.Context, s *testServer) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		body := map[string]any{"params": map[string]any{
			"type": "payment", "amount": "1000", "currency": "USD", "env": "prod", "txid": "merchant-" + strconv.Itoa(n), "returnUrl": "https://a.example/", "failUrl": "https://a.example/",
			"money_storage": map[string]string{"type": "bank_card", "cardnumber": "4242424242424242", "cardholder": "A B", "exp_month": "12", "exp_year": "2040", "cvv": "123"},
		}}
		status, text, err := s.do(ctx, http.MethodPost, "/api/v1/transactions", "x-api-key", m.key, body)
		var tx struct{ ID, Status string }
		m.mu.Lock()
		if err == nil && status == http.StatusCreated && json.Unmarshal(text, &tx) == nil && tx.Status == "charged" {
			m.charged[tx.ID] = time.Now()
		} else {
			m.refused++
		}
		m.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// missing counts the charged payments that were not reported.
func (m *merchant) missing() (n int) {
	m.receiver.mu.Lock()
	defer m.receiver.mu.Unlock()
	for id := range m.charged {
		if _, arrived := m.receiver.arrived[id]; !arrived {
			n++
		}
	}
	return n
}

// delays returns, for the charged payments, the times from the response to the arrival of the notification. If a notification
// arrived before the response, the time is zero.
func (m *merchant) delays() distribution {
	m.receiver.mu.Lock()
	defer m.receiver.mu.Unlock()
	var took []time.Duration
	for id, charged := range m.charged {
		if at, arrived := m.receiver.arrived[id]; arrived {
			took = append(took, max(at.Sub(charged), 0))
		}
	}
	return distributionOf(took)
}
