package checkout

import (
	"testing"

	"mizan/api/web/worktest"
)

// FuzzPageFormParsingIsLinear checks that the work of reading a payer's form grows no faster than the
// form's length.
func FuzzPageFormParsingIsLinear(f *testing.F) {
	worktest.Add(f, [3]string{"a=", "%41", "&b=1"}, [3]string{"", "a&", ""}, [3]string{"cardnumber=4242", " ", ""}, [3]string{"", "&", "a=1"}, [3]string{"", "+", "="})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		body := worktest.Repeated(head, piece, tail, 32<<10)
		worktest.Linear(t, body, func() {
			if form, _ := readForm([]byte("application/x-www-form-urlencoded"), body); form != nil {
				form.wipe()
			}
		})
	})
}
