package locale

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// checker collects the faults of a catalog.
type checker struct {
	lang   string
	counts map[string]int // result of format.numbersPerCategory: how many numbers belong to each plural category
	maps   mapKeys
	faults []error
}

func (c *checker) add(key, format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s: %s: %s", c.lang, key, fmt.Sprintf(format, args...)))
}

// check checks the texts in value. key is the value's key in the catalog, and tag is the tag of the value's struct field. The
// part "holds" of the tag lists the placeholders that the text must have, separated by spaces. The part "on" is "button" if the
// text stands on a button.
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
		c.maps[key] = nil // creates the entry, so that compareKeys also compares an empty map
		for _, name := range value.MapKeys() {
			c.maps[key] = append(c.maps[key], name.String())
			c.check(key+"."+name.String(), "", value.MapIndex(name))
		}
	case reflect.Struct:
		if p, isPlural := value.Interface().(Plural); isPlural {
			c.checkPlural(key, p)
			return
		}
		for i := range value.NumField() {
			field := value.Type().Field(i)
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); field.IsExported() && name != "-" {
				c.check(strings.TrimPrefix(key+"."+name, "."), field.Tag, value.Field(i))
			}
		}
	default:
		c.add(key, "a field of the type %s has no texts that can be checked", value.Type())
	}
}

// maxButton is the largest number of characters that the text of a button may have. A button with such a text fits into a page
// that is 320 pixels wide.
const maxButton = 32

// letters counts the characters of a text that take up width. Combining marks, such as vowel signs, do not take up width.
func letters(text string) (count int) {
	for _, r := range text {
		if !unicode.In(r, unicode.Mn, unicode.Cf) {
			count++
		}
	}
	return count
}

// checkPlural requires a text for each plural category of the language, and refuses texts for other categories. The text must
// contain the number, unless only a single number belongs to its category.
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

// checkText requires that a text has each placeholder of required exactly once. All other placeholders in the text must be in
// optional.
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

// checkCharacters refuses characters that a translator cannot see: control and format characters, unusual spaces, spaces at the
// ends, double spaces, and letters of another script in a word, such as a Cyrillic а in a Latin word.
func (c *checker) checkCharacters(key, text string) {
	if strings.TrimSpace(text) != text || strings.Contains(text, "  ") {
		c.add(key, "a space at an end, or two spaces")
	}
	letters, script := []rune(text), "" // script is the script of the present word's letters
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

// isInvisible tells whether a character is invisible, or looks like an ordinary space. The two no-break spaces
// are allowed, because French has them before a colon.
func isInvisible(r rune) bool {
	switch string(r) {
	case " ", space, narrowSpace:
		return false
	}
	return !unicode.IsGraphic(r) || unicode.IsSpace(r)
}

// isJoiner tells whether a character is a ZERO WIDTH NON-JOINER between two letters. The spelling of Persian and Bengali
// requires such characters.
func isJoiner(text []rune, i int) bool {
	const nonJoiner = '\u200c'
	joined := func(r rune) bool { return unicode.In(r, unicode.Arabic, unicode.Bengali) }
	return text[i] == nonJoiner && i > 0 && i+1 < len(text) && joined(text[i-1]) && joined(text[i+1])
}

// scripts are the scripts of the service's languages, and other scripts with similar letters.
var scripts = []struct {
	name  string
	table *unicode.RangeTable
}{{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Arabic", unicode.Arabic}, {"Bengali", unicode.Bengali}, {"Greek", unicode.Greek}}

// scriptOf returns the name of a letter's script, or an empty text if the script is not in scripts.
func scriptOf(letter rune) string {
	for _, script := range scripts {
		if unicode.Is(script.table, letter) {
			return script.name
		}
	}
	return ""
}
