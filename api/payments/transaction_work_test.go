package payments

import (
	"testing"

	"mizan/api/web"
	"mizan/api/web/worktest"
)

// FuzzCreateParsingIsLinear checks that the work of parsing a create request grows at most linearly with its body.
func FuzzCreateParsingIsLinear(f *testing.F) {
	worktest.Add(f, [3]string{`{"params":{"type":"payment","txid":"`, `\u0061`, `"}}`}, [3]string{`{"params":{"merchant_meta":{"a":[`, `[],`, `{}]}}}`}, [3]string{`{`, ` `, `}`})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		body := worktest.Repeated(head, piece, tail, 32<<10)
		worktest.Linear(t, body, func() {
			object, err := web.Document(body)
			if err != nil || !web.IsObject(object) {
				return
			}
			if params := web.Member(object, "params"); web.IsObject(params) {
				object = params
			}
			creation := readCreation(object)
			creation.check(func([]byte) string { return "" })
		})
	})
}
