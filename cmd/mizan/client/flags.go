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

// Bounds of the files that flags name.
const (
	maxSmallFile = 64 << 10 // bytes of a file with a token, and of sandbox.json
	maxCAFile    = 1 << 20  // bytes of a file with certificates
	maxToken     = 4096     // bytes of the token itself
)

// AdminFlags name the server and the administration token. Each value comes from its flag, else from the sandbox.json
// that --sandbox names, else from the environment. The environment is read by firstOf and not by kong, because kong
// would quote a bad value in its error.
type AdminFlags struct {
	URL          *string `name:"url" placeholder:"URL" help:"The server, scheme and host only (default https://127.0.0.1:8443) ($MIZAN_URL)."`
	TokenFile    *string `name:"token-file" placeholder:"FILE" help:"File with the admin token; - is stdin ($MIZAN_ADMIN_TOKEN has the token itself)."`
	CAFile       *string `name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) to trust, and no others; the system's if absent ($MIZAN_CA_FILE)."`
	Organization *string `name:"organization" placeholder:"ID" help:"The organization; may be absent where there is only one ($MIZAN_ORGANIZATION)."`
	Sandbox      string  `name:"sandbox" placeholder:"DIR|FILE" help:"Take all of these from a sandbox's data directory, or from its sandbox.json."`
}

// sandboxFile has the members of sandbox.json that commands use.
type sandboxFile struct {
	BaseURL        string `json:"base_url"`
	CAFile         string `json:"ca_file"`
	AdminToken     string `json:"admin_token"`
	SessionToken   string `json:"session_token"`
	AuditorToken   string `json:"auditor_token"`
	OrganizationID string `json:"organization_id"`
}

// Open resolves the flags without connecting. Its errors are faults of the caller.
func (f *AdminFlags) Open() (*Client, error) {
	return serverFlags{
		url: f.URL, tokenFile: f.TokenFile, caFile: f.CAFile, organization: f.Organization, sandbox: f.Sandbox, sandboxFlag: "--sandbox",
		token: tokenSource{name: "admin token", flag: "--token-file", variable: "MIZAN_ADMIN_TOKEN", inSandbox: func(b *sandboxFile) string { return b.AdminToken }},
	}.open()
}

// newHTTPClient returns a client that follows no redirects, because a redirect could take a token to
// another host.
func newHTTPClient(trust *tls.Config) *http.Client {
	return &http.Client{
		Timeout:       responseTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, ForceAttemptHTTP2: true},
	}
}

// firstOf returns the first value that is set: the flag, the member of sandbox.json, the environment's variable, or the
// default.
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

// parseToken trims and checks the text of a token.
func parseToken(text, origin string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: holds no token", origin)
	}
	return text, nil
}

// readSandbox reads a sandbox.json; path may also name its directory. For an empty path the result is
// empty. Errors begin with the name of the flag.
func readSandbox(path, flagName string) (sandbox sandboxFile, err error) {
	if path == "" {
		return sandbox, nil
	}
	if stat, err := os.Stat(path); err == nil && stat.IsDir() {
		path = filepath.Join(path, "sandbox.json")
	}
	content, err := readFile(path, maxSmallFile)
	if err != nil {
		return sandbox, fmt.Errorf("%s: %w", flagName, err)
	}
	// The decoder's own error would quote the file.
	if json.Unmarshal(content, &sandbox) != nil || sandbox.BaseURL == "" || sandbox.AdminToken == "" {
		return sandboxFile{}, fmt.Errorf("%s: %s is not a sandbox.json with base_url and admin_token", flagName, path)
	}
	return sandbox, nil
}

// parseBaseURL checks a server's URL: the token is sent only encrypted, or to this machine.
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

// trustConfig returns a TLS configuration that trusts the authorities in the file or, without a
// file, the system's.
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

// readFile reads a file, or stdin for "-", up to a bound.
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

// isID tells whether text is a UUID in its usual form.
func isID(text string) bool {
	const usualLength = 36
	_, err := uuid.Parse(text)
	return err == nil && len(text) == usualLength
}
