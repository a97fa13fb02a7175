package directory

import (
	"slices"
	"strings"

	"mizan/ledger"
)

// languages are the languages that texts for people are written in. Those that a
// catalogue has no text of are English there.
var languages = []string{"en", "ru", "uk", "ar", "fa", "ur", "tr", "az", "kk", "uz", "id", "ms", "bn", "de", "fr", "es"}

// LanguageRule says what IsLanguage takes.
var LanguageRule = "must be one of " + strings.Join(languages, ", ")

// IsLanguage tells whether a lang is the code (ISO 639-1, in lower case) of one of the
// service's languages.
func IsLanguage(lang string) bool { return slices.Contains(languages, lang) }

// checkLang takes a language of the service, and none.
func checkLang(op, lang string) error {
	if lang == "" || IsLanguage(lang) {
		return nil
	}
	return ledger.RefuseField(op, "lang", "%s", LanguageRule)
}
