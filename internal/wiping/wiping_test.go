package wiping

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"mizan/internal/testseed"
	"net"
	"reflect"
	"testing"
	"time"
)

// secretText is repeated to make the plaintext in these tests.
var secretText = []byte("4716583900000012;cvv=739;")

// checkingConn is a connection that returns received data in pieces of random length. Whenever crypto/tls asks for a new
// record, it checks that no slice that crypto/tls has passed to a read contains plaintext.
type checkingConn struct {
	net.Conn
	t              *testing.T
	random         *mathrand.Rand
	conn           *Conn
	lentBuffers    [][]byte
	recordsAwaited int
}

func (c *checkingConn) Read(p []byte) (int, error) {
	c.lentBuffers = append(c.lentBuffers, p[:cap(p)])
	if c.conn != nil && c.conn.records.headerReturned == 0 {
		c.recordsAwaited++
		c.wantNoPlaintext("a record is waited for")
	}
	return c.Conn.Read(p[:1+c.random.IntN(len(p))])
}

// wantNoPlaintext fails the test if memory that crypto/tls has lent contains plaintext.
func (c *checkingConn) wantNoPlaintext(when string) {
	c.t.Helper()
	raw := reflect.ValueOf(c.conn.Conn).Elem().FieldByName("rawInput").FieldByName("buf")
	if !raw.IsValid() {
		c.t.Error("crypto/tls has no rawInput any more: find out where it keeps plaintext now")
		return
	}
	for _, memory := range append(c.lentBuffers, raw.Slice(0, raw.Cap()).Bytes()) {
		if bytes.Contains(memory, secretText[:8]) {
			c.t.Errorf("%s: plaintext is in memory", when)
			return
		}
	}
}

func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// connectTLS makes a TLS connection. It returns the server's side, the socket below it, and the client's side.
func connectTLS(t *testing.T, random *mathrand.Rand, config *tls.Config) (*Conn, *checkingConn, *tls.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	clientSide, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	serverSide, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	socket := &checkingConn{Conn: serverSide, t: t, random: random}
	c := Server(socket, config)
	client := tls.Client(clientSide, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	t.Cleanup(func() { _, _ = serverSide.Close(), clientSide.Close() })
	handshakeErr := make(chan error, 1)
	go func() { handshakeErr <- client.Handshake() }()
	if err := errors.Join(c.Handshake(), <-handshakeErr); err != nil {
		t.Fatal(err)
	}
	socket.conn = c
	return c, socket, client
}

func tlsConfigs(t *testing.T) map[string]*tls.Config {
	pair := []tls.Certificate{newCertificate(t)}
	return map[string]*tls.Config{
		"1.3":     {Certificates: pair, MinVersion: tls.VersionTLS13},
		"1.2 GCM": {Certificates: pair, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}},
		"1.2 CBC": {Certificates: pair, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}},
	}
}

// TLS records of any length may arrive in any pieces. The plaintext of each record is overwritten before crypto/tls waits for
// the next record. This also holds for a buffer that crypto/tls has replaced by a larger one.
func TestPlaintextIsWipedBeforeEachWait(t *testing.T) {
	for name, config := range tlsConfigs(t) {
		t.Run(name, func(t *testing.T) {
			random := testseed.Random(t)
			c, socket, client := connectTLS(t, random, config)
			for range 60 {
				plaintext := bytes.Repeat(secretText, 1+random.IntN(1<<random.IntN(12)))
				written := make(chan error, 1)
				go func() {
					_, err := client.Write(plaintext)
					written <- err
				}()
				got := make([]byte, len(plaintext))
				if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, plaintext) {
					t.Fatalf("%v: %d bytes are not as they were sent", err, len(plaintext))
				}
				if err := <-written; err != nil {
					t.Fatal(err)
				}
			}
			_ = client.Close()
			if _, err := c.Read(make([]byte, 1)); err != io.EOF { // makes crypto/tls ask for one more record
				t.Fatal(err)
			}
			socket.wantNoPlaintext("the other side is gone")
			if socket.recordsAwaited < 61 {
				t.Errorf("only %d records were waited for", socket.recordsAwaited)
			}
		})
	}
}

// A connection that is closed in the middle of a record leaves no plaintext either.
func TestUnreadPlaintextIsWipedAtClose(t *testing.T) {
	for name, config := range tlsConfigs(t) {
		for _, bytesRead := range []int{0, 1, 700, len(secretText) * 40} {
			t.Run(fmt.Sprintf("%s, %d bytes taken", name, bytesRead), func(t *testing.T) {
				c, socket, client := connectTLS(t, testseed.Random(t), config)
				if _, err := client.Write(bytes.Repeat(secretText, 40)); err != nil {
					t.Fatal(err)
				}
				if bytesRead > 0 {
					if _, err := io.ReadFull(c, make([]byte, bytesRead)); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				c.Wipe()
				socket.wantNoPlaintext("it was wiped")
				if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
					t.Errorf("%d bytes are read afterwards: %v", n, err)
				}
			})
		}
	}
}

// Without wiping, the search for plaintext finds it. So the other tests of this file can fail.
func TestPlaintextIsFoundWithoutWiping(t *testing.T) {
	serverSide, clientSide := net.Pipe()
	socket := &checkingConn{Conn: serverSide, t: t, random: testseed.Random(t)}
	server := tls.Server(socket, tlsConfigs(t)["1.3"])
	client := tls.Client(clientSide, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	go func() { _, _ = client.Write(secretText) }()
	if _, err := io.ReadFull(server, make([]byte, len(secretText))); err != nil {
		t.Fatal(err)
	}
	for _, memory := range socket.lentBuffers {
		if bytes.Contains(memory, secretText) {
			return
		}
	}
	t.Error("no plaintext was found: the search is blind, or crypto/tls keeps it elsewhere")
}

// If the client sends neither TLS nor HTTP, the handshake fails as in crypto/tls.
func TestClientWithoutTLSIsRefused(t *testing.T) {
	serverSide, clientSide := net.Pipe()
	go func() {
		_, _ = io.WriteString(clientSide, "POST / HTTP/1.1\r\nHost: a\r\n\r\n")
		_, _ = io.Copy(io.Discard, clientSide)
	}()
	c := Server(serverSide, tlsConfigs(t)["1.3"])
	var refused tls.RecordHeaderError
	if err := c.Handshake(); !errors.As(err, &refused) || string(refused.RecordHeader[:]) != "POST " {
		t.Errorf("%v", err)
	}
	c.Wipe()
	_ = clientSide.Close()
}
