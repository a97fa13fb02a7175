package locale

import (
	"embed"

	"mizan/internal/assert"
)

// fallback is the language of a page if there are no texts in the reader's language. It is also the language of the master
// copy, with which all catalogs are compared.
const fallback = "en"

// Locale is a language of the service. Its methods write numbers, amounts, dates and remaining times in this language.
type Locale struct {
	Lang string // ISO 639-1, in lower case; also the value of the HTML attribute lang

	format *format
	words  *words
}

// words are the words that one language uses in numbers and times. The struct tag "holds" is explained at Load.
type words struct {
	MinorUnits    string     `json:"minorUnits" holds:"amount"`
	MinutesLeft   Plural     `json:"minutesLeft"`
	SecondsLeft   Plural     `json:"secondsLeft"`
	Months        [12]string `json:"months"` // names of the months in the grammatical form of a date, beginning with January
	Moment        string     `json:"moment" holds:"d month y hour minute"`
	ShortMonths   [12]string `json:"shortMonths"` // names of the months in the form of a short date
	ShortDate     string     `json:"shortDate" holds:"d month y"`
	ShortDateTime string     `json:"shortDateTime" holds:"date hour minute"`
}

//go:embed catalog
var files embed.FS

// locales has the languages of the service. The key is the code of the language.
var locales = func() map[string]*Locale {
	loaded, err := Load[words](files, Languages())
	assert.NoError(err)
	byLang := make(map[string]*Locale, len(loaded))
	for lang, w := range loaded {
		byLang[lang] = &Locale{Lang: lang, format: formatOf(lang), words: w}
	}
	return byLang
}()

// Languages returns the codes of all languages of the service, English first.
func Languages() []string {
	codes := make([]string, len(formats))
	for i := range formats {
		codes[i] = formats[i].lang
	}
	return codes
}

// In returns the Locale for a language tag (RFC 5646). It ignores the tag's script and region. If the service does not have the
// language, In returns English.
func In(tag string) *Locale {
	if l := locales[baseOf(tag)]; l != nil {
		return l
	}
	return locales[fallback]
}

// Direction returns the value of the HTML attribute dir: "rtl" or "ltr".
func (l *Locale) Direction() string {
	if l.format.rightToLeft {
		return "rtl"
	}
	return "ltr"
}

// Separators are the separators in the numbers of a language.
type Separators struct {
	Decimal byte // the separator before the fraction: a point or a comma
	Group   byte // the separator between groups of digits: a point, a comma or a space
	Slash   bool // people may also type a slash before the fraction, because many keyboards lack the language's own separator
}

// Separators returns the separators that the language uses in numbers. In place of the Arabic separators, it returns the point
// and the comma, which look similar.
func (l *Locale) Separators() Separators {
	f := l.format
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
