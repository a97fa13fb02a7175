package api

import (
	"bytes"
	"net/http"
	"testing"

	"mizan/api/web/worktest"

	"github.com/valyala/fasthttp"
)

// FuzzWorkOfAQuery reads a query string as that of the lists, with their cursors.
func FuzzWorkOfAQuery(f *testing.F) {
	worktest.Add(f, [3]string{"limit=1&cursor=", "YQ", ""}, [3]string{"", "a&", ""}, [3]string{"cursor=", "%0a", ""}, [3]string{"", "limit=1&", ""})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		raw := worktest.Repeated(head, piece, tail, headerLimit)
		if bytes.ContainsAny(raw, "# \r\n\x00") {
			return
		}
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(http.MethodGet)
		ctx.Request.Header.SetRequestURI("/x?" + string(raw))
		worktest.Linear(t, raw, func() {
			q := queryOf(&ctx, "limit", "cursor", "from", "to", "env")
			q.limit()
			q.seq()
			q.parts(6)
			q.env()
			q.instant("from", 0)
			_ = appendProblems(nil, q.problems)
		})
	})
}
