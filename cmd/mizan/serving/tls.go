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

// transport is how requests reach the server: the TLS configuration (nil with
// --tls off) and the file that a client has to trust (empty: nothing special).
type transport struct {
	config *tls.Config
	caFile string
	pair   *atomic.Pointer[tls.Certificate] // of --tls files; nil otherwise
}

// reload reads the certificate of --tls files again. A pair that can't be used is an
// error, and the one in use stays.
func (t *transport) reload(certFile, keyFile string) error {
	if t.pair == nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return cli.BadConfiguration("tls-cert: " + err.Error())
	}
	t.pair.Store(&pair)
	return nil
}

// secure prepares the transport for the listen address.
func secure(cfg *config.Config) (*transport, error) {
	switch cfg.TLS {
	case "off":
		return &transport{}, nil
	case "files":
		t := &transport{config: modern(), pair: new(atomic.Pointer[tls.Certificate])}
		if err := t.reload(cfg.CertFile, cfg.KeyFile); err != nil {
			return nil, err
		}
		t.config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return t.pair.Load(), nil }
		return t, nil
	}
	dir := filepath.Join(cfg.Dir, "tls")
	a, err := openAuthority(dir, certificateHosts(cfg), time.Now)
	if err != nil {
		return nil, cli.StorageFault("%v", err)
	}
	t := &transport{config: modern(), caFile: filepath.Join(dir, caFile)}
	t.config.GetCertificate = a.certificate
	return t, nil
}

// modern is what every listener speaks: TLS 1.2 or newer, HTTP/1.1.
func modern() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
}

// certificateHosts are the names that the automatic certificate is for.
func certificateHosts(cfg *config.Config) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(cfg.Listen); err == nil && !everywhere(host) {
		hosts = append(hosts, host)
	}
	if u, err := url.Parse(cfg.BaseURL); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	return hosts
}

// everywhere tells whether a host stands for all of the machine's addresses.
func everywhere(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || (ip != nil && ip.IsUnspecified())
}

// reachedAt is where this machine reaches the server: the address that it
// listens on, with the port that it really got.
func reachedAt(cfg *config.Config, listener net.Listener) string {
	scheme := "https"
	if cfg.TLS == "off" {
		scheme = "http"
	}
	host, _, _ := net.SplitHostPort(cfg.Listen)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if everywhere(host) {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// publicURL is what links for payers begin with, which hold a token: outside the sandbox
// https, also where a proxy in front has the certificate.
func publicURL(cfg *config.Config, address string) string {
	switch host, plain := strings.CutPrefix(address, "http://"); {
	case cfg.BaseURL != "":
		return cfg.BaseURL
	case plain && !cfg.Sandbox:
		return "https://" + host
	}
	return address
}
