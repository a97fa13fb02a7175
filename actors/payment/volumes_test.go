package payment_test

import (
	"testing"

	paymentactor "mizan/actors/payment"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
)

// wantPayment makes a payment and checks the failure's text; "": the payment must succeed.
func (f *fixture) wantPayment(currency money.Currency, amount uint64, wantFailure string) {
	f.t.Helper()
	r := f.mustRecord(f.createWith(payment.Payment, good, amount, func(c *paymentactor.Create) { c.Request.Asset.Currency = currency }))
	if failureText(r.Failure) != wantFailure {
		f.t.Errorf("%d %s: %s %q, want %q", amount, currency, r.Status, failureText(r.Failure), wantFailure)
	}
}

// onlyCurrency returns a function that restricts a limit to the currency.
func onlyCurrency(currency money.Currency) func(*directory.Limit) {
	return func(l *directory.Limit) { l.Asset.Currency = currency }
}

func TestChangedVolumeLimitAppliesToTheNextPayment(t *testing.T) {
	l := limit(directory.DailyVolume, 100, nil)
	f := openWithLimits(t, l)
	f.wantCreated(good, 60, payment.Charged, "")
	f.wantCreated(good, 60, payment.Rejected, "limit exceeded: daily_volume")
	widerLimit := *l
	widerLimit.MaxAmount = money.FromUint64(150) // a changed version of the same limit
	f.limits = []*directory.Limit{&widerLimit}
	f.wantCreated(good, 60, payment.Charged, "")
	monthlyLimit := limit(directory.MonthlyVolume, 20, nil)
	f.limits = []*directory.Limit{&widerLimit, monthlyLimit}
	f.wantCreated(good, 30, payment.Rejected, "limit exceeded: monthly_volume")
	f.wantCreated(good, 20, payment.Charged, "")
	f.wantUsage(&widerLimit, "", "140 0 10") // used, reserved and remaining amount
	f.wantUsage(monthlyLimit, "", "20 0 0")
	f.limits = []*directory.Limit{monthlyLimit}
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: monthly_volume")
	f.limits = nil
	f.wantCreated(good, 1_000, payment.Charged, "")
	f.wantUsage(&widerLimit, "", "140 0 10")
}

// Each payment counts only towards the partner's limits of the payment's currency. There are more
// currencies than sets of limits that are cached (MaxSetsPerPartner), so sets are dropped and built again.
func TestEachPaymentCountsTowardsTheLimitsOfItsCurrency(t *testing.T) {
	currencies := []money.Currency{
		"USD", "EUR", "AED", "SAR", "QAR", "MYR", "IDR", "PKR", "BDT", "EGP", "TRY", "KZT", "UZS", "AZN", "KGS", "RUB", "GBP",
	}
	if len(currencies) <= admission.MaxSetsPerPartner {
		t.Fatal("too few to begin anew")
	}
	var limits []*directory.Limit
	for _, c := range currencies {
		limits = append(limits, limit(directory.DailyVolume, 100, onlyCurrency(c)), limit(directory.MonthlyVolume, 130, onlyCurrency(c)))
	}
	f := openWithLimits(t, limits...)
	for range 2 {
		for _, c := range currencies {
			f.wantPayment(c, 50, "")
		}
	}
	for _, c := range currencies {
		f.wantPayment(c, 1, "limit exceeded: daily_volume")
	}
	for _, l := range limits {
		f.wantUsage(l, "", map[directory.LimitKind]string{directory.DailyVolume: "100 0 0", directory.MonthlyVolume: "100 0 30"}[l.Kind])
	}
	f.wantPayment("KWD", 1_000, "") // no limit applies to this currency
}

// A volume limit of the partner and a volume limit of each card apply together. The limit that is exceeded is
// named as the reason of the rejection.
func TestVolumeLimitsOfPartnerAndCardBothApply(t *testing.T) {
	monthlyLimit := limit(directory.MonthlyVolume, 150, nil)
	dailyLimit := limit(directory.DailyVolume, 100, func(l *directory.Limit) { l.Scope = directory.ScopeCard })
	f := openWithLimits(t, monthlyLimit, dailyLimit)
	pay := func(fingerprint string, amount uint64, want string) {
		t.Helper()
		r := f.mustRecord(f.createWith(payment.Payment, good, amount, func(c *paymentactor.Create) { c.Request.CardFingerprint = fingerprint }))
		if failureText(r.Failure) != want {
			t.Errorf("%d by %q: %s %q, want %q", amount, fingerprint, r.Status, failureText(r.Failure), want)
		}
	}
	pay("a", 100, "")
	pay("a", 1, "limit exceeded: daily_volume")
	pay("b", 101, "limit exceeded: monthly_volume")
	pay("b", 30, "")
	pay("", 20, "")
	pay("", 1, "limit exceeded: monthly_volume")
	f.wantUsage(monthlyLimit, "", "150 0 0")
	f.wantUsage(dailyLimit, "a", "100 0 0")
	f.wantUsage(dailyLimit, "b", "30 0 70")
}

// Volumes that were reserved before a restart are released or settled after the restart.
func TestVolumesAreReleasedAndSettledAfterARestart(t *testing.T) {
	dailyLimit, monthlyLimit := limit(directory.DailyVolume, 200, nil), limit(directory.MonthlyVolume, 300, nil)
	f := openWith(t, func(f *fixture) {
		f.limits = []*directory.Limit{dailyLimit, monthlyLimit}
		f.changeTerminal(0, twoPhase)
	})
	captured, cancelled := f.create(payment.Payment, good, 100, "").Record, f.create(payment.Payment, good, 70, "").Record
	f.restart()
	f.wantUsage(dailyLimit, "", "0 170 30")
	f.mustRecord(f.Commit(amountCommand(captured.ID, 60)))
	f.mustRecord(f.Cancel(partnerCommand(cancelled.ID)))
	f.wantUsage(dailyLimit, "", "60 0 140")
	f.wantUsage(monthlyLimit, "", "60 0 240")
}

// All of a partner's limits apply, even if the partner has more than directory.MaxLimits.
func TestMoreThanAHundredLimitsApply(t *testing.T) {
	var limits []*directory.Limit
	for range directory.MaxLimits + 40 {
		limits = append(limits, limit(directory.DailyVolume, 100, nil))
	}
	f := openWithLimits(t, limits...)
	last := limits[len(limits)-1]
	last.MaxAmount = money.FromUint64(50)
	f.wantCreated(good, 50, payment.Charged, "")
	f.wantCreated(good, 1, payment.Rejected, "limit exceeded: daily_volume")
	f.wantUsage(limits[0], "", "50 0 50")
	f.wantUsage(last, "", "50 0 0")
}
