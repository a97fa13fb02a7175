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

// UTP is the provider for another platform that speaks this platform's protocol.
const UTP = "utp"

// Keys of provider_params for UTP.
const (
	keyBaseURL       = "base_url"
	keyOrganization  = "organization_id"
	keyAPIKey        = "api_key"
	keyCA            = "ca_pem"
	keyWebhookSecret = "webhook_secret"
	keyEnv           = "env"
)

// Connection is the content of provider_params of a UTP terminal: the address of the other
// platform and our credentials there.
type Connection struct {
	BaseURL       string    // scheme, host and an optional prefix, without a slash at the end
	Organization  string    // organization of the key, a UUID
	APIKey        string    // printable ASCII
	CA            string    // PEM certificates, the only ones trusted for BaseURL; empty: the system's
	WebhookSecret string    // verifies the notifications of that platform; empty: none is accepted
	Env           money.Env // environment of the transactions there; 0: the terminal's own
}

// Format implements fmt.Formatter. No verb shows the credentials.
func (c Connection) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("connection")) }

// LogValue implements slog.LogValuer.
func (c Connection) LogValue() slog.Value { return slog.StringValue("connection") }

// Plain tells whether the platform is reached without TLS: at a loopback address, which only a
// sandbox may use.
func (c *Connection) Plain() bool { return strings.HasPrefix(c.BaseURL, "http:") }

// ParseUTP reads and checks the provider_params of a UTP terminal. The error is Join's; each
// wrong value has a field like "provider_params.base_url".
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

// connection reads the keys and checks only their JSON types.
func (r *params) connection() Connection {
	env, _ := money.ParseEnv(r.choice(keyEnv, money.Prod.String(), money.Test.String()))
	return Connection{
		BaseURL:      strings.TrimSuffix(r.text(keyBaseURL, MaxURL), "/"),
		Organization: r.text(keyOrganization, MaxText), APIKey: r.text(keyAPIKey, MaxSecret),
		CA: r.text(keyCA, MaxParams), WebhookSecret: r.text(keyWebhookSecret, MaxSecret), Env: env,
	}
}

// checkBaseURL refuses a text that is not an address to which /api/v1 can be appended.
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

// checkMoved refuses a mask for the API key if base_url names another server than the stored
// one. Otherwise a user who may write parameters but not read secrets could have the key sent to
// a foreign server. A different path is on the same server.
func (t *Terminal) checkMoved(op string, asked []byte) error {
	if t.Provider != UTP {
		return nil
	}
	r := readParams(op, providerParams, asked)
	movedEvent := t.Connection == nil || originOf(r.connection().BaseURL) != originOf(t.Connection.BaseURL)
	return check(!movedEvent || !isMask(r.raw(keyAPIKey)), op, r.field(keyAPIKey), "must be sent again, as base_url names another server than the stored key is for")
}

// originOf returns the server of an address: scheme, host and port (RFC 6454, section 4). It is
// empty for a text that is not an address, and then differs from every stored one.
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

// certificates tells whether a text consists of one or more certificates in PEM form.
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

// connect fills Connection from the stored object without checking it: it was checked in the
// request (invariant 5).
func (t *Terminal) connect() {
	t.Connection = nil
	if t.Provider == UTP {
		c := readParams("directory.connect", providerParams, t.ProviderParams).connection()
		for _, secret := range []*string{&c.APIKey, &c.WebhookSecret} {
			if *secret == Mask {
				*secret = "" // the mask is public, so it must not serve as a credential
			}
		}
		t.Connection = &c
	}
}

// checkConnection refuses parameters in a request that lack the other platform's address or our
// credentials there.
func (t *Terminal) checkConnection() error {
	if t.Provider != UTP {
		return nil
	}
	_, err := ParseUTP(t.ProviderParams)
	return err
}

// checkedSecrets returns the keys of provider_params whose masks checkConnection refuses.
func (t *Terminal) checkedSecrets() []string {
	if t.Provider != UTP {
		return nil
	}
	return []string{keyAPIKey, keyWebhookSecret}
}
