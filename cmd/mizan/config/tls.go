package config

import (
	"crypto/tls"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
)

// maxACMEDomains is the maximum number of domains for which certificates are obtained.
const maxACMEDomains = 100

// ACME holds the settings of --tls acme: the domains that need certificates, and the certificate authority that issues them.
type ACME struct {
	Domains   []string // in lower case; --tls acme needs at least one
	Email     string   // contact address of the account; empty: none
	Directory string   // URL of the authority's directory (RFC 8555)
}

// domainName matches a domain name for which an authority issues a certificate: at least two labels of letters, digits and
// hyphens. A name with non-ASCII letters must be given in its ASCII form (xn--…). Wildcards are not accepted, because an
// authority verifies them by DNS records only.
var domainName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// acme reads the settings for ACME.
func (r *reader) acme() ACME {
	settings := ACME{Directory: r.text("acme-directory"), Email: r.text("acme-email")}
	if raw := r.text("acme-domains"); raw != "" {
		for part := range strings.SplitSeq(raw, ",") {
			domain := strings.ToLower(strings.TrimSpace(part))
			if !domainName.MatchString(domain) || len(domain) > 253 {
				r.reportBad("acme-domains", "%q is not a domain such as pay.bank.example", part)
			}
			settings.Domains = append(settings.Domains, domain)
		}
		if len(settings.Domains) > maxACMEDomains {
			r.reportBad("acme-domains", "%d domains, at most %d", len(settings.Domains), maxACMEDomains)
		}
	}
	if address, err := mail.ParseAddress(settings.Email); settings.Email != "" && (err != nil || address.Address != settings.Email) {
		r.reportBad("acme-email", "%q is not an e-mail address", settings.Email)
	}
	if u, err := url.Parse(settings.Directory); settings.Directory != "" && (err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil) {
		r.reportBad("acme-directory", "is not an https:// address") // the value is not quoted, because it may contain a password
	}
	return settings
}

// checkTLS checks that keys for --tls files are given only with files and keys for --tls acme only with acme, and that no key
// is missing that the value of --tls needs.
func (r *reader) checkTLS(cfg *Config) {
	onlyWith := func(value string, keys ...string) {
		for _, key := range keys {
			if cfg.TLS != "" && cfg.TLS != value && r.settings[key].IsSet {
				r.reportBad(key, "only goes with --tls %s", value)
			}
		}
	}
	onlyWith("files", "tls-cert", "tls-key")
	onlyWith("acme", "acme-domains", "acme-email", "acme-directory")
	switch cfg.TLS {
	case "files":
		if cfg.CertFile == "" {
			r.reportBad("tls-cert", "is required with --tls files")
		}
		if cfg.KeyFile == "" {
			r.reportBad("tls-key", "is required with --tls files")
		}
		if cfg.CertFile != "" && cfg.KeyFile != "" {
			if _, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile); err != nil {
				r.reportBad("tls-cert", "%v", err)
			}
		}
	case "acme":
		if len(cfg.ACME.Domains) == 0 {
			r.reportBad("acme-domains", "is required with --tls acme")
		}
	case "off":
		if len(cfg.Proxies) == 0 && !r.reported["trusted-proxies"] && cfg.Listen != "" && !IsLoopback(cfg.Listen) {
			r.reportBad("tls", "off needs a loopback --listen address or --trusted-proxies")
		}
	}
}
