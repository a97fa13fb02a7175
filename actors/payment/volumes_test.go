package payment_test

import (
	"testing"

	paymentactor "mizan/actors/payment"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
)

// in pays an amount of a currency.
func (f *fixture) in(currency money.Currency, amount uint64, want string) {
	f.t.Helper()
	r := f.must(f.begin(payment.Payment, good, amount, func(c *paymentactor.Create) { c.Request.Asset.Currency = currency }))
	if why(r.Failure) != want {
		f.t.Errorf("%d %s: %s %q, want %q", amount, currency, r.Status, why(r.Failure), want)
	}
}

// onlyIn makes a limit apply to the currency.
func onlyIn(currency money.Currency) func(*directory.Limit) {
	return func(l *directory.Limit) { l.Asset.Currency = currency }
}

func TestALimitOfAVolumeThatChangesBindsTheNextPayment(t *testing.T) {
	l := limit(directory.DailyVolume, 100, nil)
	f := limited(t, l)
	f.ends(good, 60, payment.Charged, "")
	f.ends(good, 60, payment.Rejected, "limit exceeded: daily_volume")
	wider := *l
	wider.MaxAmount = money.FromUint64(150) // the same limit, changed
	f.limits = []*directory.Limit{&wider}
	f.ends(good, 60, payment.Charged, "")
	month := limit(directory.MonthlyVolume, 20, nil)
	f.limits = []*directory.Limit{&wider, month}
	f.ends(good, 30, payment.Rejected, "limit exceeded: monthly_volume")
	f.ends(good, 20, payment.Charged, "")
	f.usage(&wider, "", "140 0 10")
	f.usage(month, "", "20 0 0")
	f.limits = []*directory.Limit{month}
	f.ends(good, 1, payment.Rejected, "limit exceeded: monthly_volume")
	f.limits = nil
	f.ends(good, 1_000, payment.Charged, "")
	f.usage(&wider, "", "140 0 10")
}

// Different limits of one partner apply to its payments: to each those of its currency, in any
// order.
func TestEachPaymentCountsTowardsTheLimitsOfItsCurrency(t *testing.T) {
	currencies := []money.Currency{
		"USD", "EUR", "AED", "SAR", "QAR", "MYR", "IDR", "PKR", "BDT", "EGP", "TRY", "KZT", "UZS", "AZN", "KGS", "RUB", "GBP",
	}
	if len(currencies) <= admission.MaxSets {
		t.Fatal("too few to begin anew")
	}
	var limits []*directory.Limit
	for _, c := range currencies {
		limits = append(limits, limit(directory.DailyVolume, 100, onlyIn(c)), limit(directory.MonthlyVolume, 130, onlyIn(c)))
	}
	f := limited(t, limits...)
	for range 2 {
		for _, c := range currencies {
			f.in(c, 50, "")
		}
	}
	for _, c := range currencies {
		f.in(c, 1, "limit exceeded: daily_volume")
	}
	for _, l := range limits {
		f.usage(l, "", map[directory.LimitKind]string{directory.DailyVolume: "100 0 0", directory.MonthlyVolume: "100 0 30"}[l.Kind])
	}
	f.in("KWD", 1_000, "") // no limit applies to it
}

// A volume limit of the partner applies together with one of the card, and the first that is full
// is the reason.
func TestThePartnersVolumeBindsBesideTheCards(t *testing.T) {
	month := limit(directory.MonthlyVolume, 150, nil)
	day := limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Scope = directory.ScopeCard })
	f := limited(t, month, day)
	pay := func(fingerprint string, amount uint64, want string) {
		t.Helper()
		r := f.must(f.begin(payment.Payment, good, amount, func(c *paymentactor.Create) { c.Request.CardFingerprint = fingerprint }))
		if why(r.Failure) != want {
			t.Errorf("%d by %q: %s %q, want %q", amount, fingerprint, r.Status, why(r.Failure), want)
		}
	}
	pay("a", 100, "")
	pay("a", 1, "limit exceeded: daily_volume")
	pay("b", 101, "limit exceeded: monthly_volume")
	pay("b", 30, "")
	pay("", 20, "")
	pay("", 1, "limit exceeded: monthly_volume")
	f.usage(month, "", "150 0 0")
	f.usage(day, "a", "100 0 0")
	f.usage(day, "b", "30 0 70")
}

// What was decided before the process ended counts after the restart as it would have before.
func TestVolumesThatWereReadAgainAreGivenBackAndSettled(t *testing.T) {
	day, month := limit(directory.DailyVolume, 200, nil), limit(directory.MonthlyVolume, 300, nil)
	f := openAs(t, func(f *fixture) {
		f.limits = []*directory.Limit{day, month}
		f.set(0, twoPhase)
	})
	captured, cancelled := f.create(payment.Payment, good, 100, "").Record, f.create(payment.Payment, good, 70, "").Record
	f.restart()
	f.usage(day, "", "0 170 30")
	f.must(f.Commit(part(captured.ID, 60)))
	f.must(f.Cancel(of(cancelled.ID)))
	f.usage(day, "", "60 0 140")
	f.usage(month, "", "60 0 240")
}

// More limits than a partner may have still apply.
func TestMoreLimitsThanThereMayBeBind(t *testing.T) {
	var limits []*directory.Limit
	for range directory.MaxLimits + 40 {
		limits = append(limits, limit(directory.DailyVolume, 100, nil))
	}
	f := limited(t, limits...)
	last := limits[len(limits)-1]
	last.MaxAmount = money.FromUint64(50)
	f.ends(good, 50, payment.Charged, "")
	f.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	f.usage(limits[0], "", "50 0 50")
	f.usage(last, "", "50 0 0")
}
