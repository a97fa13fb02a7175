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
// Sec-Fetch-Site (Fetch Metadata Request Headers) decides if there is one; all browsers send it over TLS. Otherwise Origin
// decides. Its value null is accepted, because it is also the value for forms of these pages, whose referrer policy is
// no-referrer. Programs that send neither header are accepted too.
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
