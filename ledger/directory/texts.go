package directory

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// Largest lengths of texts.
const (
	MaxText   = 255  // characters
	MaxEmail  = 254  // bytes (RFC 5321, section 4.5.3.1.3, without the angle brackets)
	MaxURL    = 2048 // bytes
	MaxSecret = 512  // bytes
)

// sortedUnique returns a sorted copy of the list without repetitions. For an empty list it returns nil.
func sortedUnique(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func checkText(op, field, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return ledger.RefuseField(op, field, "must not be empty")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return ledger.RefuseField(op, field, "holds characters that can't be shown")
	case utf8.RuneCountInString(text) > MaxText:
		return ledger.RefuseField(op, field, "is longer than %d characters", MaxText)
	}
	return nil
}

func checkEmail(op, field, address string) error {
	if address == "" {
		return nil
	}
	if !IsEmail(address) {
		return ledger.RefuseField(op, field, "is not an e-mail address")
	}
	return nil
}

// IsEmail tells whether a text is a plain e-mail address (RFC 5322, addr-spec): without a name, comments or quotes.
func IsEmail(text string) bool {
	parsed, err := mail.ParseAddress(text)
	return err == nil && parsed.Address == text && len(text) <= MaxEmail
}

func checkURL(op, field, address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || len(address) > MaxURL || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil || !schema.HasUsablePort(u) {
		return ledger.RefuseField(op, field, "must be an http or https address without credentials")
	}
	return nil
}

func checkSecret(op, field, secret string) error {
	if len(secret) > MaxSecret || !utf8.ValidString(secret) {
		return ledger.RefuseField(op, field, "is longer than %d bytes or not text", MaxSecret)
	}
	return nil
}

func isUpper(s string) bool {
	return consistsOf(s, func(r rune) bool { return r >= 'A' && r <= 'Z' })
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || isDigit(r)
}

// languages lists the languages in which the service shows texts to people. If a catalogue of texts lacks a text in a
// language, the English text is shown.
var languages = []string{"en", "ru", "uk", "ar", "fa", "ur", "tr", "az", "kk", "uz", "id", "ms", "bn", "de", "fr", "es"}

// LanguageRule is the error message for a language that IsLanguage does not accept.
var LanguageRule = "must be one of " + strings.Join(languages, ", ")

// Languages returns the codes of the service's languages.
func Languages() []string { return slices.Clone(languages) }

// IsLanguage tells whether lang is the code (ISO 639-1, in lower case) of one of the service's
// languages.
func IsLanguage(lang string) bool { return slices.Contains(languages, lang) }

// langRule refuses a language that IsLanguage does not accept.
func langRule(value any) string {
	if IsLanguage(value.(string)) {
		return ""
	}
	return LanguageRule
}
