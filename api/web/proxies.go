package web

import (
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/time/rate"
)

// Proxies are the trusted proxies. The service believes the headers in which a trusted proxy names the client's address. A
// nil *Proxies trusts no proxy.
type Proxies struct {
	networks      []netip.Prefix
	log           *slog.Logger
	unreadableLog rate.Sometimes
}

// NewProxies returns Proxies that trust all addresses in the networks.
func NewProxies(networks []netip.Prefix, log *slog.Logger) *Proxies {
	return &Proxies{networks: networks, log: log, unreadableLog: rate.Sometimes{Interval: time.Minute}}
}

// Trusts tells whether an address belongs to a trusted proxy.
func (p *Proxies) Trusts(a netip.Addr) bool {
	if p == nil {
		return false
	}
	for _, proxy := range p.networks {
		if proxy.Contains(a) {
			return true
		}
	}
	return false
}

// Source returns the client's address. If a trusted proxy has connected, the address is in the list X-Forwarded-For;
// otherwise it is the address that has connected. The list is read from its end, because only addresses that trusted
// proxies added are believed. If such an address can't be parsed, the proxy that added it counts as the client, and a
// warning is logged.
func (p *Proxies) Source(ctx *fasthttp.RequestCtx) netip.Addr {
	address := remoteAddress(ctx)
	if !p.Trusts(address) {
		return address
	}
	lists := ctx.Request.Header.PeekAll(string(headerForwardedFor))
	for i := len(lists) - 1; i >= 0; i-- {
		hops := strings.Split(string(lists[i]), ",")
		for k := len(hops) - 1; k >= 0; k-- {
			hop, ok := parseHop(strings.TrimSpace(hops[k]))
			if !ok {
				p.unreadableLog.Do(func() {
					p.log.Warn("a proxy's X-Forwarded-For has no address that can be read: all its clients count as one", "proxy", address.String())
				})
				return address
			}
			if address = hop.Unmap().WithZone(""); !p.Trusts(address) {
				return address
			}
		}
	}
	return address
}

// parseHop parses an entry of X-Forwarded-For, which is an address. The address may be in brackets, and a port may follow
// it.
func parseHop(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr(), true
	}
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	a, err := netip.ParseAddr(text)
	return a, err == nil
}

// IsSecure tells whether the request came from a trusted proxy that received it over TLS.
func (p *Proxies) IsSecure(ctx *fasthttp.RequestCtx) bool {
	return p.Trusts(remoteAddress(ctx)) && strings.EqualFold(string(ctx.Request.Header.PeekBytes(headerForwardedProto)), "https")
}

// remoteAddress returns the address at the other end of the connection.
func remoteAddress(ctx *fasthttp.RequestCtx) netip.Addr {
	if tcp, ok := ctx.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
