package texts

import (
	"strings"
	"testing"
	"testing/fstest"

	"mizan/api/web/locale"
	"mizan/api/web/locale/localetest"
)

// TestCatalogsAreComplete runs in `make build`.
func TestCatalogsAreComplete(t *testing.T) {
	if _, err := load(); err != nil {
		t.Error(err)
	}
}

func TestTextsAreOfTheLanguageAsked(t *testing.T) {
	for tag, want := range map[string][2]string{
		"ru": {"ru", "Сумма"}, "ru-RU": {"ru", "Сумма"}, "DE": {"de", "Betrag"}, "zh": {"en", "Amount"}, "": {"en", "Amount"},
	} {
		if got := In(tag); got.Lang != want[0] || got.Common.Amount != want[1] {
			t.Errorf("%q: %s, %s, want %s", tag, got.Lang, got.Common.Amount, want)
		}
	}
	for _, lang := range locale.Languages() {
		if In(lang).Lang != lang {
			t.Errorf("the texts for %s are in %s", lang, In(lang).Lang)
		}
	}
}

// The struct tags of Texts are rules for the texts in the catalogs. Without them, a text such as "Pay" that lacks the amount
// would be accepted.
func TestTextsThatAFormOrALetterCannotUseAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, replacement, want string }{
		"amount of a button":      {`"Оплатить {amount}"`, `"Оплатить"`, "ru: checkout.pay: the placeholder {amount} is missing"},
		"merchant of a letter":    {`"Квитанция: {amount}, {merchant}"`, `"Квитанция: {amount}"`, "ru: receipt.mailSubject: the placeholder {merchant} is missing"},
		"long button":             {`"Скопировать"`, `"Скопировать это значение в буфер обмена"`, "ru: common.copy: is longer than 32 characters"},
		"missing method":          {`"sbp": "СБП",`, ``, "ru: methods.sbp: the text is missing"},
		"missing reason":          {`"card_declined": `, `"card_refused": `, "ru: reasons.card_declined: the text is missing"},
		"missing notice":          {`"title": "Слишком много попыток", `, ``, "ru: notices.tooMany.title: the text is missing or empty"},
		"number of pieces":        {`"one": "{n} шт."`, `"one": "шт."`, "ru: offer.pieces.one: the placeholder {n} is missing"},
		"word of another package": {`"amount": "Сумма"`, `"amount": "Сумма", "minorUnits": "{amount}"`, `unknown object member name "minorUnits"`},
	} {
		_, err := locale.Load[Texts](changed(t, c.old, c.replacement), locale.Languages())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// changed returns the catalogs with one replacement in the Russian one.
func changed(t *testing.T, old, replacement string) fstest.MapFS {
	t.Helper()
	copied := make(fstest.MapFS)
	for _, lang := range locale.Languages() {
		name := "catalog/" + lang + ".json"
		content, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		copied[name] = &fstest.MapFile{Data: content}
	}
	russian := copied["catalog/ru.json"]
	if strings.Count(string(russian.Data), old) != 1 {
		t.Fatalf("%q does not stand once in the catalog", old)
	}
	russian.Data = []byte(strings.Replace(string(russian.Data), old, replacement, 1))
	return copied
}

var ofPayers = localetest.Catalogs{
	Files: files,
	SameWords: map[string][]string{
		"ar": {"MM/YY"}, "fa": {"MM/YY"}, "ur": {"MM/YY"}, // the field is written from left to right, in which words in Arabic letters would change places
		"az": {"Status"}, "de": {"Status"}, "fr": {"Signature"}, "id": {"Status", "Total"}, "ms": {"Status"},
	},
	ForeignWords: []string{"QR", "SEPA", "SBP", "routing", "number", "sort", "code", "institution", "transit", "CVV", "CVC", "MM", "YY", "JavaScript"},
}

func TestNoTextIsLeftInEnglish(t *testing.T) { ofPayers.CheckTranslations(t) }

func TestTextsAreInTheScriptOfTheLanguage(t *testing.T) { ofPayers.CheckScripts(t) }
