package web

import (
	"net"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"
)

// Proxies are the addresses of trusted proxies, which name the clients for which they connect.
type Proxies []netip.Prefix

// Trusts tells whether an address is that of a proxy.
func (p Proxies) Trusts(a netip.Addr) bool {
	for _, proxy := range p {
		if proxy.Contains(a) {
			return true
		}
	}
	return false
}

// Source returns the client's address: the address that has connected or, behind trusted proxies, the
// address that they name in X-Forwarded-For. This list is read from its end, because only the
// addresses that a trusted proxy has added count.
func (p Proxies) Source(ctx *fasthttp.RequestCtx) netip.Addr {
	address := remoteAddress(ctx)
	if len(p) == 0 || !p.Trusts(address) {
		return address
	}
	lists := ctx.Request.Header.PeekAll(string(headerForwardedFor))
	for i := len(lists) - 1; i >= 0; i-- {
		hops := strings.Split(string(lists[i]), ",")
		for k := len(hops) - 1; k >= 0; k-- {
			hop, err := netip.ParseAddr(strings.TrimSpace(hops[k]))
			if err != nil {
				return address
			}
			if address = hop.Unmap().WithZone(""); !p.Trusts(address) {
				return address
			}
		}
	}
	return address
}

// Secure tells whether the request came from a trusted proxy that received it over TLS.
func (p Proxies) IsSecure(ctx *fasthttp.RequestCtx) bool {
	return p.Trusts(remoteAddress(ctx)) && strings.EqualFold(string(ctx.Request.Header.PeekBytes(headerForwardedProto)), "https")
}

// remoteAddress returns the address at the other end of the connection.
func remoteAddress(ctx *fasthttp.RequestCtx) netip.Addr {
	if tcp, ok := ctx.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
