package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/go-json-experiment/json"
)

// LedgerFlags say which server, and as whom, for commands of others that read an
// organization's ledger. They come with a session's token, of role auditor or
// admin.
type LedgerFlags struct {
	URL          *string `name:"url" placeholder:"URL" help:"The server, scheme and host only (default https://127.0.0.1:8443) ($MIZAN_URL)."`
	TokenFile    *string `name:"session-token-file" placeholder:"FILE" help:"File with a session's token; - is stdin ($MIZAN_SESSION_TOKEN has the token itself)."`
	CAFile       *string `name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) to trust, and no others; the system's if absent ($MIZAN_CA_FILE)."`
	Organization *string `name:"organization" placeholder:"ID" help:"The session's organization; may be absent where there is only one ($MIZAN_ORGANIZATION)."`
	Sandbox      string  `name:"sandbox" placeholder:"DIR|FILE" help:"Take all of these from a sandbox's data directory, or from its sandbox.json."`
}

// Ledger is the way to one organization's ledger on one server.
type Ledger struct{ errand }

// Open resolves the flags; nothing is connected yet. The name is the command's:
// its errors begin with it. The error is a *Fault.
func (f *LedgerFlags) Open(name string, s *Streams) (*Ledger, error) {
	l := &Ledger{errand{name: name, streams: s}}
	var err error
	if l.door, err = f.door(); err != nil {
		return nil, l.misused("%v", err)
	}
	return l, nil
}

func (f *LedgerFlags) door() (*door, error) {
	box, err := readSandbox(f.Sandbox)
	if err != nil {
		return nil, err
	}
	base, err := baseOf(setting(f.URL, box.BaseURL, "MIZAN_URL", standardURL))
	if err != nil {
		return nil, err
	}
	d := &door{base: base, organization: setting(f.Organization, box.OrganizationID, "MIZAN_ORGANIZATION", "")}
	if (d.organization != "" || f.Organization != nil) && !isID(d.organization) {
		return nil, fmt.Errorf("--organization: %q is not a UUID", d.organization)
	}
	if d.token, err = f.token(box.AuditorToken); err != nil {
		return nil, err
	}
	trust, err := trusted(setting(f.CAFile, box.CAFile, "MIZAN_CA_FILE", ""))
	if err != nil {
		return nil, err
	}
	d.http = client(trust)
	return d, nil
}

// token is a session's token. No error ever quotes it.
func (f *LedgerFlags) token(sandbox string) (string, error) {
	switch {
	case f.TokenFile != nil:
		content, err := contentOf(*f.TokenFile, maxSmallFile)
		if err != nil {
			return "", fmt.Errorf("--session-token-file: %w", err)
		}
		return tokenIn(string(content), "--session-token-file")
	case f.Sandbox != "":
		return tokenIn(sandbox, "--sandbox")
	}
	said := os.Getenv("MIZAN_SESSION_TOKEN")
	if said == "" {
		return "", errors.New("there is no session token: give --session-token-file, MIZAN_SESSION_TOKEN or --sandbox")
	}
	return tokenIn(said, "MIZAN_SESSION_TOKEN")
}

// Named is the organization's id as it was given; empty: it was not.
func (l *Ledger) Named() string { return l.door.organization }

// Name says which organization it is, where that was not given.
func (l *Ledger) Name(organization string) { l.door.organization = organization }

// Organization is the organization's id: as it was given, else the session's on a
// server that has no other one. The error is a *Fault, as Get's.
func (l *Ledger) Organization() (string, error) {
	if l.door.organization != "" {
		return l.door.organization, nil
	}
	a, err := l.door.ask(request{method: http.MethodGet, path: "/sessions/current"})
	if err != nil {
		return "", l.failed("%s: %v", l.door.base, err)
	}
	if a.status == http.StatusUnauthorized {
		return "", l.misused("the session is not valid, or the server has several organizations: --organization says which")
	}
	if a, err = l.checked(a); err != nil {
		return "", err
	}
	var said struct {
		Data struct {
			Organization string `json:"organization_id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(a.body, &said); err != nil || !isID(said.Data.Organization) {
		return "", l.failed("/sessions/current: the answer is not the server's")
	}
	l.door.organization = said.Data.Organization
	return l.door.organization, nil
}

// Get reads the answer of a path below /api/v1. The error is a *Fault: of code 1
// where no usable answer came, of code 2 where the server refused.
func (l *Ledger) Get(path string, query url.Values) ([]byte, error) {
	if _, err := l.Organization(); err != nil {
		return nil, err
	}
	a, err := l.door.ask(request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return nil, l.failed("%s: %v", l.door.base, err)
	}
	if a, err = l.checked(a); err != nil {
		return nil, err
	}
	return a.body, nil
}

// Misused is the fault of whoever called the command, with code 2.
func (l *Ledger) Misused(format string, args ...any) *Fault { return l.misused(format, args...) }

// Failed is the fault of the server, with code 1.
func (l *Ledger) Failed(format string, args ...any) *Fault { return l.failed(format, args...) }
