package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"
)

var (
	headerFetchSite = []byte("Sec-Fetch-Site")
	headerOrigin    = []byte(fiber.HeaderOrigin)
)

// IsFromAnotherSite tells whether the form was sent by a page whose origin differs from the base URL.
//
// If the request has the header Sec-Fetch-Site (Fetch Metadata Request Headers), that header decides. All browsers send this
// header over TLS. If the header is missing, the header Origin decides. If acceptsNull is true, an Origin of null is accepted:
// browsers send null for pages whose referrer policy is no-referrer. A request with neither header comes from a program and is
// accepted.
func (req *Request) IsFromAnotherSite(base string, acceptsNull bool) bool {
	header := &req.Request.Header
	if site := header.PeekBytes(headerFetchSite); len(site) > 0 {
		return string(site) != "same-origin" && string(site) != "none" // none is sent if a person reloads a form's response
	}
	origin := string(header.PeekBytes(headerOrigin))
	if origin == "" || acceptsNull && origin == "null" || strings.EqualFold(origin, base) {
		return false
	}
	_, host, _ := strings.Cut(origin, "://")
	return !strings.EqualFold(host, string(req.Host())) // the server may also have other host names than the base URL
}
