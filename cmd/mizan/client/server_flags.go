package client

import (
	"fmt"
	"os"
)

// serverFlags are the flags with which every command names its server and its credentials.
type serverFlags struct {
	url, tokenFile, caFile, organization *string
	sandbox, sandboxFlag                 string // the path of sandbox.json or its directory, and the flag's name
	token                                tokenSource
	needsOrganization                    bool // an empty id is refused
}

// tokenSource says where a kind of token is read from.
type tokenSource struct {
	name      string                    // "admin token" or "session token"
	flag      string                    // the flag that names a file with the token
	variable  string                    // the environment variable that contains the token itself
	inSandbox func(*sandboxFile) string // returns the token in sandbox.json
}

// sessionToken returns the source of a session's token; inSandbox chooses one of the sessions in sandbox.json.
func sessionToken(inSandbox func(*sandboxFile) string) tokenSource {
	return tokenSource{name: "session token", flag: "--session-token-file", variable: "MIZAN_SESSION_TOKEN", inSandbox: inSandbox}
}

// open resolves the flags with the precedence that AdminFlags describes, without connecting.
func (f serverFlags) open() (*Client, error) {
	sandbox, err := readSandbox(f.sandbox, f.sandboxFlag)
	if err != nil {
		return nil, err
	}
	baseURL, err := parseBaseURL(firstOf(f.url, sandbox.BaseURL, "MIZAN_URL", defaultURL))
	if err != nil {
		return nil, err
	}
	client := &Client{BaseURL: baseURL}
	if client.token, err = f.readToken(&sandbox); err != nil {
		return nil, err
	}
	client.organization = firstOf(f.organization, sandbox.OrganizationID, "MIZAN_ORGANIZATION", "")
	if (client.organization != "" || f.needsOrganization) && !isID(client.organization) {
		return nil, fmt.Errorf("--organization: %q is not a UUID", client.organization)
	}
	trust, err := trustConfig(firstOf(f.caFile, sandbox.CAFile, "MIZAN_CA_FILE", ""))
	if err != nil {
		return nil, err
	}
	client.http = newHTTPClient(trust)
	return client, nil
}

// readToken finds the token. Its errors don't quote the token.
func (f *serverFlags) readToken(sandbox *sandboxFile) (string, error) {
	source := &f.token
	switch {
	case f.tokenFile != nil:
		content, err := readFile(*f.tokenFile, maxSmallFile)
		if err != nil {
			return "", fmt.Errorf("%s: %w", source.flag, err)
		}
		return parseToken(string(content), source.flag)
	case f.sandbox != "":
		return parseToken(source.inSandbox(sandbox), f.sandboxFlag)
	}
	text := os.Getenv(source.variable)
	if text == "" {
		return "", fmt.Errorf("there is no %s: give %s, %s or %s", source.name, source.flag, source.variable, f.sandboxFlag)
	}
	return parseToken(text, source.variable)
}
