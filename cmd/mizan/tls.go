package main

import (
	"crypto/tls"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
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
	pair, err := loadPair(certFile, keyFile)
	if err != nil {
		return badConfiguration("tls-cert: " + err.Error())
	}
	t.pair.Store(&pair)
	return nil
}

// secure prepares the transport for the listen address.
func secure(cfg *config) (*transport, error) {
	switch cfg.tls {
	case "off":
		return &transport{}, nil
	case "files":
		t := &transport{config: modern(), pair: new(atomic.Pointer[tls.Certificate])}
		if err := t.reload(cfg.certFile, cfg.keyFile); err != nil {
			return nil, err
		}
		t.config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return t.pair.Load(), nil }
		return t, nil
	}
	dir := filepath.Join(cfg.dir, "tls")
	a, err := openAuthority(dir, certificateHosts(cfg), time.Now)
	if err != nil {
		return nil, storageFault("%v", err)
	}
	t := &transport{config: modern(), caFile: filepath.Join(dir, caFile)}
	t.config.GetCertificate = a.certificate
	return t, nil
}

// modern is what every listener speaks: TLS 1.2 or newer, HTTP/1.1.
func modern() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
}

func loadPair(certFile, keyFile string) (tls.Certificate, error) {
	return tls.LoadX509KeyPair(certFile, keyFile)
}

// certificateHosts are the names that the automatic certificate is for.
func certificateHosts(cfg *config) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(cfg.listen); err == nil && !everywhere(host) {
		hosts = append(hosts, host)
	}
	if u, err := url.Parse(cfg.baseURL); err == nil && u.Hostname() != "" {
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
func reachedAt(cfg *config, listener net.Listener) string {
	scheme := "https"
	if cfg.tls == "off" {
		scheme = "http"
	}
	host, _, _ := net.SplitHostPort(cfg.listen)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if everywhere(host) {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// publicURL is what links for payers begin with, which hold a token: outside the sandbox
// https, also where a proxy in front has the certificate.
func publicURL(cfg *config, address string) string {
	switch host, plain := strings.CutPrefix(address, "http://"); {
	case cfg.baseURL != "":
		return cfg.baseURL
	case plain && !cfg.sandbox:
		return "https://" + host
	}
	return address
}
