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
func (h *fixture) in(currency money.Currency, amount uint64, want string) {
	h.t.Helper()
	r := h.must(h.begin(payment.Payment, good, amount, func(c *paymentactor.Create) { c.Request.Asset.Currency = currency }))
	if why(r.Failure) != want {
		h.t.Errorf("%d %s: %s %q, want %q", amount, currency, r.Status, why(r.Failure), want)
	}
}

// onlyIn makes a limit apply to the currency.
func onlyIn(currency money.Currency) func(*directory.Limit) {
	return func(l *directory.Limit) { l.Asset.Currency = currency }
}

func TestALimitOfAVolumeThatChangesBindsTheNextPayment(t *testing.T) {
	l := limit(directory.DailyVolume, 100, nil)
	h := limited(t, l)
	h.ends(good, 60, payment.Charged, "")
	h.ends(good, 60, payment.Rejected, "limit exceeded: daily_volume")
	wider := *l
	wider.MaxAmount = money.FromUint64(150) // the same limit, changed
	h.limits = []*directory.Limit{&wider}
	h.ends(good, 60, payment.Charged, "")
	month := limit(directory.MonthlyVolume, 20, nil)
	h.limits = []*directory.Limit{&wider, month}
	h.ends(good, 30, payment.Rejected, "limit exceeded: monthly_volume")
	h.ends(good, 20, payment.Charged, "")
	h.usage(&wider, "", "140 0 10")
	h.usage(month, "", "20 0 0")
	h.limits = []*directory.Limit{month}
	h.ends(good, 1, payment.Rejected, "limit exceeded: monthly_volume")
	h.limits = nil
	h.ends(good, 1_000, payment.Charged, "")
	h.usage(&wider, "", "140 0 10")
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
	h := limited(t, limits...)
	for range 2 {
		for _, c := range currencies {
			h.in(c, 50, "")
		}
	}
	for _, c := range currencies {
		h.in(c, 1, "limit exceeded: daily_volume")
	}
	for _, l := range limits {
		h.usage(l, "", map[directory.LimitKind]string{directory.DailyVolume: "100 0 0", directory.MonthlyVolume: "100 0 30"}[l.Kind])
	}
	h.in("KWD", 1_000, "") // no limit applies to it
}

// A volume limit of the partner applies together with one of the card, and the first that is full
// is the reason.
func TestThePartnersVolumeBindsBesideTheCards(t *testing.T) {
	month := limit(directory.MonthlyVolume, 150, nil)
	day := limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Scope = directory.ScopeCard })
	h := limited(t, month, day)
	pay := func(print string, amount uint64, want string) {
		t.Helper()
		r := h.must(h.begin(payment.Payment, good, amount, func(c *paymentactor.Create) { c.Request.CardFingerprint = print }))
		if why(r.Failure) != want {
			t.Errorf("%d by %q: %s %q, want %q", amount, print, r.Status, why(r.Failure), want)
		}
	}
	pay("a", 100, "")
	pay("a", 1, "limit exceeded: daily_volume")
	pay("b", 101, "limit exceeded: monthly_volume")
	pay("b", 30, "")
	pay("", 20, "")
	pay("", 1, "limit exceeded: monthly_volume")
	h.usage(month, "", "150 0 0")
	h.usage(day, "a", "100 0 0")
	h.usage(day, "b", "30 0 70")
}

// What was decided before the process ended counts after the restart as it would have before.
func TestVolumesThatWereReadAgainAreGivenBackAndSettled(t *testing.T) {
	day, month := limit(directory.DailyVolume, 200, nil), limit(directory.MonthlyVolume, 300, nil)
	h := openAs(t, func(h *fixture) {
		h.limits = []*directory.Limit{day, month}
		h.set(0, twoPhase)
	})
	captured, cancelled := h.create(payment.Payment, good, 100, "").Record, h.create(payment.Payment, good, 70, "").Record
	h.restart()
	h.usage(day, "", "0 170 30")
	h.must(h.Commit(part(captured.ID, 60)))
	h.must(h.Cancel(of(cancelled.ID)))
	h.usage(day, "", "60 0 140")
	h.usage(month, "", "60 0 240")
}

// More limits than a partner may have still apply.
func TestMoreLimitsThanThereMayBeBind(t *testing.T) {
	var limits []*directory.Limit
	for range directory.MaxLimits + 40 {
		limits = append(limits, limit(directory.DailyVolume, 100, nil))
	}
	h := limited(t, limits...)
	last := limits[len(limits)-1]
	last.MaxAmount = money.FromUint64(50)
	h.ends(good, 50, payment.Charged, "")
	h.ends(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	h.usage(limits[0], "", "50 0 50")
	h.usage(last, "", "50 0 0")
}
