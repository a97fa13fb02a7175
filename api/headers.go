package api

import (
	"bytes"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/internal/steps"
	"mizan/ledger"
)

// seenHeaders is the result of checkHeaders. If a request has the same header twice, fasthttp returns only the first one, so
// checkHeaders counts the headers for which this matters.
type seenHeaders struct {
	encoded, chunked            bool // whether the request has Content-Encoding and Transfer-Encoding
	organizations, keys, tokens int  // number of X-Organization-Id, X-Api-Key and Authorization headers
	schemes                     int  // number of X-Forwarded-Proto headers
}

// checkHeaders parses the raw headers, and refuses headers that two parsers could read in different ways.
func checkHeaders(raw []byte) (seen seenHeaders, err error) {
	hosts, lengths, transferEncodings := 0, 0, 0
	for len(raw) > 0 {
		end := bytes.IndexByte(raw, '\n')
		if end < 0 {
			end = len(raw)
		}
		steps.Add(end + 1)
		line := raw[:end]
		raw = raw[min(end+1, len(raw)):]
		n := len(line)
		if n == 0 || line[n-1] != '\r' {
			return seen, ledger.Refuse("api.guard", web.BadRequest, "header lines must end with CR LF")
		}
		line = line[:n-1]
		if len(line) == 0 {
			continue
		}
		name, value, found := bytes.Cut(line, []byte{':'})
		if !found || bytes.ContainsAny(name, " \t") {
			return seen, ledger.Refuse("api.guard", web.BadRequest, "malformed header")
		}
		switch {
		case isHeader(name, "Host"):
			hosts++
		case isHeader(name, "Content-Length"):
			lengths++
		case isHeader(name, "Transfer-Encoding"):
			if transferEncodings++; !isHeader(bytes.Trim(value, " \t"), "chunked") {
				// With the encoding "identity", fasthttp finds no body in the request, but other parsers do.
				return seen, ledger.Refuse("api.guard", web.BadRequest, "the only transfer encoding is chunked")
			}
		case isHeader(name, "Content-Encoding"):
			seen.encoded = true
		case isHeader(name, "X-Organization-Id"):
			seen.organizations++
		case isHeader(name, "X-Api-Key"):
			seen.keys++
		case isHeader(name, fiber.HeaderAuthorization):
			seen.tokens++
		case isHeader(name, fiber.HeaderXForwardedProto):
			seen.schemes++
		}
	}
	seen.chunked = transferEncodings > 0
	if hosts > 1 || lengths > 1 || transferEncodings > 1 || (lengths > 0 && transferEncodings > 0) {
		return seen, ledger.Refuse("api.guard", web.BadRequest, "repeated or conflicting headers")
	}
	return seen, nil
}

// removeRepeated removes all credentials from a request that has the same credential header twice, so that the request is
// unauthorized. Several X-Organization-Id headers are replaced by a value that is refused. The reason is that the server would
// use the first of the headers, while a proxy in front of it may have checked another of them.
func (seen *seenHeaders) removeRepeated(h *fasthttp.RequestHeader) {
	if seen.keys > 1 || seen.tokens > 1 {
		h.DelBytes(web.HeaderAPIKey)
		h.Del(fiber.HeaderAuthorization)
	}
	if seen.organizations > 1 {
		h.DelBytes(web.HeaderOrganization)
		h.SetCanonical(web.HeaderOrganization, []byte(web.SeveralOrganizations))
	}
}

func isHeader(name []byte, header string) bool {
	return len(name) == len(header) && strings.EqualFold(string(name), header)
}

// checkTarget refuses a request whose version is neither HTTP/1.0 nor HTTP/1.1, whose target contains a control character or
// a space, or that has version HTTP/1.1 but no host.
func checkTarget(h *fasthttp.RequestHeader) error {
	if p := h.Protocol(); string(p) != "HTTP/1.1" && string(p) != "HTTP/1.0" {
		return ledger.Refuse("api.guard", web.BadRequest, "the protocol must be HTTP/1.1 or HTTP/1.0")
	}
	if h.IsHTTP11() && len(h.Host()) == 0 {
		return ledger.Refuse("api.guard", web.BadRequest, "the host header is missing")
	}
	for _, c := range h.RequestURI() {
		if c <= ' ' || c == 0x7f {
			return ledger.Refuse("api.guard", web.BadRequest, "malformed target")
		}
	}
	return nil
}
