package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority is a certificate authority of the tests.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, cert, key}
}

// issue makes a server's certificate. The function change alters the certificate before the authority signs it;
// with selfSigned, the certificate's own key signs it instead.
func (a *authority) issue(selfSigned bool, change func(*x509.Certificate)) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(46 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(template)
	parent, signer := a.cert, a.key
	if selfSigned {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func noChange(*x509.Certificate) {}

// startTLSReceiver starts a receiver with TLS.
func startTLSReceiver(t *testing.T, config *tls.Config, answer func(*visit)) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startReceiverOn(t, tls.NewListener(l, config), answer)
}

func (r *receiver) tlsURL() string { return strings.Replace(r.url(), "http:", "https:", 1) }

// openTrustingSender returns a sender that trusts only the authority a.
func openTrustingSender(t *testing.T, a *authority, change ...func(*settings)) *Sender {
	t.Helper()
	sender := openSender(t, change...)
	sender.roots = x509.NewCertPool()
	sender.roots.AddCert(a.cert)
	return sender
}

func TestDeliveryOverTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		r := startTLSReceiver(t, &tls.Config{Certificates: []tls.Certificate{a.issue(false, noChange)}, MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}}, acknowledge)
		sender := openTrustingSender(t, a)
		for range 3 {
			sender.Deliver(signedDelivery(r.tlsURL())).want(t, 200, "")
		}
		r.wantConnections(1, 1, 1)
		if r.requests()[2].body != expectedEnvelope {
			t.Errorf("%s", r.requests()[2].body)
		}
	}
}

func TestCertificateFailuresHaveReasons(t *testing.T) {
	t.Parallel()
	authority, untrusted := newAuthority(t), newAuthority(t)
	for name, c := range map[string]struct {
		certificate tls.Certificate
		failure     string
	}{
		"self-signed":               {authority.issue(true, noChange), "TLS: certificate of an unknown authority"},
		"of an untrusted authority": {untrusted.issue(false, noChange), "TLS: certificate of an unknown authority"},
		"expired":                   {authority.issue(false, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "TLS: certificate out of its time"},
		"not valid yet": {authority.issue(false, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(24*time.Hour), time.Now().Add(47*time.Hour)
		}), "TLS: certificate out of its time"},
		"of another address": {authority.issue(false, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 2)} }), "TLS: certificate of another name"},
		"of another name":    {authority.issue(false, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"shop.example"} }), "TLS: certificate of another name"},
		"of a client":        {authority.issue(false, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), "TLS: certificate not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startTLSReceiver(t, &tls.Config{Certificates: []tls.Certificate{c.certificate}}, acknowledge)
			openTrustingSender(t, authority).Deliver(testDelivery(r.tlsURL())).want(t, 0, c.failure)
			r.wantConnections()
		})
	}
}

func TestSystemAuthoritiesAreTrustedByDefault(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	r := startTLSReceiver(t, &tls.Config{Certificates: []tls.Certificate{a.issue(false, noChange)}}, acknowledge)
	sender := openSender(t)
	if sender.roots != nil {
		t.Error("others are trusted")
	}
	sender.Deliver(testDelivery(r.tlsURL())).want(t, 0, "TLS: certificate of an unknown authority")
}

func TestHandshakeFailuresHaveReasons(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	certificates := []tls.Certificate{authority.issue(false, noChange)}
	for name, c := range map[string]struct {
		receiver *receiver
		failure  string
	}{
		"an old version":                       {startTLSReceiver(t, &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, acknowledge), "TLS: refused by the receiver"},
		"another protocol":                     {startTLSReceiver(t, &tls.Config{Certificates: certificates, NextProtos: []string{"other"}}, acknowledge), "TLS: refused by the receiver"},
		"client certificate required":          {startTLSReceiver(t, &tls.Config{Certificates: certificates, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}, acknowledge), "TLS: refused by the receiver"},
		"client certificate required, TLS 1.3": {startTLSReceiver(t, &tls.Config{Certificates: certificates, ClientAuth: tls.RequireAnyClientCert}, acknowledge), "TLS: refused by the receiver"},
		"closed in the handshake":              {startReceiver(t, func(v *visit) { _, _ = v.reader.ReadByte(); _, _ = v.reader.Discard(v.reader.Buffered()) }), "TLS: handshake failed"},
		"plain HTTP":                           {startReceiver(t, func(v *visit) { v.send("HTTP/1.1 400 Bad\r\n\r\n"); v.waitForClose() }), "TLS: not spoken there"},
	} {
		t.Run(name, func(t *testing.T) {
			openTrustingSender(t, authority).Deliver(testDelivery(c.receiver.tlsURL())).want(t, 0, c.failure)
		})
	}
}

// A second response may be in the buffer of crypto/tls, so that the socket looks empty.
func TestLeftOverBytesUnderTLSAcknowledgeNothing(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	batches := &batchListener{Listener: l}
	receiver := startReceiverOn(t, tls.NewListener(batches, &tls.Config{Certificates: []tls.Certificate{authority.issue(false, noChange)}}), func(v *visit) {
		if v.connection > 1 {
			if v.readRequest() {
				v.send("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
			}
			return
		}
		if v.readRequest() {
			batches.hold()
			v.send(acknowledged) // the two responses are two TLS records
			v.send(acknowledged)
			batches.release() // both records are sent in one segment
			v.waitForClose()
		}
	})
	sender := openTrustingSender(t, authority)
	sender.Deliver(testDelivery(receiver.tlsURL())).want(t, 200, "")
	sender.Deliver(testDelivery(receiver.tlsURL())).want(t, 500, "status 500")
	receiver.wantConnections(1, 2)
}

// batchListener can hold back what its newest connection writes, and send all of it in one piece.
type batchListener struct {
	net.Listener
	mu     sync.Mutex
	newest *batchConn // guarded by mu
}

// Accept implements net.Listener.
func (l *batchListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	b := &batchConn{Conn: conn}
	l.mu.Lock()
	l.newest = b
	l.mu.Unlock()
	return b, nil
}

func (l *batchListener) newestConn() *batchConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest
}

func (l *batchListener) hold() {
	b := l.newestConn()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holdsBack = true
}

func (l *batchListener) release() {
	b := l.newestConn()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holdsBack = false
	_, _ = b.Conn.Write(b.heldBytes)
}

// batchConn is a connection that a batchListener has accepted.
type batchConn struct {
	net.Conn
	mu        sync.Mutex
	holdsBack bool   // guarded by mu
	heldBytes []byte // guarded by mu
}

// Write implements net.Conn.
func (b *batchConn) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holdsBack {
		b.heldBytes = append(b.heldBytes, p...)
		return len(p), nil
	}
	return b.Conn.Write(p)
}

func TestClosedTLSConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		r := startTLSReceiver(t, &tls.Config{Certificates: []tls.Certificate{a.issue(false, noChange)}, MaxVersion: version}, answerOnce(acknowledged))
		sender := openTrustingSender(t, a)
		for range 3 {
			sender.Deliver(testDelivery(r.tlsURL())).want(t, 200, "")
		}
		r.wantConnections(1, 2, 3)
	}
}

// A receiver that neither reads nor closes does not delay the close of its connection.
func TestClosingTLSIsBounded(t *testing.T) {
	t.Parallel()
	ourEnd, otherEnd := net.Pipe() // every write waits for a reader
	t.Cleanup(func() { _, _ = ourEnd.Close(), otherEnd.Close() })
	b := belowTLS{ourEnd}
	if err := b.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := b.Write([]byte("x"))
		written <- err
	}()
	if err := receiveFrom(t, "the write's end", written); !timedOut(err) {
		t.Errorf("%v", err)
	}
}

func TestServerNameIsThatOfTheDestination(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	var mu sync.Mutex
	var names []string
	config := &tls.Config{Certificates: []tls.Certificate{authority.issue(false, func(c *x509.Certificate) { c.DNSNames = []string{"a.test", "b.test"} })}}
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, h.ServerName)
		return nil, nil
	}
	r := startTLSReceiver(t, config, acknowledge)
	sender := openTrustingSender(t, authority)
	sender.dialer.Resolver = newResolver(t, func(string) []string { return []string{"127.0.0.1"} })
	for _, name := range []string{"a.test", "b.test", "a.test.", "127.0.0.1"} {
		sender.Deliver(testDelivery(strings.Replace(r.tlsURL(), "127.0.0.1", name, 1))).want(t, 200, "")
	}
	sender.Deliver(testDelivery(strings.Replace(r.tlsURL(), "127.0.0.1", "c.test", 1))).want(t, 0, "TLS: certificate of another name")
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(names, " "); got != "a.test b.test a.test  c.test" {
		t.Errorf("asked for %q", got)
	}
}
