package directory

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// remoteProvider is the name of a provider that calls a server. The simulator has no parameters in these tests.
const remoteProvider = "remote"

type remoteParams struct {
	Server, APIKey, WebhookSecret string
	Retries                       int
}

func init() {
	RegisterProvider(Provider{Name: Simulator})
	RegisterProvider(Provider{Name: remoteProvider, Parameters: remoteColumns(), AddressColumn: "server", CredentialColumn: "api_key", SigningSecretColumn: "webhook_secret"})
}

func remoteColumns(columns ...*schema.Column) *schema.Type[remoteParams] {
	return schema.NewType[remoteParams]("parameters", append([]*schema.Column{
		schema.Field(schema.Text(0, "server", schema.Transient, schema.Required, schema.Help("server")), func(p *remoteParams) *string { return &p.Server }),
		schema.Field(schema.Text(0, "api_key", schema.Transient, schema.Secret, schema.Help("key")), func(p *remoteParams) *string { return &p.APIKey }),
		schema.Field(schema.Text(0, "webhook_secret", schema.Transient, schema.Secret, schema.Help("secret")), func(p *remoteParams) *string { return &p.WebhookSecret }),
		schema.NumberField(schema.Integer(0, "retries", 1, 5, schema.Transient, schema.DefaultTo(int64(3)), schema.Help("attempts")), func(p *remoteParams) *int { return &p.Retries }),
	}, columns...)...)
}

func remoteTerminal(params string) Terminal {
	return Terminal{ID: testID(1), Partner: 3, Name: "T", Provider: remoteProvider, Type: PaymentTerminal, Env: money.Prod, ProviderParams: []byte(params), Active: true}
}

func TestAProviderReadsItsOwnParameters(t *testing.T) {
	for params, field := range map[string]string{
		`{"server":"https://a.example","retries":5,"priority":1}`: "",
		`{"server":"https://a.example","retries":6}`:              "provider_params.retries",
		`{"server":"https://a.example","retries":"5"}`:            "provider_params.retries",
		`{"server":null}`: "provider_params.server",
		`{}`:              "provider_params.server",
		`{"server":"https://a.example","api_key":7}`:                           "provider_params.api_key",
		`{"server":"https://a.example","api_key":"•••"}`:                       "provider_params.api_key",
		`{"server":"https://a.example","api_key":"k","unknown":{"token":"a"}}`: "",
	} {
		_, _, err := NewTerminal(remoteTerminal(params), false)
		wantField(t, params, err, field)
	}
	created, _, err := NewTerminal(remoteTerminal(`{"server":"https://a.example","api_key":"k","webhook_secret":"s","priority":7}`), false)
	if err != nil {
		t.Fatal(err)
	}
	if p := *created.Parameters.(*remoteParams); p != (remoteParams{"https://a.example", "k", "s", 3}) || created.Settings.Priority != 7 || !created.IsRemote() {
		t.Errorf("read %+v", p)
	}
	if created.Server != (Server{"https://a.example", "s"}) {
		t.Errorf("the server is %s, or its secret is wrong", created.Server.Address)
	}
	draft := remoteTerminal(`{"server":"https://a.example","retries":9}`)
	draft.Provider = Simulator
	if simulated, _, err := NewTerminal(draft, false); err != nil || simulated.Parameters != nil || simulated.Server != (Server{}) || simulated.IsRemote() {
		t.Errorf("a terminal of a provider without parameters has some: %v", err)
	}
}

// Stored parameters never prevent the store from opening: values that cannot be read are left out.
func TestStoredParametersAreReadAsFarAsPossible(t *testing.T) {
	terminal := remoteTerminal(`{"server":7,"retries":9,"api_key":"k","webhook_secret":"•••"}`)
	if err := terminal.Reparse(); err != nil {
		t.Fatal(err)
	}
	if p := *terminal.Parameters.(*remoteParams); p != (remoteParams{APIKey: "k", Retries: 9}) || terminal.Server != (Server{}) {
		t.Errorf("read %+v", p)
	}
	terminal.Provider = "of an older program"
	if err := terminal.Reparse(); err != nil || terminal.Parameters != nil {
		t.Errorf("the parameters of an unknown provider are read: %v", err)
	}
}

// A change that names another server must contain the credential again. Otherwise a user who cannot read the
// stored credential could have it sent to a server of the user's choice.
func TestACredentialIsNotSentToAnotherServer(t *testing.T) {
	old, _, err := NewTerminal(remoteTerminal(`{"server":"https://a.example/x","api_key":"k"}`), false)
	if err != nil {
		t.Fatal(err)
	}
	for params, field := range map[string]string{
		`{"server":"https://A.example:443/y","api_key":"•••"}`: "",
		`{"server":"https://b.example/x","api_key":"•••"}`:     "provider_params.api_key",
		`{"server":"https://a.example:444/x","api_key":"•••"}`: "provider_params.api_key",
		`{"server":"http://a.example/x","api_key":"•••"}`:      "provider_params.api_key",
		`{"server":"https://b.example/x","api_key":"k"}`:       "",
	} {
		_, _, err := old.Patch(func(r *Terminal, _ *schema.Faults) { r.ProviderParams = []byte(params) }, false)
		wantField(t, params, err, field)
	}
}

func TestAnAddressWithoutTLSIsRefused(t *testing.T) {
	for address, field := range map[string]string{"https://127.0.0.1": "", "http://127.0.0.1": "provider_params.server", "": ""} {
		terminal := remoteTerminal(`{"server":"` + address + `"}`)
		if err := terminal.Reparse(); err != nil {
			t.Fatal(err)
		}
		wantField(t, address, terminal.CheckTLS("test"), field)
	}
}

func TestServerIsRedactedWhenPrinted(t *testing.T) {
	s := Server{Address: "https://platform.example", SigningSecret: "canary"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s, "p", &s)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&log, verb, s)
		fmt.Fprintf(&log, verb, &s)
	}
	if strings.Contains(log.String(), "canary") || strings.Contains(log.String(), fmt.Sprintf("%x", "canary")) {
		t.Errorf("printed %s", &log)
	}
}

func TestADeclarationThatContradictsItselfPanics(t *testing.T) {
	shownToken := schema.Field(schema.Text(0, "api_token", schema.Transient, schema.Settable, schema.Help("shown, against its name")), func(p *remoteParams) *string { return &p.Server })
	secretPhrase := schema.Field(schema.Text(0, "phrase", schema.Transient, schema.Secret, schema.Help("secret, against its name")), func(p *remoteParams) *string { return &p.Server })
	priority := schema.Field(schema.Text(0, "priority", schema.Transient, schema.Settable, schema.Help("a setting")), func(p *remoteParams) *string { return &p.Server })
	for name, p := range map[string]Provider{
		"no name":                              {},
		"registered before":                    {Name: remoteProvider},
		"a setting of every terminal":          {Name: "a", Parameters: remoteColumns(priority)},
		"a secret that is shown":               {Name: "b", Parameters: remoteColumns(shownToken)},
		"a secret that is not named so":        {Name: "c", Parameters: remoteColumns(secretPhrase)},
		"unknown column of the address":        {Name: "d", Parameters: remoteColumns(), AddressColumn: "address"},
		"unknown column of the credential":     {Name: "e", Parameters: remoteColumns(), CredentialColumn: "key"},
		"unknown column of the signing secret": {Name: "f", SigningSecretColumn: "webhook_secret"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the declaration was accepted")
				}
				if name != "registered before" && registeredProviders[p.Name] != nil {
					t.Error("the provider is registered despite the panic")
				}
			}()
			RegisterProvider(p)
		})
	}
}
