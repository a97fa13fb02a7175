package texts

import (
	"embed"
	"io/fs"

	"mizan/api/web/locale"
	"mizan/internal/assert"
)

//go:embed catalog
var files embed.FS

// Languages returns the codes of the console's languages, English first.
func Languages() []string { return []string{"en", "ru", "ar"} }

// catalogs has the texts of each language.
var catalogs = func() map[string]*Texts {
	loaded := Load[Texts](files)
	for lang, t := range loaded {
		t.Locale = locale.In(lang)
	}
	return loaded
}()

// Load reads the texts of one area (a group of pages) from the files catalog/LANG.json. There is one file for each language. If
// locale.Load finds a fault, Load panics.
func Load[T any](files fs.FS) map[string]*T {
	loaded, err := locale.Load[T](files, Languages())
	assert.NoError(err)
	return loaded
}

// Has tells whether the console has texts in a language.
func Has(lang string) bool { return catalogs[lang] != nil }

// In returns the texts in the given language, or in English if the console does not have that language.
func In(lang string) *Texts {
	if t := catalogs[lang]; t != nil {
		return t
	}
	return catalogs[Languages()[0]]
}
