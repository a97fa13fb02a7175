package directory

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// connecting returns a valid object of parameters with some members changed; null removes one.
func connecting(t *testing.T, changes map[string]any) []byte {
	t.Helper()
	params := map[string]any{
		"base_url": "https://platform.example", "organization_id": "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", "api_key": "mzk_key", "priority": 3,
	}
	for name, value := range changes {
		params[name] = value
	}
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// certificate is a certificate in PEM form.
func certificate(t *testing.T) string {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestAConnectionSaysWhereAndWho(t *testing.T) {
	good := certificate(t)
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}}))
	for name, c := range map[string]struct {
		change map[string]any
		field  string
	}{
		"plain":                       {nil, ""},
		"a prefix":                    {map[string]any{"base_url": "https://platform.example:8443/a/b"}, ""},
		"a slash at the end":          {map[string]any{"base_url": "https://platform.example/"}, ""},
		"http to this machine":        {map[string]any{"base_url": "http://127.0.0.1:8080"}, ""},
		"http to this machine, v6":    {map[string]any{"base_url": "http://[::1]:8080"}, ""},
		"http to localhost":           {map[string]any{"base_url": "http://localhost:8080"}, ""},
		"certificates":                {map[string]any{"ca_pem": good + "\n" + good}, ""},
		"an environment":              {map[string]any{"env": "test"}, ""},
		"a secret":                    {map[string]any{"webhook_secret": "ключ"}, ""},
		"no address":                  {map[string]any{"base_url": nil}, "base_url"},
		"no scheme":                   {map[string]any{"base_url": "platform.example"}, "base_url"},
		"another scheme":              {map[string]any{"base_url": "ftp://platform.example"}, "base_url"},
		"http elsewhere":              {map[string]any{"base_url": "http://platform.example"}, "base_url"},
		"http to what looks like us":  {map[string]any{"base_url": "http://127.0.0.1.example"}, "base_url"},
		"credentials":                 {map[string]any{"base_url": "https://u:p@platform.example"}, "base_url"},
		"a query":                     {map[string]any{"base_url": "https://platform.example/?a"}, "base_url"},
		"an empty query":              {map[string]any{"base_url": "https://platform.example/?"}, "base_url"},
		"a fragment":                  {map[string]any{"base_url": "https://platform.example/#a"}, "base_url"},
		"a way up":                    {map[string]any{"base_url": "https://platform.example/a/../b"}, "base_url"},
		"an escape":                   {map[string]any{"base_url": "https://platform.example/a%2fb"}, "base_url"},
		"the protocol's path":         {map[string]any{"base_url": "https://platform.example/api/v1"}, "base_url"},
		"the protocol's path, closed": {map[string]any{"base_url": "https://platform.example/x/api/v1/"}, "base_url"},
		"an address too long":         {map[string]any{"base_url": "https://platform.example/" + strings.Repeat("a", MaxURL)}, "base_url"},
		"an address that is a number": {map[string]any{"base_url": 7}, "base_url"},
		"no organization":             {map[string]any{"organization_id": nil}, "organization_id"},
		"an organization by name":     {map[string]any{"organization_id": "us"}, "organization_id"},
		"an organization in braces":   {map[string]any{"organization_id": "{0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5}"}, "organization_id"},
		"no key":                      {map[string]any{"api_key": nil}, "api_key"},
		"a key with a line":           {map[string]any{"api_key": "a\r\nx-other: b"}, "api_key"},
		"a key that is the mask":      {map[string]any{"api_key": Mask}, "api_key"},
		"a key too long":              {map[string]any{"api_key": strings.Repeat("k", MaxSecret+1)}, "api_key"},
		"a secret that is the mask":   {map[string]any{"webhook_secret": Mask}, "webhook_secret"},
		"no certificate":              {map[string]any{"ca_pem": "trust me"}, "ca_pem"},
		"a key as a certificate":      {map[string]any{"ca_pem": good + key}, "ca_pem"},
		"an environment of its own":   {map[string]any{"env": "live"}, "env"},
	} {
		draft := Terminal{ID: testID(1), Partner: 3, Name: "T", Provider: UTP, Type: PaymentTerminal, Env: money.Prod, ProviderParams: connecting(t, c.change), Active: true}
		_, _, err := NewTerminal(draft, false)
		want := c.field
		if want != "" {
			want = providerParams + "." + want
		}
		wantField(t, name, err, want)

		old, _, err := NewTerminal(Terminal{ID: testID(1), Partner: 3, Name: "T", Provider: UTP, Type: PaymentTerminal, ProviderParams: connecting(t, nil), Env: money.Prod, Active: true}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, masked := c.change["api_key"]; masked && c.change["api_key"] == Mask {
			want = "" // the stored one
		}
		_, _, err = old.Patch(func(r *Terminal, _ *schema.Faults) { r.ProviderParams = draft.ProviderParams }, false)
		wantField(t, name+", patched", err, want)
	}
}

func TestAConnectionIsReadFromWhatIsStored(t *testing.T) {
	ca := certificate(t)
	params := connecting(t, map[string]any{"base_url": "https://platform.example/p/", "webhook_secret": "hook", "env": "test", "ca_pem": ca})
	terminal, _, err := NewTerminal(Terminal{ID: testID(1), Partner: 3, Name: "T", Provider: UTP, Type: PayoutTerminal, ProviderParams: params, Env: money.Prod, Active: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := Connection{
		BaseURL: "https://platform.example/p", Organization: "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", APIKey: "mzk_key", CA: ca, WebhookSecret: "hook", Env: money.Test,
	}
	if *terminal.Connection != want || terminal.Settings.Priority != 3 {
		t.Error("the connection is not what was asked for")
	}
	again := *terminal
	again.Connection = nil
	if err := again.Reparse(); err != nil || *again.Connection != want {
		t.Error("the connection is not what is stored")
	}
	rail, _, err := NewTerminal(Terminal{ID: testID(1), Partner: 3, Name: "T", Provider: Simulator, Type: PayoutTerminal, ProviderParams: params, Env: money.Prod, Active: true}, false)
	if err != nil || rail.Connection != nil {
		t.Errorf("a terminal of the simulator has a connection, %v", err)
	}
}

// Stored parameters never prevent the store from opening (invariant 5).
func TestAConnectionThatWouldBeRefusedIsStillRead(t *testing.T) {
	terminal := &Terminal{Provider: UTP, ProviderParams: []byte(`{"base_url":7,"api_key":"k","ca_pem":"none"}`)}
	if err := terminal.Reparse(); err != nil || terminal.Connection == nil || terminal.Connection.APIKey != "k" {
		t.Errorf("%v", err)
	}
}

func TestAConnectionPrintsNothing(t *testing.T) {
	c := Connection{BaseURL: "https://platform.example", APIKey: "canary", WebhookSecret: "canary"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "c", c, "p", &c)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&log, verb, c)
		fmt.Fprintf(&log, verb, &c)
	}
	if strings.Contains(log.String(), "canary") || strings.Contains(log.String(), fmt.Sprintf("%x", "canary")) {
		t.Errorf("printed %s", &log)
	}
}

func TestOnlyMasksAreFilledWithWhatIsStored(t *testing.T) {
	const stored = `{"api_key":"k1","webhook_secret":"s1","base_url":"b1","description":"d1"}`
	for sent, want := range map[string]string{
		`{"api_key":"•••"}`: `{"api_key":"k1"}`,
		`{ "webhook_secret" : "\u2022\u2022\u2022", "x": [1, {"api_key":"•••"}] }`: `{"webhook_secret":"s1","x":[1, {"api_key":"•••"}]}`,
		`{"description":"•••","base_url":"•••"}`:                                   `{"description":"•••","base_url":"•••"}`,
		`{"api_key":"k2","webhook_secret":null}`:                                   `{"api_key":"k2","webhook_secret":null}`,
		`{"api_key":"••••"}`:                                                       `{"api_key":"••••"}`,
		`["•••"]`:                                                                  `["•••"]`,
	} {
		if got := string(unmasked([]byte(sent), []byte(stored))); got != want {
			t.Errorf("%s becomes %s, want %s", sent, got, want)
		}
	}
	if got := string(unmasked([]byte(`{"api_key":"•••"}`), nil)); got != `{"api_key":"•••"}` {
		t.Errorf("with nothing stored a mask becomes %s", got)
	}
}

// Secrets of any name and at any depth are never shown. Each is put back for its mask, and a
// mask without a stored secret is refused.
func TestSecretsAreKnownByTheirNames(t *testing.T) {
	const stored = `{"api_secret":"a","API_TOKEN":["b"],"db":{"Password":{"c":1},"user":"u"},"list":[{"private_key":7},{"x":1}],"publishable_key":"pk","empty_secret":"","no_key":null}`
	const shown = `{"api_secret":"•••","API_TOKEN":"•••","db":{"Password":"•••","user":"u"},"list":[{"private_key":"•••"},{"x":1}],"publishable_key":"pk","empty_secret":"","no_key":null}`
	if got := string(Masked([]byte(stored))); got != shown {
		t.Errorf("shown as %s", got)
	}
	if got := string(unmasked([]byte(shown), []byte(stored))); got != stored {
		t.Errorf("put back as %s", got)
	}
	if err := checkMasks("op", providerParams, unmasked([]byte(shown), []byte(stored))); err != nil {
		t.Errorf("put back: %v", err)
	}
	for sent, want := range map[string]string{
		`{"api_secret":"•••"}`:                "provider_params.api_secret: is not known here: send the secret itself",
		`{"a":[1,{"b":{"token_2":"•••"}}]}`:   "provider_params.a.1.b.token_2: is not known here: send the secret itself",
		`{"publishable_key":"•••","x":"•••"}`: "",
	} {
		got := ""
		if err := checkMasks("op", providerParams, []byte(sent)); err != nil {
			var refusal *ledger.Refusal
			if !errors.As(err, &refusal) {
				t.Fatal(err)
			}
			got = refusal.Field + ": " + refusal.Detail
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sent, got, want)
		}
	}
}

// Known keys are those that some method reads; there is no second list of them.
func TestUnknownParametersAreThoseThatNobodyReads(t *testing.T) {
	params := []byte(`{"priority":1,"Priority":2,"fee_bps":"1","settlement_network":"x","colour":1,"base_url":"https://a.example","api_key":"k"}`)
	for provider, want := range map[string][]string{Simulator: {"Priority", "api_key", "base_url", "colour"}, UTP: {"Priority", "colour"}} {
		if got := (&Terminal{Provider: provider, ProviderParams: params}).Unknown(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", provider, got, want)
		}
	}
	if got := new(Terminal).Unknown(); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
