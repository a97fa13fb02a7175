package texts

import (
	"strings"
	"testing"
	"time"

	"mizan/ledger/money"
)

// usd is the asset of most tests.
var usd = money.Asset{Currency: "USD", Env: money.Prod}

func parsed(t *testing.T, digits string) money.Amount {
	t.Helper()
	amount, err := money.Parse(digits)
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

func TestDatesAndRemainingTimesAreWrittenInTheLanguage(t *testing.T) {
	at := time.Date(2026, 8, 5, 16, 7, 9, 0, time.FixedZone("", 2*60*60))
	cases := map[string][3]string{
		"en": {"August 5, 2026, 14:07 UTC", "1 minute left", "59 seconds left"},
		"ru": {"5 августа 2026 г., 14:07 UTC", "Осталась 1 минута", "Осталось 59 секунд"},
		"uk": {"5 серпня 2026 р., 14:07 UTC", "Залишилася 1 хвилина", "Залишилося 59 секунд"},
		"ar": {"5 أغسطس 2026، 14:07 UTC", "بقيت دقيقة واحدة", "بقيت \u206859\u2069 ثانية"},
		"fa": {"۵ اوت ۲۰۲۶، ساعت ۱۴:۰۷ UTC", "\u2068۱\u2069 دقیقه باقی مانده", "\u2068۵۹\u2069 ثانیه باقی مانده"},
		"ur": {"5 اگست 2026، 14:07 UTC", "\u20681\u2069 منٹ باقی ہے", "\u206859\u2069 سیکنڈ باقی ہیں"},
		"tr": {"5 Ağustos 2026, 14:07 UTC", "1 dakika kaldı", "59 saniye kaldı"},
		"az": {"5 avqust 2026, 14:07 UTC", "1 dəqiqə qalıb", "59 saniyə qalıb"},
		"kk": {"2026 ж. 5 тамыз, 14:07 UTC", "1 минут қалды", "59 секунд қалды"},
		"uz": {"2026-yil 5-avgust, 14:07 UTC", "1 daqiqa qoldi", "59 soniya qoldi"},
		"id": {"5 Agustus 2026 pukul 14.07 UTC", "1 menit lagi", "59 detik lagi"},
		"ms": {"5 Ogos 2026, 14:07 UTC", "1 minit lagi", "59 saat lagi"},
		"bn": {"৫ আগস্ট, ২০২৬, ১৪:০৭ UTC", "১ মিনিট বাকি", "৫৯ সেকেন্ড বাকি"},
		"de": {"5. August 2026, 14:07 Uhr UTC", "Noch 1 Minute", "Noch 59 Sekunden"},
		"fr": {"5 août 2026 à 14:07 UTC", "1 minute restante", "59 secondes restantes"},
		"es": {"5 de agosto de 2026, 14:07 UTC", "Queda 1 minuto", "Quedan 59 segundos"},
	}
	for _, lang := range Languages() {
		texts, want := In(lang), cases[lang]
		got := [3]string{texts.Date(at), texts.Left(119 * time.Second), texts.Left(59*time.Second + 999*time.Millisecond)}
		if got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
	if got := In("en").Left(-time.Second); got != "0 seconds left" {
		t.Errorf("a time that has passed: %q", got)
	}
}

// ordinarySpaces replaces the spaces that do not break a line, so that a test reads well.
func ordinarySpaces(text string) string {
	return strings.NewReplacer(space, " ", narrowSpace, " ").Replace(text)
}
