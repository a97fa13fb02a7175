package utp_test

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
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/actors/provider/utp"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// connectionParams returns valid provider_params with some members changed; nil makes a member null, as if absent.
func connectionParams(t *testing.T, changes map[string]any) []byte {
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

// certificate returns a certificate in PEM form.
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

func TestConnectionIsParsedFromParameters(t *testing.T) {
	validCertificate := certificate(t)
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}}))
	for name, c := range map[string]struct {
		changes    map[string]any
		wrongField string
	}{
		"plain":                           {nil, ""},
		"a prefix":                        {map[string]any{"base_url": "https://platform.example:8443/a/b"}, ""},
		"a slash at the end":              {map[string]any{"base_url": "https://platform.example/"}, ""},
		"http to this machine":            {map[string]any{"base_url": "http://127.0.0.1:8080"}, ""},
		"http to this machine, v6":        {map[string]any{"base_url": "http://[::1]:8080"}, ""},
		"http to localhost":               {map[string]any{"base_url": "http://localhost:8080"}, ""},
		"certificates":                    {map[string]any{"ca_pem": validCertificate + "\n" + validCertificate}, ""},
		"an environment":                  {map[string]any{"env": "test"}, ""},
		"a webhook secret":                {map[string]any{"webhook_secret": "ключ"}, ""},
		"no address":                      {map[string]any{"base_url": nil}, "base_url"},
		"no scheme":                       {map[string]any{"base_url": "platform.example"}, "base_url"},
		"a port that cannot be":           {map[string]any{"base_url": "https://platform.example:65536"}, "base_url"},
		"another scheme":                  {map[string]any{"base_url": "ftp://platform.example"}, "base_url"},
		"http elsewhere":                  {map[string]any{"base_url": "http://platform.example"}, "base_url"},
		"http to a similar address":       {map[string]any{"base_url": "http://127.0.0.1.example"}, "base_url"},
		"credentials in the address":      {map[string]any{"base_url": "https://u:p@platform.example"}, "base_url"},
		"a query":                         {map[string]any{"base_url": "https://platform.example/?a"}, "base_url"},
		"an empty query":                  {map[string]any{"base_url": "https://platform.example/?"}, "base_url"},
		"a fragment":                      {map[string]any{"base_url": "https://platform.example/#a"}, "base_url"},
		"a path with dots":                {map[string]any{"base_url": "https://platform.example/a/../b"}, "base_url"},
		"an escaped slash":                {map[string]any{"base_url": "https://platform.example/a%2fb"}, "base_url"},
		"the protocol's path":             {map[string]any{"base_url": "https://platform.example/api/v1"}, "base_url"},
		"the protocol's path and a slash": {map[string]any{"base_url": "https://platform.example/x/api/v1/"}, "base_url"},
		"an address too long":             {map[string]any{"base_url": "https://platform.example/" + strings.Repeat("a", directory.MaxURL)}, "base_url"},
		"an address that is a number":     {map[string]any{"base_url": 7}, "base_url"},
		"no organization":                 {map[string]any{"organization_id": nil}, "organization_id"},
		"an organization by name":         {map[string]any{"organization_id": "us"}, "organization_id"},
		"an organization in braces":       {map[string]any{"organization_id": "{0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5}"}, "organization_id"},
		"no key":                          {map[string]any{"api_key": nil}, "api_key"},
		"a key with a line break":         {map[string]any{"api_key": "a\r\nx-other: b"}, "api_key"},
		"a key that is the mask":          {map[string]any{"api_key": directory.Mask}, "api_key"},
		"a key too long":                  {map[string]any{"api_key": strings.Repeat("k", directory.MaxSecret+1)}, "api_key"},
		"a secret that is the mask":       {map[string]any{"webhook_secret": directory.Mask}, "webhook_secret"},
		"not a certificate":               {map[string]any{"ca_pem": "trust me"}, "ca_pem"},
		"a key as a certificate":          {map[string]any{"ca_pem": validCertificate + key}, "ca_pem"},
		"an unknown environment":          {map[string]any{"env": "live"}, "env"},
	} {
		draft := directory.Terminal{ID: uuid.New(), Partner: 3, Name: "T", Provider: utp.Name, Type: directory.PaymentTerminal, Env: money.Prod, ProviderParams: connectionParams(t, c.changes), Active: true}
		_, _, err := directory.NewTerminal(draft, false)
		want := c.wrongField
		if want != "" {
			want = "provider_params" + "." + want
		}
		wantField(t, name, err, want)

		old, _, err := directory.NewTerminal(directory.Terminal{ID: uuid.New(), Partner: 3, Name: "T", Provider: utp.Name, Type: directory.PaymentTerminal, ProviderParams: connectionParams(t, nil), Env: money.Prod, Active: true}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, isChanged := c.changes["api_key"]; isChanged && c.changes["api_key"] == directory.Mask {
			want = "" // the stored key is kept
		}
		_, _, err = old.Patch(func(r *directory.Terminal, _ *schema.Faults) { r.ProviderParams = draft.ProviderParams }, false)
		wantField(t, name+", patched", err, want)
	}
}

// wantField requires that the error names the field; if the field is empty, there must be no error.
func wantField(t *testing.T, what string, err error, field string) {
	t.Helper()
	var refusal *ledger.Refusal
	refusedField := ""
	if errors.As(err, &refusal) {
		refusedField = refusal.Field
	}
	if refusedField != field || (err != nil) != (field != "") {
		t.Errorf("%s: refused is %q, want %q: %v", what, refusedField, field, err)
	}
}

func TestConnectionIsReadFromStoredParameters(t *testing.T) {
	ca := certificate(t)
	params := connectionParams(t, map[string]any{"base_url": "https://platform.example/p/", "webhook_secret": "hook", "env": "test", "ca_pem": ca})
	terminal, _, err := directory.NewTerminal(directory.Terminal{ID: uuid.New(), Partner: 3, Name: "T", Provider: utp.Name, Type: directory.PayoutTerminal, ProviderParams: params, Env: money.Prod, Active: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := utp.Connection{
		BaseURL: "https://platform.example/p", Organization: uuid.MustParse("0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5"), APIKey: "mzk_key", CA: ca, WebhookSecret: "hook", Env: money.Test,
	}
	if *terminal.Parameters.(*utp.Connection) != want || terminal.Settings.Priority != 3 {
		t.Error("the connection is not what was asked for")
	}
	reparsed := *terminal
	reparsed.Parameters = nil
	if err := reparsed.Reparse(); err != nil || *reparsed.Parameters.(*utp.Connection) != want {
		t.Error("the connection is not what is stored")
	}
}

// Stored parameters that have become invalid do not prevent the store from opening.
func TestStoredConnectionIsReadEvenIfNowInvalid(t *testing.T) {
	terminal := &directory.Terminal{Provider: utp.Name, ProviderParams: []byte(`{"base_url":7,"api_key":"k","ca_pem":"none"}`)}
	if err := terminal.Reparse(); err != nil {
		t.Fatal(err)
	}
	if c := *terminal.Parameters.(*utp.Connection); c != (utp.Connection{APIKey: "k", CA: "none"}) {
		t.Error("its connection is not what can be read")
	}
}

func TestConnectionIsRedactedWhenPrinted(t *testing.T) {
	c := utp.Connection{BaseURL: "https://platform.example", APIKey: "canary", WebhookSecret: "canary"}
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
