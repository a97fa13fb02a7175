package directory

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
)

// UTP is the provider that is another platform, which speaks the protocol that
// this one speaks.
const UTP = "utp"

// The keys of provider_params for UTP.
const (
	keyBaseURL       = "base_url"
	keyOrganization  = "organization_id"
	keyAPIKey        = "api_key"
	keyCA            = "ca_pem"
	keyWebhookSecret = "webhook_secret"
	keyEnv           = "env"
)

// Connection is what the provider_params of a terminal of UTP say: where the other
// platform is, and who we are there.
type Connection struct {
	BaseURL       string    // scheme, host and an optional prefix, without a slash at the end
	Organization  string    // of the key, a UUID
	APIKey        string    // printable ASCII
	CA            string    // PEM certificates that are trusted for BaseURL, and no others; empty: the system's
	WebhookSecret string    // signs the notifications of that platform; empty: none is taken in
	Env           money.Env // of the transactions there; 0: the terminal's own
}

// Format implements fmt.Formatter, so that no verb shows the credentials.
func (c Connection) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("connection")) }

// LogValue implements slog.LogValuer.
func (c Connection) LogValue() slog.Value { return slog.StringValue("connection") }

// Plain tells whether the platform is reached without TLS: a loopback address,
// which only a sandbox may use.
func (c *Connection) Plain() bool { return strings.HasPrefix(c.BaseURL, "http:") }

// ParseUTP reads and checks the provider_params of a terminal of UTP. Bad values
// are refused as Join does it, each under a field like "provider_params.base_url".
func ParseUTP(object []byte) (Connection, error) {
	r := readParams("directory.ParseUTP", providerParams, object)
	c := r.connection()
	r.checkBaseURL(r.text(keyBaseURL, MaxURL))
	if _, err := uuid.Parse(c.Organization); err != nil || len(c.Organization) != len(ledger.ID{}.String()) {
		r.refuse(keyOrganization, "must be a UUID")
	}
	if c.APIKey == "" || strings.ContainsFunc(c.APIKey, func(b rune) bool { return b <= ' ' || b > '~' }) {
		r.refuse(keyAPIKey, "must be the key, in printable ASCII")
	}
	r.keep(checkUnmasked(r.op, r.field(keyWebhookSecret), c.WebhookSecret))
	if c.CA != "" && !certificates(c.CA) {
		r.refuse(keyCA, "must be certificates in PEM form, and nothing else")
	}
	if r.refused != nil {
		return Connection{}, r.refused
	}
	return c, nil
}

// connection reads the keys and checks no more than that they are texts.
func (r *params) connection() Connection {
	env, _ := money.ParseEnv(r.choice(keyEnv, money.Prod.String(), money.Test.String()))
	return Connection{
		BaseURL:      strings.TrimSuffix(r.text(keyBaseURL, MaxURL), "/"),
		Organization: r.text(keyOrganization, MaxText), APIKey: r.text(keyAPIKey, MaxSecret),
		CA: r.text(keyCA, MaxParams), WebhookSecret: r.text(keyWebhookSecret, MaxSecret), Env: env,
	}
}

// checkBaseURL refuses what is no address to which /api/v1 could be appended.
func (r *params) checkBaseURL(address string) {
	const protocol = "/api/v1"
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		r.refuse(keyBaseURL, "must be an https address")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(address, "#"):
		r.refuse(keyBaseURL, "must have no credentials, query or fragment")
	case u.Path != "" && u.Path != "/" && (u.RawPath != "" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/")):
		r.refuse(keyBaseURL, "has a prefix that is not in its plain form")
	case strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), protocol):
		r.refuse(keyBaseURL, "must end before %s", protocol)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		r.refuse(keyBaseURL, "must be an https address: http is for this machine only")
	}
}

// checkMoved refuses a mask for the key where base_url names another server than the
// stored one: whoever may write parameters and never read a secret could have it sent
// to a server of their own. A path is still the same server's.
func (t *Terminal) checkMoved(op string, asked []byte) error {
	if t.Provider != UTP {
		return nil
	}
	r := readParams(op, providerParams, asked)
	moved := t.Connection == nil || originOf(r.connection().BaseURL) != originOf(t.Connection.BaseURL)
	return check(!moved || !isMask(r.raw(keyAPIKey)), op, r.field(keyAPIKey), "must be sent again, as base_url names another server than the stored key is for")
}

// originOf is the server of an address: scheme, host and port (RFC 6454, section 4).
// Empty: it is no address, and equal to none that was stored.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// certificates tells whether a text is one certificate or more in PEM form.
func certificates(text string) bool {
	rest, found := bytes.TrimSpace([]byte(text)), false
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return false
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return false
		}
		found, rest = true, bytes.TrimSpace(rest)
	}
	return found
}

// connect fills Connection from the stored object, whatever it holds: it was
// checked when it was asked for (invariant 5).
func (t *Terminal) connect() {
	t.Connection = nil
	if t.Provider == UTP {
		c := readParams("directory.connect", providerParams, t.ProviderParams).connection()
		for _, secret := range []*string{&c.APIKey, &c.WebhookSecret} {
			if *secret == Mask {
				*secret = "" // what everybody knows lets nobody in
			}
		}
		t.Connection = &c
	}
}

// checkConnection refuses parameters that are asked for and don't say where the
// other platform is, or who we are there.
func (t *Terminal) checkConnection() error {
	if t.Provider != UTP {
		return nil
	}
	_, err := ParseUTP(t.ProviderParams)
	return err
}

// checkedSecrets are the keys of provider_params whose masks checkConnection refuses.
func (t *Terminal) checkedSecrets() []string {
	if t.Provider != UTP {
		return nil
	}
	return []string{keyAPIKey, keyWebhookSecret}
}
