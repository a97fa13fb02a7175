package payment_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

var (
	dailyLimit   = uuid.MustParse("dddddddd-dddd-4ddd-8ddd-dddddddddddd")
	monthlyLimit = uuid.MustParse("eeeeeeee-eeee-4eee-8eee-eeeeeeeeeeee")
)

// boundedTerms adds two bounds to the terms: on the daily volume of one card, and on the partner's monthly volume.
func boundedTerms(terminalTerms *payment.Terms) *payment.Terms {
	terminalTerms.Bounds = []payment.Bound{
		{Volume: payment.Volume{Limit: dailyLimit, Window: "2026-09-03", Subject: "card"}, Max: money.FromUint64(2_000), Breach: payment.Failure{Detail: "the day"}},
		{Volume: payment.Volume{Limit: monthlyLimit, Window: "2026-09"}, Max: money.FromUint64(9_000), Breach: payment.Failure{Detail: "the month"}},
	}
	return terminalTerms
}

// volumesText formats a decision's changes of volume counters. A counter of the daily volume is called "day", and a counter
// of the monthly volume "month".
func volumesText(d *payment.Decision) string {
	var changes []string
	shortNames := strings.NewReplacer("/"+dailyLimit.String()+"/2026-09-03/card", " day", "/"+monthlyLimit.String()+"/2026-09/", " month")
	for _, g := range d.Counters {
		if strings.HasPrefix(g.Key, "headroom/") {
			continue
		}
		changes = append(changes, shortNames.Replace(counterText(d.Record.Asset, g)))
	}
	return strings.Join(changes, ", ")
}

// wantVolumes checks a decision's changes of volume counters, and whether the record counts towards both volumes.
func (sc *scenario) wantVolumes(d payment.Decision, want string, counts bool) {
	sc.t.Helper()
	if got := volumesText(&d); got != want {
		sc.t.Errorf("%s: %s\nwant %s", sc.record.Status, got, want)
	}
	if got := len(sc.record.Volumes); got != map[bool]int{true: 2, false: 0}[counts] {
		sc.t.Errorf("%s: the record counts towards %d volumes", sc.record.Status, got)
	}
}

const (
	allReserved = "reserve 1000 volume day, reserve 1000 volume month"
	allReleased = "release 1000 volume day, release 1000 volume month"
	allSettled  = "reserve 1000 settled day, reserve 1000 settled month"
)

func TestVolumesAreReservedWithTheIntentAndNotedAsSettled(t *testing.T) {
	sc := &scenario{t: t, context: testContext}
	d := sc.apply(sc.context.Create(transactionID, 1, request(payment.Payment, "1000"), boundedTerms(terms(feeOnTop(250, "3")))))
	sc.wantVolumes(d, allReserved, true) // the amount, without the fee
	for i, maxVolume := range map[int]uint64{len(d.Counters) - 2: 2_000, len(d.Counters) - 1: 9_000} {
		if g := d.Counters[i]; g.Max != money.FromUint64(maxVolume) || g.RefusalCode != ledger.LimitExceeded || g.Org != testContext.Org || g.Window != "" {
			t.Errorf("guard %+v", g)
		}
	}
	for i, want := range []string{"amount out of range", "the day", "the month", "amount out of range"} {
		if got := d.Breach(i).Describe("en"); got != want {
			t.Errorf("counter %d refuses with %q, want %q", i, got, want)
		}
	}
	sc.wantVolumes(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictPending}), "", true)
	sc.wantVolumes(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}), allSettled, true)
	sc.wantVolumes(sc.refund(""), "", true) // returned money still counts
	sc.wantVolumes(sc.onOpAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}), "", true)
}

func TestChargebackReleasesNoVolume(t *testing.T) {
	sc := newCharged(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
	d, ok := sc.context.DecideReversal(sc.record, 7, uuid.UUID{5}, payment.Failure{})
	if !ok || volumesText(&d) != "" || volumesText(d.Return) != "" || len(d.Record.Volumes) != 2 || d.Return.Record.Volumes != nil {
		t.Errorf("%s, %s, %+v", volumesText(&d), volumesText(d.Return), d.Return.Record.Volumes)
	}
}

func TestTransactionWithoutMoneyReleasesItsVolumeOnce(t *testing.T) {
	refusal := payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}
	for name, end := range map[string]func(*scenario) payment.Decision{
		"refused": func(sc *scenario) payment.Decision { return sc.onAnswer(refusal) },
		"failed": func(sc *scenario) payment.Decision {
			return sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictFailed})
		},
		"never sent": func(sc *scenario) payment.Decision {
			return sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotSent})
		},
		"never arrived": func(sc *scenario) payment.Decision {
			sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotFound})
			return sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotFound})
		},
		"given up by the caller": func(sc *scenario) payment.Decision {
			sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictPending})
			sc.wantVolumes(sc.cancel(), "", true)
			return sc.onOpAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		},
	} {
		for _, kind := range []payment.Type{payment.Payment, payment.Payout} {
			t.Run(name+", "+kind.String(), func(t *testing.T) {
				sc := newScenario(t, kind, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
				sc.t = t
				sc.wantVolumes(end(sc), allReleased, false)
				if d, ok := sc.context.DecideProviderAnswer(sc.record, refusal); ok {
					t.Errorf("a second refusal: %s", volumesText(&d))
				}
				if d, ok := sc.context.DecideCorrection(sc.record, payment.Failure{Detail: "corrected"}); ok && volumesText(&d) != "" {
					t.Errorf("a correction: %s", volumesText(&d))
				}
				if d := sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}); volumesText(&d) != "" {
					t.Errorf("late settlement: %s", volumesText(&d)) // the money is on the suspense account and is not counted
				}
			})
		}
	}
}

func TestACaptureOfAPartKeepsThatPartOfTheVolume(t *testing.T) {
	const partSettled = "reserve 400 settled day, reserve 400 settled month, release 600 volume day, release 600 volume month"
	sc := newHeld(t, payment.Payment, "1000", boundedTerms(terms(feeOnTop(250, "3"))))
	sc.wantVolumes(sc.commit("400"), "", true)
	sc.wantVolumes(sc.onOpAnswer(answers["charged"]), partSettled, true)

	sc = newHeld(t, payment.Payout, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
	sc.commit("")
	sc.wantVolumes(sc.onOpAnswer(answers["charged"]), allSettled, true)

	misreported := newHeld(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0")))) // the capture was reported as failed, but it succeeded
	misreported.commit("400")
	misreported.wantVolumes(misreported.onOpAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused}), "", true)
	misreported.wantVolumes(misreported.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}), partSettled, true)

	expired := newHeld(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0")))) // never captured
	if _, d, decided := expired.onDue(week); !decided || volumesText(&d) != "" {
		t.Errorf("the lapse of the hold: %s", volumesText(&d))
	}
	expired.wantVolumes(expired.onOpAnswer(answers["charged"]), allReleased, false)
}

// One decision first releases the amount from the first terminal's volumes, and then reserves it in the next terminal's.
func TestFailoverReplacesTheVolumesOfTheFirstTerminal(t *testing.T) {
	sc := newScenario(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
	terminalTerms := otherTerminalTerms(feeDeducted(0, "0"))
	terminalTerms.Bounds = boundedTerms(terms(payment.Fees{})).Bounds[:1]
	d, ok := sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused}, terminalTerms)
	if !ok || volumesText(&d) != allReleased+", reserve 1000 volume day" || len(d.Record.Volumes) != 1 {
		t.Fatalf("%s", volumesText(&d))
	}
	if i := len(d.Counters) - 1; d.Breach(i).Detail != "the day" || d.Breach(i-1).Code != payment.AmountOutOfRange {
		t.Errorf("%q, %q", d.Breach(i), d.Breach(i-1))
	}
	if len(sc.record.Volumes) != 2 {
		t.Error("the record decided on was changed")
	}
	unbounded, ok := sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused}, otherTerminalTerms(feeDeducted(0, "0")))
	if !ok || volumesText(&unbounded) != allReleased || unbounded.Record.Volumes != nil {
		t.Errorf("%s", volumesText(&unbounded))
	}
}

// The payer of a hosted payment enters the credentials after its creation. Only then is the payment routed and counted.
func TestAHostedPaymentCountsOnlyAfterItIsRouted(t *testing.T) {
	sc := &scenario{t: t, context: testContext}
	sc.wantVolumes(sc.apply(sc.context.Host(transactionID, 1, request(payment.Payment, "1000"))), "", false)
	refused := sc.context.RefuseContinue(sc.record, payment.Credentials{Method: "sbp"}, payment.Failure{Code: payment.LimitExceeded, Detail: "velocity"})
	if volumesText(&refused) != "" || refused.Record.Volumes != nil {
		t.Errorf("refused: %s", volumesText(&refused))
	}
	sc.wantVolumes(sc.apply(sc.context.Continue(sc.record, payment.Credentials{Method: "sbp"}, boundedTerms(terms(feeDeducted(0, "0"))), otherID)), allReserved, true)
}

// A rejected transaction has the network with which the limits were checked. That is the network of the request, or else the
// one that comes with the credentials.
func TestRejectedTransactionKeepsTheCheckedNetwork(t *testing.T) {
	usdtRequest := request(payment.Payment, "1000")
	usdtRequest.Asset.Currency = "USDT"
	hosted := testContext.Host(transactionID, 1, usdtRequest)
	for network, want := range map[money.Network]money.Network{"": "", "tron": "tron"} {
		d := testContext.RefuseContinue(hosted.Record, payment.Credentials{Method: "crypto", Network: network}, payment.Failure{Detail: "no"})
		if d.Record.Asset.Network != want {
			t.Errorf("on %q, want %q", d.Record.Asset.Network, want)
		}
	}
	usdtRequest.Asset.Network = "bsc"
	hosted = testContext.Host(transactionID, 1, usdtRequest)
	d := testContext.RefuseContinue(hosted.Record, payment.Credentials{Method: "crypto", Network: "tron"}, payment.Failure{Detail: "no"})
	if d.Record.Asset.Network != "bsc" {
		t.Errorf("on %q", d.Record.Asset.Network)
	}
}

func TestTransactionExcludedByItsTermsCountsInNoVolume(t *testing.T) {
	sc := &scenario{t: t, context: testContext}
	sc.wantVolumes(sc.apply(sc.context.Create(transactionID, 1, request(payment.Payout, "10"), boundedTerms(terms(feeDeducted(0, "10"))))), "", false)
	if sc.record.Failure.Code != payment.FeeExceedsAmount {
		t.Errorf("%q", sc.record.Failure.Describe("en"))
	}
}

// sharedTerms returns boundedTerms with bounds that several transactions share in memory.
func sharedTerms(terminalTerms *payment.Terms) *payment.Terms {
	terminalTerms = boundedTerms(terminalTerms)
	payment.PrecomputeVolumes(terminalTerms.Bounds)
	return terminalTerms
}

func TestSharedBoundsCountLikeUnsharedBounds(t *testing.T) {
	terminalTerms := sharedTerms(terms(feeDeducted(0, "0")))
	begin := func() *scenario {
		sc := &scenario{t: t, context: testContext}
		d := sc.apply(sc.context.Create(transactionID, 1, request(payment.Payment, "1000"), terminalTerms))
		sc.wantVolumes(d, allReserved, true)
		for i, want := range []string{"amount out of range", "the day", "the month"} {
			if got := d.Breach(i).Describe("en"); got != want {
				t.Errorf("counter %d refuses with %q, want %q", i, got, want)
			}
		}
		return sc
	}
	scenario1, scenario2 := begin(), begin()
	if &scenario1.record.Volumes[0] != &scenario2.record.Volumes[0] {
		t.Error("the two transactions do not share their volumes")
	}
	scenario2.wantVolumes(scenario2.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused}), allReleased, false)
	scenario1.wantVolumes(scenario1.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}), allSettled, true)
	begin()
	payment.PrecomputeVolumes(nil) // no bounds
}

func TestPrefixOfSharedBoundsReservesOnlyItsVolumes(t *testing.T) {
	terminalTerms := sharedTerms(terms(feeDeducted(0, "0")))
	for boundCount, want := range map[int]string{0: "", 1: "reserve 1000 volume day"} {
		terminalTerms := *terminalTerms
		terminalTerms.Bounds = terminalTerms.Bounds[:boundCount]
		d := testContext.Create(transactionID, 1, request(payment.Payment, "1000"), &terminalTerms)
		if volumesText(&d) != want || len(d.Record.Volumes) != boundCount {
			t.Errorf("with %d bounds: %s", boundCount, volumesText(&d))
		}
	}
}

// The keys of counters are not stored. Nevertheless a record that was read from the store counts like one that was not.
func TestStoredVolumesCountLikeThoseInMemory(t *testing.T) {
	for name, outcome := range map[string]struct {
		verdict payment.Verdict
		want    string
	}{"charged": {payment.VerdictCharged, allSettled}, "refused": {payment.VerdictRefused, allReleased}} {
		sc := newScenario(t, payment.Payment, "1000", sharedTerms(terms(feeDeducted(0, "0"))))
		for i, v := range sc.record.Volumes {
			stored := payment.Volume{Limit: v.Limit, Window: v.Window, Subject: v.Subject}
			if v == stored {
				t.Errorf("%s: volume %d has no keys", name, i)
			}
		}
		volumes := make([]payment.Volume, 0, len(sc.record.Volumes))
		for _, v := range sc.record.Volumes {
			volumes = append(volumes, payment.Volume{Limit: v.Limit, Window: v.Window, Subject: v.Subject})
		}
		sc.record.Volumes = volumes
		if d := sc.onAnswer(payment.ProviderAnswer{Verdict: outcome.verdict}); volumesText(&d) != outcome.want {
			t.Errorf("%s: %s, want %s", name, volumesText(&d), outcome.want)
		}
	}
}

// DecisionContext.CounterBuffer only provides memory for an outcome's counters. Its contents and its size do not change them.
func TestCountersDoNotDependOnTheReusedMemory(t *testing.T) {
	litter := ledger.CounterGuard{Key: "litter", Add: money.FromUint64(9), Max: money.Max, IsRelease: true, RefusalCode: ledger.Invalid}
	for verdict, want := range map[payment.Verdict]string{payment.VerdictCharged: allSettled, payment.VerdictRefused: allReleased} {
		for size := range 6 {
			sc := newScenario(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
			for range size {
				sc.context.CounterBuffer = append(sc.context.CounterBuffer, litter)
			}
			allocated, _ := testContext.DecideProviderAnswer(sc.record, payment.ProviderAnswer{Verdict: verdict, Failure: payment.Failure{Detail: "no"}})
			d := sc.onAnswer(payment.ProviderAnswer{Verdict: verdict, Failure: payment.Failure{Detail: "no"}})
			if volumesText(&d) != want || !slices.Equal(d.Counters, allocated.Counters) {
				t.Errorf("in a buffer for %d guards: %+v, want %+v", size, d.Counters, allocated.Counters)
			}
			if memory := sc.context.CounterBuffer; size > len(d.Counters) && &memory[0] != &d.Counters[0] {
				t.Errorf("a buffer for %d guards is not used", size)
			}
		}
	}
}

// Creating a payment under shared volumes and deciding on its outcome allocate no more than without volumes. Nearly every
// payment of a partner with limits has shared volumes.
func TestSharedVolumesDoNotAllocate(t *testing.T) {
	paymentRequest := request(payment.Payment, "1000")
	countAllocations := func(terminalTerms *payment.Terms) float64 {
		return testing.AllocsPerRun(100, func() {
			c := testContext
			d := c.Create(transactionID, 1, paymentRequest, terminalTerms)
			c.CounterBuffer = d.Counters
			if _, ok := c.DecideProviderAnswer(d.Record, payment.ProviderAnswer{Verdict: payment.VerdictCharged}); !ok {
				t.Fatal("the answer causes no decision")
			}
		})
	}
	unlimited, limited := countAllocations(terms(feeDeducted(0, "0"))), countAllocations(sharedTerms(terms(feeDeducted(0, "0"))))
	if limited != unlimited {
		t.Errorf("%v allocations, %v without volumes", limited, unlimited)
	}
}
