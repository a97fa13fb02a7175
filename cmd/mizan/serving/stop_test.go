package serving

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// TestStopFinishesRequestsInFlight sends half a request, requests a stop, and completes the
// request.
func TestStopFinishesRequestsInFlight(t *testing.T) {
	server := testkit.Start(t, testkit.Options{Flags: []string{"--tls", "off"}})
	conn := sendHalfRequest(t, server)
	server.Signal(syscall.SIGTERM)
	waitUntilRefused(t, server)
	body := testkit.CardPayment("in-flight")
	if _, err := io.WriteString(conn, body[len(body)/2:]); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !bytes.Contains(answer, []byte(`"status":"charged"`)) {
		t.Errorf("the request in flight got %q, %v", answer, err)
	}
	if code := server.Wait(); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}

// When a server stops without a fault, it stores when keys and sessions were last used. With the manual clock these times are
// predictable.
func TestStopStoresTheLastUses(t *testing.T) {
	server := testkit.Start(t, testkit.Options{Flags: []string{"--tls", "off", "--clock", "manual"}})
	admin := server.Admin().With("x-organization-id", server.Sandbox.OrganizationID)
	readLastUse := func() string {
		t.Helper()
		answer, err := admin.Get("/api/v1/api_keys")
		testkit.WantStatus(t, answer, err, 200)
		var keys struct {
			Data []struct {
				LastUsed string `json:"last_used_at"`
			}
		}
		if err := answer.JSON(&keys); err != nil || len(keys.Data) != 1 {
			t.Fatal(err, string(answer.Body))
		}
		return keys.Data[0].LastUsed
	}
	useKey := func() {
		t.Helper()
		answer, err := server.Partner().Get("/api/v1/balances")
		testkit.WantStatus(t, answer, err, 200)
	}
	useKey()
	firstUse := readLastUse()
	answer, err := admin.Put("/api/v1/sandbox/clock", `{"advance_seconds":600}`)
	testkit.WantStatus(t, answer, err, 200)
	useKey()
	lastUse := readLastUse()
	if lastUse == firstUse {
		t.Fatalf("the use is not in the list: %s", lastUse)
	}
	if code := server.Stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	server.Restart()
	admin = server.Admin().With("x-organization-id", server.Sandbox.OrganizationID)
	if got := readLastUse(); got != lastUse {
		t.Errorf("last used %s after the stop, %s before", got, lastUse)
	}
}

func TestSecondSignalEndsTheServerAtOnce(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Flags: []string{"--tls", "off"}})
	sendHalfRequest(t, s)
	s.Signal(syscall.SIGTERM)
	waitUntilRefused(t, s)
	s.Signal(syscall.SIGTERM)
	if code := s.Wait(); code != -1 {
		t.Errorf("exit %d, want an end by the signal", code)
	}
}

// sendHalfRequest opens a connection and sends half of the request for a payment on it.
func sendHalfRequest(t *testing.T, s *testkit.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.BaseURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	body := testkit.CardPayment("in-flight")
	request, err := http.NewRequest(http.MethodPost, s.BaseURL+"/api/v1/transactions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-api-key", s.Sandbox.APIKey)
	request.Header.Set("x-organization-id", s.Sandbox.OrganizationID)
	request.Header.Set("expect", "100-continue")
	request.Close = true
	var message bytes.Buffer
	if err := request.Write(&message); err != nil {
		t.Fatal(err)
	}
	headerLength := message.Len() - len(body)
	if _, err := conn.Write(message.Bytes()[:headerLength]); err != nil {
		t.Fatal(err)
	}
	// The server has asked for the body, which shows that it handles the request.
	if got := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n")); true {
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Contains(got, []byte("100 Continue")) {
			t.Fatalf("the server said %q, %v", got, err)
		}
	}
	if _, err := io.WriteString(conn, body[:len(body)/2]); err != nil {
		t.Fatal(err)
	}
	return conn
}

// waitUntilRefused waits until the server accepts no more connections.
func waitUntilRefused(t *testing.T, s *testkit.Server) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.BaseURL, "http://"))
		if err != nil {
			return
		}
		_ = conn.Close()
	}
	t.Fatal("the server still accepts connections after SIGTERM")
}
