package simulator

import (
	"bytes"
	"testing"

	"mizan/actors"
)

// FuzzALine parses any text with the right checksum as a line of the log. A line that is not reported as damaged
// must be the same when it is written again.
func FuzzALine(f *testing.F) {
	for _, setUp := range situations {
		sim := open(f)
		setUp(sim)
		sim.submit(followUpCall(1, actors.Refund, 92, 5))
		for text := range bytes.Lines(sim.content()) {
			f.Add(text[:len(text)-sumSize])
		}
	}
	const offset = 1 << 40
	f.Fuzz(func(t *testing.T, body []byte) {
		line, err := parseLine(appendSum(bytes.Clone(body), body), offset)
		if err != nil {
			return
		}
		line.callOutcome(&line.charge, start)
		for operation := actors.Complete; operation <= actors.Refund; operation++ {
			line.charge.asOf(start).perform(followUpCall(1, operation, 2, 3), nil, start)
		}
		again := appendLine(appendKey(nil, line.terminal, line.reference), line)
		second, err := parseLine(again, offset)
		if err != nil || *second != *line {
			t.Errorf("%s is %+v, and written again %s, %+v, %v", body, line, again, second, err)
		}
	})
}
