package localetest

import (
	"slices"
	"testing"
	"testing/fstest"
)

func catalogs(texts map[string]string) Catalogs {
	files := make(fstest.MapFS)
	for lang, text := range texts {
		files["catalog/"+lang+".json"] = &fstest.MapFile{Data: []byte(text)}
	}
	return Catalogs{Files: files}
}

func TestUntranslatedTextsAreFound(t *testing.T) {
	c := catalogs(map[string]string{
		"en": `{"lang": "en", "a": {"status": "Status", "total": "Total", "n": "{n}"}, "months": ["April", "May"]}`,
		"de": `{"lang": "de", "a": {"status": "Status", "total": "Total", "n": "{n}"}, "months": ["April", "Mai"]}`,
		"fr": `{"lang": "fr", "a": {"status": "État", "total": "Total", "n": "{n}"}, "months": ["avril", "mai"]}`,
	})
	c.SameWords, c.Alike = map[string][]string{"de": {"Status"}, "fr": {"Total"}}, []string{"months."}
	if got, want := c.translationFaults(t), []string{`de has the English texts ["Status" "Total"], want ["Status"]`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOtherScriptsAreFound(t *testing.T) {
	c := catalogs(map[string]string{
		"en":  `{"lang": "en"}`,
		"de":  `{"lang": "de", "a": "Konto", "b": "Кonto {сумма}"}`,
		"ru":  `{"lang": "ru", "a": "Счёт {amount} UTC", "b": ["Pay"]}`,
		"tlh": `{"a": "DIl"}`,
	})
	c.ForeignWords = []string{"UTC"}
	want := []string{`de: b has another script: "Кonto {сумма}"`, `ru: b.0 has the word "Pay"`, "tlh: a is in a language whose script is not known here"}
	if got := c.scriptFaults(t); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
