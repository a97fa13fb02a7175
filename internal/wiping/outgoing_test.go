package wiping

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mizan/internal/testseed"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"
)

// recordingConn is a connection that records the written bytes.
type recordingConn struct {
	net.Conn
	written      []byte
	failingWrite int // which of the next writes fails; 1: the next one; 0: none
}

func (c *recordingConn) Write(p []byte) (int, error) {
	if c.failingWrite--; c.failingWrite == 0 {
		c.written = append(c.written, p[:len(p)/2]...)
		return len(p) / 2, io.ErrClosedPipe
	}
	c.written = append(c.written, p...)
	return len(p), nil
}

// requestHead contains parts of the four bytes that end a head.
const requestHead = "POST /\r\n/ HTTP/1.1\r\nHost: x\r\r\n\r\n"

// http.Transport may write a request's head and body in pieces of any length. The head arrives unchanged. The content of the
// Body arrives in place of the spaces, and the Body's memory is then overwritten. A request without a Body arrives unchanged.
func TestBodyIsWrittenFromItsOwnMemoryAndOverwritten(t *testing.T) {
	random := testseed.Random(t)
	for range 2000 {
		c := &recordingConn{}
		o := &outgoingConn{Conn: c, writeBody: c.Write}
		var want []byte
		for range 1 + random.IntN(3) {
			content := bytes.Repeat(secretText, random.IntN(9))
			if len(content) == 0 {
				(*Body)(nil).AttachTo(o)
				want = append(want, requestHead...)
				writeInPieces(t, o, strings.NewReader(requestHead), random.IntN)
				continue
			}
			b := NewBody(content)
			want = append(append(want, requestHead...), content...)
			b.AttachTo(o)
			writeInPieces(t, o, io.MultiReader(strings.NewReader(requestHead), b), random.IntN)
			if len(bytes.Trim(content, "\x00")) > 0 {
				t.Fatalf("%q was written and is still there", content)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(c.written, want) {
			t.Fatalf("written is %q, want %q", c.written, want)
		}
	}
}

// writeInPieces writes everything that r gives to w, in pieces of random length, as http.Transport may do.
func writeInPieces(t *testing.T, w io.Writer, r io.Reader, intN func(int) int) {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, secretText[:4]) {
		t.Fatal("the transport reads the body")
	}
	for len(text) > 0 {
		n := 1 + intN(len(text))
		if written, err := w.Write(text[:n]); written != n || err != nil {
			t.Fatalf("%d of %d, %v", written, n, err)
		}
		text = text[n:]
	}
}

// A body that will not be written any more is overwritten: a body whose connection failed, and a body whose request ended
// before the body was written.
func TestUnwrittenBodyIsOverwritten(t *testing.T) {
	for name, use := range map[string]func(b *Body, o *outgoingConn){
		"the body is closed at once": func(b *Body, _ *outgoingConn) { _ = b.Close() },
		"the body was half written": func(b *Body, o *outgoingConn) {
			_, _ = o.Write([]byte(requestHead + "   "))
			_ = b.Close()
			if n, err := o.Write([]byte("  ")); n != 0 || !errors.Is(err, net.ErrClosed) {
				t.Errorf("a closed body writes %d, %v", n, err)
			}
		},
		"the connection fails": func(b *Body, o *outgoingConn) {
			o.Conn.(*recordingConn).failingWrite = 2
			if n, err := o.Write([]byte(requestHead + "      ")); n != len(requestHead)+3 || err == nil {
				t.Errorf("%d, %v", n, err)
			}
			_ = b.Close()
		},
	} {
		content := bytes.Clone(secretText)
		c := &recordingConn{}
		b, o := NewBody(content), &outgoingConn{Conn: c, writeBody: c.Write}
		b.AttachTo(o)
		use(b, o)
		if len(bytes.Trim(content, "\x00")) > 0 {
			t.Errorf("%s: %q is still there", name, content)
		}
	}
}

// Bodies of all sizes arrive complete, with and without TLS, also on connections that http.Transport uses again.
func TestTransportDeliversBodiesCompletely(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = fmt.Fprintf(w, "%s %d %t", r.Method, len(content), bytes.Equal(content, bytes.Repeat(secretText, len(content)/len(secretText))))
	})
	tlsServer := httptest.NewTLSServer(handler)
	defer tlsServer.Close()
	plainServer := httptest.NewServer(handler)
	defer plainServer.Close()
	dialer := &net.Dialer{}
	for _, server := range []*httptest.Server{plainServer, tlsServer} {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if server == tlsServer {
			config.RootCAs = tlsServer.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		}
		transport := &http.Transport{DialContext: Dial(dialer), DialTLSContext: DialTLS(dialer, config, time.Minute), MaxIdleConnsPerHost: 4}
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() {
				for _, times := range []int{1, 0, 150, 1, 0, 170, 2000, 1, 40_000, 0, 3} {
					want := fmt.Sprintf("POST %d true", times*len(secretText))
					method := http.MethodPost
					var body *Body
					if times == 0 {
						method, want = http.MethodGet, "GET 0 true"
					}
					request, err := http.NewRequest(method, server.URL, nil)
					if err != nil {
						t.Error(err)
						return
					}
					content := bytes.Repeat(secretText, times)
					if times > 0 {
						body = NewBody(content)
						request.Body, request.ContentLength = body, int64(len(content))
					}
					request = request.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { body.AttachTo(got.Conn) }}))
					answer, err := transport.RoundTrip(request)
					if err != nil {
						t.Error(err)
						return
					}
					received, err := io.ReadAll(answer.Body)
					_ = answer.Body.Close()
					if err != nil || string(received) != want {
						t.Errorf("%q, %v, want %q", received, err, want)
					}
					if body != nil && body.remaining() > 0 {
						t.Error("it is not written")
					}
				}
			})
		}
		clients.Wait()
		transport.CloseIdleConnections()
	}
}

// A server with a wrong certificate, or one that never completes the handshake, gets no part of the body.
func TestUntrustedServerGetsNothing(t *testing.T) {
	tlsServer := httptest.NewTLSServer(http.NotFoundHandler())
	tlsServer.Config.ErrorLog = nil
	defer tlsServer.Close()
	address := strings.TrimPrefix(tlsServer.URL, "https://")
	var untrusted *tls.CertificateVerificationError
	if _, err := DialTLS(&net.Dialer{}, &tls.Config{}, time.Minute)(t.Context(), "tcp", address); !errors.As(err, &untrusted) {
		t.Errorf("%v", err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	if _, err := DialTLS(&net.Dialer{}, &tls.Config{}, time.Millisecond)(t.Context(), "tcp", silent.Addr().String()); err == nil {
		t.Error("a handshake was made with nobody")
	}
}
