package client

import (
	"fmt"
	"os"
)

// serverFlags are the flags with which every command names its server and its credentials.
type serverFlags struct {
	url, tokenFile, caFile, organization *string
	sandbox, sandboxFlag                 string // the path of sandbox.json, and the flag's name
	token                                tokenSource
	needsOrganization                    bool // an empty id is refused
}

// tokenSource says where a kind of token is read from.
type tokenSource struct {
	name      string // "admin token" or "session token"
	flag      string // the flag that names a file with the token
	variable  string // the environment variable that contains the token itself
	inSandbox func(*sandboxFile) string
}

// sessionToken is the source of a session's token.
func sessionToken(inSandbox func(*sandboxFile) string) tokenSource {
	return tokenSource{name: "session token", flag: "--session-token-file", variable: "MIZAN_SESSION_TOKEN", inSandbox: inSandbox}
}

// open resolves the flags in the order of AdminFlags, without connecting.
func (f serverFlags) open() (*Client, error) {
	box, err := readSandbox(f.sandbox, f.sandboxFlag)
	if err != nil {
		return nil, err
	}
	base, err := parseBaseURL(firstOf(f.url, box.BaseURL, "MIZAN_URL", standardURL))
	if err != nil {
		return nil, err
	}
	c := &Client{Base: base}
	if c.token, err = f.readToken(&box); err != nil {
		return nil, err
	}
	c.organization = firstOf(f.organization, box.OrganizationID, "MIZAN_ORGANIZATION", "")
	if (c.organization != "" || f.needsOrganization) && !isID(c.organization) {
		return nil, fmt.Errorf("--organization: %q is not a UUID", c.organization)
	}
	trust, err := trustConfig(firstOf(f.caFile, box.CAFile, "MIZAN_CA_FILE", ""))
	if err != nil {
		return nil, err
	}
	c.http = newHTTPClient(trust)
	return c, nil
}

// readToken finds the token. No error quotes it.
func (f *serverFlags) readToken(box *sandboxFile) (string, error) {
	source := &f.token
	switch {
	case f.tokenFile != nil:
		content, err := readFile(*f.tokenFile, maxSmallFile)
		if err != nil {
			return "", fmt.Errorf("%s: %w", source.flag, err)
		}
		return parseToken(string(content), source.flag)
	case f.sandbox != "":
		return parseToken(source.inSandbox(box), f.sandboxFlag)
	}
	text := os.Getenv(source.variable)
	if text == "" {
		return "", fmt.Errorf("there is no %s: give %s, %s or %s", source.name, source.flag, source.variable, f.sandboxFlag)
	}
	return parseToken(text, source.variable)
}
