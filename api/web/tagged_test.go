package web_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// A struct and the encoder write the same response, so that clients see no difference.
func TestStructsAndTheEncoderGiveTheSameBytes(t *testing.T) {
	type answer struct {
		Text   string      `json:"text"`
		OrNull *string     `json:"or"`
		ID     ledger.ID   `json:"id"`
		At     web.Instant `json:"at"`
		N      uint64      `json:"n"`
		Flag   bool        `json:"flag"`
		Texts  []string    `json:"texts"`
	}
	texts := []string{"", "plain", "é €", "<a href='x'>&amp;</a>", "\u2028\u2029", "\"\\/", "\x00\x01\b\t\n\v\f\r\x1f\x7f", "broken \xff UTF-8", "\U0001f600"}
	for _, text := range texts {
		for _, at := range []ledger.Micros{0, 1, 1_700_000_000_123_456} {
			v := answer{Text: text, OrNull: web.NilIfEmpty(text), ID: uuid.New(), At: web.Instant(at), N: 1<<63 - 1, Flag: text == ""}
			if text != "" {
				v.Texts = texts
			}
			var e schema.Encoder
			e.Open('{')
			e.Text("text", v.Text)
			e.TextOrNull("or", text)
			e.ID("id", v.ID)
			e.Instant("at", at)
			e.Integer("n", int64(v.N))
			e.Boolean("flag", v.Flag)
			e.Texts("texts", v.Texts)
			e.Close('}')
			if got := string(web.Marshal(&v)); got != string(e.Buf) {
				t.Errorf("a struct gives\n%s, the encoder\n%s", got, e.Buf)
			}
		}
	}
}

func TestARowMayBeAStruct(t *testing.T) {
	type row struct {
		N int `json:"n"`
	}
	l := web.NewList()
	l.Append(row{1})
	l.Append(row{2})
	if got, want := string(l.Finish("n", "2")), `{"data":[{"n":1},{"n":2}],"cursor":{"cursor_field":"n","cursor_value":"2"}}`; got != want || l.Rows != 2 {
		t.Errorf("%d rows: %s", l.Rows, got)
	}
}
