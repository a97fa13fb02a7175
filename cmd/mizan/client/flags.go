package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// defaultURL is the URL of the address on which `mizan serve` listens by default.
const defaultURL = "https://127.0.0.1:8443"

// Bounds for the files that flags name.
const (
	maxSmallFile = 64 << 10 // bytes of a token file or a sandbox.json
	maxCAFile    = 1 << 20  // bytes of a file with certificates
	maxToken     = 4096     // bytes of the token itself
)

// ConnectionFlags name the server. If a flag is absent, its value comes from a sandbox.json, or else from the environment. The
// environment is read by the function firstOf and not by kong, because kong would quote a bad value in its error.
type ConnectionFlags struct {
	Sandbox *string `name:"sandbox" placeholder:"DIR|FILE" help:"Take server and credentials from a sandbox's data directory, or from its sandbox.json; default: ./data, if it is a sandbox and no other server or credential is named."`
	URL     *string `name:"url" placeholder:"URL" help:"Scheme and host of the server (default https://127.0.0.1:8443) ($MIZAN_URL)."`
	CAFile  *string `name:"ca-file" placeholder:"FILE" help:"The only certificates (PEM) to trust; if absent, the system's certificates ($MIZAN_CA_FILE)."`
}

// ServerFlags name the server and the organization.
type ServerFlags struct {
	ConnectionFlags
	Organization *string `name:"organization" placeholder:"ID" help:"The organization; not needed if the server has only one ($MIZAN_ORGANIZATION)."`
}

// AdminFlags name the server and the administration token.
type AdminFlags struct {
	ServerFlags
	TokenFile *string `name:"token-file" placeholder:"FILE" help:"File with the admin token; - is stdin ($MIZAN_ADMIN_TOKEN has the token itself)."`
}

// KeyFlags name the server and a partner's API key.
type KeyFlags struct {
	ServerFlags
	TokenFile *string `name:"token-file" placeholder:"FILE" help:"File with a partner's API key; - is stdin ($MIZAN_API_KEY has the key itself)."`
}

// sandboxFile contains the members of sandbox.json that commands use.
type sandboxFile struct {
	BaseURL        string `json:"base_url"`
	CAFile         string `json:"ca_file"`
	AdminToken     string `json:"admin_token"`
	SessionToken   string `json:"session_token"`
	AuditorToken   string `json:"auditor_token"`
	APIKey         string `json:"api_key"`
	OrganizationID string `json:"organization_id"`
	PartnerID      int64  `json:"partner_id"`
}

// adminToken lists the sources of the administration token.
var adminToken = tokenSource{
	name: "admin token", flag: "--token-file", variable: "MIZAN_ADMIN_TOKEN", inSandbox: func(b *sandboxFile) string { return b.AdminToken },
}

// Open returns a client for the server that the flags name. It does not connect to the server. Every error is a mistake of the
// user.
func (f *AdminFlags) Open() (*Client, error) {
	return serverFlags{ServerFlags: f.ServerFlags, tokenFile: f.TokenFile, token: adminToken}.open()
}

// apiKey lists the sources of a partner's API key.
var apiKey = tokenSource{
	name: "API key", flag: "--token-file", variable: "MIZAN_API_KEY", inSandbox: func(b *sandboxFile) string { return b.APIKey }, isKey: true,
}

func (f *KeyFlags) flags() serverFlags {
	return serverFlags{ServerFlags: f.ServerFlags, tokenFile: f.TokenFile, token: apiKey}
}

// Open returns a client for the server that the flags name. It does not connect to the server. Every error is a mistake of the
// user.
func (f *KeyFlags) Open() (*Client, error) { return f.flags().open() }

// OpenAdmin returns a client with the administration token of the sandbox.json from which the API key comes. If no sandbox.json
// is used, OpenAdmin returns nil.
func (f *KeyFlags) OpenAdmin() (*Client, error) {
	flags := f.flags()
	path := flags.sandboxPath()
	if path == "" {
		return nil, nil
	}
	flags.Sandbox, flags.tokenFile, flags.token = &path, nil, adminToken
	return flags.open()
}

// newHTTPClient returns a client that follows no redirects, because a redirect could send a token to another host.
func newHTTPClient(trust *tls.Config) *http.Client {
	return &http.Client{
		Timeout:       responseTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, ForceAttemptHTTP2: true},
	}
}

// firstOf returns the first of the following values that is set: the flag, the member of sandbox.json, the environment
// variable, the default value.
func firstOf(flag *string, sandboxValue, variable, defaultValue string) string {
	if flag != nil {
		return *flag
	}
	if sandboxValue != "" {
		return sandboxValue
	}
	if text := os.Getenv(variable); text != "" {
		return text
	}
	return defaultValue
}

// parseToken trims and checks the text of a token. In errors, origin names the source of the text.
func parseToken(text, origin string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: holds no token", origin)
	}
	return text, nil
}

// SandboxServer contains the address, the certificate file and the administration token of a sandbox. They come from its
// sandbox.json.
type SandboxServer struct {
	BaseURL, CAFile, AdminToken string
}

// ReadSandbox reads the sandbox.json that the flag --sandbox names. It is for commands that send requests without a Client.
func ReadSandbox(path string) (SandboxServer, error) {
	sandbox, err := readSandbox(path, "sandbox")
	return SandboxServer{sandbox.BaseURL, sandbox.CAFile, sandbox.AdminToken}, err
}

// readSandbox reads a sandbox.json. path is the path of the file or of its directory. Errors begin with flagName.
func readSandbox(path, flagName string) (sandbox sandboxFile, err error) {
	if stat, err := os.Stat(path); err == nil && stat.IsDir() {
		path = filepath.Join(path, "sandbox.json")
	}
	content, err := readFile(path, maxSmallFile)
	if err != nil {
		return sandbox, fmt.Errorf("%s: %w", flagName, err)
	}
	// The decoder's own error is not returned, because it would quote the file.
	if json.Unmarshal(content, &sandbox) != nil || sandbox.BaseURL == "" || sandbox.AdminToken == "" {
		return sandboxFile{}, fmt.Errorf("%s: %s is not a sandbox.json with base_url and admin_token", flagName, path)
	}
	return sandbox, nil
}

// parseBaseURL checks a server's URL. Plain http is accepted only for this machine, because a token must never be sent
// unencrypted to another machine.
func parseBaseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.TrimSuffix(u.Path, "/") != "" {
		return "", errors.New("--url: want https://HOST[:PORT], without a path")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return "", fmt.Errorf("--url: %s://%s: want https; plain http is for loopback only", u.Scheme, u.Host)
	}
	return u.Scheme + "://" + u.Host, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// trustConfig returns a TLS configuration that trusts only the certificate authorities in a file. If path is empty, the
// configuration trusts the authorities of the system.
func trustConfig(path string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if path == "" {
		return config, nil
	}
	content, err := readFile(path, maxCAFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("--ca-file: %s holds no certificate", path)
	}
	return config, nil
}

// readFile reads a file, or stdin if path is "-". If it reads more than bound bytes, it returns an error.
func readFile(path string, bound int) ([]byte, error) {
	f := os.Stdin
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
	}
	content, err := io.ReadAll(io.LimitReader(f, int64(bound)+1))
	if err == nil && len(content) > bound {
		err = fmt.Errorf("%s is larger than %d bytes", path, bound)
	}
	return content, err
}

// isID returns whether text is a UUID in its usual form.
func isID(text string) bool {
	const usualLength = 36
	_, err := uuid.Parse(text)
	return err == nil && len(text) == usualLength
}
