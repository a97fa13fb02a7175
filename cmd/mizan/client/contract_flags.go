package client

import (
	"fmt"
	"os"
	"strings"
)

// ContractFlags name the server, and the session, of a command that reads an
// organization's contracts.
type ContractFlags struct {
	URL          *string `name:"url" placeholder:"URL" help:"The server, scheme and host only (default https://127.0.0.1:8443) ($MIZAN_URL)."`
	TokenFile    *string `name:"session-token-file" placeholder:"FILE" help:"File with a session's token; - is stdin ($MIZAN_SESSION_TOKEN has the token itself)."`
	CAFile       *string `name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) to trust, and no others; the system's if absent ($MIZAN_CA_FILE)."`
	Organization *string `name:"organization" placeholder:"ID" help:"The session's organization ($MIZAN_ORGANIZATION)."`
	Data         string  `name:"data" placeholder:"DIR|FILE" help:"Take all of these from a sandbox's data directory, or from its sandbox.json."`
}

// Open resolves the flags as those of the administration are resolved; only the token
// is another one.
func (c *ContractFlags) Open() (*Client, error) {
	box, err := readSandbox(c.Data)
	if err != nil {
		return nil, fmt.Errorf("--data: %s", strings.TrimPrefix(err.Error(), "--sandbox: "))
	}
	base, err := baseOf(firstOf(c.URL, box.BaseURL, "MIZAN_URL", standardURL))
	if err != nil {
		return nil, err
	}
	d := &Client{Base: base}
	if d.token, err = c.token(box.SessionToken); err != nil {
		return nil, err
	}
	d.organization = firstOf(c.Organization, box.OrganizationID, "MIZAN_ORGANIZATION", "")
	if !isID(d.organization) {
		return nil, fmt.Errorf("--organization: %q is not a UUID", d.organization)
	}
	trust, err := trusted(firstOf(c.CAFile, box.CAFile, "MIZAN_CA_FILE", ""))
	if err != nil {
		return nil, err
	}
	d.http = newHTTPClient(trust)
	return d, nil
}

// token is a session's token. No error ever quotes it.
func (c *ContractFlags) token(sandbox string) (string, error) {
	said, origin := os.Getenv("MIZAN_SESSION_TOKEN"), "MIZAN_SESSION_TOKEN"
	switch {
	case c.TokenFile != nil:
		content, err := readFile(*c.TokenFile, maxSmallFile)
		if err != nil {
			return "", fmt.Errorf("--session-token-file: %w", err)
		}
		said, origin = string(content), "--session-token-file"
	case c.Data != "":
		said, origin = sandbox, "--data"
	case said == "":
		return "", fmt.Errorf("there is no session token: give --session-token-file, MIZAN_SESSION_TOKEN or --data")
	}
	return tokenIn(said, origin)
}
