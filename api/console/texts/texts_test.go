package texts

import (
	"slices"
	"testing"

	"mizan/api/web/locale"
	"mizan/api/web/locale/localetest"
	"mizan/ledger/directory"
)

// TestCatalogsAreComplete runs in `make build`.
func TestCatalogsAreComplete(t *testing.T) {
	if _, err := locale.Load[Texts](files, Languages()); err != nil {
		t.Error(err)
	}
}

func TestTextsAreOfTheLanguageAsked(t *testing.T) {
	for lang, want := range map[string]string{"en": "Sign out", "ru": "Выйти", "ar": "تسجيل الخروج", "": "Sign out", "fr": "Sign out"} {
		if got := In(lang); got.Common.Logout != want {
			t.Errorf("%q: %s, want %s", lang, got.Common.Logout, want)
		}
	}
	for _, lang := range Languages() {
		if !Has(lang) || In(lang).Lang != lang {
			t.Errorf("the texts for %s are in %s", lang, In(lang).Lang)
		}
	}
	if Has("fr") || Has("") {
		t.Error("there are texts in French, or in no language")
	}
}

// Every language has its own name in every language, so that a person finds it on any page.
func TestLanguagesAreNamed(t *testing.T) {
	for _, lang := range Languages() {
		for _, named := range Languages() {
			if In(lang).Langs[named] != In(named).Langs[named] {
				t.Errorf("%s names %s %q", lang, named, In(lang).Langs[named])
			}
		}
		if len(In(lang).Langs) != len(Languages()) {
			t.Errorf("%s names %d languages", lang, len(In(lang).Langs))
		}
	}
}

// The languages are those that a user can choose.
func TestLanguagesAreThoseOfUsers(t *testing.T) {
	if !slices.Equal(Languages(), directory.ConsoleLanguages) {
		t.Errorf("the languages are %v, and users choose among %v", Languages(), directory.ConsoleLanguages)
	}
}

var ofConsole = localetest.Catalogs{Files: files, Alike: []string{"langs."}, ForeignWords: []string{"API", "English"}}

func TestNoTextIsLeftInEnglish(t *testing.T) { ofConsole.CheckTranslations(t) }

func TestTextsAreInTheScriptOfTheLanguage(t *testing.T) { ofConsole.CheckScripts(t) }
