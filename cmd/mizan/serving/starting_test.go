package serving

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"mizan/api"
	"mizan/cmd/mizan/config"
	"mizan/internal/wiping"
)

// Also while the server starts, a request without TLS gets the response that tells the client to use HTTPS.
func TestPlainHTTPIsRefusedWhileStarting(t *testing.T) {
	transport, err := newTransport(&config.Config{TLS: "auto", Dir: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	secure := wiping.Listen(socket, transport.config, func() []byte { return api.PlainHTTPResponse(api.Config{}) })
	s := newStartingServer(secure, socket.(*net.TCPListener), http.NotFoundHandler())
	t.Cleanup(s.stop)
	conn, err := net.DialTimeout("tcp", socket.Addr().String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 400 Bad Request\r\n")) {
		t.Errorf("plain HTTP was answered: %q, %v", answer, err)
	}
}
