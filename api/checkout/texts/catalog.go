package texts

import (
	"embed"

	"mizan/api/web/locale"
	"mizan/internal/assert"
)

//go:embed catalog
var files embed.FS

// catalogs contains the texts of each language.
var catalogs = func() map[string]*Texts {
	loaded, err := load()
	assert.NoError(err)
	for lang, t := range loaded {
		t.Locale = locale.In(lang)
	}
	return loaded
}()

// load reads and checks the catalogs.
func load() (map[string]*Texts, error) { return locale.Load[Texts](files, locale.Languages()) }

// In returns the texts for a language tag (RFC 5646). It ignores the tag's script and region. If there are no texts in the
// tag's language, it returns the English ones.
func In(tag string) *Texts { return catalogs[locale.In(tag).Lang] }
