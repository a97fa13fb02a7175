package payments

import (
	"testing"

	"mizan/api/web"
	"mizan/api/web/worktest"
)

// FuzzCreateParsingIsLinear reads a body as a create.
func FuzzCreateParsingIsLinear(f *testing.F) {
	worktest.Add(f, [3]string{`{"params":{"type":"payment","txid":"`, `\u0061`, `"}}`}, [3]string{`{"params":{"merchant_meta":{"a":[`, `[],`, `{}]}}}`}, [3]string{`{`, ` `, `}`})
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
			creation := readCreation(object)
			creation.check(func([]byte) string { return "" })
		})
	})
}
