package serving

import (
	"testing"

	"mizan/cmd/mizan/config"
)

// A payer's link contains a token, so outside the sandbox it is never plain HTTP.
func TestLinksOutsideTheSandboxAreHTTPS(t *testing.T) {
	for _, c := range []struct {
		cfg           config.Config
		address, want string
	}{
		{config.Config{Sandbox: true}, "http://127.0.0.1:80", "http://127.0.0.1:80"},
		{config.Config{Sandbox: true}, "https://127.0.0.1:80", "https://127.0.0.1:80"},
		{config.Config{}, "http://127.0.0.1:80", "https://127.0.0.1:80"},
		{config.Config{}, "https://localhost:80", "https://localhost:80"},
		{config.Config{BaseURL: "https://pay.bank.example"}, "http://127.0.0.1:80", "https://pay.bank.example"},
		{config.Config{Sandbox: true, BaseURL: "http://a"}, "http://127.0.0.1:80", "http://a"},
		{config.Config{TLS: "acme", ACME: config.ACME{Domains: []string{"pay.bank.example", "b.example"}}}, "https://127.0.0.1:8443", "https://pay.bank.example"},
		{config.Config{TLS: "acme", BaseURL: "https://b.example", ACME: config.ACME{Domains: []string{"pay.bank.example"}}}, "https://127.0.0.1:8443", "https://b.example"},
	} {
		if got := publicURL(&c.cfg, c.address); got != c.want {
			t.Errorf("%+v at %s: %s, want %s", c.cfg, c.address, got, c.want)
		}
	}
}
