package web

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// sourceOf returns the client's address for a request that 10.0.0.1 has sent.
func sourceOf(p *Proxies, forwardedFor string) string {
	ctx := new(fasthttp.RequestCtx)
	ctx.SetRemoteAddr(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1})
	ctx.Request.Header.Set("X-Forwarded-For", forwardedFor)
	return p.Source(ctx).String()
}

func TestAddressesAreReadWithAndWithoutPort(t *testing.T) {
	p := NewProxies([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, slog.New(slog.DiscardHandler))
	for forwardedFor, want := range map[string]string{
		"192.0.2.1":                              "192.0.2.1",
		"192.0.2.1:443":                          "192.0.2.1",
		"2001:db8::1":                            "2001:db8::1",
		"[2001:db8::1]":                          "2001:db8::1",
		"[2001:db8::1]:443":                      "2001:db8::1",
		"[fe80::1%eth0]:443":                     "fe80::1",
		"192.0.2.9, 192.0.2.1:443, 10.0.0.2:443": "192.0.2.1",
		"192.0.2.9, unknown, 10.0.0.2":           "10.0.0.2",
		"192.0.2.1:":                             "10.0.0.1",
		"[192.0.2.1":                             "10.0.0.1",
		"localhost:443":                          "10.0.0.1",
		"192.0.2.1:443:443":                      "10.0.0.1",
		"":                                       "10.0.0.1",
	} {
		if got := sourceOf(p, forwardedFor); got != want {
			t.Errorf("%q: %s, want %s", forwardedFor, got, want)
		}
	}
	if got := sourceOf(nil, "192.0.2.1"); got != "10.0.0.1" {
		t.Errorf("without trusted proxies: %s", got)
	}
}

// The log tells an operator why all clients share one bound. It does not quote text that a client has sent.
func TestAnUnreadableProxyHeaderIsLoggedOnceAMinute(t *testing.T) {
	var log bytes.Buffer
	p := NewProxies([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, slog.New(slog.NewTextHandler(&log, nil)))
	sourceOf(p, "192.0.2.1")
	if log.Len() > 0 {
		t.Errorf("logged for an address: %s", &log)
	}
	for range 3 {
		sourceOf(p, "secret-name")
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "proxy=10.0.0.1") || strings.Contains(log.String(), "secret") {
		t.Errorf("%d lines: %s", lines, &log)
	}
}
