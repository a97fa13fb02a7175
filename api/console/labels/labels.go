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

// Texts are the labels in one language, and the texts that all pages of the console share.
type Texts struct {
	*texts.Texts `json:"-"`

	List    List              `json:"list"`
	Form    Form              `json:"form"`
	Fields  map[string]string `json:"fields"`  // by the field's name, or by its path: "limits.kind"
	Words   map[string]string `json:"words"`   // by the word, or by the field and the word: "kind.card"
	Events  map[string]string `json:"events"`  // by the event's name in the journal, or by the kind of record and the name: "settlement.settle"
	Records map[string]string `json:"records"` // plural names of kinds of records, by the kind's name in addresses
	One     map[string]string `json:"one"`     // singular names of kinds of records, by the same name
	Actions map[string]string `json:"actions"` // texts of the buttons for operations, by the operation's id
	Helps   map[string]string `json:"help"`    // explanations of what to enter into a field, by the field's name or path
}

// List has the texts that pages with lists and pages of single records show.
type List struct {
	Filters  string `json:"filters"`
	Any      string `json:"any"`     // the option that does not filter
	NoneFor  string `json:"noneFor"` // says that no row matches the filters
	NoValue  string `json:"noValue"` // screen readers read this text if a cell is empty
	IsSet    string `json:"isSet"`   // shown instead of the value of a secret
	All      string `json:"all" holds:"records"`
	New      string `json:"new" holds:"record"`
	NotShown string `json:"notShown"` // says that a part of the page could not be read
	Bytes    string `json:"bytes" holds:"n"`
	KB       string `json:"kb" holds:"n"`
	MB       string `json:"mb" holds:"n"`
	GB       string `json:"gb" holds:"n"`
	Days     string `json:"days" holds:"n"`
	Hours    string `json:"hours" holds:"n"`
	Minutes  string `json:"minutes" holds:"n"`
	Seconds  string `json:"seconds" holds:"n"`
	Once     string `json:"once"` // says that the value is shown only this time
}

// Form has the texts that forms show.
type Form struct {
	Deactivate  string `json:"deactivate" on:"button"`
	AddRow      string `json:"addRow" on:"button"`
	RemoveRow   string `json:"removeRow"`
	Row         string `json:"row" holds:"n"`
	Choose      string `json:"choose"`
	Unset       string `json:"unset"` // the option that stands for no value
	ClearSecret string `json:"clearSecret"`
	KeepSecret  string `json:"keepSecret"` // hint beside a secret that has a value
	Lines       string `json:"lines"`      // hint beside a list of texts
	JSON        string `json:"json"`       // hint beside a field for any JSON
	UTC         string `json:"utc"`        // hint beside an instant
	Minor       string `json:"minor"`      // hint beside an amount without a currency
	Problems    string `json:"problems"`   // heading above the list of wrong fields
	Refused     string `json:"refused"`    // heading above the API's reasons for a refusal
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

// In returns the labels in the given language, or in English if the console does not have that language.
func In(lang string) *Texts { return catalogs[texts.In(lang).Lang] }

// Field returns the label of a field. The path may begin with the kind of record: "partners.branding.color".
func (t *Texts) Field(path string) string {
	if label, ok := lookUp(t.Fields, path); ok {
		return label
	}
	return plain(lastOf(path))
}

// HasField tells whether a field has a label.
func (t *Texts) HasField(path string) bool {
	_, ok := lookUp(t.Fields, path)
	return ok
}

// Help returns the explanation of a field, which is empty if the field's label suffices. If the field has neither an
// explanation nor a label, Help returns the text of the API's description, which is in English and meant for programmers.
func (t *Texts) Help(path, described string) string {
	if help, ok := lookUp(t.Helps, path); ok {
		return help
	}
	if t.HasField(path) || described == "" {
		return ""
	}
	return strings.ToUpper(described[:1]) + strings.TrimSuffix(strings.ReplaceAll(described[1:], "`", ""), ".") + "."
}

// Word returns the label of a word, which is one of the possible values of the field at path.
func (t *Texts) Word(path, word string) string {
	if label, ok := t.word(path, word); ok {
		return label
	}
	return plain(word)
}

// HasWord tells whether a word has a label.
func (t *Texts) HasWord(path, word string) bool {
	_, ok := t.word(path, word)
	return ok
}

// word finds the label of a word. It looks for a label of the word at the whole path, then at shorter and shorter ends of the
// path, and last for a label of the word alone.
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

// Record returns the plural name of a kind of record.
func (t *Texts) Record(name string) string { return named(t.Records, name) }

// Single returns the singular name of a kind of record.
func (t *Texts) Single(name string) string { return named(t.One, name) }

func named(texts map[string]string, name string) string {
	if text, ok := texts[name]; ok {
		return text
	}
	return plain(name)
}

// lookUp finds the text for a path. If the whole path has no text, lookUp uses the longest end of the path that has a text.
func lookUp(texts map[string]string, path string) (text string, ok bool) {
	for place := range placesOf(path) {
		if text, ok = texts[place]; ok {
			return text, true
		}
	}
	return "", false
}

// placesOf yields a path, then the path without its first part, and so on. The numbers of rows are left out of the paths: a.0.b
// becomes a.b.
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

// plain returns a name of the API with spaces instead of underscores.
func plain(name string) string {
	text := strings.ReplaceAll(name, "_", " ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
