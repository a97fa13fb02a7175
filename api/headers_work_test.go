package api

import (
	"testing"

	"mizan/api/web/worktest"
)

func FuzzHeaderParsingIsLinear(f *testing.F) {
	worktest.Add(f, [3]string{"Host: a\r\n", "A: b\r\n", "\r\n"}, [3]string{"Host:", " ", "\r\n"}, [3]string{"", "\n", ""}, [3]string{"X-Forwarded-For: ", "10.0.0.1,", "\r\n"})
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		raw := worktest.Repeated(head, piece, tail, headerLimit)
		worktest.Linear(t, raw, func() { _, _ = checkHeaders(raw) })
	})
}
