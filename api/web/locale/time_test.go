package locale

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
		l, want := In(lang), cases[lang]
		got := [3]string{l.Date(at), l.Left(119 * time.Second), l.Left(59*time.Second + 999*time.Millisecond)}
		if got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
	if got := In("en").Left(-time.Second); got != "0 seconds left" {
		t.Errorf("a time that has passed: %q", got)
	}
}

func TestShortDatesAreWrittenInTheLanguage(t *testing.T) {
	at := time.Date(2026, 3, 4, 1, 7, 9, 0, time.FixedZone("", 2*60*60)) // the evening before in UTC
	cases := map[string][2]string{
		"en": {"Mar 3, 2026", "Mar 3, 2026, 23:07 UTC"},
		"ru": {"3 мар. 2026 г.", "3 мар. 2026 г., 23:07 UTC"},
		"uk": {"3 бер. 2026 р.", "3 бер. 2026 р., 23:07 UTC"},
		"ar": {"3 مارس 2026", "3 مارس 2026، 23:07 UTC"},
		"fa": {"۳ مارس ۲۰۲۶", "۳ مارس ۲۰۲۶، ۲۳:۰۷ UTC"},
		"ur": {"3 مارچ، 2026", "3 مارچ، 2026، 23:07 UTC"},
		"tr": {"3 Mar 2026", "3 Mar 2026 23:07 UTC"},
		"az": {"3 mar 2026", "3 mar 2026, 23:07 UTC"},
		"kk": {"2026 ж. 3 нау.", "2026 ж. 3 нау., 23:07 UTC"},
		"uz": {"3-mar, 2026", "3-mar, 2026, 23:07 UTC"},
		"id": {"3 Mar 2026", "3 Mar 2026, 23.07 UTC"},
		"ms": {"3 Mac 2026", "3 Mac 2026, 23:07 UTC"},
		"bn": {"৩ মার্চ, ২০২৬", "৩ মার্চ, ২০২৬, ২৩:০৭ UTC"},
		"de": {"3. März 2026", "3. März 2026, 23:07 UTC"},
		"fr": {"3 mars 2026", "3 mars 2026, 23:07 UTC"},
		"es": {"3 mar 2026", "3 mar 2026, 23:07 UTC"},
	}
	for _, lang := range Languages() {
		if got, want := [2]string{In(lang).ShortDate(at), In(lang).ShortDateTime(at)}, cases[lang]; got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
}

// ordinarySpaces replaces the spaces that do not break a line, so that a test reads well.
func ordinarySpaces(text string) string {
	return strings.NewReplacer(space, " ", narrowSpace, " ").Replace(text)
}
