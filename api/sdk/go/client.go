package mizan

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Config has the settings of a Client.
type Config struct {
	URL            string // address of the server, such as https://pay.example, without a path
	APIKey         string // begins with mzk_
	OrganizationID string // a UUID

	// CAFile is the name of a PEM file with the certificates of authorities. Only servers with a certificate from one of these
	// authorities are trusted. If CAFile is empty, the authorities of the operating system are trusted.
	CAFile string

	// HTTPClient sends the requests. If it is nil, a client with default settings does. HTTPClient can't be combined with
	// CAFile.
	HTTPClient *http.Client

	// Attempts is the maximum number of times that a request is sent. A failed request is sent again only if it is a read or
	// has an Idempotency-Key, and if the failure may be temporary (no response, or a status such as 429 or 503). If Attempts
	// is 0, the maximum is 4; if it is 1, requests are never repeated. In addition, if the server closes an idle connection,
	// net/http itself repeats a read, or a write that has an Idempotency-Key.
	Attempts int

	// Timeout is the maximum duration of one attempt. If it is 0, the maximum is 60 s. The context of a call bounds all
	// attempts together.
	Timeout time.Duration
}

// Names of the environment variables that ConfigFromEnvironment reads.
const (
	EnvURL            = "MIZAN_URL"
	EnvAPIKey         = "MIZAN_API_KEY"
	EnvOrganizationID = "MIZAN_ORGANIZATION_ID"
	EnvCAFile         = "MIZAN_CA_FILE" // optional
)

// ConfigFromEnvironment returns the configuration that is in the environment variables.
func ConfigFromEnvironment() Config {
	return Config{URL: os.Getenv(EnvURL), APIKey: os.Getenv(EnvAPIKey), OrganizationID: os.Getenv(EnvOrganizationID), CAFile: os.Getenv(EnvCAFile)}
}

// Client calls the API as a partner. It is safe for concurrent use.
type Client struct {
	base           string
	key            string
	organizationID string
	http           *http.Client
	attempts       int
	timeout        time.Duration
	wait           waiter
}

// Default settings.
const (
	usualAttempts = 4
	usualTimeout  = 60 * time.Second
)

// New returns a client. It makes no request.
func New(config Config) (*Client, error) {
	address, err := url.Parse(config.URL)
	switch {
	case config.URL == "" || config.APIKey == "" || config.OrganizationID == "":
		return nil, errors.New("mizan: URL, APIKey and OrganizationID are required")
	case !isPrintable(config.APIKey + config.OrganizationID):
		return nil, errors.New("mizan: APIKey or OrganizationID has a line break, or another character that no header can have")
	case err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http":
		return nil, fmt.Errorf("mizan: URL %q is not the address of a server", config.URL)
	case address.Path != "" && address.Path != "/" || address.RawQuery != "" || address.User != nil:
		return nil, fmt.Errorf("mizan: URL has a path, a query or a user: %q", address.Redacted())
	case config.HTTPClient != nil && config.CAFile != "":
		return nil, errors.New("mizan: set either HTTPClient or CAFile")
	}
	client := &Client{
		base: strings.TrimSuffix(config.URL, "/"), key: config.APIKey, organizationID: config.OrganizationID,
		attempts: config.Attempts, timeout: config.Timeout, wait: realWait,
	}
	if client.attempts <= 0 {
		client.attempts = usualAttempts
	}
	if client.timeout <= 0 {
		client.timeout = usualTimeout
	}
	client.http, err = httpClient(&config)
	return client, err
}

// httpClient returns an HTTP client that follows no redirects, because a redirect could send the API key to another address.
func httpClient(config *Config) (*http.Client, error) {
	client := new(http.Client)
	if config.HTTPClient != nil {
		*client = *config.HTTPClient
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if config.CAFile == "" {
		return client, nil
	}
	content, err := os.ReadFile(config.CAFile)
	if err != nil {
		return nil, fmt.Errorf("mizan: CAFile: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("mizan: CAFile %s has no certificate in PEM", config.CAFile)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	client.Transport = transport
	return client, nil
}

// Option changes a call.
type Option func(*callOptions)

type callOptions struct {
	key  string
	info *ResponseInfo
}

// WithIdempotencyKey sets the Idempotency-Key of a write: 1 to 255 printable ASCII characters of your choice. If your program
// may have to repeat the call after a restart, store the key before the call. Without this option each call has a random key.
func WithIdempotencyKey(key string) Option { return func(o *callOptions) { o.key = key } }

// WithResponseInfo stores the response's status and what its headers say in info, even if the call is refused.
func WithResponseInfo(info *ResponseInfo) Option { return func(o *callOptions) { o.info = info } }

// ResponseInfo is the status of a response, and what its headers say.
type ResponseInfo struct {
	Status         int
	RequestID      string // the id under which the service logs the request
	IdempotencyKey string // empty for a read
	IsReplay       bool   // the response repeats the one to an earlier request with the same key or txid
	Attempts       int
}
