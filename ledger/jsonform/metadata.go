package jsonform

import (
	"mizan/internal/jsonwalk"
	"mizan/ledger/schema"
)

// MetaLang is the key of merchant_meta whose value the service sets (specification, "Rules on fields",
// 5). For a partner without a language the value is defaultLang.
const (
	MetaLang    = "lang"
	defaultLang = "en"
)

// AppendMerchantMeta appends merchant_meta: the members that the client sent, then the members from the rail (the provider)
// whose keys the client did not send. fromCaller and fromRail are JSON objects, or nil. The service itself sets the member
// MetaLang if the partner has a language, or if the client sent that key.
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
