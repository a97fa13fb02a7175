package texts

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/language"

	"mizan/internal/assert"
)

//go:embed catalog
var files embed.FS

// catalogs are the texts by language.
var catalogs = func() map[string]*Texts {
	loaded, err := load(files)
	assert.NoError(err)
	return loaded
}()

// load reads the catalog of each language of formats. The error lists every fault with its language and key.
func load(from fs.FS) (map[string]*Texts, error) {
	names, err := fs.Glob(from, "catalog/*")
	if err != nil {
		return nil, err
	}
	loaded, faults := make(map[string]*Texts, len(formats)), []error(nil)
	for i := range formats {
		f := &formats[i]
		f.tag = language.MustParse(f.lang)
		name := "catalog/" + f.lang + ".json"
		names = slices.DeleteFunc(names, func(other string) bool { return other == name })
		content, err := fs.ReadFile(from, name)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: the catalog is missing: %w", f.lang, err))
			continue
		}
		if loaded[f.lang], err = parse(content, f); err != nil {
			faults = append(faults, err)
		}
	}
	for _, name := range names {
		faults = append(faults, fmt.Errorf("%s: there is no format for this language", name))
	}
	if len(faults) == 0 {
		faults = checkKeys(loaded)
	}
	return loaded, errors.Join(faults...)
}

// parse reads a catalog and checks everything that does not depend on other catalogs.
func parse(content []byte, f *format) (*Texts, error) {
	t := &Texts{format: f}
	if err := json.Unmarshal(content, t, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", f.lang, err)
	}
	c := checker{lang: f.lang, counts: f.counts()}
	c.check("", "", reflect.ValueOf(t).Elem())
	if t.Lang != f.lang {
		c.add("lang", "is %q", t.Lang)
	}
	return t, errors.Join(c.faults...)
}

// checkKeys compares the keys of the maps with the English ones. Other keys are fields, whose texts check demands.
func checkKeys(loaded map[string]*Texts) (faults []error) {
	english := loaded[fallback]
	for _, f := range formats {
		t := loaded[f.lang]
		faults = append(faults, compareKeys(f.lang+": methods.", t.Methods, english.Methods)...)
		faults = append(faults, compareKeys(f.lang+": reasons.", t.Reasons, english.Reasons)...)
	}
	return faults
}

func compareKeys(prefix string, texts, english map[string]string) (faults []error) {
	for key := range english {
		if _, exists := texts[key]; !exists {
			faults = append(faults, fmt.Errorf("%s%s: the text is missing", prefix, key))
		}
	}
	for key := range texts {
		if _, exists := english[key]; !exists {
			faults = append(faults, fmt.Errorf("%s%s: there is no such text in English", prefix, key))
		}
	}
	return faults
}

// checker collects the faults of a catalog.
type checker struct {
	lang   string
	counts map[string]int // how many of the tried numbers are of each plural category
	faults []error
}

func (c *checker) add(key, format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s: %s: %s", c.lang, key, fmt.Sprintf(format, args...)))
}

// check checks the texts in value. key is the key of value, and tag the tag of its struct field. In the tag, holds lists the
// placeholders that a text must have, separated by spaces, and on is "button" for the text of a button.
func (c *checker) check(key string, tag reflect.StructTag, value reflect.Value) {
	switch value.Kind() {
	case reflect.String:
		c.checkText(key, value.String(), strings.Fields(tag.Get("holds")), nil)
		if tag.Get("on") == "button" && letters(value.String()) > maxButton {
			c.add(key, "is longer than %d characters, which a button of a small phone can't show", maxButton)
		}
	case reflect.Array:
		for i := range value.Len() {
			c.check(fmt.Sprintf("%s[%d]", key, i), "", value.Index(i))
		}
	case reflect.Map:
		for _, name := range value.MapKeys() {
			c.check(key+"."+name.String(), "", value.MapIndex(name))
		}
	case reflect.Struct:
		if p, isPlural := value.Interface().(Plural); isPlural {
			c.checkPlural(key, p)
			return
		}
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				c.check(strings.TrimPrefix(key+"."+name, "."), field.Tag, value.Field(i))
			}
		}
	}
}

// maxButton is the longest text of a button, in characters: what fits into a page that is 320 pixels wide.
const maxButton = 32

// letters counts the characters of a text that take up space. Vowel signs above or below a letter do not.
func letters(text string) (count int) {
	for _, r := range text {
		if !unicode.In(r, unicode.Mn, unicode.Cf) {
			count++
		}
	}
	return count
}

// checkPlural demands a text for exactly the categories of the language. The text of a category with a single number may lack
// the number.
func (c *checker) checkPlural(key string, p Plural) {
	for _, category := range categories {
		text := p.byCategory(category)
		switch count, exists := c.counts[category]; {
		case exists && count == 1:
			c.checkText(key+"."+category, text, nil, []string{"n"})
		case exists:
			c.checkText(key+"."+category, text, []string{"n"}, nil)
		case text != "":
			c.add(key+"."+category, "the language has no such plural category")
		}
	}
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}|[{}]`)

// checkText demands that a text has each placeholder of required once, and others only if they are in optional.
func (c *checker) checkText(key, text string, required, optional []string) {
	if text == "" {
		c.add(key, "the text is missing or empty")
		return
	}
	var found []string
	if strings.ContainsAny(text, "{}") {
		found = placeholder.FindAllString(text, -1)
	}
	for _, name := range required {
		if !slices.Contains(found, "{"+name+"}") {
			c.add(key, "the placeholder {%s} is missing", name)
		}
	}
	for i, brackets := range found {
		name := strings.Trim(brackets, "{}")
		if !slices.Contains(required, name) && !slices.Contains(optional, name) {
			c.add(key, "%s is no placeholder of this text", brackets)
		} else if slices.Contains(found[:i], brackets) {
			c.add(key, "%s stands twice", brackets)
		}
	}
	c.checkCharacters(key, text)
}

// checkCharacters refuses what a translator cannot see: control and format characters, unusual spaces, spaces at the ends and
// double spaces, and letters of one script in a word of another, such as a Cyrillic а in a Latin word.
func (c *checker) checkCharacters(key, text string) {
	if strings.TrimSpace(text) != text || strings.Contains(text, "  ") {
		c.add(key, "a space at an end, or two spaces")
	}
	letters, script := []rune(text), "" // script is that of the letters of a word
	for i, r := range letters {
		if isInvisible(r) && !isJoiner(letters, i) {
			c.add(key, "the invisible character %U", r)
		}
		if !unicode.IsLetter(r) {
			script = ""
			continue
		}
		of := scriptOf(r)
		if script != "" && of != "" && of != script {
			c.add(key, "%q is a letter of %s in a word of %s", r, of, script)
		}
		script = cmp.Or(of, script)
	}
}

// isInvisible tells whether a character cannot be seen or told from an ordinary space. The two spaces that do not break a line
// are allowed, because French has them before a colon.
func isInvisible(r rune) bool {
	switch string(r) {
	case " ", space, narrowSpace:
		return false
	}
	return !unicode.IsGraphic(r) || unicode.IsSpace(r)
}

// isJoiner tells whether a character is a ZERO WIDTH NON-JOINER between two letters, where Persian and Bengali spell with it.
func isJoiner(text []rune, i int) bool {
	const nonJoiner = '\u200c'
	joined := func(r rune) bool { return unicode.In(r, unicode.Arabic, unicode.Bengali) }
	return text[i] == nonJoiner && i > 0 && i+1 < len(text) && joined(text[i-1]) && joined(text[i+1])
}

// scripts are the scripts of the service's languages, and those whose letters look like theirs.
var scripts = []struct {
	name  string
	table *unicode.RangeTable
}{{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Arabic", unicode.Arabic}, {"Bengali", unicode.Bengali}, {"Greek", unicode.Greek}}

// scriptOf returns the script of a letter; empty if it is none of scripts.
func scriptOf(letter rune) string {
	for _, script := range scripts {
		if unicode.Is(script.table, letter) {
			return script.name
		}
	}
	return ""
}
