package texts

import (
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
			return nil, err
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
	c := checker{format: f}
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
	format *format
	faults []error
}

func (c *checker) add(key, format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s: %s: %s", c.format.lang, key, fmt.Sprintf(format, args...)))
}

// check checks the texts in value, whose key is given. holds are the placeholders of a text, separated by spaces.
func (c *checker) check(key, holds string, value reflect.Value) {
	switch value.Kind() {
	case reflect.String:
		c.checkText(key, value.String(), strings.Fields(holds), nil)
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
				c.check(strings.TrimPrefix(key+"."+name, "."), field.Tag.Get("holds"), value.Field(i))
			}
		}
	}
}

// checkPlural demands a text for exactly the categories of the language. The text of a category with a single number may lack
// the number.
func (c *checker) checkPlural(key string, p Plural) {
	own := c.format.ownCategories()
	for _, category := range categories {
		text := p.byCategory(category)
		switch {
		case slices.Contains(own, category) && c.format.isOneNumber(category):
			c.checkText(key+"."+category, text, nil, []string{"n"})
		case slices.Contains(own, category):
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
	found := placeholder.FindAllString(text, -1)
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
	letters := []rune(text)
	for i, r := range letters {
		if isInvisible(r) && !isJoiner(letters, i) {
			c.add(key, "the invisible character %U", r)
		}
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if scripts := scriptsOf(word); len(scripts) > 1 {
			c.add(key, "the word %q has letters of %s", word, strings.Join(scripts, " and "))
		}
	}
}

// isInvisible tells whether a character cannot be seen or told from an ordinary space. The two spaces that do not break a line
// are allowed, because French has them before a colon.
func isInvisible(r rune) bool {
	switch string(r) {
	case " ", space, narrowSpace:
		return false
	}
	return unicode.In(r, unicode.C, unicode.Z)
}

// isJoiner tells whether a character is a ZERO WIDTH NON-JOINER between two letters, where Persian and Bengali spell with it.
func isJoiner(text []rune, i int) bool {
	const nonJoiner = '\u200c'
	joined := func(r rune) bool { return unicode.In(r, unicode.Arabic, unicode.Bengali) }
	return text[i] == nonJoiner && i > 0 && i+1 < len(text) && joined(text[i-1]) && joined(text[i+1])
}

// scriptsOf returns the scripts of the letters of a word, as far as the service's languages have them.
func scriptsOf(word string) (names []string) {
	for _, name := range []string{"Latin", "Cyrillic", "Arabic", "Bengali", "Greek"} {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Scripts[name], r) }) {
			names = append(names, name)
		}
	}
	return names
}
