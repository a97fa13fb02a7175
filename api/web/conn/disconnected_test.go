package conn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"runtime"
	"testing"
	"time"

	"mizan/internal/wiping"
)

// connect returns both ends of a loopback connection, the server's and the caller's.
func connect(t *testing.T, secure bool) (server, caller net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if secure {
		l = wiping.Listen(l, &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}}, nil)
	}
	t.Cleanup(func() { _ = l.Close() })
	dialled := make(chan net.Conn, 1)
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil && secure {
			tlsConn := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) // #nosec G402: a certificate of this test
			err, c = tlsConn.Handshake(), tlsConn
		}
		if err != nil {
			t.Error(err)
		}
		dialled <- c
	}()
	server, err = Listener{Listener: l, SilentConnections: new(SilentConnections)}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := server.(*secureConnection); ok {
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
	}
	return server, <-dialled
}

func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TLS sends close_notify before it closes the connection, so there is unread data before the end of the connection.
func TestDisconnectedCallerIsNoticed(t *testing.T) {
	for name, secure := range map[string]bool{"in the clear": false, "over TLS": true} {
		server, caller := connect(t, secure)
		if _, err := caller.Write([]byte("the next request")); err != nil {
			t.Fatal(err)
		}
		if IsClosedByPeer(server) {
			t.Errorf("%s: a caller who waits was taken for gone", name)
		}
		_ = caller.Close()
		for until := time.Now().Add(2 * time.Minute); !IsClosedByPeer(server); runtime.Gosched() {
			if time.Now().After(until) {
				t.Fatalf("%s: a caller who has gone was taken for waiting", name)
			}
		}
		_ = server.Close()
		if !IsClosedByPeer(server) {
			t.Errorf("%s: a closed connection has nobody at its end", name)
		}
	}
	if IsClosedByPeer(nil) {
		t.Error("what is no socket cannot be asked")
	}
}
