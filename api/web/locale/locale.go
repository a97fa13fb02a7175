package locale

import (
	"embed"

	"mizan/internal/assert"
)

// fallback is the language of a page if there are no texts in the reader's, and the master copy of every catalog.
const fallback = "en"

// Locale is a language of the service, in which it writes numbers, amounts, dates and remaining times.
type Locale struct {
	Lang string // ISO 639-1, in lower case; also the value of the HTML attribute lang

	format *format
	words  *words
}

// words are the words of numbers and times in one language. The tag holds is that of Load.
type words struct {
	MinorUnits    string     `json:"minorUnits" holds:"amount"`
	MinutesLeft   Plural     `json:"minutesLeft"`
	SecondsLeft   Plural     `json:"secondsLeft"`
	Months        [12]string `json:"months"` // as they stand in a date, January first
	Moment        string     `json:"moment" holds:"d month y hour minute"`
	ShortMonths   [12]string `json:"shortMonths"` // as they stand in a short date
	ShortDate     string     `json:"shortDate" holds:"d month y"`
	ShortDateTime string     `json:"shortDateTime" holds:"date hour minute"`
}

//go:embed catalog
var files embed.FS

// locales are the languages of the service by their codes.
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

// In returns the language of a language tag (RFC 5646), of which only the language counts, not its script or region. It is
// English if the service does not have the language.
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

// Separators are what a language writes in numbers.
type Separators struct {
	Decimal byte // before the fraction: a point or a comma
	Group   byte // between groups of digits: a point, a comma or a space
	Slash   bool // people also type a slash before the fraction, where their keyboard lacks the language's own separator
}

// Separators returns what the language writes in numbers. The Arabic separators count as the point and the comma, which
// they resemble.
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
