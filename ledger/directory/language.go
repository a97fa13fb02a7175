package directory

import (
	"slices"
	"strings"
)

// languages lists the languages of texts for people. If a catalogue has no text in a language,
// the English text is used.
var languages = []string{"en", "ru", "uk", "ar", "fa", "ur", "tr", "az", "kk", "uz", "id", "ms", "bn", "de", "fr", "es"}

// LanguageRule is the message for a language that IsLanguage does not accept.
var LanguageRule = "must be one of " + strings.Join(languages, ", ")

// IsLanguage tells whether lang is the code (ISO 639-1, in lower case) of one of the service's
// languages.
func IsLanguage(lang string) bool { return slices.Contains(languages, lang) }

// langRule refuses a language that is not the service's.
func langRule(value any) string {
	if IsLanguage(value.(string)) {
		return ""
	}
	return LanguageRule
}
