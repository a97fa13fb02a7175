package admin

import (
	"testing"

	"mizan/api/web"
	"mizan/api/web/worktest"
)

// FuzzWorkOfABody reads a body as each of the administration's forms.
func FuzzWorkOfABody(f *testing.F) {
	worktest.Add(f, [3]string{`{"login":"`, `\n`, `"}`}, [3]string{`{"overdraft_limit":[`, `{},`, `{}]}`}, [3]string{`{"roles":[`, `"\"",`, `1]}`},
		[3]string{`{"params":{"type":"payment","txid":"`, `\u0061`, `"}}`}, [3]string{`{"merchant_meta":{"a":[`, `[],`, `{}]}}`}, [3]string{`{`, ` `, `}`})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		body := worktest.Repeated(head, piece, tail, 32<<10)
		worktest.Linear(t, body, func() {
			object, err := web.Document(body)
			if err != nil || !web.IsObject(object) {
				return
			}
			if inner := web.Member(object, "params"); web.IsObject(inner) {
				object = inner
			}
			form := form{object: object}
			for _, name := range []string{"login", "name", "email"} {
				form.text(name)
			}
			form.texts("roles")
			form.overdraft("overdraft_limit")
			form.json("merchant_meta")
		})
	})
}
