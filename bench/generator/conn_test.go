package generator

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve accepts connections until the test ends and passes each to fn. It returns the server's base URL.
func serve(t *testing.T, config *tls.Config, fn func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme := "http://"
	if config != nil {
		listener, scheme = tls.NewListener(listener, config), "https://"
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				fn(c)
			}()
		}
	}()
	return scheme + listener.Addr().String()
}

// tlsConfigs returns the configurations of a TLS server and of a client that trusts it.
func tlsConfigs(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	t.Cleanup(s.Close)
	client = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	client.NextProtos = nil
	return &tls.Config{Certificates: s.TLS.Certificates}, client
}

func dialTo(t *testing.T, baseURL string, config *tls.Config) *Conn {
	t.Helper()
	d, err := NewDialer(baseURL, config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// readRequest reads one request without a body.
func readRequest(r *bufio.Reader) (path string, err error) {
	for isFirstLine := true; ; isFirstLine = false {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		if isFirstLine {
			path = strings.Fields(line)[1]
		}
		if line == "\r\n" {
			return path, nil
		}
	}
}

// respondByPath responds to GET /slow byte by byte, to GET /big with a large body, to GET /more with more than
// one response, and to GET /half with half a response.
func respondByPath(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		path, err := readRequest(r)
		if err != nil {
			return
		}
		body := path
		if path == "/big" {
			body = strings.Repeat("b", 10*initialBuffer)
		}
		text := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		switch path {
		case "/slow":
			for i := range text {
				if _, err := c.Write([]byte(text[i : i+1])); err != nil {
					return
				}
			}
			continue
		case "/more":
			text += text
		case "/half":
			_, _ = io.WriteString(c, text[:len(text)/2])
			return
		}
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

func TestExchangeReadsOneWholeResponse(t *testing.T) {
	server, client := tlsConfigs(t)
	for _, transport := range []struct {
		name           string
		server, client *tls.Config
	}{{name: "plain"}, {"TLS", server, client}} {
		t.Run(transport.name, func(t *testing.T) {
			baseURL := serve(t, transport.server, respondByPath)
			c := dialTo(t, baseURL, transport.client)
			for round := range 50 {
				for _, path := range []string{"/first", "/slow", "/big"} {
					a, err := c.Exchange([]byte("GET " + path + " HTTP/1.1\r\n\r\n"))
					if err != nil {
						t.Fatalf("round %d: %s: %v", round, path, err)
					}
					want := len(path)
					if path == "/big" {
						want = 10 * initialBuffer
					}
					if a.Status != 200 || len(a.Body) != want {
						t.Fatalf("round %d: %s: %d, %d bytes, want %d", round, path, a.Status, len(a.Body), want)
					}
				}
			}
			if _, err := c.Exchange([]byte("GET /half HTTP/1.1\r\n\r\n")); err == nil || errorKind(err) != "connection closed" {
				t.Errorf("half an answer: %v", err)
			}
			if _, err := dialTo(t, baseURL, transport.client).Exchange([]byte("GET /more HTTP/1.1\r\n\r\n")); err == nil {
				t.Error("more than one answer was accepted")
			}
		})
	}
}

func TestExchangeEndsAtItsDeadline(t *testing.T) {
	requested := make(chan struct{})
	c := dialTo(t, serve(t, nil, func(c net.Conn) {
		_, _ = readRequest(bufio.NewReader(c))
		close(requested)
		_, _ = io.Copy(io.Discard, c) // never responds
	}), nil)
	go func() {
		<-requested
		_ = c.SetDeadline(time.Unix(1, 0))
	}()
	if _, err := c.Exchange([]byte("GET / HTTP/1.1\r\n\r\n")); err == nil || errorKind(err) != "time-out" {
		t.Errorf("exchange = %v, want a time-out", err)
	}
}

func TestDialerRefusesAMalformedBaseURL(t *testing.T) {
	for _, baseURL := range []string{"", "127.0.0.1:80", "ftp://x", "http://", "http://x/path", "http://%"} {
		if _, err := NewDialer(baseURL, nil); err == nil {
			t.Errorf("%q was accepted", baseURL)
		}
	}
	for baseURL, want := range map[string]string{"http://x": "x:80", "https://x/": "x:443", "http://x:8": "x:8"} {
		d, err := NewDialer(baseURL, nil)
		if err != nil || d.address != want {
			t.Errorf("%q goes to %v, %v; want %s", baseURL, d, err, want)
		}
	}
}
