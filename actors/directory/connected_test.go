package directory

import (
	"bytes"
	"crypto/rand"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/actors/provider/utp"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Parameters of a terminal that is connected to another platform. Each canary is a secret that must not
// be found in a stored row.
const (
	keyCanary       = "mzk_canary-of-the-key"
	hookCanary      = "canary-of-the-hook"
	connectedParams = `{"base_url":"https://platform.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"` + keyCanary + `","webhook_secret":"` + hookCanary + `","priority":4}`
)

// newConnectedTerminal gives the partner a terminal that is connected to another platform.
func (f *fixture) newConnectedTerminal(p *directory.Partner) *directory.Terminal {
	f.t.Helper()
	return must(f.CreateTerminal(f.t.Context(), p.Org, directory.Terminal{
		Partner: p.Number, Name: "far", Provider: utp.Name, Type: directory.PaymentTerminal, ProviderParams: []byte(connectedParams),
		Env: money.Prod, Active: true,
	}))
}

// connectionOf returns a terminal's parameters as the adapter of the other platform reads them.
func connectionOf(t *directory.Terminal) *utp.Connection { return t.Parameters.(*utp.Connection) }

func (f *fixture) connectedIDs() (ids []string) {
	for _, t := range f.RemoteTerminals(utp.Name) {
		ids = append(ids, t.ID.String())
	}
	slices.Sort(ids)
	return ids
}

func TestATerminalIsFoundWithoutItsOrganization(t *testing.T) {
	f := open(t)
	first, second := f.newPartner(f.newOrganization("A").ID, "a"), f.newPartner(f.newOrganization("B").ID, "b")
	local, connected, other := f.newTerminal(first, "{}"), f.newConnectedTerminal(first), f.newConnectedTerminal(second)
	must(f.PatchTerminal(t.Context(), second.Org, other.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Active = false }))
	want := []string{connected.ID.String(), other.ID.String()}
	slices.Sort(want)
	for range 2 {
		for _, terminal := range []*directory.Terminal{local, connected, other} {
			if found, ok := f.FindTerminal(terminal.ID); !ok || found.ID != terminal.ID || found.Org != terminal.Org {
				t.Errorf("%v is not found", terminal)
			}
		}
		if found, _ := f.FindTerminal(other.ID); found.Active {
			t.Error("the terminal is not found as it is stored")
		}
		if _, ok := f.FindTerminal(uuid.New()); ok {
			t.Error("a terminal that nobody has is found")
		}
		if got := f.connectedIDs(); !slices.Equal(got, want) {
			t.Errorf("connected are %v, want %v", got, want)
		}
		f.restart()
	}
}

// payload returns a terminal's stored record.
func (f *fixture) payload(t *directory.Terminal) []byte {
	f.t.Helper()
	return f.stored(t.Org, ledger.Source{Kind: ledger.Terminal, ID: t.ID})
}

func TestCredentialsForAnotherPlatformAreSealed(t *testing.T) {
	f := open(t)
	connected := f.newConnectedTerminal(f.newPartner(f.newOrganization("A").ID, "a"))
	name := "farther"
	for range 2 {
		if stored := f.payload(connected); bytes.Contains(stored, []byte(keyCanary)) || bytes.Contains(stored, []byte(hookCanary)) {
			t.Errorf("stored in the clear: %q", stored)
		}
		f.restart()
		found, _ := f.Terminal(connected.Org, connected.ID)
		if connectionOf(found).APIKey != keyCanary || connectionOf(found).WebhookSecret != hookCanary || string(found.ProviderParams) != connectedParams {
			t.Error("what was sealed is not what is opened")
		}
		must(f.PatchTerminal(t.Context(), connected.Org, connected.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Name = name }))
	}
}

// If a row was moved to another terminal, its secrets cannot be decrypted, and the row is read without them.
func TestSealedParametersOpenInTheirTerminalOnly(t *testing.T) {
	f := open(t)
	terminal := f.newConnectedTerminal(f.newPartner(f.newOrganization("A").ID, "a"))
	stored := f.payload(terminal)
	if moved, err := readAt(f.Service, terminals, terminal.Org, uuid.New(), stored); err != nil || connectionOf(moved).APIKey != "" {
		t.Errorf("%v", err)
	}
	if moved, err := readAt(f.Service, terminals, uuid.New(), terminal.ID, stored); err != nil || connectionOf(moved).APIKey != "" {
		t.Errorf("%v", err)
	}
}

// After the loss of the keyring only the secrets in the terminal's parameters are unreadable.
func TestParametersThatDoNotOpenCanBeSetAgain(t *testing.T) {
	f := open(t)
	terminal := f.newConnectedTerminal(f.newPartner(f.newOrganization("A").ID, "a"))
	f.sealer = must(secret.CreateKeyring(filepath.Join(t.TempDir(), "another"), rand.Reader))
	f.restart()
	found, _ := f.Terminal(terminal.Org, terminal.ID)
	if c := connectionOf(found); c.APIKey != "" || c.WebhookSecret != "" || c.BaseURL != "https://platform.example" || found.Settings.Priority != 4 {
		t.Error("the terminal is not there without its keys")
	}
	params := []byte(connectedParams)
	must(f.PatchTerminal(t.Context(), terminal.Org, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.ProviderParams = params }))
	f.restart()
	if found, _ = f.Terminal(terminal.Org, terminal.ID); connectionOf(found).APIKey != keyCanary {
		t.Error("the key that was set again is not there")
	}
}

func TestPlainHTTPIsAllowedInASandboxOnly(t *testing.T) {
	f := open(t)
	p := f.newPartner(f.newOrganization("A").ID, "a")
	connected := f.newConnectedTerminal(p)
	plainHTTPParams := bytes.Replace([]byte(connectedParams), []byte("https://platform.example"), []byte("http://127.0.0.1:8443"), 1)
	_, err := f.CreateTerminal(t.Context(), p.Org, directory.Terminal{
		Partner: p.Number, Name: "far", Provider: utp.Name, Type: directory.PaymentTerminal, ProviderParams: plainHTTPParams,
		Env: money.Prod, Active: true,
	})
	wantCode(t, "a terminal without TLS", err, ledger.Invalid, "provider_params.base_url")
	_, err = f.PatchTerminal(t.Context(), p.Org, connected.ID, func(r *directory.Terminal, _ *schema.Faults) { r.ProviderParams = plainHTTPParams })
	wantCode(t, "a change to no TLS", err, ledger.Invalid, "provider_params.base_url")
}
