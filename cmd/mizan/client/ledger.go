package client

import (
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
)

// SessionFlags name the server and the session of a command.
type SessionFlags struct {
	ServerFlags
	TokenFile *string `name:"token-file" aliases:"session-token-file" placeholder:"FILE" help:"File with a session's token; - is stdin ($MIZAN_SESSION_TOKEN has the token itself)."`
}

// flags converts f to serverFlags. If the session comes from a sandbox.json, inSandbox selects the member with the session's
// token.
func (f *SessionFlags) flags(inSandbox func(*sandboxFile) string) serverFlags {
	return serverFlags{ServerFlags: f.ServerFlags, tokenFile: f.TokenFile, token: sessionToken(inSandbox)}
}

// LedgerFlags name the server and the session of a command that reads an organization's ledger. The session needs the role
// auditor or admin.
type LedgerFlags struct{ SessionFlags }

// Ledger reads one organization's ledger on one server.
type Ledger struct{ Command }

// Open returns a Ledger for the server that the flags name. It does not connect to the server. The error is a *Fault, whose
// text contains the command's name.
func (f *LedgerFlags) Open(commandName string, s *Streams) (*Ledger, error) {
	return f.open(commandName, s, func(b *sandboxFile) string { return b.AuditorToken })
}

// OpenWriter is like Open, but for commands that write, for example to close a month. If the session comes from a sandbox.json,
// it is the session with the role admin.
func (f *LedgerFlags) OpenWriter(commandName string, s *Streams) (*Ledger, error) {
	return f.open(commandName, s, func(b *sandboxFile) string { return b.SessionToken })
}

func (f *LedgerFlags) open(commandName string, s *Streams, inSandbox func(*sandboxFile) string) (*Ledger, error) {
	l := &Ledger{Command{Name: commandName, Streams: s}}
	flags := f.flags(inSandbox)
	flags.needsOrganization = f.Organization != nil // if the flag --organization is given, its value must not be empty
	var err error
	if l.Client, err = flags.open(); err != nil {
		return nil, l.Misused("%v", err)
	}
	return l, nil
}

// NamedOrganization returns the organization's id if a flag, a sandbox.json or the environment names it. Otherwise it returns
// an empty string.
func (l *Ledger) NamedOrganization() string { return l.Client.organization }

// SetOrganization sets the organization. It is called if the flags named none.
func (l *Ledger) SetOrganization(organization string) { l.Client.organization = organization }

// Organization returns the id of the organization that the flags, a sandbox.json or the environment names. If none was named
// and the server has only one organization, it asks the server for the id of the session's organization. The error is a *Fault
// with the same exit codes as for Get.
func (l *Ledger) Organization() (string, error) {
	if l.Client.organization != "" {
		return l.Client.organization, nil
	}
	reply, err := l.Client.Send(Request{Method: http.MethodGet, Path: "/sessions/current"})
	if err != nil {
		return "", l.Failed("%s: %v", l.Client.BaseURL, l.Client.withSandboxHint(err))
	}
	if reply.Status == http.StatusUnauthorized {
		return "", l.Misused("the session is not valid, or the server has several organizations: --organization says which")
	}
	if reply, err = l.Check(reply); err != nil {
		return "", err
	}
	var session struct {
		Data struct {
			Organization string `json:"organization_id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(reply.Body, &session); err != nil || !isID(session.Data.Organization) {
		return "", l.Failed("/sessions/current: the answer is not the server's")
	}
	l.Client.organization = session.Data.Organization
	return l.Client.organization, nil
}

// Get requests a URL path below /api/v1 and returns the body of the response. The error is a *Fault. Its exit code is 1 if no
// usable response arrived, and 2 if the server refused the request.
func (l *Ledger) Get(path string, query url.Values) ([]byte, error) {
	if _, err := l.Organization(); err != nil {
		return nil, err
	}
	reply, err := l.Send(Request{Method: http.MethodGet, Path: path, Query: query})
	if err != nil {
		return nil, err
	}
	return reply.Body, nil
}
