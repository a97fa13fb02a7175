package locale

import (
	"slices"
	"strconv"
	"strings"
)

// formerCodes maps former codes of ISO 639 to the codes that have replaced them. Some browsers and devices still send the
// former codes.
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

// Preferred reads the header Accept-Language (RFC 9110, 12.5.4). Of the languages in the argument among, it returns the one
// with the highest weight, or an empty text if the header names none of them. An entry with a malformed weight is ignored.
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

// weightOf returns the weight in a parameter such as "q=0.5". The weight is 1 if there is no parameter, and 0 if the parameter
// is malformed.
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
