package auditor

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"mizan/api/console/labels"
	"mizan/api/console/proof"
	"mizan/api/console/texts"
	"mizan/api/ledger/export"
	"mizan/api/web/locale"
	"mizan/api/web/locale/localetest"
	"mizan/ledger"
)

// TestCatalogsAreComplete runs in `make build`.
func TestCatalogsAreComplete(t *testing.T) {
	if _, err := locale.Load[areaTexts](catalogFiles, texts.Languages()); err != nil {
		t.Error(err)
	}
}

var ofLedger = localetest.Catalogs{Files: catalogFiles, SameWords: map[string][]string{"ar": {"CSV"}, "ru": {"CSV"}}, ForeignWords: []string{
	"CSV", "UTC", "API", "Ed", "TLS", "Go", "base", "hledger", "beancount", "mizan", "audit", "key", "check", "docs", "verify", "DIR",
}}

func TestNoTextIsLeftInEnglish(t *testing.T) { ofLedger.CheckTranslations(t) }

func TestTextsAreInTheScriptOfTheLanguage(t *testing.T) { ofLedger.CheckScripts(t) }

// Every refusal code of the script has a sentence, and every sentence belongs to a code of the script.
func TestEveryRefusalOfAProofHasASentence(t *testing.T) {
	list := regexp.MustCompile(`(?s)export const codes = \[(.*?)\];`).FindSubmatch(proof.Script)
	if list == nil {
		t.Fatal("the script lists no codes")
	}
	var codes []string
	for _, match := range regexp.MustCompile(`"([a-z_]+)"`).FindAllSubmatch(list[1], -1) {
		codes = append(codes, string(match[1]))
	}
	slices.Sort(codes)
	if sentences := slices.Sorted(maps.Keys(textsIn("en").Refusals)); len(codes) < 20 || !slices.Equal(codes, sentences) {
		t.Errorf("the script has the codes\n%v, and the texts\n%v", codes, sentences)
	}
}

func TestEveryWordOfTheLedgerHasAText(t *testing.T) {
	en := textsIn("en")
	for letter, name := range kindNames(labels.In("en")) {
		if !labels.In("en").HasWord("kind", ledger.Kind(letter[0]).Word()) {
			t.Errorf("records of the kind %s have no name but %q", letter, name)
		}
	}
	for phase := ledger.Posted; phase <= ledger.Void; phase++ {
		if !labels.In("en").HasWord("phase", phase.String()) {
			t.Errorf("the phase %v has no name", phase)
		}
	}
	for _, class := range []ledger.Class{ledger.ClassAsset, ledger.ClassLiability, ledger.ClassQuasiEquity, ledger.ClassIncome, ledger.ClassExpense, ledger.ClassMemorandum} {
		if en.Ledger.Classes[string(rune(class))] == "" {
			t.Errorf("the class %q has no name", class)
		}
	}
	for _, name := range export.Names() {
		if en.Exports.Formats[name] == "" {
			t.Errorf("the format %s has no text", name)
		}
	}
}
