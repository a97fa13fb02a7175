package locale

import (
	"strings"
	"testing"
)

func TestLanguageOfATag(t *testing.T) {
	for tag, want := range map[string]string{
		"ru": "ru", "RU": "ru", "ru-RU": "ru", "Ru-Cyrl-KZ": "ru", "en-GB": "en",
		"": "en", "xx": "en", "russian": "en", "-": "en", "de-": "de", "zh-Hans": "en",
		"in": "id", "in-ID": "id", "id-ID": "id", "ar-EG": "ar", "fa-AF": "fa", "es-419": "es", "ms-Arab": "ms", "az-Cyrl": "az", "uz-Cyrl-UZ": "uz", "kk-Latn": "kk",
	} {
		if got := In(tag).Lang; got != want {
			t.Errorf("In(%q) is %s, want %s", tag, got, want)
		}
	}
}

func TestPreferredLanguage(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "*": "", "xx": "", "ru": "ru", "RU-ru": "ru", "ru, en;q=0.9": "ru", "en;q=0.8, ru": "ru",
		"zh, ru;q=0.5, en;q=0.4": "ru", "en;q=0.5,ru;q=0.5": "en", "ru;q=0, en": "en", "ru;q=0": "",
		"ru ; Q=0.9 , en; q=1.0": "en", "ru;q=x, en;q=0.1": "en", "ru;q=2": "", "ru;q=NaN": "", "ru;q=-1": "", "ru;level=1": "", "ru;q": "", "ru;": "ru",
		"az-Cyrl": "az", "uz-Cyrl-UZ, ru;q=0.9": "uz", "in": "id", "fa-IR,fa;q=0.9,en-US;q=0.8,en;q=0.7": "fa", "fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5": "fr",
		"zh-CN,zh;q=0.9,*": "", "ur-PK;q=0.001": "ur",
		strings.Repeat("xx,", maxEntries-1) + "ru": "ru", strings.Repeat("xx,", maxEntries) + "ru": "",
	} {
		if got := Preferred(header, Languages()...); got != want {
			t.Errorf("Preferred(%q) is %q, want %q", header, got, want)
		}
	}
}

func TestPreferredLanguageIsAmongTheGivenOnes(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "de, ru;q=0.5": "ru", "fr": "", "de;q=0.9, ar-EG;q=0.8, en;q=0.1": "ar", "en-GB, ru": "en",
	} {
		if got := Preferred(header, "en", "ru", "ar"); got != want {
			t.Errorf("Preferred(%q) is %q, want %q", header, got, want)
		}
	}
	if got := Preferred("en"); got != "" {
		t.Errorf("%q is preferred among no languages", got)
	}
}

func TestSeparatorsOfNumbers(t *testing.T) {
	for lang, want := range map[string]Separators{
		"en": {'.', ',', false}, "ru": {',', ' ', false}, "uk": {',', ' ', false}, "ar": {'.', ',', true}, "fa": {'.', ',', true}, "ur": {'.', ',', true}, "tr": {',', '.', false}, "az": {',', '.', false},
		"kk": {',', ' ', false}, "uz": {',', ' ', false}, "id": {',', '.', false}, "ms": {'.', ',', false}, "bn": {'.', ',', false}, "de": {',', '.', false}, "fr": {',', ' ', false}, "es": {',', '.', false},
		"zh": {'.', ',', false}, "de-CH": {',', '.', false},
	} {
		if got := In(lang).Separators(); got != want {
			t.Errorf("%s: %q and %q, want %q and %q", lang, got.Decimal, got.Group, want.Decimal, want.Group)
		}
	}
}
