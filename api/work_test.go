package api

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"

	"mizan/internal/steps"
)

func init() { steps.Count() }

// Bounds of work: how often a reader may look at a byte, and how much it may do for
// whatever it is given. A square of what the fuzz targets send is far above them.
const (
	stepsPerByte = 100
	stepsAtLeast = 64 << 10
)

// linear fails if reading takes more steps than are linear in the size of the input.
func linear(t *testing.T, input []byte, read func()) {
	t.Helper()
	before := steps.Total()
	read()
	if took := steps.Total() - before; took > stepsPerByte*int64(len(input))+stepsAtLeast {
		t.Fatalf("%.80q…, %d bytes: %d steps", input, len(input), took)
	}
}

// repeated is an input with a piece in its middle that comes so often that the whole is
// about as long as asked for: a square shows whatever it is multiplied by.
func repeated(head, piece, tail []byte, size int) []byte {
	times := max(0, size-len(head)-len(tail)) / max(1, len(piece))
	return bytes.Join([][]byte{head, bytes.Repeat(piece, times), tail}, nil)
}

func addPieces(f *testing.F, seeds ...[3]string) {
	for _, s := range seeds {
		f.Add([]byte(s[0]), []byte(s[1]), []byte(s[2]))
	}
}

// FuzzWorkOfABody reads a body as each of the administration's forms and as a create.
func FuzzWorkOfABody(f *testing.F) {
	addPieces(f, [3]string{`{"login":"`, `\n`, `"}`}, [3]string{`{"overdraft_limit":[`, `{},`, `{}]}`}, [3]string{`{"roles":[`, `"\"",`, `1]}`},
		[3]string{`{"params":{"type":"payment","txid":"`, `\u0061`, `"}}`}, [3]string{`{"merchant_meta":{"a":[`, `[],`, `{}]}}`}, [3]string{`{`, ` `, `}`})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		body := repeated(head, piece, tail, 32<<10)
		linear(t, body, func() {
			object, err := document(body)
			if err != nil || !isObject(object) {
				return
			}
			if inner := member(object, "params"); isObject(inner) {
				object = inner
			}
			form := form{object: object}
			for _, name := range []string{"login", "name", "email"} {
				form.text(name)
			}
			form.texts("roles")
			form.overdraft("overdraft_limit")
			form.json("merchant_meta")
			creation := readCreation(object)
			creation.check(func([]byte) string { return "" })
		})
	})
}

func FuzzWorkOfAForm(f *testing.F) {
	addPieces(f, [3]string{"a=", "%41", "&b=1"}, [3]string{"", "a&", ""}, [3]string{"cardnumber=4242", " ", ""}, [3]string{"", "&", "a=1"}, [3]string{"", "+", "="})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		body := repeated(head, piece, tail, 32<<10)
		linear(t, body, func() {
			if form, _ := readPosted([]byte("application/x-www-form-urlencoded"), body); form != nil {
				form.wipe()
			}
		})
	})
}

func FuzzWorkOfHeaders(f *testing.F) {
	addPieces(f, [3]string{"Host: a\r\n", "A: b\r\n", "\r\n"}, [3]string{"Host:", " ", "\r\n"}, [3]string{"", "\n", ""}, [3]string{"X-Forwarded-For: ", "10.0.0.1,", "\r\n"})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		raw := repeated(head, piece, tail, headerLimit)
		linear(t, raw, func() { _, _ = checkHeaders(raw) })
	})
}

// FuzzWorkOfAQuery reads a query string as that of the lists, with their cursors.
func FuzzWorkOfAQuery(f *testing.F) {
	addPieces(f, [3]string{"limit=1&cursor=", "YQ", ""}, [3]string{"", "a&", ""}, [3]string{"cursor=", "%0a", ""}, [3]string{"", "limit=1&", ""})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		raw := repeated(head, piece, tail, headerLimit)
		if bytes.ContainsAny(raw, "# \r\n\x00") {
			return
		}
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(http.MethodGet)
		ctx.Request.Header.SetRequestURI("/x?" + string(raw))
		linear(t, raw, func() {
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
