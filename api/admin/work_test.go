package admin

import (
	"testing"

	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/api/web/worktest"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// FuzzFormParsingIsLinear reads a body as each of the administration's forms.
func FuzzFormParsingIsLinear(f *testing.F) {
	worktest.Add(f, [3]string{`{"login":"`, `\n`, `"}`}, [3]string{`{"overdraft_limit":[`, `{},`, `{}]}`}, [3]string{`{"roles":[`, `"\"",`, `1]}`},
		[3]string{`{"params":{"type":"payment","txid":"`, `\u0061`, `"}}`}, [3]string{`{"merchant_meta":{"a":[`, `[],`, `{}]}}`}, [3]string{`{`, ` `, `}`})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		document := worktest.Repeated(head, piece, tail, 32<<10)
		worktest.Linear(t, document, func() {
			object, err := web.Document(document)
			if err != nil || !web.IsObject(object) {
				return
			}
			if inner := web.Member(object, "params"); web.IsObject(inner) {
				object = inner
			}
			body := form{&records.Form{Object: object}}
			body.Text("reference")
			body.password("pass")
			for _, read := range []func(form){draftOf(directory.Partners), draftOf(directory.Users), draftOf(directory.Terminals), draftOf(directory.Limits)} {
				read(body)
			}
		})
	})
}

// draftOf reads a form as a request for a new record and as a change of one.
func draftOf[R any](columns *schema.Type[R]) func(form) {
	return func(f form) {
		read := records.ReadColumns(f.Form, columns)
		draft := read.Draft()
		read.Change()(&draft, new(schema.Faults))
	}
}
