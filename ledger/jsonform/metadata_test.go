package jsonform_test

import (
	"testing"

	"mizan/ledger/jsonform"
)

func TestMerchantMetaHasTheCallersAndTheRailsKeys(t *testing.T) {
	for _, c := range []struct{ fromCaller, fromRail, lang, want string }{
		{``, ``, ``, `{}`},
		{`{"b": 1, "a":{"lang":"fr"}}`, ``, ``, `{"b": 1, "a":{"lang":"fr"}}`},
		{``, `{"status":"seen"}`, ``, `{"status":"seen"}`},
		{`{"a":1}`, `{"status":"seen","a":2}`, ``, `{"a":1,"status":"seen"}`},
		{`{"a":null}`, `{"a":2}`, ``, `{"a":null}`},
		{`{"lang":"fr","a":1}`, ``, ``, `{"a":1,"lang":"en"}`},
		{`{"l\u0061ng":7}`, ``, ``, `{"lang":"en"}`},
		{`{"lang":null}`, ``, `ru`, `{"lang":"ru"}`},
		{`{"a":1}`, ``, `ru`, `{"a":1,"lang":"ru"}`},
		{``, ``, `ru`, `{"lang":"ru"}`},
		{``, `{"lang":"de","s":"x"}`, ``, `{"s":"x"}`},
		{`{"Lang":"fr"}`, `{"lang":"de"}`, `en-GB`, `{"Lang":"fr","lang":"en-GB"}`},
		{`{"\"":"\""}`, `{"x":[]}`, ``, `{"\"":"\"","x":[]}`},
	} {
		objectOrNil := func(text string) []byte {
			if text == "" {
				return nil
			}
			return []byte(text)
		}
		if got := string(jsonform.AppendMerchantMeta(nil, objectOrNil(c.fromCaller), objectOrNil(c.fromRail), c.lang)); got != c.want {
			t.Errorf("%s and %s in %q: %s, want %s", c.fromCaller, c.fromRail, c.lang, got, c.want)
		}
	}
}
