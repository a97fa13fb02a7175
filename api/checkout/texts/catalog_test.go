package texts

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// TestCatalogsAreComplete runs in `make build`.
func TestCatalogsAreComplete(t *testing.T) {
	if _, err := load(files); err != nil {
		t.Error(err)
	}
}

// changed returns the catalogs with one replacement in one of them.
func changed(t *testing.T, lang, old, replacement string) fstest.MapFS {
	t.Helper()
	copied := make(fstest.MapFS)
	for _, name := range Languages() {
		copied["catalog/"+name+".json"] = &fstest.MapFile{Data: content(t, name)}
	}
	file := copied["catalog/"+lang+".json"]
	if strings.Count(string(file.Data), old) != 1 {
		t.Fatalf("%s: %q does not stand once in the catalog", lang, old)
	}
	file.Data = []byte(strings.Replace(string(file.Data), old, replacement, 1))
	return copied
}

func content(t *testing.T, lang string) []byte {
	t.Helper()
	data, err := fs.ReadFile(files, "catalog/"+lang+".json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFaultsOfACatalogAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ lang, old, replacement, want string }{
		"missing text":            {"ru", `"amount": "Сумма",`, ``, "ru: common.amount: the text is missing or empty"},
		"empty text":              {"ru", `"Сумма"`, `""`, "ru: common.amount: the text is missing or empty"},
		"text that is no string":  {"ru", `"Сумма"`, `7`, "ru: "},
		"unknown key":             {"ru", `"amount": "Сумма"`, `"amount": "Сумма", "summa": "Сумма"`, `unknown object member name "summa"`},
		"key in another case":     {"ru", `"amount": "Сумма"`, `"Amount": "Сумма"`, `unknown object member name "Amount"`},
		"key twice":               {"ru", `"amount": "Сумма"`, `"amount": "Сумма", "amount": "Сумма"`, `duplicate object member name "amount"`},
		"missing category":        {"ru", `"few": "{n} шт.", `, ``, "ru: offer.pieces.few: the text is missing or empty"},
		"superfluous category":    {"en", `"one": "{n} piece"`, `"one": "{n} piece", "few": "{n} pieces"`, "en: offer.pieces.few: the language has no such plural category"},
		"unknown category":        {"en", `"one": "{n} piece"`, `"one": "{n} piece", "several": "{n} pieces"`, `unknown object member name "several"`},
		"number missing":          {"ru", `"one": "{n} шт."`, `"one": "шт."`, "ru: offer.pieces.one: the placeholder {n} is missing"},
		"placeholder missing":     {"ru", `"Оплатить {amount}"`, `"Оплатить"`, "ru: checkout.pay: the placeholder {amount} is missing"},
		"placeholder twice":       {"ru", `"Оплатить {amount}"`, `"Оплатить {amount} {amount}"`, "ru: checkout.pay: {amount} stands twice"},
		"unknown placeholder":     {"ru", `"Оплатить {amount}"`, `"Оплатить {amount} {merchant}"`, "ru: checkout.pay: {merchant} is no placeholder of this text"},
		"translated placeholder":  {"ru", `"Оплатить {amount}"`, `"Оплатить {сумма}"`, "ru: checkout.pay: the placeholder {amount} is missing"},
		"open brace":              {"ru", `"Оплатить {amount}"`, `"Оплатить {amount} {"`, "ru: checkout.pay: { is no placeholder of this text"},
		"placeholder in a method": {"ru", `"СБП"`, `"СБП {n}"`, "ru: methods.sbp: {n} is no placeholder of this text"},
		"missing method":          {"ru", `"sbp": "СБП",`, ``, "ru: methods.sbp: the text is missing"},
		"method of one language":  {"ru", `"sbp": "СБП"`, `"sbp": "СБП", "spb": "СБП"`, "ru: methods.spb: there is no such text in English"},
		"missing notice":          {"ru", `"title": "Слишком много попыток", `, ``, "ru: notices.tooMany.title: the text is missing or empty"},
		"eleven months":           {"ru", `"января", `, ``, "ru: "},
		"zero width space":        {"ru", `"Сумма"`, `"Сум\u200bма"`, "ru: common.amount: the invisible character U+200B"},
		"mark of direction":       {"ru", `"Сумма"`, `"\u200fСумма"`, "ru: common.amount: the invisible character U+200F"},
		"soft hyphen":             {"ru", `"Сумма"`, `"Сум\u00adма"`, "ru: common.amount: the invisible character U+00AD"},
		"non-joiner in Cyrillic":  {"ru", `"Сумма"`, `"Сум\u200cма"`, "ru: common.amount: the invisible character U+200C"},
		"line":                    {"ru", `"Сумма"`, `"Сум\nма"`, "ru: common.amount: the invisible character U+000A"},
		"space at the end":        {"ru", `"Сумма"`, `"Сумма "`, "ru: common.amount: a space at an end, or two spaces"},
		"two spaces":              {"ru", `"Номер карты"`, `"Номер  карты"`, "ru: checkout.number: a space at an end, or two spaces"},
		"Latin letter":            {"ru", `"Сумма"`, `"Cумма"`, "ru: common.amount: 'у' is a letter of Cyrillic in a word of Latin"},
		"long button":             {"ru", `"Скопировать"`, `"Скопировать это значение в буфер обмена"`, "ru: common.copy: is longer than 32 characters"},
		"other language":          {"ru", `"lang": "ru"`, `"lang": "uk"`, `ru: lang: is "uk"`},
		"not JSON":                {"ru", `"lang": "ru",`, `"lang": "ru"`, "ru: "},
	} {
		_, err := load(changed(t, c.lang, c.old, c.replacement))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	catalogs := changed(t, "ru", `"Сумма"`, `""`)
	catalogs["catalog/en.json"].Data = []byte(strings.Replace(string(content(t, "en")), `"Price"`, `""`, 1))
	delete(catalogs, "catalog/de.json")
	catalogs["catalog/tlh.json"] = &fstest.MapFile{Data: []byte("{}")}
	_, err := load(catalogs)
	for _, want := range []string{"ru: common.amount", "en: common.price", "de: the catalog is missing", "catalog/tlh.json: there is no format"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// sameWords are the texts of a language that are rightly the same as in English.
var sameWords = map[string][]string{
	"ar": {"MM/YY"}, "fa": {"MM/YY"}, "ur": {"MM/YY"}, // in a field from left to right, where words in Arabic letters change places
	"az": {"Status"}, "de": {"Status"}, "fr": {"Signature"}, "id": {"Status", "Total"}, "ms": {"Status"},
}

func TestNoTextIsLeftInEnglish(t *testing.T) {
	english := textsOf(t, "en")
	for _, lang := range Languages()[1:] {
		var same []string
		for key, text := range textsOf(t, lang) {
			hasWords := strings.ContainsFunc(placeholder.ReplaceAllString(text, ""), unicode.IsLetter)
			if text == english[key] && hasWords && !strings.HasPrefix(key, "dates.months.") { // April is April in many languages
				same = append(same, text)
			}
		}
		slices.Sort(same)
		if !slices.Equal(same, sameWords[lang]) {
			t.Errorf("%s has the English texts %q, want %q", lang, same, sameWords[lang])
		}
	}
}

// foreignWords are the Latin words in texts of another script: names that are written so everywhere.
var foreignWords = []string{"QR", "UTC", "SEPA", "SBP", "routing", "number", "sort", "code", "institution", "transit", "CVV", "CVC", "MM", "YY"}

var latinWord = regexp.MustCompile(`\p{Latin}+`)

func TestTextsAreInTheScriptOfTheLanguage(t *testing.T) {
	for _, lang := range []string{"ru", "uk", "ar", "fa", "ur", "kk", "bn"} {
		for key, text := range textsOf(t, lang) {
			for _, word := range latinWord.FindAllString(placeholder.ReplaceAllString(text, ""), -1) {
				if !slices.Contains(foreignWords, word) && key != "lang" {
					t.Errorf("%s: %s has the word %q", lang, key, word)
				}
			}
		}
	}
	for _, lang := range []string{"tr", "az", "uz", "id", "ms", "de", "fr", "es"} {
		for key, text := range textsOf(t, lang) {
			if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Lm) }); i >= 0 {
				t.Errorf("%s: %s has another script: %q", lang, key, text[i:])
			}
		}
	}
}

// textsOf returns the texts of a catalog by key, as they stand in the file.
func textsOf(t *testing.T, lang string) map[string]string {
	t.Helper()
	var tree any
	if err := json.Unmarshal(content(t, lang), &tree); err != nil {
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
