package api

import (
	"bufio"
	"net/textproto"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"mizan/api/web"
)

// If a request passes the guard, another parser must read it in the same way.
func FuzzHeaders(f *testing.F) {
	for _, lines := range []string{
		"Host: a\r\n", "Host: a\r\nhost: b\r\n", "Content-Length: 1\r\nContent-Length: 1\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
		"Host : a\r\n", " folded\r\n", "a:b\nc:d\r\n", "content-encoding: gzip\r\nHost: a\r\n", "x-api-key: a\r\nX-API-KEY: b\r\nAuthorization: c\r\nX-Organization-Id:\r\n", ":\r\n", "Host\r\n", "\r\nHost: b\r\n",
	} {
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		seen, err := checkHeaders([]byte(lines))
		if err != nil {
			ctx := new(fasthttp.RequestCtx)
			if web.WriteError(ctx, err); ctx.Response.StatusCode() != 400 {
				t.Fatalf("%q: %v", lines, err)
			}
			return
		}
		parsed, err := textproto.NewReader(bufio.NewReader(strings.NewReader(lines + "\r\n"))).ReadMIMEHeader()
		if err != nil {
			return // net/textproto can't parse the headers either; fasthttp refuses such a request before the guard sees it
		}
		if len(parsed["Host"]) > 1 || len(parsed["Content-Length"]) > 1 || len(parsed["Transfer-Encoding"])+len(parsed["Content-Length"]) > 1 {
			t.Fatalf("%q: read as %v", lines, parsed)
		}
		if len(parsed["Content-Encoding"]) > 0 && !seen.encoded {
			t.Fatalf("%q: an encoding is missed", lines)
		}
		if got, want := [3]int{seen.organizations, seen.keys, seen.tokens}, [3]int{len(parsed["X-Organization-Id"]), len(parsed["X-Api-Key"]), len(parsed["Authorization"])}; got != want {
			t.Fatalf("%q: %v of the headers that say who asks, want %v", lines, got, want)
		}
	})
}
