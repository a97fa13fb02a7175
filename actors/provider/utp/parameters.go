package utp

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

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Name is the provider field of terminals that are connected to another platform.
const Name = "utp"

// Connection contains the settings in a terminal's provider_params: the other platform's address and our credentials there.
type Connection struct {
	BaseURL       string    // scheme, host and an optional prefix, without a slash at the end
	Organization  ledger.ID // our organization at the other platform, to which the key belongs
	APIKey        string    // printable ASCII
	CA            string    // the only certificates that are trusted for BaseURL, in PEM; if empty, the system's
	WebhookSecret string    // key for verifying that platform's notifications; if empty, none is accepted
	Env           money.Env // environment of the transactions there; if 0, the terminal's own
}

// Format implements fmt.Formatter. Whatever the verb, it does not print the credentials.
func (c Connection) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("connection")) }

// LogValue implements slog.LogValuer.
func (c Connection) LogValue() slog.Value { return slog.StringValue("connection") }

// Names of the parameters that package directory also uses.
const (
	keyBaseURL       = "base_url"
	keyAPIKey        = "api_key"
	keyWebhookSecret = "webhook_secret"
)

// Parameters describes the fields of Connection, as the columns of a record type. The columns have no numbers,
// because a terminal's parameters are stored as one object.
var Parameters = schema.NewType[Connection]("parameters of a terminal of "+Name,
	schema.BoundField(schema.Text(0, keyBaseURL, schema.Transient, schema.Required, schema.AtMost(directory.MaxURL), schema.Rule(addressRule),
		schema.Help("the platform's URL: https, up to but without `/api/v1`; http only to this machine, in a sandbox")),
		func(c *Connection) string { return c.BaseURL },
		func(c *Connection, address string) { c.BaseURL = strings.TrimSuffix(address, "/") }),
	schema.Field(schema.ID(0, "organization_id", schema.Transient, schema.Required,
		schema.Help("our organization there")), func(c *Connection) *ledger.ID { return &c.Organization }),
	schema.Field(schema.Text(0, keyAPIKey, schema.Transient, schema.Secret, schema.Required, schema.AtMost(directory.MaxSecret), schema.Rule(apiKeyRule),
		schema.Help("our API key there")), func(c *Connection) *string { return &c.APIKey }),
	schema.Field(schema.Text(0, keyWebhookSecret, schema.Transient, schema.Secret, schema.AtMost(directory.MaxSecret),
		schema.Help("signs that platform's notifications; without it none is accepted")), func(c *Connection) *string { return &c.WebhookSecret }),
	schema.Field(schema.Text(0, "ca_pem", schema.Transient, schema.Settable, schema.AtMost(directory.MaxParams), schema.Rule(certificateRule),
		schema.Help("certificates (PEM) that are trusted for base_url in place of the system's certificates")), func(c *Connection) *string { return &c.CA }),
	schema.BoundField(schema.Word(0, "env", []string{money.Prod.String(), money.Test.String()}, schema.Transient, schema.Settable,
		schema.Help("environment of the transactions on that platform; the terminal's own if absent")),
		func(c *Connection) string {
			if c.Env.IsValid() {
				return c.Env.String()
			}
			return ""
		},
		func(c *Connection, word string) { c.Env, _ = money.ParseEnv(word) }),
)

func init() {
	directory.RegisterProvider(directory.Provider{
		Name: Name, Parameters: Parameters, AddressColumn: keyBaseURL, CredentialColumn: keyAPIKey, SigningSecretColumn: keyWebhookSecret,
	})
}

// connectionOf returns the terminal's connection. If the terminal belongs to another provider, the
// connection is empty and has no address, so nothing can be sent.
func connectionOf(t *directory.Terminal) *Connection {
	if c, ok := t.Parameters.(*Connection); ok {
		return c
	}
	return new(Connection)
}

// apiKeyRule refuses a key that cannot be sent in a header.
func apiKeyRule(value any) string {
	key := value.(string)
	if key == "" || strings.ContainsFunc(key, func(b rune) bool { return b <= ' ' || b > '~' }) {
		return "must be the key, in printable ASCII"
	}
	return ""
}

// addressRule refuses a text that is not an https address, or to which /api/v1 cannot be appended. An http address is
// allowed only for this machine.
func addressRule(value any) string {
	address := value.(string)
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || !schema.HasUsablePort(u) || u.Scheme != "https" && u.Scheme != "http":
		return "must be an https address"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(address, "#"):
		return "must have no credentials, query or fragment"
	case u.Path != "" && u.Path != "/" && (u.RawPath != "" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/")):
		return "has a prefix that is not in its plain form"
	case strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), protocol):
		return "must end before " + protocol
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "must be an https address: http is for this machine only"
	}
	return ""
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// certificateRule refuses a text that does not consist of certificates in PEM form.
func certificateRule(value any) string {
	if text := value.(string); text != "" && !areCertificates(text) {
		return "must be certificates in PEM form, and nothing else"
	}
	return ""
}

// areCertificates tells whether a text consists only of certificates in PEM form, at least one.
func areCertificates(text string) bool {
	rest, hasAny := bytes.TrimSpace([]byte(text)), false
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return false
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return false
		}
		hasAny, rest = true, bytes.TrimSpace(rest)
	}
	return hasAny
}
