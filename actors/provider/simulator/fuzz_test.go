package simulator

import (
	"bytes"
	"testing"

	"mizan/actors"
)

// FuzzALine parses any text with the right checksum as a line. Either the line is reported as damaged, or it
// is the same when it is written again.
func FuzzALine(f *testing.F) {
	for _, bring := range situations {
		b := open(f)
		bring(b)
		b.submit(followUpCall(1, actors.Refund, 92, 5))
		for record := range bytes.Lines(b.content()) {
			f.Add(record[:len(record)-sealSize])
		}
	}
	const offset = 1 << 40
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := parse(appendSum(bytes.Clone(body), body), offset)
		if err != nil {
			return
		}
		l.callOutcome(&l.charge, start)
		for operation := actors.Complete; operation <= actors.Refund; operation++ {
			l.charge.asOf(start).perform(followUpCall(1, operation, 2, 3), nil, start)
		}
		again := appendLine(appendKey(nil, l.terminal, l.reference), l)
		second, err := parse(again, offset)
		if err != nil || *second != *l {
			t.Errorf("%s is %+v, and written again %s, %+v, %v", body, l, again, second, err)
		}
	})
}
