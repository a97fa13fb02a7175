package api

import (
	"bytes"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/internal/assert"
	"mizan/ledger"
)

// PlainHTTPResponse returns the bytes of the response to a request without TLS on a port that expects TLS. The status is 400.
// The request is never read, because it may contain a card or a key that must not be used; so the response is always the same.
// The function reports the response to Observe and AccessLog of the Config, and uses no other fields.
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
