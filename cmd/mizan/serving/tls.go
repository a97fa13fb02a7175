package serving

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/acme"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
	"mizan/cmd/mizan/serving/certificates"
)

// transport holds the TLS configuration, the source of the certificates, and the name of the certificate file that clients must
// trust. With --tls off, the configuration is nil. If the certificates come from an authority that systems trust, the file name
// is empty.
type transport struct {
	config *tls.Config
	caFile string
	files  *certificates.Files // the source with --tls files; nil otherwise
	acme   *certificates.ACME  // the source with --tls acme; nil otherwise
}

// newTransport creates the transport that the configuration describes.
func newTransport(cfg *config.Config, log *slog.Logger) (*transport, error) {
	dir := filepath.Join(cfg.Dir, "tls")
	switch cfg.TLS {
	case "off":
		return &transport{}, nil
	case "files":
		files, err := certificates.OpenFiles(cfg.CertFile, cfg.KeyFile)
		if err != nil {
			return nil, cli.BadConfiguration("tls-cert: " + err.Error())
		}
		return &transport{config: tlsConfig(files.Get), files: files}, nil
	case "acme":
		source := certificates.NewACME(certificates.ACMEOptions{
			Directory: cfg.ACME.Directory, Domains: cfg.ACME.Domains, Email: cfg.ACME.Email, Dir: filepath.Join(dir, "acme"), Log: log,
		})
		t := &transport{config: tlsConfig(source.Get), acme: source}
		t.config.NextProtos = append(t.config.NextProtos, acme.ALPNProto)
		return t, nil
	}
	authority, err := certificates.OpenAuthority(dir, certificateHosts(cfg), time.Now)
	if err != nil {
		return nil, cli.StorageFault("%v", err)
	}
	return &transport{config: tlsConfig(authority.Get), caFile: filepath.Join(dir, certificates.CAFile)}, nil
}

// tlsConfig returns the TLS configuration of a listener. It accepts TLS 1.2 or newer, and HTTP/1.1.
func tlsConfig(getCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: getCertificate}
}

// obtainCertificates obtains the certificates of --tls acme while the server serves. For other values of --tls it does nothing.
func (p *process) obtainCertificates(ctx context.Context) {
	if p.transport.acme != nil {
		go p.transport.acme.Obtain(ctx)
	}
}

// certificateHosts returns the names and addresses for which the local authority issues the server's certificate.
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

// isUnspecified tells whether a listen address with this host means all addresses of the machine.
func isUnspecified(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || (ip != nil && ip.IsUnspecified())
}

// localURL returns the URL at which this machine reaches the server: the listen address with the actual port.
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

// publicURL returns the base URL of the links that payers get. The links contain tokens, so outside a sandbox they always use
// https. Even with --tls off they use https, because then a proxy in front of the server has the certificate. With --tls acme
// the URL contains the first domain, because the authority has verified that port 443 of this domain reaches the server.
func publicURL(cfg *config.Config, address string) string {
	switch host, isPlain := strings.CutPrefix(address, "http://"); {
	case cfg.BaseURL != "":
		return cfg.BaseURL
	case cfg.TLS == "acme":
		return "https://" + cfg.ACME.Domains[0]
	case isPlain && !cfg.Sandbox:
		return "https://" + host
	}
	return address
}
