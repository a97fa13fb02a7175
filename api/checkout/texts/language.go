package texts

import (
	"strconv"
	"strings"
)

// fallback is the language of a page if there are no texts in the payer's.
const fallback = "en"

// formerCodes are codes of languages that ISO 639 has replaced and that browsers and devices still send.
var formerCodes = map[string]string{"in": "id"}

// Languages returns the codes of all languages that have texts.
func Languages() []string {
	codes := make([]string, len(formats))
	for i := range formats {
		codes[i] = formats[i].lang
	}
	return codes
}

// In returns the texts for a language tag (RFC 5646), of which only the language counts, not its script or region. The
// texts are English if there are none in that language.
func In(lang string) *Texts {
	if t := catalogs[baseOf(lang)]; t != nil {
		return t
	}
	return catalogs[fallback]
}

// baseOf returns the code of a tag's language, in lower case.
func baseOf(tag string) string {
	base, _, _ := strings.Cut(tag, "-")
	base = strings.ToLower(base)
	if current := formerCodes[base]; current != "" {
		return current
	}
	return base
}

// maxEntries bounds how many entries of Accept-Language are read.
const maxEntries = 32

// Preferred returns the first language of a header Accept-Language (RFC 9110, 12.5.4) in which there are texts, by
// descending weight; empty if there is none. An entry with a malformed weight is ignored.
func Preferred(acceptLanguage string) string {
	preferred, best, read := "", 0.0, 0
	for entry := range strings.SplitSeq(acceptLanguage, ",") {
		if read++; read > maxEntries {
			break
		}
		tag, parameter, _ := strings.Cut(entry, ";")
		language := baseOf(strings.TrimSpace(tag))
		if weight := weightOf(parameter); catalogs[language] != nil && weight > best {
			preferred, best = language, weight
		}
	}
	return preferred
}

// weightOf returns the weight that a parameter "q=0.5" gives: 1 if there is no parameter, and 0 for a malformed one.
func weightOf(parameter string) float64 {
	name, value, found := strings.Cut(strings.TrimSpace(parameter), "=")
	if name == "" && !found {
		return 1
	}
	weight, err := strconv.ParseFloat(value, 64)
	if !strings.EqualFold(name, "q") || err != nil || !(weight >= 0 && weight <= 1) {
		return 0
	}
	return weight
}

// Direction returns the value of the HTML attribute dir: "rtl" or "ltr".
func (t *Texts) Direction() string {
	if t.format.rightToLeft {
		return "rtl"
	}
	return "ltr"
}

// Separators are what a language writes in numbers.
type Separators struct {
	Decimal byte // before the fraction: a point or a comma
	Group   byte // between groups of digits: a point, a comma or a space
	Slash   bool // people also type a slash before the fraction, where their keyboard lacks the language's own separator
}

// SeparatorsOf returns what a language writes in numbers. The Arabic separators count as the point and the comma, which
// they resemble.
func SeparatorsOf(lang string) Separators {
	f := In(lang).format
	return Separators{Decimal: plainSeparator(f.decimal), Group: plainSeparator(f.group), Slash: f.rightToLeft}
}

func plainSeparator(separator string) byte {
	switch separator {
	case ".", "٫":
		return '.'
	case ",", "٬":
		return ','
	}
	return ' '
}
