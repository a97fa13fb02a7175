package labels

import (
	"embed"
	"iter"
	"slices"
	"strings"

	"mizan/api/console/texts"
)

//go:embed catalog
var files embed.FS

// Texts are the labels in one language, with the shared texts of the console.
type Texts struct {
	*texts.Texts `json:"-"`

	List    List              `json:"list"`
	Form    Form              `json:"form"`
	Fields  map[string]string `json:"fields"`  // by the field's name, or by its path: "limits.kind"
	Words   map[string]string `json:"words"`   // by the word, or by the field and the word: "kind.card"
	Events  map[string]string `json:"events"`  // by the event's name in the journal, or by the kind of record and the name: "settlement.settle"
	Records map[string]string `json:"records"` // kinds of records in the plural, by their names in addresses
	One     map[string]string `json:"one"`     // kinds of records in the singular, by the same names
	Actions map[string]string `json:"actions"` // texts of the buttons of operations, by the operations' ids
	Helps   map[string]string `json:"help"`    // what to type into a field, by its name or path
}

// List are the texts of lists and of the pages of one record.
type List struct {
	Filters  string `json:"filters"`
	Any      string `json:"any"`     // the option without a filter
	NoneFor  string `json:"noneFor"` // no row matches the filters
	NoValue  string `json:"noValue"` // read by screen readers: the cell is empty
	IsSet    string `json:"isSet"`   // a secret has a value, which is not shown
	All      string `json:"all" holds:"records"`
	New      string `json:"new" holds:"record"`
	NotShown string `json:"notShown"` // a part of the page could not be read
	Bytes    string `json:"bytes" holds:"n"`
	KB       string `json:"kb" holds:"n"`
	MB       string `json:"mb" holds:"n"`
	GB       string `json:"gb" holds:"n"`
	Days     string `json:"days" holds:"n"`
	Hours    string `json:"hours" holds:"n"`
	Minutes  string `json:"minutes" holds:"n"`
	Seconds  string `json:"seconds" holds:"n"`
	Once     string `json:"once"` // the value is shown only this time
}

// Form are the texts of forms.
type Form struct {
	Deactivate  string `json:"deactivate" on:"button"`
	AddRow      string `json:"addRow" on:"button"`
	RemoveRow   string `json:"removeRow"`
	Row         string `json:"row" holds:"n"`
	Choose      string `json:"choose"`
	Unset       string `json:"unset"` // the option without a value
	ClearSecret string `json:"clearSecret"`
	KeepSecret  string `json:"keepSecret"` // hint of a secret that has a value
	Lines       string `json:"lines"`      // hint of a list of texts
	JSON        string `json:"json"`       // hint of any JSON
	UTC         string `json:"utc"`        // hint of an instant
	Minor       string `json:"minor"`      // hint of an amount without a currency
	Problems    string `json:"problems"`   // heading of the wrong fields
	Refused     string `json:"refused"`    // heading of the API's refusal
	Confirm     string `json:"confirm" holds:"record"`
	NoUndo      string `json:"noUndo"`
	BadNumber   string `json:"badNumber"`
	BadDecimal  string `json:"badDecimal" holds:"example"`
	BadAmount   string `json:"badAmount" holds:"example"`
	TooPrecise  string `json:"tooPrecise" holds:"n"`
	TooHigh     string `json:"tooHigh"`
	NoCurrency  string `json:"noCurrency"`
	BadInstant  string `json:"badInstant"`
	BadDay      string `json:"badDay"`
	BadJSON     string `json:"badJSON"`
	BadChoice   string `json:"badChoice"`
	TooManyRows string `json:"tooManyRows" holds:"n"`
}

// catalogs has the labels of each language.
var catalogs = func() map[string]*Texts {
	loaded := texts.Load[Texts](files)
	for lang, t := range loaded {
		t.Texts = texts.In(lang)
	}
	return loaded
}()

// In returns the labels in a language of the console; in English for any other.
func In(lang string) *Texts { return catalogs[texts.In(lang).Lang] }

// Field returns the label of a field. The path may begin with the kind of record: "partners.branding.color".
func (t *Texts) Field(path string) string {
	if label, ok := lookUp(t.Fields, path); ok {
		return label
	}
	return plain(lastOf(path))
}

// HasField tells whether there is a label for a field.
func (t *Texts) HasField(path string) bool {
	_, ok := lookUp(t.Fields, path)
	return ok
}

// Help returns the explanation of a field; empty if the label suffices. A field without a label gets the text of the API's
// description, which is in English and for programmers.
func (t *Texts) Help(path, described string) string {
	if help, ok := lookUp(t.Helps, path); ok {
		return help
	}
	if t.HasField(path) || described == "" {
		return ""
	}
	return strings.ToUpper(described[:1]) + strings.TrimSuffix(strings.ReplaceAll(described[1:], "`", ""), ".") + "."
}

// Word returns the label of a word (a value of an enumeration) of a field.
func (t *Texts) Word(path, word string) string {
	if label, ok := t.word(path, word); ok {
		return label
	}
	return plain(word)
}

// HasWord tells whether there is a label for a word.
func (t *Texts) HasWord(path, word string) bool {
	_, ok := t.word(path, word)
	return ok
}

// word finds the label of a word: the label for the longest path of the field, else the label of the word in any field.
func (t *Texts) word(path, word string) (label string, ok bool) {
	for place := range placesOf(path) {
		if label, ok = t.Words[place+"."+word]; ok {
			return label, true
		}
	}
	label, ok = t.Words[word]
	return label, ok
}

// Action returns the text of the button for an operation.
func (t *Texts) Action(operation string) string { return named(t.Actions, operation) }

// Record returns the name of a kind of record in the plural.
func (t *Texts) Record(name string) string { return named(t.Records, name) }

// Single returns the name of a kind of record in the singular.
func (t *Texts) Single(name string) string { return named(t.One, name) }

func named(texts map[string]string, name string) string {
	if text, ok := texts[name]; ok {
		return text
	}
	return plain(name)
}

// lookUp finds the text for a path: the text of the whole path, else that of the longest end of the path that has a text.
func lookUp(texts map[string]string, path string) (text string, ok bool) {
	for place := range placesOf(path) {
		if text, ok = texts[place]; ok {
			return text, true
		}
	}
	return "", false
}

// placesOf yields a path, then the path without its first part, and so on. Numbers of rows, such as the 0 in a.0.b, are left out.
func placesOf(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		parts := slices.DeleteFunc(strings.Split(path, "."), isNumber)
		for i := range parts {
			if !yield(strings.Join(parts[i:], ".")) {
				return
			}
		}
	}
}

func isNumber(part string) bool {
	return part != "" && strings.Trim(part, "0123456789") == ""
}

func lastOf(path string) string {
	return path[strings.LastIndexByte(path, '.')+1:]
}

// plain returns a name of the API as words separated by spaces.
func plain(name string) string {
	text := strings.ReplaceAll(name, "_", " ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
