package stripe

import (
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"

	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Name is the provider field of terminals that charge through a Stripe account.
const Name = "stripe"

// Connection contains the settings in a terminal's provider_params: a Stripe account, and how it is used.
type Connection struct {
	SecretKey      string // sk_… or a restricted key rk_…
	PublishableKey string // pk_…; empty if none
	WebhookSecret  string // whsec_…; if empty, no notification is accepted
	RawCards       bool   // the account may send card numbers
	SavesCards     bool   // cards are saved at Stripe, so that subscriptions can charge them
	PollSeconds    int    // time between two polls for events
	APIBase        string // address of the API, without a slash at the end; empty: Stripe's own
	Descriptor     string // suffix of the text on the payer's statement; empty if none
}

// Format implements fmt.Formatter. Whatever the verb, it does not print the keys.
func (c Connection) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("connection")) }

// LogValue implements slog.LogValuer.
func (c Connection) LogValue() slog.Value { return slog.StringValue("connection") }

// stripeBase is the address of Stripe's own API.
const stripeBase = "https://api.stripe.com"

// base returns the address of the API.
func (c *Connection) base() string {
	if c.APIBase == "" {
		return stripeBase
	}
	return c.APIBase
}

// Names of the parameters that package directory also uses, or that have rules in common.
const (
	keySecret        = "secret_key"
	keyPublishable   = "publishable_key"
	keyWebhookSecret = "webhook_secret"
	keyBase          = "api_base"
)

// Bounds of the parameters.
const (
	defaultPollSeconds = 60
	maxPollSeconds     = 24 * 60 * 60
	maxDescriptor      = 22 // characters of the text on the payer's statement (docs.stripe.com/get-started/account/statement-descriptors)
)

// Parameters describes the fields of Connection, as the columns of a record type. The columns have no numbers,
// because a terminal's parameters are stored as one object.
var Parameters = schema.NewType[Connection]("parameters of a terminal of "+Name,
	schema.Field(schema.Text(0, keySecret, schema.Transient, schema.Secret, schema.Required, schema.AtMost(directory.MaxSecret), schema.Rule(keyRule("sk_", "rk_")),
		schema.Help("the account's secret key, or a restricted key; a test key for a terminal of env test")), func(c *Connection) *string { return &c.SecretKey }),
	schema.Field(schema.Text(0, keyPublishable, schema.Transient, schema.Settable, schema.AtMost(directory.MaxSecret), schema.Rule(keyRule("pk_")),
		schema.Help("the account's publishable key")), func(c *Connection) *string { return &c.PublishableKey }),
	schema.Field(schema.Text(0, keyWebhookSecret, schema.Transient, schema.Secret, schema.AtMost(directory.MaxSecret), schema.Rule(keyRule("whsec_")),
		schema.Help("signing secret of the webhook endpoint at Stripe; without it no notification is accepted")), func(c *Connection) *string { return &c.WebhookSecret }),
	schema.Field(schema.Bool(0, "raw_cards", schema.Transient, schema.Settable, schema.DefaultTo(false),
		schema.Help("Stripe has allowed the account to send card numbers; otherwise a card in a request is rejected, `raw_cards_not_allowed`")),
		func(c *Connection) *bool { return &c.RawCards }),
	schema.Field(schema.Bool(0, "save_cards", schema.Transient, schema.Settable, schema.DefaultTo(true),
		schema.Help("save cards at Stripe: without it subscriptions are impossible, with it banks ask more often for authentication")),
		func(c *Connection) *bool { return &c.SavesCards }),
	schema.NumberField(schema.Integer(0, "poll_seconds", 1, maxPollSeconds, schema.Transient, schema.Settable, schema.DefaultTo(int64(defaultPollSeconds)),
		schema.Help("seconds between two polls for the account's events")), func(c *Connection) *int { return &c.PollSeconds }),
	schema.BoundField(schema.Text(0, keyBase, schema.Transient, schema.Settable, schema.AtMost(directory.MaxURL), schema.Rule(addressRule),
		schema.Help("address of the API, for tests: https; http only to this machine, in a sandbox; Stripe's own if absent")),
		func(c *Connection) string { return c.APIBase },
		func(c *Connection, address string) { c.APIBase = strings.TrimSuffix(address, "/") }),
	schema.Field(schema.Text(0, "statement_descriptor", schema.Transient, schema.Settable, schema.AtMost(maxDescriptor), schema.Rule(descriptorRule),
		schema.Help("suffix of the text on the payer's statement: Latin characters, at least one letter, none of `<>\\'\"*`")),
		func(c *Connection) *string { return &c.Descriptor }),
)

func init() {
	directory.RegisterProvider(directory.Provider{
		Name: Name, Parameters: Parameters, AddressColumn: keyBase, CredentialColumn: keySecret, SigningSecretColumn: keyWebhookSecret,
		Check: checkMode,
	})
}

// connectionOf returns the terminal's connection. If the terminal belongs to another provider, or its parameters could not be
// decrypted, the connection has no key, and Stripe refuses the requests.
func connectionOf(t *directory.Terminal) *Connection {
	if c, ok := t.Parameters.(*Connection); ok {
		return c
	}
	return new(Connection)
}

// checkMode refuses a live key on a terminal of environment test, and a test key on a terminal of environment prod. At another
// address than Stripe's own, keys have no mode.
func checkMode(parameters any, env money.Env) (parameter, problem string) {
	c, ok := parameters.(*Connection)
	if !ok {
		return "", ""
	}
	base, err := url.Parse(c.base())
	if err != nil || !strings.EqualFold(strings.TrimSuffix(base.Hostname(), "."), strings.TrimPrefix(stripeBase, "https://")) {
		return "", ""
	}
	for _, key := range []struct{ name, value string }{{keySecret, c.SecretKey}, {keyPublishable, c.PublishableKey}} {
		switch mode := modeOf(key.value); {
		case key.value == "":
		case mode == "":
			return key.name, "must be a key of live mode or of test mode"
		case env == money.Test && mode == live:
			return key.name, "is a live key, but the terminal's env is test"
		case env == money.Prod && mode == test:
			return key.name, "is a test key, but the terminal's env is prod"
		}
	}
	return "", ""
}

// Modes of keys.
const (
	live = "live"
	test = "test"
)

// modeOf returns the mode of a key such as sk_test_…, or an empty text.
func modeOf(key string) string {
	_, rest, _ := strings.Cut(key, "_")
	mode, _, hasMore := strings.Cut(rest, "_")
	if hasMore && (mode == live || mode == test) {
		return mode
	}
	return ""
}

// keyRule refuses a text that is not a key with one of the prefixes, or that cannot be sent in a header.
func keyRule(prefixes ...string) func(any) string {
	return func(value any) string {
		key := value.(string)
		for _, prefix := range prefixes {
			if rest, ok := strings.CutPrefix(key, prefix); ok && rest != "" && !strings.ContainsFunc(key, isUnprintable) {
				return ""
			}
		}
		return "must be a key that begins with " + strings.Join(prefixes, " or ")
	}
}

// isUnprintable tells whether a character is not a printable character of ASCII.
func isUnprintable(c rune) bool { return c <= ' ' || c > '~' }

// addressRule refuses a text that is not an https address without a path. An http address is allowed only for this machine.
func addressRule(value any) string {
	address := value.(string)
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || !schema.HasUsablePort(u) || u.Scheme != "https" && u.Scheme != "http":
		return "must be an https address"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(address, "#"):
		return "must have no credentials, query or fragment"
	case u.Path != "" && u.Path != "/":
		return "must have no path"
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "must be an https address: http is for this machine only"
	}
	return ""
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// descriptorRule refuses a text that Stripe does not accept on a payer's statement.
func descriptorRule(value any) string {
	text := value.(string)
	hasLetter := strings.ContainsFunc(text, func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' })
	if !hasLetter || strings.ContainsAny(text, `<>\'"*`) || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) || strings.TrimSpace(text) != text {
		return `must be printable ASCII with at least one letter, without < > \ ' " *, and without spaces at its ends`
	}
	return ""
}
