package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/schema"
)

func TestDocumentIsStrict(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) }
	for _, c := range []struct {
		body string
		ok   bool
	}{
		{`{}`, true},
		{" \t\r\n{\"a\" : [1, 2.5e3, true, null, \"\\u00e9\\ud83d\\ude00\"] }\n", true},
		{`"text"`, true},
		{``, false},
		{` `, false},
		{`{"a":1,"a":2}`, false},
		{`{"a":1,"\u0061":2}`, false},
		{`{"x":{"a":1,"b":2,"a":3}}`, false},
		{`{"a":1,"A":2}`, true},
		{`{} {}`, false},
		{`{},`, false},
		{`{"a":1,}`, false},
		{`{a:1}`, false},
		{`{'a':1}`, false},
		{`{"a":01}`, false},
		{`{"a":+1}`, false},
		{`{"a":0x10}`, false},
		{`{"a":NaN}`, false},
		{`{"a":1}//`, false},
		{"\xef\xbb\xbf{}", false},
		{"{\"a\":\"\xff\"}", false},
		{"{\"a\":\"\xed\xa0\x80\"}", false},
		{"{\"\xc0\x80\":1}", false},
		{`{"a":"\ud800"}`, false},
		{`{"a":"\udc00\ud800"}`, false},
		{`{"\ud800":1}`, false},
		{"{\"a\":\"\n\"}", false},
		{"{\"a\":\"\x00\"}", false},
		{`{"a":"\u0000"}`, true},
		{nested(maxDepth), true},
		{nested(maxDepth + 1), false},
		{strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), true},
		{strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), false},
		{strings.Repeat("[", 1<<20), false},
		{`{"a":"` + strings.Repeat("[{", 100) + `\"[["}`, true},
	} {
		value, err := Document([]byte(c.body))
		if c.ok {
			if err != nil || string(value) != strings.TrimSpace(c.body) {
				t.Errorf("%.60q: %q, %v", c.body, value, err)
			}
			continue
		}
		var refusal *ledger.Refusal
		if !errors.As(err, &refusal) || refusal.Code != BadRequest {
			t.Errorf("%.60q: %v, want %s", c.body, err, BadRequest)
		}
	}
}

func TestMemberNamesMatchExactly(t *testing.T) {
	value, err := Document([]byte(`{ "AMOUNT":"1" , "a\u006dount" : "2", "Amount":"3", "gone":null, "":"empty" }`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"amount": `"2"`, "AMOUNT": `"1"`, "gone": "", "absent": "", "": `"empty"`, "aMount": ""} {
		if got := Member(value, name); string(got) != want {
			t.Errorf("member %q = %s, want %s", name, got, want)
		}
	}
}

func TestEmptyObjectsAreRecognised(t *testing.T) {
	for value, want := range map[string]bool{`{}`: true, "{ \n}": true, `{"a":1}`: false, `[]`: false, `null`: false, `"{}"`: false} {
		if got := IsEmptyObject([]byte(value)); got != want {
			t.Errorf("isEmptyObject(%s) = %v", value, got)
		}
	}
}

func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		`{"a":"b\\\"c","d":{"e":[1,{"f":"]}"}]},"g":-1.5e-3}`, `[]`, `"\\"`, `{"\u0041":" "}`, `{"a":1 , "b" :true}`, `[{},[],"",0]`,
		` {"params": {"amount":"1","money_storage":{"cvv":"123"}}} `, `{"a":"\\\\\""}`, `null`, `{"a":{"a":{"a":{}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		value, err := Document(body)
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("taken, but not JSON: %q", body)
		}
		wantSameMembers(t, value)
	})
}

// wantSameMembers compares the members that this package finds with those that encoding/json finds, at all
// depths.
func wantSameMembers(t *testing.T, value []byte) {
	switch {
	case IsObject(value):
		var want map[string]json.RawMessage
		if err := json.Unmarshal(value, &want); err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		seen := 0
		for m := jsonwalk.MembersOf(value); ; seen++ {
			name, got, more := m.Next()
			if !more {
				break
			}
			if !bytes.Equal(got, want[string(name)]) {
				t.Fatalf("member %q of %q = %q, want %q", name, value, got, want[string(name)])
			}
			wantSameMembers(t, got)
		}
		if seen != len(want) {
			t.Fatalf("%q: %d members, want %d", value, seen, len(want))
		}
	case IsArray(value):
		var want []json.RawMessage
		if err := json.Unmarshal(value, &want); err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		m := jsonwalk.MembersOf(value)
		for i := range want {
			got, more := m.Element()
			if !more || !bytes.Equal(got, want[i]) {
				t.Fatalf("element %d of %q = %q, want %q", i, value, got, want[i])
			}
			wantSameMembers(t, got)
		}
		if _, more := m.Element(); more {
			t.Fatalf("%q has too many elements", value)
		}
	default:
		text, isText := jsonwalk.Text(value)
		var want string
		if err := json.Unmarshal(value, &want); (err == nil && string(value) != "null") != isText || isText && want != string(text) {
			t.Fatalf("text of %q = %q, %v, want %q", value, text, isText, want)
		}
		if !isText {
			return
		}
		var decoded string
		if err := json.Unmarshal(schema.AppendText(nil, want), &decoded); err != nil || decoded != want {
			t.Fatalf("schema.AppendText(%q) reads back as %q, %v", want, decoded, err)
		}
	}
}

func TestInvalidUTF8IsEncodedAsValidJSON(t *testing.T) {
	if got := schema.AppendText(nil, "a\xffb"); !json.Valid(got) {
		t.Errorf("appendText of invalid UTF-8 = %q", got)
	}
}
