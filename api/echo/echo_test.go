package echo

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEveryPostIsAnsweredWithItsBody(t *testing.T) {
	l, s := listen(t, "127.0.0.1:0"), New()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	post := func(path string, body []byte) (int, []byte) {
		response, err := http.Post("http://"+l.Addr().String()+path, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, answer
	}
	for _, path := range []string{"/", "/api/v1/transactions"} {
		body := []byte(strings.Repeat(`{"a":1}`, 60))
		if status, answer := post(path, body); status != 200 || !bytes.Equal(answer, body) {
			t.Errorf("%s: %d %q", path, status, answer)
		}
	}
	if status, _ := post("/", make([]byte, MaxBody)); status != 200 {
		t.Errorf("the largest body: %d", status)
	}
	if status, _ := post("/", make([]byte, MaxBody+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a larger body: %d", status)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestOnlyLoopbackAddressesAreServed(t *testing.T) {
	l := listen(t, ":0")
	if err := New().Serve(l); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("Serve = %v", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}
