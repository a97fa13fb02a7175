package client

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// serverFlags holds the flags that select a command's server and its credential.
type serverFlags struct {
	ServerFlags
	tokenFile         *string
	token             tokenSource
	sandboxFlag       string // name of the flag that sets Sandbox, for error messages; empty means --sandbox
	needsOrganization bool   // the command needs an organization id
}

// tokenSource says where tokens of one kind are read from.
type tokenSource struct {
	name      string                    // "admin token", "session token" or "API key"
	flag      string                    // the flag that names a file with the token
	variable  string                    // the environment variable that contains the token itself
	inSandbox func(*sandboxFile) string // returns the token that sandbox.json contains
	isKey     bool                      // the token is an API key, which has its own HTTP header
}

// sessionToken says where a session token is read from. inSandbox selects one of the sessions in sandbox.json.
func sessionToken(inSandbox func(*sandboxFile) string) tokenSource {
	return tokenSource{name: "session token", flag: "--token-file", variable: "MIZAN_SESSION_TOKEN", inSandbox: inSandbox}
}

// defaultSandboxPath is where a server writes sandbox.json if it was started in the current folder with the default data
// directory.
const defaultSandboxPath = "data/sandbox.json"

// defaultSandbox returns defaultSandboxPath if that file exists and the user named neither a server nor a credential. If the
// user names another server, the token in the file is of no use. Otherwise it returns an empty path.
func (f *serverFlags) defaultSandbox() string {
	if f.Sandbox != nil || f.URL != nil || f.tokenFile != nil || os.Getenv("MIZAN_URL") != "" || os.Getenv(f.token.variable) != "" {
		return ""
	}
	if _, err := os.Stat(defaultSandboxPath); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return defaultSandboxPath
}

// sandboxPath returns the path of the sandbox.json to use, or of the directory that contains it. If no sandbox.json is used,
// the path is empty.
func (f *serverFlags) sandboxPath() string {
	if f.Sandbox != nil {
		return *f.Sandbox
	}
	return f.defaultSandbox()
}

// open resolves the flags without connecting to the server. If a value has several sources, ConnectionFlags describes which
// source takes precedence.
func (f serverFlags) open() (*Client, error) {
	client := new(Client)
	var sandbox sandboxFile
	var err error
	sandboxFlag := cmp.Or(f.sandboxFlag, "--sandbox")
	path := f.sandboxPath()
	switch {
	case f.Sandbox != nil && path == "":
		return nil, fmt.Errorf("%s: is empty", sandboxFlag)
	case f.Sandbox == nil && path != "":
		client.defaultSandbox, sandboxFlag = path, path
	}
	if path != "" {
		if sandbox, err = readSandbox(path, sandboxFlag); err != nil {
			return nil, err
		}
	}
	if client.BaseURL, err = parseBaseURL(firstOf(f.URL, sandbox.BaseURL, "MIZAN_URL", defaultURL)); err != nil {
		return nil, err
	}
	if client.token, err = f.readToken(path, sandboxFlag, &sandbox); err != nil {
		return nil, err
	}
	client.isKey, client.PartnerID = f.token.isKey, sandbox.PartnerID
	client.organization = firstOf(f.Organization, sandbox.OrganizationID, "MIZAN_ORGANIZATION", os.Getenv("MIZAN_ORGANIZATION_ID"))
	if (client.organization != "" || f.needsOrganization) && !isID(client.organization) {
		return nil, fmt.Errorf("--organization: %q is not a UUID", client.organization)
	}
	trust, err := trustConfig(firstOf(f.CAFile, sandbox.CAFile, "MIZAN_CA_FILE", ""))
	if err != nil {
		return nil, err
	}
	client.http = newHTTPClient(trust)
	return client, nil
}

// readToken reads the token from a file, a sandbox.json or the environment. Its errors don't contain the token.
func (f *serverFlags) readToken(sandboxPath, sandboxFlag string, sandbox *sandboxFile) (string, error) {
	source := &f.token
	switch {
	case f.tokenFile != nil:
		content, err := readFile(*f.tokenFile, maxSmallFile)
		if err != nil {
			return "", fmt.Errorf("%s: %w", source.flag, err)
		}
		return parseToken(string(content), source.flag)
	case sandboxPath != "":
		return parseToken(source.inSandbox(sandbox), sandboxFlag)
	}
	text := os.Getenv(source.variable)
	if text == "" {
		return "", fmt.Errorf("there is no %s: give %s, %s or %s", source.name, source.flag, source.variable, cmp.Or(f.sandboxFlag, "--sandbox"))
	}
	return parseToken(text, source.variable)
}
