package locale

import (
	"slices"
	"strconv"
	"strings"
)

// formerCodes maps codes that ISO 639 has replaced, but browsers and devices still send, to the present codes.
var formerCodes = map[string]string{"in": "id"}

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

// Preferred returns the language with the highest weight in a header Accept-Language (RFC 9110, 12.5.4) that is among the given
// languages; empty if there is none. An entry with a malformed weight is ignored.
func Preferred(acceptLanguage string, among ...string) string {
	preferred, best, read := "", 0.0, 0
	for entry := range strings.SplitSeq(acceptLanguage, ",") {
		if read++; read > maxEntries {
			break
		}
		tag, parameter, _ := strings.Cut(entry, ";")
		language := baseOf(strings.TrimSpace(tag))
		if weight := weightOf(parameter); weight > best && slices.Contains(among, language) {
			preferred, best = language, weight
		}
	}
	return preferred
}

// weightOf returns the weight in a parameter such as "q=0.5": 1 if there is no parameter, and 0 if it is malformed.
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
