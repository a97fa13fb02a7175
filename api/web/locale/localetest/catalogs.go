package localetest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// Catalogs are the catalogs of a package, and the exceptions from the checks.
type Catalogs struct {
	Files        fs.FS               // contains the files catalog/LANG.json
	SameWords    map[string][]string // by language: the texts that may be the same as in English, sorted
	Alike        []string            // prefixes of the keys of texts that may be the same in many languages
	ForeignWords []string            // Latin words that may occur in texts of another script, such as names
}

// The languages, by the script of their texts. English is in neither list.
var (
	otherScripts = []string{"ru", "uk", "ar", "fa", "ur", "kk", "bn"}
	latinScript  = []string{"tr", "az", "uz", "id", "ms", "de", "fr", "es"}
)

var (
	placeholder = regexp.MustCompile(`\{[^{}]*\}`)
	latinWord   = regexp.MustCompile(`\p{Latin}+`)
)

// CheckTranslations reports texts that are the same as in English without being listed as exceptions. It also reports listed
// exceptions that are no longer the same as in English.
func (c Catalogs) CheckTranslations(t *testing.T) {
	t.Helper()
	for _, fault := range c.translationFaults(t) {
		t.Error(fault)
	}
}

// CheckScripts reports Latin words, except ForeignWords, in the texts of languages with another script. It also reports letters
// of other scripts in the texts of languages with the Latin script.
func (c Catalogs) CheckScripts(t *testing.T) {
	t.Helper()
	for _, fault := range c.scriptFaults(t) {
		t.Error(fault)
	}
}

func (c Catalogs) translationFaults(t *testing.T) (faults []string) {
	t.Helper()
	english := c.textsOf(t, "en")
	for _, lang := range c.languages(t) {
		var same []string
		for key, text := range c.textsOf(t, lang) {
			hasWords := strings.ContainsFunc(placeholder.ReplaceAllString(text, ""), unicode.IsLetter)
			isAlike := slices.ContainsFunc(c.Alike, func(beginning string) bool { return strings.HasPrefix(key, beginning) })
			if text == english[key] && hasWords && !isAlike {
				same = append(same, text)
			}
		}
		slices.Sort(same)
		if !slices.Equal(same, c.SameWords[lang]) {
			faults = append(faults, fmt.Sprintf("%s has the English texts %q, want %q", lang, same, c.SameWords[lang]))
		}
	}
	return faults
}

func (c Catalogs) scriptFaults(t *testing.T) (faults []string) {
	t.Helper()
	for _, lang := range c.languages(t) {
		for key, text := range c.textsOf(t, lang) {
			switch {
			case key == "lang":
			case slices.Contains(otherScripts, lang):
				for _, word := range latinWord.FindAllString(placeholder.ReplaceAllString(text, ""), -1) {
					if !slices.Contains(c.ForeignWords, word) {
						faults = append(faults, fmt.Sprintf("%s: %s has the word %q", lang, key, word))
					}
				}
			case slices.Contains(latinScript, lang):
				if i := strings.IndexFunc(text, isOfAnotherScript); i >= 0 {
					faults = append(faults, fmt.Sprintf("%s: %s has another script: %q", lang, key, text[i:]))
				}
			default:
				faults = append(faults, fmt.Sprintf("%s: %s is in a language whose script is not known here", lang, key))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

func isOfAnotherScript(r rune) bool {
	return unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Lm)
}

// languages returns the languages of the catalogs except English.
func (c Catalogs) languages(t *testing.T) (langs []string) {
	t.Helper()
	names, err := fs.Glob(c.Files, "catalog/*.json")
	if err != nil || len(names) < 2 {
		t.Fatalf("%d catalogs, %v", len(names), err)
	}
	for _, name := range names {
		if lang := strings.TrimSuffix(path.Base(name), ".json"); lang != "en" {
			langs = append(langs, lang)
		}
	}
	return langs
}

// textsOf returns the texts in the file of a catalog, by key.
func (c Catalogs) textsOf(t *testing.T, lang string) map[string]string {
	t.Helper()
	content, err := fs.ReadFile(c.Files, "catalog/"+lang+".json")
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(content, &tree); err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	addTexts(texts, "", tree)
	return texts
}

func addTexts(texts map[string]string, key string, node any) {
	switch node := node.(type) {
	case string:
		texts[strings.TrimPrefix(key, ".")] = node
	case map[string]any:
		for name, child := range node {
			addTexts(texts, key+"."+name, child)
		}
	case []any:
		for i, child := range node {
			addTexts(texts, key+"."+strconv.Itoa(i), child)
		}
	}
}
