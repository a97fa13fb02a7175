package api

import "testing"

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
