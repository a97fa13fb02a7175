package partner

import (
	"testing"

	"mizan/api/web/locale/localetest"
)

var checked = localetest.Catalogs{Files: catalogFiles, ForeignWords: []string{"API", "CSV", "D", "JPEG", "PNG", "QR", "Secure"}}

func TestNoTextIsLeftInEnglish(t *testing.T) { checked.CheckTranslations(t) }

func TestTextsAreInTheScriptOfTheLanguage(t *testing.T) { checked.CheckScripts(t) }
