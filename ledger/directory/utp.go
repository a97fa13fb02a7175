package directory

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
)

// UTP is the provider that is another platform, which speaks the protocol that
// this one speaks.
const UTP = "utp"

// Mask is shown instead of what must not be read in provider_params. A change
// that sends it back keeps what is stored.
const Mask = "•••"

// The keys of provider_params for UTP.
const (
	keyBaseURL       = "base_url"
	keyOrganization  = "organization_id"
	keyAPIKey        = "api_key"
	keyCA            = "ca_pem"
	keyWebhookSecret = "webhook_secret"
	keyEnv           = "env"
)

// secretParams are the keys of provider_params that are written and never read.
var secretParams = []string{keyAPIKey, keyWebhookSecret}

// SecretParam tells whether a key of provider_params is shown as Mask.
func SecretParam(key string) bool { return slices.Contains(secretParams, key) }

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

// Masked is an object of provider_params with a mask in the place of each secret.
func Masked(params []byte) []byte {
	return rewrite(params, func(name string, value json.RawMessage) json.RawMessage {
		if SecretParam(name) {
			return quotedMask
		}
		return value
	})
}

var quotedMask = json.RawMessage(`"` + Mask + `"`)

// unmask is the provider_params that were sent, with what is stored in the place
// of each mask.
func unmask(sent, stored []byte) []byte { return putBack(sent, stored, SecretParam) }

// rewrite is an object with other values, in the order and by the names that it
// has. What is no object is left as it is, and so is one whose values all stay.
func rewrite(text []byte, with func(name string, value json.RawMessage) json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	if opening, err := d.Token(); err != nil || opening != json.Delim('{') {
		return text
	}
	out, changed := []byte{'{'}, false
	for d.More() {
		var value json.RawMessage
		key, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			return text
		}
		name, _ := key.(string)
		put := with(name, value)
		changed = changed || !bytes.Equal(put, value)
		if len(out) > 1 {
			out = append(out, ',')
		}
		quoted, _ := json.Marshal(name) // a text has a form
		out = append(append(append(out, quoted...), ':'), put...)
	}
	if !changed {
		return text
	}
	return append(out, '}')
}
