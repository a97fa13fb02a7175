package admin

import (
	"testing"

	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/api/web/worktest"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// FuzzFormParsingIsLinear checks, for each form of the administration, that the work of reading a body
// grows no faster than the length of the body.
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
			for _, readFields := range []func(form){readerOf(directory.Partners), readerOf(directory.Users), readerOf(directory.Terminals), readerOf(directory.Limits)} {
				readFields(body)
			}
		})
	})
}

// readerOf returns a function that reads a form both as a new record and as a change of a record.
func readerOf[R any](columns *schema.Type[R]) func(form) {
	return func(f form) {
		fields := records.ReadColumns(f.Form, columns)
		draft := fields.Draft()
		fields.Change()(&draft, new(schema.Faults))
	}
}
