package contracts

import (
	"testing"

	"mizan/api/console/texts"
	"mizan/api/web/locale/localetest"
	"mizan/ledger/contract"
)

var checked = localetest.Catalogs{Files: catalogFiles, SameWords: map[string][]string{}, ForeignWords: []string{"CSV", "islamic_finance", "islamic", "finance", "participatory"}}

func TestNoTextIsLeftInEnglish(t *testing.T) { checked.CheckTranslations(t) }

func TestTextsAreInTheScriptOfTheLanguage(t *testing.T) { checked.CheckScripts(t) }

// Every action that a request can cause has a text in each language, and every text belongs to such an action.
func TestEveryActionHasAName(t *testing.T) {
	for _, lang := range texts.Languages() {
		areaTexts, used := textsIn(lang), make(map[string]bool)
		for _, p := range contract.Products {
			for reading, variant := range p.Variants {
				for _, handler := range p.Handlers {
					name := p.ActionName(reading, handler.Name)
					if _, isAction := p.Action(reading, name); !isAction {
						continue
					}
					if used[name] = true; areaTexts.Actions[name] == "" {
						t.Errorf("%s: %s has no name for %s", lang, variant.Name, name)
					}
				}
			}
		}
		for name := range areaTexts.Actions {
			if !used[name] {
				t.Errorf("%s: there is no action %s", lang, name)
			}
		}
	}
}
