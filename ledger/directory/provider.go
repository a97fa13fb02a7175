package directory

import (
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	"mizan/internal/assert"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Simulator is the name of the simulated provider that a sandbox's terminals use.
const Simulator = "simulator"

// Provider describes the adapter of a payment provider (actors/provider). It contains the adapter's name, and the keys of
// provider_params that only this adapter reads.
type Provider struct {
	Name string

	// Parameters are the columns of the adapter's own keys, or nil if the adapter has no such keys. Terminal.Parameters
	// contains a terminal's values for them. If a column is secret, the terminal's parameters are encrypted as a whole.
	Parameters schema.AnyType

	// The names of three columns of Parameters. If the provider has no such column, the name is empty.
	AddressColumn       string // base address of the provider's server
	CredentialColumn    string // secret that is sent to the server; must be sent again when the server changes
	SigningSecretColumn string // secret with which the server signs its notifications

	// Check, if set, checks parameters of a request that are each valid by themselves, together and with the terminal's
	// environment. It returns the name of the wrong parameter and the problem, or two empty texts.
	Check func(parameters any, env money.Env) (parameter, problem string)
}

// registeredProviders maps names to the providers that are registered in this program.
var registeredProviders = make(map[string]*Provider)

// RegisterProvider makes a provider available to terminals. It is called for each adapter when the program starts. It
// panics if the declaration contradicts itself or another declaration.
func RegisterProvider(p Provider) {
	assert.That(p.Name != "" && registeredProviders[p.Name] == nil, "directory: provider %q is registered twice", p.Name)
	for _, c := range p.columns() {
		assert.That(SettingsColumns.ByName(c.Name) == nil, "directory: %s of provider %s is a setting of every terminal", c.Name, p.Name)
		assert.That(c.Secret == IsSecretParam(c.Name), "directory: the name of %s of provider %s does not tell whether it is secret", c.Name, p.Name)
	}
	for _, name := range []string{p.AddressColumn, p.CredentialColumn, p.SigningSecretColumn} {
		assert.That(name == "" || p.column(name) != nil, "directory: provider %s has no parameter %s", p.Name, name)
	}
	registeredProviders[p.Name] = &p
}

// Providers returns the registered providers, sorted by their names.
func Providers() []*Provider {
	return slices.SortedFunc(maps.Values(registeredProviders), func(a, b *Provider) int { return strings.Compare(a.Name, b.Name) })
}

// providerNames returns the names of the registered providers, joined by commas and "and".
func providerNames() string {
	var names []string
	for _, p := range Providers() {
		names = append(names, p.Name)
	}
	return schema.JoinWords(names, "and")
}

// columns returns the columns of the parameters that only this provider reads.
func (p *Provider) columns() []*schema.Column {
	if p == nil || p.Parameters == nil {
		return nil
	}
	return p.Parameters.RequestColumns()
}

func (p *Provider) column(name string) *schema.Column {
	columns := p.columns()
	i := slices.IndexFunc(columns, func(c *schema.Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return columns[i]
}

// secrets returns the names of the provider's secret parameters.
func (p *Provider) secrets() (names []string) {
	for _, c := range p.columns() {
		if c.Secret {
			names = append(names, c.Name)
		}
	}
	return names
}

// Server is the server that a terminal's provider calls.
type Server struct {
	Address       string // as written in the request; empty if the provider has no AddressColumn
	SigningSecret string // verifies the server's notifications; if empty, no notification is accepted
}

// Format implements fmt.Formatter. It never shows the secret, whatever the formatting verb is.
func (s Server) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("server")) }

// LogValue implements slog.LogValuer.
func (s Server) LogValue() slog.Value { return slog.StringValue("server") }

// provider returns the terminal's provider, or nil if the terminal has no provider or the provider is not registered.
func (t *Terminal) provider() *Provider { return registeredProviders[t.Provider] }

// IsRemote tells whether the terminal's provider calls a server whose address is one of the terminal's parameters.
func (t *Terminal) IsRemote() bool {
	p := t.provider()
	return p != nil && p.AddressColumn != ""
}

// readProvider fills Parameters and Server from ProviderParams, and adds the faults that it finds to f. If there are
// faults, it still reads the other parameters, because an earlier release may have accepted the stored parameters (doc.go,
// invariant 5).
func (t *Terminal) readProvider(f *schema.Faults) {
	t.Parameters, t.Server = nil, Server{}
	p := t.provider()
	if len(p.columns()) == 0 {
		return
	}
	params, ok := parseMembers(t.ProviderParams)
	if !ok {
		f.Add(providerParams, "must be an object")
	}
	t.Parameters = p.Parameters.ReadMembers(params, providerParams+".", f)
	t.Server.Address = textMember(params, p.AddressColumn)
	if secret := textMember(params, p.SigningSecretColumn); secret != Mask { // Mask is public, so it must not verify signatures
		t.Server.SigningSecret = secret
	}
}

// checkProvider checks the terminal's parameters by the columns of the terminal's provider. If parameters are wrong, the
// error names all of them.
func (t *Terminal) checkProvider(op string) error {
	faults := new(schema.Faults)
	t.readProvider(faults)
	if p := t.provider(); faults.IsEmpty() && p != nil && p.Check != nil {
		if name, problem := p.Check(t.Parameters, t.Env); problem != "" {
			faults.AddProblem(providerParams+"."+name, problem)
		}
	}
	return FaultsAsRefusals(op, faults)
}

// checkCredential refuses Mask as the credential if the address in the request names another server than the stored
// address. Otherwise a user who may write parameters but not read secrets could have the stored credential sent to a server
// of the user's choice. If two addresses differ only in their URL paths, they name the same server.
func (t *Terminal) checkCredential(op string, request []byte) error {
	p := t.provider()
	if p == nil || p.CredentialColumn == "" {
		return nil
	}
	params, _ := parseMembers(request)
	changesServer := originOf(textMember(params, p.AddressColumn)) != originOf(t.Server.Address)
	return check(!changesServer || !isMask(params[p.CredentialColumn]), op, providerParams+"."+p.CredentialColumn,
		"must be sent again, as %s names another server than the stored key is for", p.AddressColumn)
}

// CheckTLS refuses a terminal whose server address does not use TLS. It is not called in a sandbox, which may use such
// addresses.
func (t *Terminal) CheckTLS(op string) error {
	if !strings.HasPrefix(t.Server.Address, "http:") {
		return nil
	}
	return check(false, op, providerParams+"."+t.provider().AddressColumn, "must be an https address")
}

// originOf returns the scheme, host and port of an address (RFC 6454, section 4). If the text is not an address, the result
// is empty, so it never equals the result for a stored address.
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
