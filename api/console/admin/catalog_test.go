package admin

import (
	"testing"

	"mizan/api/web/locale/localetest"
)

var checked = localetest.Catalogs{Files: textFiles, ForeignWords: []string{"RRN"}}

func TestNoTextIsLeftInEnglish(t *testing.T) { checked.CheckTranslations(t) }

func TestTextsAreInTheScriptOfTheLanguage(t *testing.T) { checked.CheckScripts(t) }
