package locale

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
)

// Load reads catalogs. The file catalog/LANG.json contains the texts of one language, which are the fields of T. A field is a
// string, a Plural, an array, a map or a struct of such fields. The member "lang" of a catalog names its language. English is
// the master copy and must be among the languages. The error lists every fault of every catalog with its language and key:
//
//   - a catalog that is missing, or that exists for a language not in languages;
//   - a text that is missing, empty or unknown; a key of a map that only English has, or that English does not have;
//   - a placeholder that is missing, unknown or repeated. The struct tag "holds" lists, separated by spaces, the placeholders
//     that a text must have in braces, as in "Pay {amount}". Fill replaces placeholders;
//   - a text that is too long for a button, if the struct tag "on" is "button";
//   - plural categories that differ from those of the language;
//   - characters that a translator cannot see, and letters of two scripts in one word.
//
// T may embed *Locale with the tag `json:"-"`. Load leaves this pointer nil.
func Load[T any](files fs.FS, languages []string) (map[string]*T, error) {
	names, err := fs.Glob(files, "catalog/*")
	if err != nil {
		return nil, err
	}
	loaded, keys, faults := make(map[string]*T, len(languages)), make(map[string]mapKeys, len(languages)), []error(nil)
	for _, lang := range languages {
		name := "catalog/" + lang + ".json"
		names = slices.DeleteFunc(names, func(other string) bool { return other == name })
		content, err := fs.ReadFile(files, name)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: the catalog is missing: %w", lang, err))
			continue
		}
		if loaded[lang], keys[lang], err = parse[T](content, lang); err != nil {
			faults = append(faults, err)
		}
	}
	if !slices.Contains(languages, fallback) {
		faults = append(faults, fmt.Errorf("%s is not among the languages %v", fallback, languages))
	}
	for _, name := range names {
		faults = append(faults, fmt.Errorf("%s: this language is not among those of the texts", name))
	}
	if len(faults) == 0 {
		for _, lang := range languages {
			faults = append(faults, compareKeys(lang, keys[lang], keys[fallback])...)
		}
	}
	return loaded, errors.Join(faults...)
}

// parse reads a catalog and checks everything that does not depend on other catalogs.
func parse[T any](content []byte, lang string) (*T, mapKeys, error) {
	f := formatOf(lang)
	if f == nil {
		return nil, nil, fmt.Errorf("%s: there is no format for this language", lang)
	}
	var catalog struct {
		Lang  string `json:"lang"`
		Texts T      `json:",embed"`
	}
	if err := json.Unmarshal(content, &catalog, json.RejectUnknownMembers(true)); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", lang, err)
	}
	c := checker{lang: lang, counts: f.numbersPerCategory(), maps: make(mapKeys)}
	c.check("", "", reflect.ValueOf(&catalog.Texts).Elem())
	if catalog.Lang != lang {
		c.add("lang", "is %q", catalog.Lang)
	}
	return &catalog.Texts, c.maps, errors.Join(c.faults...)
}

// mapKeys records which keys each map in a catalog contains. The map is identified by its own key in the catalog. All keys of
// a catalog that are not in a map are fields of T.
type mapKeys map[string][]string

// compareKeys reports keys that the maps of a language lack, and keys that the English maps lack.
func compareKeys(lang string, keys, english mapKeys) (faults []error) {
	for name, want := range english {
		for _, key := range want {
			if !slices.Contains(keys[name], key) {
				faults = append(faults, fmt.Errorf("%s: %s.%s: the text is missing", lang, name, key))
			}
		}
		for _, key := range keys[name] {
			if !slices.Contains(want, key) {
				faults = append(faults, fmt.Errorf("%s: %s.%s: there is no such text in English", lang, name, key))
			}
		}
	}
	return faults
}
