package certificates

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// newACME returns a source of certificates and a counter. The source's authority refuses every request, and the counter has the
// number of requests that the authority received.
func newACME(t *testing.T, log *bytes.Buffer) (*ACME, *atomic.Int64) {
	t.Helper()
	requests := new(atomic.Int64)
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(authority.Close)
	return NewACME(ACMEOptions{
		Directory: authority.URL, Domains: []string{"pay.bank.example", "www.bank.example"}, Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(log, nil)),
	}), requests
}

// Anybody can send any name in a handshake. Such names must not be requested from the authority, which limits the number of
// requests, and must not fill the log.
func TestNamesThatAreNotConfiguredAreNotRequested(t *testing.T) {
	var log bytes.Buffer
	source, requests := newACME(t, &log)
	for _, name := range []string{"other.example", "a.pay.bank.example", "localhost", "PAY", "..", "\x00.example"} {
		if _, err := source.Get(&tls.ClientHelloInfo{ServerName: name, SupportedProtos: []string{"http/1.1"}}); err == nil {
			t.Errorf("%q has a certificate", name)
		}
	}
	for _, name := range []string{"", "pay.bank.example", "other.example"} {
		if _, err := source.Get(&tls.ClientHelloInfo{ServerName: name, SupportedProtos: []string{"acme-tls/1"}}); err == nil {
			t.Errorf("%q has a certificate for a challenge that nobody has begun", name)
		}
	}
	if requests.Load() != 0 || log.Len() != 0 {
		t.Errorf("%d requests; the log has %q", requests.Load(), log.String())
	}
}

// A client that names no domain gets the certificate of the first domain. If that fails, the failure is logged at most once a
// minute.
func TestFailureIsLoggedOnceAMinute(t *testing.T) {
	var log bytes.Buffer
	source, requests := newACME(t, &log)
	for range 3 {
		if _, err := source.Get(&tls.ClientHelloInfo{}); err == nil {
			t.Fatal("there is a certificate")
		}
	}
	if requests.Load() == 0 {
		t.Error("nothing was requested")
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "domain=pay.bank.example") {
		t.Errorf("the log has %q, want one line", log.String())
	}
}

// The renewal of a certificate is overdue if less than 7 days of its lifetime are left, or less than a sixth of a shorter
// lifetime.
func TestOverdueRenewal(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		life, left time.Duration
		want       bool
	}{
		{90 * day, 8 * day, false}, {90 * day, 6 * day, true}, {90 * day, -day, true},
		{6 * day, 5 * day, false}, {6 * day, 25 * time.Hour, false}, {6 * day, 23 * time.Hour, true},
		{day, 5 * time.Hour, false}, {day, 3 * time.Hour, true},
	} {
		leaf := &x509.Certificate{NotBefore: noon.Add(c.left - c.life), NotAfter: noon.Add(c.left)}
		if got := isOverdue(leaf, noon); got != c.want {
			t.Errorf("of %v there are %v left: %v, want %v", c.life, c.left, got, c.want)
		}
	}
}

// A certificate that could not be renewed is still served, and the log has an error.
func TestOverdueRenewalIsLogged(t *testing.T) {
	var log bytes.Buffer
	source, requests := newACME(t, &log)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"pay.bank.example"},
		NotBefore: time.Now().AddDate(0, 0, -84), NotAfter: time.Now().AddDate(0, 0, 6),
	}
	leaf, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	privateKey, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	stored := append(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: privateKey}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf})...)
	if err := source.manager.Cache.Put(t.Context(), "pay.bank.example", stored); err != nil {
		t.Fatal(err)
	}
	if !source.obtain("pay.bank.example") {
		t.Error("the certificate is not used")
	}
	if text := log.String(); !strings.Contains(text, `level=ERROR msg="the certificate expires soon and could not be renewed" domain=pay.bank.example`) {
		t.Errorf("the log has %q", text)
	}
	testkit.WaitUntil(t, "the renewal's request", func() bool { return requests.Load() > 0 })
}

// Obtain ends when its context ends, even if it has obtained no certificate.
func TestObtainEndsWithTheServer(t *testing.T) {
	var log bytes.Buffer
	source, _ := newACME(t, &log)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	source.Obtain(ctx)
}

// The log says why a domain was not verified, because the error of a handshake does not contain the reason. The response is
// passed on unchanged.
func TestReasonOfARefusedDomainIsLogged(t *testing.T) {
	const refused = `{"status":"invalid","identifier":{"type":"dns","value":"pay.bank.example"},"challenges":[` +
		`{"type":"tls-alpn-01","status":"invalid","error":{"type":"urn:ietf:params:acme:error:connection","detail":"connection\nrefused"}},{"type":"dns-01"}]}`
	for body, want := range map[string]string{
		refused: `msg="the certificate authority could not verify a domain" domain=pay.bank.example challenge=tls-alpn-01 error="connection; refused"`,
		`{"status":"valid","challenges":[{"error":{"detail":"x"}}]}`: "",
		`["no authorization"]`: "",
	} {
		var log bytes.Buffer
		authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, body)
		}))
		client := &http.Client{Transport: &validationErrorLog{http.DefaultTransport, slog.New(slog.NewTextHandler(&log, nil))}}
		response, err := client.Get(authority.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(response.Body); err != nil || string(got) != body {
			t.Errorf("the body is %q, %v, want %q", got, err, body)
		}
		if want == "" && log.Len() > 0 || !strings.Contains(log.String(), want) {
			t.Errorf("%s: the log has %q", body, log.String())
		}
		authority.Close()
	}
}
