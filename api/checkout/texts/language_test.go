package texts

import (
	"slices"
	"strings"
	"testing"
)

func TestLanguageOfATag(t *testing.T) {
	for tag, want := range map[string]string{
		"ru": "ru", "RU": "ru", "ru-RU": "ru", "Ru-Cyrl-KZ": "ru", "en-GB": "en",
		"": "en", "xx": "en", "russian": "en", "-": "en", "de-": "de", "zh-Hans": "en",
		"in": "id", "in-ID": "id", "az-Cyrl": "az", "uz-Cyrl-UZ": "uz", "kk-Latn": "kk",
	} {
		want = onlyIf(slices.Contains(Languages(), want), want)
		if got := In(tag).Lang; got != want {
			t.Errorf("In(%q) is %s, want %s", tag, got, want)
		}
	}
}

func onlyIf(condition bool, lang string) string {
	if condition {
		return lang
	}
	return "en"
}

func TestPreferredLanguage(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "*": "", "xx": "", "ru": "ru", "RU-ru": "ru", "ru, en;q=0.9": "ru", "en;q=0.8, ru": "ru",
		"zh, ru;q=0.5, en;q=0.4": "ru", "en;q=0.5,ru;q=0.5": "en", "ru;q=0, en": "en", "ru;q=0": "",
		"ru ; Q=0.9 , en; q=1.0": "en", "ru;q=x, en;q=0.1": "en", "ru;q=2": "", "ru;q=NaN": "", "ru;q=-1": "", "ru;level=1": "", "ru;q": "", "ru;": "ru",
		strings.Repeat("xx,", maxEntries-1) + "ru": "ru", strings.Repeat("xx,", maxEntries) + "ru": "",
	} {
		if got := Preferred(header); got != want {
			t.Errorf("Preferred(%q) is %q, want %q", header, got, want)
		}
	}
}
