package serving

import (
	"crypto/tls"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
)

// transport is the TLS configuration (nil with --tls off) and the certificate file that a
// client must trust (empty: the system's authorities).
type transport struct {
	config      *tls.Config
	caFile      string
	certificate *atomic.Pointer[tls.Certificate] // for --tls files; nil otherwise
}

// reload reads the certificate of --tls files again. If the files can't be used, it returns an error,
// and the current certificate stays in use.
func (t *transport) reload(certFile, keyFile string) error {
	if t.certificate == nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return cli.BadConfiguration("tls-cert: " + err.Error())
	}
	t.certificate.Store(&pair)
	return nil
}

// newTransport prepares the transport for the listen address.
func newTransport(cfg *config.Config) (*transport, error) {
	switch cfg.TLS {
	case "off":
		return &transport{}, nil
	case "files":
		t := &transport{config: tlsConfig(), certificate: new(atomic.Pointer[tls.Certificate])}
		if err := t.reload(cfg.CertFile, cfg.KeyFile); err != nil {
			return nil, err
		}
		t.config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return t.certificate.Load(), nil }
		return t, nil
	}
	dir := filepath.Join(cfg.Dir, "tls")
	authority, err := openAuthority(dir, certificateHosts(cfg), time.Now)
	if err != nil {
		return nil, cli.StorageFault("%v", err)
	}
	t := &transport{config: tlsConfig(), caFile: filepath.Join(dir, caFile)}
	t.config.GetCertificate = authority.getCertificate
	return t, nil
}

// tlsConfig returns the base of every listener's configuration: TLS 1.2 or newer, HTTP/1.1.
func tlsConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
}

// certificateHosts returns the names for which the automatic certificate is issued.
func certificateHosts(cfg *config.Config) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(cfg.Listen); err == nil && !isUnspecified(host) {
		hosts = append(hosts, host)
	}
	if u, err := url.Parse(cfg.BaseURL); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	return hosts
}

// isUnspecified tells whether a host means all addresses of the machine.
func isUnspecified(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || (ip != nil && ip.IsUnspecified())
}

// localURL returns the address at which this machine reaches the server: the listen address
// with the actual port.
func localURL(cfg *config.Config, listener net.Listener) string {
	scheme := "https"
	if cfg.TLS == "off" {
		scheme = "http"
	}
	host, _, _ := net.SplitHostPort(cfg.Listen)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if isUnspecified(host) {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// publicURL returns the base of the links for payers. A link contains a token; so outside the sandbox
// the base is https even with --tls off, when a proxy in front of the server has the certificate.
func publicURL(cfg *config.Config, address string) string {
	switch host, isPlain := strings.CutPrefix(address, "http://"); {
	case cfg.BaseURL != "":
		return cfg.BaseURL
	case isPlain && !cfg.Sandbox:
		return "https://" + host
	}
	return address
}
