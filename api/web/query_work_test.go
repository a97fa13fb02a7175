package web

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"

	"mizan/api/web/worktest"
)

// FuzzQueryParsingIsLinear checks that the work of parsing a list's query string, with its cursor, grows
// at most linearly with its length.
func FuzzQueryParsingIsLinear(f *testing.F) {
	worktest.Add(f, [3]string{"limit=1&cursor=", "YQ", ""}, [3]string{"", "a&", ""}, [3]string{"cursor=", "%0a", ""}, [3]string{"", "limit=1&", ""})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		raw := worktest.Repeated(head, piece, tail, 8<<10)
		if bytes.ContainsAny(raw, "# \r\n\x00") {
			return
		}
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(http.MethodGet)
		ctx.Request.Header.SetRequestURI("/x?" + string(raw))
		worktest.Linear(t, raw, func() {
			q := QueryOf(&ctx, "limit", "cursor", "from", "to", "env")
			q.Limit()
			q.SeqCursor()
			q.CursorParts(6)
			q.Env()
			q.Instant("from", 0)
			_ = appendProblems(nil, q.Problems)
		})
	})
}
