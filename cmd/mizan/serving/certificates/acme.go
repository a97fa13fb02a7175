package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/time/rate"
)

// Waits between attempts to obtain certificates at the start. Each wait is twice the previous one, up to lastRetry. Public
// authorities refuse a name for an hour after five failures.
const (
	firstRetry = 5 * time.Minute
	lastRetry  = time.Hour
)

// expiryMargin is the remaining lifetime below which the renewal of a certificate counts as overdue. For a certificate with a
// short lifetime, the margin is a sixth of the lifetime, because some authorities issue certificates for days or hours.
// Renewals begin in the last third of the lifetime, but not earlier than 30 days before the end.
const expiryMargin = 7 * 24 * time.Hour

// requestTimeout is how long one request to the authority may take.
const requestTimeout = time.Minute

// ACMEOptions are the options of NewACME.
type ACMEOptions struct {
	Directory string   // URL of the authority's directory (RFC 8555, 7.1.1)
	Domains   []string // at least one, each with a dot; a client that names no domain gets the certificate of the first domain
	Email     string   // contact address for the authority; empty: none
	Dir       string   // directory for the account's key, the certificates and their keys; created with mode 0700
	Log       *slog.Logger
}

// ACME obtains and renews certificates for a list of domains. The authority verifies each domain by a handshake with the
// server itself (tls-alpn-01, RFC 8737), so connections to port 443 of the domain must reach the listener.
type ACME struct {
	manager  *autocert.Manager
	domains  []string
	log      *slog.Logger
	failures rate.Sometimes
	expiries rate.Sometimes
}

// NewACME returns a source of certificates that has not requested anything yet. It accepts the authority's terms of service.
func NewACME(o ACMEOptions) *ACME {
	return &ACME{
		manager: &autocert.Manager{
			Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(o.Dir), HostPolicy: autocert.HostWhitelist(o.Domains...), Email: o.Email,
			Client: &acme.Client{
				DirectoryURL: o.Directory, UserAgent: "mizan",
				HTTPClient: &http.Client{Transport: &validationErrorLog{http.DefaultTransport, o.Log}, Timeout: requestTimeout},
			},
		},
		domains: o.Domains, log: o.Log,
		failures: rate.Sometimes{Interval: time.Minute}, expiries: rate.Sometimes{Interval: time.Hour},
	}
}

// Get implements tls.Config.GetCertificate. If there is no certificate for the domain yet, the handshake waits until one has
// been obtained. A client that names no domain, such as a load balancer's health check, gets the certificate of the first
// domain.
func (a *ACME) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == "" {
		named := *hello
		named.ServerName = a.domains[0]
		hello = &named
	}
	certificate, err := a.manager.GetCertificate(hello)
	if !slices.Contains(a.domains, strings.ToLower(hello.ServerName)) || isChallenge(hello) {
		return certificate, err
	}
	switch {
	case err != nil:
		a.failures.Do(func() { a.log.Error("there is no certificate", "domain", hello.ServerName, "error", err) })
	case isOverdue(certificate.Leaf, time.Now()):
		a.expiries.Do(func() {
			a.log.Error("the certificate expires soon and could not be renewed", "domain", hello.ServerName, "expires", certificate.Leaf.NotAfter)
		})
	}
	return certificate, err
}

// isOverdue tells whether a certificate should have been renewed some time ago, which means that the attempts have failed.
func isOverdue(leaf *x509.Certificate, now time.Time) bool {
	return leaf.NotAfter.Sub(now) < min(expiryMargin, leaf.NotAfter.Sub(leaf.NotBefore)/6)
}

// isChallenge tells whether the authority makes this handshake to verify a domain.
func isChallenge(hello *tls.ClientHelloInfo) bool {
	return slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto})
}

// Obtain gets the certificates of all domains and starts their renewal, so that no client has to wait for a certificate. The
// listener must already accept connections. Obtain repeats failed attempts. It returns when there is a certificate for every
// domain, or when ctx ends.
func (a *ACME) Obtain(ctx context.Context) {
	missing := slices.Clone(a.domains)
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		missing = slices.DeleteFunc(missing, a.obtain)
		if len(missing) == 0 || ctx.Err() != nil {
			return
		}
		a.log.Warn("certificates are missing", "domains", strings.Join(missing, ","), "next_attempt_in", wait.String())
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// obtain gets the certificate of a domain from the authority, or loads the certificate that an earlier process has obtained. If
// that fails, it returns false.
func (a *ACME) obtain(domain string) bool {
	// This cipher suite tells autocert that the client supports ECDSA, as all current clients do.
	certificate, err := a.Get(&tls.ClientHelloInfo{ServerName: domain, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
	if err != nil {
		return false
	}
	a.log.Info("certificate", "domain", domain, "expires", certificate.Leaf.NotAfter)
	return true
}
