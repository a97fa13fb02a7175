package config

import (
	"slices"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

func TestACMENeedsDomains(t *testing.T) {
	keyring := testkit.WriteFile(t, "keyring", "{}")
	cfg, err := parse(t, "--keyring", keyring, "--tls", "acme", "--acme-domains", "Pay.Bank.example, xn--bcher-kva.example", "--acme-email", "ops@bank.example")
	if err != nil {
		t.Fatal(lines(err))
	}
	want := ACME{Domains: []string{"pay.bank.example", "xn--bcher-kva.example"}, Email: "ops@bank.example", Directory: "https://acme-v02.api.letsencrypt.org/directory"}
	if !slices.Equal(cfg.ACME.Domains, want.Domains) || cfg.ACME.Email != want.Email || cfg.ACME.Directory != want.Directory {
		t.Errorf("%+v, want %+v", cfg.ACME, want)
	}
	for name, c := range map[string]struct {
		args []string
		want []string // the beginnings of the expected error lines
	}{
		"no domains":           {[]string{"--tls", "acme"}, []string{"acme-domains: is required"}},
		"a certificate":        {[]string{"--tls", "acme", "--acme-domains", "a.example", "--tls-cert", "x"}, []string{"tls-cert: only goes with --tls files"}},
		"other TLS":            {[]string{"--tls", "auto", "--acme-domains", "a.example", "--acme-email", "a@b.example", "--acme-directory", "https://a.example"}, []string{"acme-domains: only goes with --tls acme", "acme-email: only", "acme-directory: only"}},
		"one label":            {[]string{"--tls", "acme", "--acme-domains", "localhost"}, []string{`acme-domains: "localhost" is not a domain`}},
		"a wildcard":           {[]string{"--tls", "acme", "--acme-domains", "*.bank.example"}, []string{"acme-domains: "}},
		"an address":           {[]string{"--tls", "acme", "--acme-domains", "192.0.2.1"}, []string{"acme-domains: "}},
		"an empty domain":      {[]string{"--tls", "acme", "--acme-domains", "a.example,"}, []string{"acme-domains: "}},
		"too many domains":     {[]string{"--tls", "acme", "--acme-domains", strings.Repeat("a.example,", 100) + "a.example"}, []string{"acme-domains: 101 domains"}},
		"a name with the mail": {[]string{"--tls", "acme", "--acme-domains", "a.example", "--acme-email", "Ops <a@b.example>"}, []string{"acme-email: "}},
		"a directory by HTTP":  {[]string{"--tls", "acme", "--acme-domains", "a.example", "--acme-directory", "http://me:pass@a.example"}, []string{"acme-directory: is not"}},
	} {
		_, err := parse(t, append([]string{"--keyring", keyring}, c.args...)...)
		got := lines(err)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], "mizan: configuration: "+want) {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
	}
}
