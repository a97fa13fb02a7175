package api

import "testing"

// FuzzWorkOfACreate reads a body as a create.
func FuzzWorkOfACreate(f *testing.F) {
	addPieces(f, [3]string{`{"params":{"type":"payment","txid":"`, `\u0061`, `"}}`}, [3]string{`{"params":{"merchant_meta":{"a":[`, `[],`, `{}]}}}`}, [3]string{`{`, ` `, `}`})
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
			creation := readCreation(object)
			creation.check(func([]byte) string { return "" })
		})
	})
}
