package web

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

func requestWithQuery(text string) *fasthttp.RequestCtx {
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.SetRequestURI("/list?" + text)
	return ctx
}

func TestCursorsSurviveARoundTrip(t *testing.T) {
	for _, parts := range [][]string{{"a", "b", "", "1"}, {"", "", "", ""}, {"L:partner:1:available", "USDT", "tron", "1788430530123456"}} {
		q := QueryOf(requestWithQuery("cursor="+JoinCursor(parts...)), "cursor")
		if got := q.CursorParts(4); len(q.Problems) != 0 || strings.Join(got, "|") != strings.Join(parts, "|") {
			t.Errorf("%q: %q %v", parts, got, q.Problems)
		}
		if got := QueryOf(requestWithQuery("cursor="+JoinCursor(parts...)), "cursor"); got.CursorParts(3) != nil || len(got.Problems) != 1 {
			t.Errorf("%q is no cursor of three parts", parts)
		}
	}
}
