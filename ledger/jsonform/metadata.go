package jsonform

import (
	"mizan/internal/jsonwalk"
	"mizan/ledger/schema"
)

// MetaLang is the key of merchant_meta that the service sets (specification, "Rules on fields",
// 5); defaultLang is its value for a partner without a language.
const (
	MetaLang    = "lang"
	defaultLang = "en"
)

// AppendMeta appends merchant_meta: the members that the caller sent, then the members
// from the rail whose keys the caller did not send. fromCaller and fromRail are JSON objects, or nil. The service
// itself sets MetaLang if the partner has a language, or if the caller sent the key.
func AppendMeta(dst, fromCaller, fromRail []byte, lang string) []byte {
	reserved := lang != "" || len(fromCaller) > 0 && jsonwalk.Has(fromCaller, MetaLang)
	if !reserved && fromRail == nil {
		if len(fromCaller) == 0 {
			return append(dst, "{}"...)
		}
		return append(dst, fromCaller...)
	}
	e := schema.Encoder{Buf: append(dst, '{')}
	e.Members(fromCaller, func(name []byte) bool { return string(name) != MetaLang })
	e.Members(fromRail, func(name []byte) bool {
		return string(name) != MetaLang && (len(fromCaller) == 0 || !jsonwalk.Has(fromCaller, string(name)))
	})
	if reserved {
		if lang == "" {
			lang = defaultLang
		}
		e.Text(MetaLang, lang)
	}
	e.Close('}')
	return e.Buf
}
