package jsonwalk_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/internal/jsonwalk"
	"mizan/internal/steps"
)

func init() { steps.Enable() }

// maxStepsPerByte is how often the function walk may look at a byte of its document. Values nest on two levels, and the
// search for the end of each value may read a byte twice. The call of Has reads the outermost level once more. These are six
// steps; unquoting a string takes two more.
const maxStepsPerByte = 8

// walk reads a document as handlers do: each member of the outermost value, and each member of those
// members.
func walk(value []byte) {
	visit := func(value []byte, visitChild func([]byte)) {
		switch {
		case len(value) == 0:
		case value[0] == '{':
			for m := jsonwalk.MembersOf(value); ; {
				_, member, more := m.Next()
				if !more {
					return
				}
				visitChild(member)
			}
		case value[0] == '[':
			for m := jsonwalk.MembersOf(value); ; {
				element, more := m.Element()
				if !more {
					return
				}
				visitChild(element)
			}
		}
	}
	readText := func(value []byte) { jsonwalk.Text(value) }
	visit(value, func(child []byte) { visit(child, readText); readText(child) })
	jsonwalk.Has(objectOrEmpty(value), "no such member")
}

func objectOrEmpty(value []byte) []byte {
	if len(value) > 0 && value[0] == '{' {
		return value
	}
	return []byte("{}")
}

// wantLinear fails if walking a document takes more than maxStepsPerByte steps for each byte.
func wantLinear(t *testing.T, document []byte) {
	t.Helper()
	before := steps.Total()
	walk(document)
	if stepsTaken := steps.Total() - before; stepsTaken > maxStepsPerByte*int64(len(document)) {
		t.Fatalf("%.80q…, %d bytes: %d steps", document, len(document), stepsTaken)
	}
}

// repeatPiece returns head, many copies of piece, and tail, together about size bytes long.
func repeatPiece(head, piece, tail []byte, size int) []byte {
	times := max(0, size-len(head)-len(tail)) / max(1, len(piece))
	return bytes.Join([][]byte{head, bytes.Repeat(piece, times), tail}, nil)
}

func TestWorkIsLinearInTheInput(t *testing.T) {
	for _, c := range []struct{ head, piece, tail string }{
		{`{"login":"`, `\n`, `"}`},
		{`{"login":"`, `\"`, `"}`},
		{`{"login":"`, `a\\`, `"}`},
		{`{"`, `\u0061`, `":1}`},
		{`["`, `\n","`, `"]`},
		{`{"a":["`, `\n`, `"]}`},
		{`[`, `{"a":"\n"},`, `1]`},
		{`[`, `[],`, `1]`},
		{`[1`, ` `, `]`},
		{`[1`, `1`, `]`},
		{`{"a":[[`, `"",`, `""]]}`},
	} {
		document := repeatPiece([]byte(c.head), []byte(c.piece), []byte(c.tail), 1<<17)
		if !jsontext.Value(document).IsValid() {
			t.Errorf("%.40q… is no JSON", document)
			continue
		}
		wantLinear(t, document)
	}
}

// FuzzWorkIsLinear repeats a piece of a document, so that quadratic work becomes visible.
func FuzzWorkIsLinear(f *testing.F) {
	f.Add([]byte(`{"a":"`), []byte(`\n`), []byte(`"}`))
	f.Add([]byte(`[`), []byte(`{"a":["\\",{}]},`), []byte(`[]]`))
	f.Add([]byte(` {"a" : `), []byte(` `), []byte(`1}`))
	f.Fuzz(func(t *testing.T, head, piece, tail []byte) {
		document := bytes.TrimSpace(repeatPiece(head, piece, tail, 16<<10))
		if len(document) == 0 || !jsontext.Value(document).IsValid() {
			return
		}
		wantLinear(t, document)
	})
}
