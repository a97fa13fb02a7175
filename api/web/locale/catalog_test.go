package locale

import (
	"testing"

	"mizan/api/web/locale/localetest"
)

// TestCatalogsAreComplete runs in `make build`.
func TestCatalogsAreComplete(t *testing.T) {
	if _, err := Load[words](files, Languages()); err != nil {
		t.Error(err)
	}
}

var catalogs = localetest.Catalogs{
	Files: files, ForeignWords: []string{"UTC"},
	Alike: []string{"months.", "shortMonths.", "shortDateTime"}, // for example, April has the same name in many languages
}

func TestNoTextIsLeftInEnglish(t *testing.T) { catalogs.CheckTranslations(t) }

func TestTextsAreInTheScriptOfTheLanguage(t *testing.T) { catalogs.CheckScripts(t) }
