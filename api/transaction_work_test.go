package api

import (
	"testing"

	"mizan/api/web/worktest"
)

// FuzzWorkOfACreate reads a body as a create.
func FuzzWorkOfACreate(f *testing.F) {
	worktest.Add(f, [3]string{`{"params":{"type":"payment","txid":"`, `\u0061`, `"}}`}, [3]string{`{"params":{"merchant_meta":{"a":[`, `[],`, `{}]}}}`}, [3]string{`{`, ` `, `}`})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		body := worktest.Repeated(head, piece, tail, 32<<10)
		worktest.Linear(t, body, func() {
			object, err := document(body)
			if err != nil || !isObject(object) {
				return
			}
			if inner := member(object, "params"); isObject(inner) {
				object = inner
			}
			creation := readCreation(object)
			creation.check(func([]byte) string { return "" })
		})
	})
}
