package checkout

import (
	"strings"

	"mizan/api/web"
)

var (
	headerFetchSite = []byte("Sec-Fetch-Site")
	headerOrigin    = []byte("Origin")
)

// isFromAnotherSite tells whether a page of another origin has sent the form. The forms of payers' pages are sent by these
// pages only; a form that another site sends would make its visitor begin a payment, or act in one, unawares.
//
// Sec-Fetch-Site (Fetch Metadata Request Headers) decides where a browser sends it, which all do over TLS. Without it
// Origin does: null is the value for a form of these pages too, because their referrer policy is no-referrer, and
// programs send neither.
func (h *Handlers) isFromAnotherSite(req *web.Request) bool {
	header := &req.Request.Header
	if site := header.PeekBytes(headerFetchSite); len(site) > 0 {
		return string(site) != "same-origin" && string(site) != "none" // none: the payer has reloaded the answer to a form
	}
	origin := string(header.PeekBytes(headerOrigin))
	if origin == "" || origin == "null" || strings.EqualFold(origin, h.cfg.Pages.Base) {
		return false
	}
	_, host, _ := strings.Cut(origin, "://")
	return !strings.EqualFold(host, string(req.Host())) // the server may be reached under other names than that of the base URL
}
