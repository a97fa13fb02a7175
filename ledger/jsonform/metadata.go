package jsonform

import (
	"mizan/internal/jsonwalk"
	"mizan/ledger/schema"
)

// MetaLang is the key in merchant_meta for the language. The service sets its value (specification, "Rules on fields", 5).
// The value is the partner's language. If the partner has none but the client sent the key, the value is defaultLang.
const (
	MetaLang    = "lang"
	defaultLang = "en"
)

// AppendMerchantMeta appends merchant_meta: first the members that the client sent, then those members from the provider
// whose keys the client did not send. fromCaller is the client's JSON object and fromRail is the provider's; each may be
// nil. If the partner has a language or the client sent the key MetaLang, the service sets that member itself.
func AppendMerchantMeta(dst, fromCaller, fromRail []byte, lang string) []byte {
	setsLang := lang != "" || len(fromCaller) > 0 && jsonwalk.Has(fromCaller, MetaLang)
	if !setsLang && fromRail == nil {
		if len(fromCaller) == 0 {
			return append(dst, "{}"...)
		}
		return append(dst, fromCaller...)
	}
	out := schema.Encoder{Buf: append(dst, '{')}
	out.Members(fromCaller, func(name []byte) bool { return string(name) != MetaLang })
	out.Members(fromRail, func(name []byte) bool {
		return string(name) != MetaLang && (len(fromCaller) == 0 || !jsonwalk.Has(fromCaller, string(name)))
	})
	if setsLang {
		if lang == "" {
			lang = defaultLang
		}
		out.Text(MetaLang, lang)
	}
	out.Close('}')
	return out.Buf
}
