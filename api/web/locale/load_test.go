package locale

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// sample has a text of every kind.
type sample struct {
	*Locale `json:"-"`

	Common struct {
		Amount string `json:"amount"`
		Number string `json:"number"`
		Pay    string `json:"pay" holds:"amount"`
		Copy   string `json:"copy" on:"button"`
	} `json:"common"`
	Pieces  Plural            `json:"pieces"`
	Units   [2]string         `json:"units"`
	Methods map[string]string `json:"methods"`
	Notices map[string]struct {
		Title string `json:"title"`
	} `json:"notices"`
}

// samples returns valid catalogs of sample, with one replacement in one of them.
func samples(t *testing.T, lang, old, replacement string) fstest.MapFS {
	t.Helper()
	catalogs := fstest.MapFS{
		"catalog/en.json": {Data: []byte(`{"lang": "en", "common": {"amount": "Amount", "number": "Card number", "pay": "Pay {amount}", "copy": "Copy"},
			"pieces": {"one": "{n} piece", "other": "{n} pieces"}, "units": ["minute", "second"],
			"methods": {"bank_card": "Card", "sbp": "SBP"}, "notices": {"gone": {"title": "Gone"}, "closed": {"title": "Closed"}}}`)},
		"catalog/ru.json": {Data: []byte(`{"lang": "ru", "common": {"amount": "Сумма", "number": "Номер карты", "pay": "Оплатить {amount}", "copy": "Скопировать"},
			"pieces": {"one": "{n} штука", "few": "{n} штуки", "many": "{n} штук", "other": "{n} штуки"}, "units": ["минута", "секунда"],
			"methods": {"sbp": "СБП", "bank_card": "Карта"}, "notices": {"gone": {"title": "Истекло"}, "closed": {"title": "Закрыто"}}}`)},
	}
	if file := catalogs["catalog/"+lang+".json"]; old != "" {
		if strings.Count(string(file.Data), old) != 1 {
			t.Fatalf("%s: %q does not stand once in the catalog", lang, old)
		}
		file.Data = []byte(strings.Replace(string(file.Data), old, replacement, 1))
	}
	return catalogs
}

// loadSamples loads the catalogs that samples returns.
func loadSamples(files fs.FS) (map[string]*sample, error) {
	return Load[sample](files, []string{"en", "ru"})
}

func TestCatalogsAreLoaded(t *testing.T) {
	loaded, err := loadSamples(samples(t, "ru", "", ""))
	if err != nil || len(loaded) != 2 {
		t.Fatal(len(loaded), err)
	}
	ru := loaded["ru"]
	got := []string{ru.Common.Pay, ru.Pieces.Many, ru.Units[1], ru.Methods["sbp"], ru.Notices["closed"].Title, loaded["en"].Common.Amount}
	want := []string{"Оплатить {amount}", "{n} штук", "секунда", "СБП", "Закрыто", "Amount"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}

func TestFaultsOfACatalogAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ lang, old, replacement, want string }{
		"missing text":            {"ru", `"amount": "Сумма",`, ``, "ru: common.amount: the text is missing or empty"},
		"empty text":              {"ru", `"Сумма"`, `""`, "ru: common.amount: the text is missing or empty"},
		"text that is no string":  {"ru", `"Сумма"`, `7`, "ru: "},
		"unknown key":             {"ru", `"amount": "Сумма"`, `"amount": "Сумма", "summa": "Сумма"`, `unknown object member name "summa"`},
		"unknown section":         {"ru", `"lang": "ru"`, `"lang": "ru", "Locale": {}`, `unknown object member name "Locale"`},
		"key in another case":     {"ru", `"amount": "Сумма"`, `"Amount": "Сумма"`, `unknown object member name "Amount"`},
		"key twice":               {"ru", `"amount": "Сумма"`, `"amount": "Сумма", "amount": "Сумма"`, `duplicate object member name "amount"`},
		"missing category":        {"ru", `"few": "{n} штуки", `, ``, "ru: pieces.few: the text is missing or empty"},
		"superfluous category":    {"en", `"one": "{n} piece"`, `"one": "{n} piece", "few": "{n} pieces"`, "en: pieces.few: the language has no such plural category"},
		"unknown category":        {"en", `"one": "{n} piece"`, `"one": "{n} piece", "several": "{n} pieces"`, `unknown object member name "several"`},
		"number missing":          {"ru", `"one": "{n} штука"`, `"one": "штука"`, "ru: pieces.one: the placeholder {n} is missing"},
		"placeholder missing":     {"ru", `"Оплатить {amount}"`, `"Оплатить"`, "ru: common.pay: the placeholder {amount} is missing"},
		"placeholder twice":       {"ru", `"Оплатить {amount}"`, `"Оплатить {amount} {amount}"`, "ru: common.pay: {amount} stands twice"},
		"unknown placeholder":     {"ru", `"Оплатить {amount}"`, `"Оплатить {amount} {merchant}"`, "ru: common.pay: {merchant} is no placeholder of this text"},
		"translated placeholder":  {"ru", `"Оплатить {amount}"`, `"Оплатить {сумма}"`, "ru: common.pay: the placeholder {amount} is missing"},
		"open brace":              {"ru", `"Оплатить {amount}"`, `"Оплатить {amount} {"`, "ru: common.pay: { is no placeholder of this text"},
		"placeholder in a method": {"ru", `"СБП"`, `"СБП {n}"`, "ru: methods.sbp: {n} is no placeholder of this text"},
		"missing method":          {"ru", `"sbp": "СБП",`, ``, "ru: methods.sbp: the text is missing"},
		"method of one language":  {"ru", `"sbp": "СБП"`, `"sbp": "СБП", "spb": "СБП"`, "ru: methods.spb: there is no such text in English"},
		"map that is missing":     {"ru", `"methods": {"sbp": "СБП", "bank_card": "Карта"},`, ``, "ru: methods.bank_card: the text is missing"},
		"map only in one":         {"en", `"methods": {"bank_card": "Card", "sbp": "SBP"},`, ``, "ru: methods.sbp: there is no such text in English"},
		"missing notice":          {"ru", `"closed": {"title": "Закрыто"}`, `"open": {"title": "Закрыто"}`, "ru: notices.closed: the text is missing"},
		"notice of one language":  {"ru", `"closed": {"title": "Закрыто"}`, `"open": {"title": "Закрыто"}`, "ru: notices.open: there is no such text in English"},
		"notice without a title":  {"ru", `"closed": {"title": "Закрыто"}`, `"closed": {}`, "ru: notices.closed.title: the text is missing or empty"},
		"one unit of two":         {"ru", `"минута", `, ``, "ru: "},
		"empty unit":              {"ru", `"секунда"`, `""`, "ru: units[1]: the text is missing or empty"},
		"zero width space":        {"ru", `"Сумма"`, `"Сум\u200bма"`, "ru: common.amount: the invisible character U+200B"},
		"mark of direction":       {"ru", `"Сумма"`, `"\u200fСумма"`, "ru: common.amount: the invisible character U+200F"},
		"soft hyphen":             {"ru", `"Сумма"`, `"Сум\u00adма"`, "ru: common.amount: the invisible character U+00AD"},
		"non-joiner in Cyrillic":  {"ru", `"Сумма"`, `"Сум\u200cма"`, "ru: common.amount: the invisible character U+200C"},
		"line":                    {"ru", `"Сумма"`, `"Сум\nма"`, "ru: common.amount: the invisible character U+000A"},
		"space at the end":        {"ru", `"Сумма"`, `"Сумма "`, "ru: common.amount: a space at an end, or two spaces"},
		"two spaces":              {"ru", `"Номер карты"`, `"Номер  карты"`, "ru: common.number: a space at an end, or two spaces"},
		"Latin letter":            {"ru", `"Сумма"`, `"Cумма"`, "ru: common.amount: 'у' is a letter of Cyrillic in a word of Latin"},
		"long button":             {"ru", `"Скопировать"`, `"Скопировать это значение в буфер обмена"`, "ru: common.copy: is longer than 32 characters"},
		"other language":          {"ru", `"lang": "ru"`, `"lang": "uk"`, `ru: lang: is "uk"`},
		"no language":             {"ru", `"lang": "ru",`, ``, `ru: lang: is ""`},
		"not JSON":                {"ru", `"lang": "ru",`, `"lang": "ru"`, "ru: "},
	} {
		_, err := loadSamples(samples(t, c.lang, c.old, c.replacement))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	catalogs := samples(t, "ru", `"Сумма"`, `""`)
	english := catalogs["catalog/en.json"]
	english.Data = []byte(strings.Replace(string(english.Data), `"Copy"`, `""`, 1))
	catalogs["catalog/tlh.json"], catalogs["catalog/fr.json"] = &fstest.MapFile{Data: []byte("{}")}, &fstest.MapFile{Data: []byte("{}")}
	_, err := Load[sample](catalogs, []string{"en", "ru", "de", "tlh"})
	for _, want := range []string{
		"ru: common.amount", "en: common.copy", "de: the catalog is missing", "tlh: there is no format for this language",
		"catalog/fr.json: this language is not among those of the texts",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestEnglishIsAmongTheLanguages(t *testing.T) {
	catalogs := samples(t, "ru", "", "")
	delete(catalogs, "catalog/en.json")
	if _, err := Load[sample](catalogs, []string{"ru"}); err == nil || !strings.Contains(err.Error(), "en is not among the languages [ru]") {
		t.Error(err)
	}
}

func TestFieldThatCannotBeCheckedIsAFault(t *testing.T) {
	catalogs := fstest.MapFS{"catalog/en.json": {Data: []byte(`{"lang": "en", "list": ["a"]}`)}}
	_, err := Load[struct {
		List []string `json:"list"`
	}](catalogs, []string{"en"})
	if err == nil || !strings.Contains(err.Error(), "en: list: a field of the type []string") {
		t.Error(err)
	}
}
