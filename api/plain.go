package api

import (
	"bytes"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/internal/assert"
	"mizan/ledger"
)

// PlainHTTPResponse returns the bytes of the response, with status 400, to an HTTP request without TLS on a port that expects
// TLS. It does not depend on the request, which is never read: the request may contain a card or a key that must not be used. The
// function uses only Observe and AccessLog of the Config, and passes the response to both.
func PlainHTTPResponse(cfg Config) []byte {
	id := []byte(uuid.NewString())
	var ctx fasthttp.RequestCtx
	web.WriteError(&ctx, ledger.Refuse("api.plain", web.BadRequest, "this port serves HTTPS only: use https:// in the address. Change a key that you have sent: it was not encrypted"))
	ctx.Response.Header.SetCanonical(web.HeaderRequestID, id)
	ctx.Response.SetConnectionClose()
	var response bytes.Buffer
	_, err := ctx.Response.WriteTo(&response)
	assert.NoError(err) // writing to a buffer never fails
	cfg.reportOutside(Exchange{Route: noRoute, Method: otherMethod, Status: ctx.Response.StatusCode()}, id, len(ctx.Response.Body()))
	return response.Bytes()
}
