package ledgerapi

import (
	"encoding/json"
	"testing"

	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/ledger"
)

func FuzzQuery(f *testing.F) {
	for _, text := range []string{
		"limit=5&cursor=9", "limit=0", "env=test&env=prod", "from=2026-09-03T10:15:30Z&to=x", "a=1&b=2&%ff=%00", "cursor=" + web.JoinCursor("A:bank", "USD", "", "5"),
		"by=effective&at=2026-09-03", "source=0f8fad5b-d9cb-469f-a165-70867728950e", "limit=%2B5", "=&&==", "at=-9999-01-01T00:00:00Z", "prefix=%00&network=%F0%9D%84%9E",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ctx := new(fasthttp.RequestCtx)
		ctx.Request.SetRequestURI("/?" + text)
		c := &web.Request{RequestCtx: ctx}
		q := newAccountQuery(c, "prefix", "currency", "network", "env", "at", "by", "from", "to", "source", "limit", "cursor")
		q.readAsOf(ledger.Micros(1).Time())
		q.SeqCursor()
		q.ID("source")
		from, to := q.Instant("from", 0), q.Instant("to", web.Forever)
		line := journal.ReadLineCursor(q.Query)
		if q.limit < 1 || q.limit > web.ListMax || q.at < 0 || q.effective < 0 || from < 0 || to < 0 || line.Index < 0 {
			t.Fatalf("%q: %+v", text, q)
		}
		if q.After != nil && !q.After.Path.IsValid() {
			t.Fatalf("%q: a cursor at %q", text, q.After.Path)
		}
		if len(q.Problems) > 0 {
			web.WriteError(ctx, q.Problems.Err())
			if status, body := ctx.Response.StatusCode(), ctx.Response.Body(); status != 422 || !json.Valid(body) {
				t.Fatalf("%q: %d %s", text, status, body)
			}
		}
	})
}
