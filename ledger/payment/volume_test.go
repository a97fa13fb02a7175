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
	daily   = uuid.MustParse("dddddddd-dddd-4ddd-8ddd-dddddddddddd")
	monthly = uuid.MustParse("eeeeeeee-eeee-4eee-8eee-eeeeeeeeeeee")
)

// boundedTerms adds to terms the bounds of a daily volume of one card and of a monthly volume of the partner.
func boundedTerms(on *payment.Terms) *payment.Terms {
	on.Bounds = []payment.Bound{
		{Volume: payment.Volume{Limit: daily, Window: "2026-09-03", Subject: "card"}, Max: money.FromUint64(2_000), Breach: payment.Failure{Detail: "the day"}},
		{Volume: payment.Volume{Limit: monthly, Window: "2026-09"}, Max: money.FromUint64(9_000), Breach: payment.Failure{Detail: "the month"}},
	}
	return on
}

// volumes formats a decision's changes of volume counters. It names the counters of the daily volume "day" and those of
// the monthly volume "month".
func volumes(d *payment.Decision) string {
	var all []string
	short := strings.NewReplacer("/"+daily.String()+"/2026-09-03/card", " day", "/"+monthly.String()+"/2026-09/", " month")
	for _, g := range d.Counters {
		if strings.HasPrefix(g.Key, "headroom/") {
			continue
		}
		all = append(all, short.Replace(counter(d.Record.Asset, g)))
	}
	return strings.Join(all, ", ")
}

func (l *scenario) wantVolumes(d payment.Decision, want string, counting bool) {
	l.t.Helper()
	if got := volumes(&d); got != want {
		l.t.Errorf("%s: %s\nwant %s", l.r.Status, got, want)
	}
	if got := len(l.r.Volumes); got != map[bool]int{true: 2, false: 0}[counting] {
		l.t.Errorf("%s: it counts towards %d volumes", l.r.Status, got)
	}
}

const (
	reserves = "reserve 1000 volume day, reserve 1000 volume month"
	givesAll = "release 1000 volume day, release 1000 volume month"
	settles  = "reserve 1000 settled day, reserve 1000 settled month"
)

func TestVolumesAreReservedWithTheIntentAndNotedAsSettled(t *testing.T) {
	l := &scenario{t: t, c: testContext}
	d := l.apply(l.c.Create(transactionID, 1, request(payment.Payment, "1000"), boundedTerms(terms(feeOnTop(250, "3")))))
	l.wantVolumes(d, reserves, true) // the amount, without the fee
	for i, maxVolume := range map[int]uint64{len(d.Counters) - 2: 2_000, len(d.Counters) - 1: 9_000} {
		if g := d.Counters[i]; g.Max != money.FromUint64(maxVolume) || g.Refuse != ledger.LimitExceeded || g.Org != testContext.Org || g.Window != "" {
			t.Errorf("guard %+v", g)
		}
	}
	for i, want := range []string{"amount out of range", "the day", "the month", "amount out of range"} {
		if got := d.Breach(i).Describe("en"); got != want {
			t.Errorf("counter %d refuses with %q, want %q", i, got, want)
		}
	}
	l.wantVolumes(l.onAnswer(payment.Answer{Verdict: payment.VerdictPending}), "", true)
	l.wantVolumes(l.onAnswer(payment.Answer{Verdict: payment.VerdictCharged}), settles, true)
	l.wantVolumes(l.refunds(""), "", true) // returned money still counts
	l.wantVolumes(l.onOpAnswer(payment.Answer{Verdict: payment.VerdictCharged}), "", true)
}

func TestChargebackReleasesNoVolume(t *testing.T) {
	l := newCharged(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
	d, ok := l.c.DecideReversal(l.r, 7, uuid.UUID{5}, payment.Failure{})
	if !ok || volumes(&d) != "" || volumes(d.Return) != "" || len(d.Record.Volumes) != 2 || d.Return.Record.Volumes != nil {
		t.Errorf("%s, %s, %+v", volumes(&d), volumes(d.Return), d.Return.Record.Volumes)
	}
}

func TestTransactionWithoutMoneyReleasesItsVolumeOnce(t *testing.T) {
	refusal := payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}
	for name, ends := range map[string]func(*scenario) payment.Decision{
		"refused":    func(l *scenario) payment.Decision { return l.onAnswer(refusal) },
		"failed":     func(l *scenario) payment.Decision { return l.onAnswer(payment.Answer{Verdict: payment.VerdictFailed}) },
		"never sent": func(l *scenario) payment.Decision { return l.onAnswer(payment.Answer{Verdict: payment.VerdictNotSent}) },
		"never arrived": func(l *scenario) payment.Decision {
			l.onAnswer(payment.Answer{Verdict: payment.VerdictNotFound})
			return l.onAnswer(payment.Answer{Verdict: payment.VerdictNotFound})
		},
		"given up by the caller": func(l *scenario) payment.Decision {
			l.onAnswer(payment.Answer{Verdict: payment.VerdictPending})
			l.wantVolumes(l.cancels(), "", true)
			return l.onOpAnswer(payment.Answer{Verdict: payment.VerdictCharged})
		},
	} {
		for _, kind := range []payment.Type{payment.Payment, payment.Payout} {
			t.Run(name+", "+kind.String(), func(t *testing.T) {
				l := newScenario(t, kind, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
				l.t = t
				l.wantVolumes(ends(l), givesAll, false)
				if d, ok := l.c.Answered(l.r, refusal); ok {
					t.Errorf("a second refusal: %s", volumes(&d))
				}
				if d, ok := l.c.DecideCorrection(l.r, payment.Failure{Detail: "corrected"}); ok && volumes(&d) != "" {
					t.Errorf("a correction: %s", volumes(&d))
				}
				if d := l.onAnswer(payment.Answer{Verdict: payment.VerdictCharged}); volumes(&d) != "" {
					t.Errorf("money that came too late: %s", volumes(&d)) // it is in suspense
				}
			})
		}
	}
}

func TestACaptureOfAPartKeepsThatPartOfTheVolume(t *testing.T) {
	const part = "reserve 400 settled day, reserve 400 settled month, release 600 volume day, release 600 volume month"
	l := newHeld(t, payment.Payment, "1000", boundedTerms(terms(feeOnTop(250, "3"))))
	l.wantVolumes(l.commits("400"), "", true)
	l.wantVolumes(l.onOpAnswer(answers["charged"]), part, true)

	l = newHeld(t, payment.Payout, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
	l.commits("")
	l.wantVolumes(l.onOpAnswer(answers["charged"]), settles, true)

	lost := newHeld(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0")))) // its capture seems to fail, but has succeeded
	lost.commits("400")
	lost.wantVolumes(lost.onOpAnswer(payment.Answer{Verdict: payment.VerdictRefused}), "", true)
	lost.wantVolumes(lost.onAnswer(payment.Answer{Verdict: payment.VerdictCharged}), part, true)

	over := newHeld(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0")))) // never captured
	if _, d, decided := over.onDue(week); !decided || volumes(&d) != "" {
		t.Errorf("the hold's end: %s", volumes(&d))
	}
	over.wantVolumes(over.onOpAnswer(answers["charged"]), givesAll, false)
}

// The decision that reserves the amount in the next terminal's volumes first releases it from those of the first
// terminal.
func TestFailoverReplacesTheVolumesOfTheFirstTerminal(t *testing.T) {
	l := newScenario(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
	on := otherTerminalTerms(feeDeducted(0, "0"))
	on.Bounds = boundedTerms(terms(payment.Fees{})).Bounds[:1]
	d, ok := l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictRefused}, on)
	if !ok || volumes(&d) != givesAll+", reserve 1000 volume day" || len(d.Record.Volumes) != 1 {
		t.Fatalf("%s", volumes(&d))
	}
	if i := len(d.Counters) - 1; d.Breach(i).Detail != "the day" || d.Breach(i-1).Code != payment.AmountOutOfRange {
		t.Errorf("%q, %q", d.Breach(i), d.Breach(i-1))
	}
	if len(l.r.Volumes) != 2 {
		t.Error("the record decided on was changed")
	}
	free, ok := l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictRefused}, otherTerminalTerms(feeDeducted(0, "0")))
	if !ok || volumes(&free) != givesAll || free.Record.Volumes != nil {
		t.Errorf("%s", volumes(&free))
	}
}

// A hosted payment counts from the moment its payer enters credentials.
func TestAHostedPaymentCountsOnceItIsRouted(t *testing.T) {
	l := &scenario{t: t, c: testContext}
	l.wantVolumes(l.apply(l.c.Host(transactionID, 1, request(payment.Payment, "1000"))), "", false)
	refused := l.c.RefuseContinue(l.r, payment.Credentials{Method: "sbp"}, payment.Failure{Code: payment.LimitExceeded, Detail: "velocity"})
	if volumes(&refused) != "" || refused.Record.Volumes != nil {
		t.Errorf("refused: %s", volumes(&refused))
	}
	l.wantVolumes(l.apply(l.c.Continue(l.r, payment.Credentials{Method: "sbp"}, boundedTerms(terms(feeDeducted(0, "0"))))), reserves, true)
}

// A rejected transaction shows the network of its credentials or of its terminal, which the
// limits have used.
func TestRejectedTransactionKeepsTheCheckedNetwork(t *testing.T) {
	unresolved := request(payment.Payment, "1000")
	unresolved.Asset.Currency = "USDT"
	hosted := testContext.Host(transactionID, 1, unresolved)
	for given, want := range map[money.Network]money.Network{"": "", "tron": "tron"} {
		d := testContext.RefuseContinue(hosted.Record, payment.Credentials{Method: "crypto", Network: given}, payment.Failure{Detail: "no"})
		if d.Record.Asset.Network != want {
			t.Errorf("on %q, want %q", d.Record.Asset.Network, want)
		}
	}
	unresolved.Asset.Network = "bsc"
	hosted = testContext.Host(transactionID, 1, unresolved)
	d := testContext.RefuseContinue(hosted.Record, payment.Credentials{Method: "crypto", Network: "tron"}, payment.Failure{Detail: "no"})
	if d.Record.Asset.Network != "bsc" {
		t.Errorf("on %q", d.Record.Asset.Network)
	}
}

// A transaction that the terminal's terms exclude counts in no volume.
func TestTransactionExcludedByItsTermsCountsInNoVolume(t *testing.T) {
	l := &scenario{t: t, c: testContext}
	l.wantVolumes(l.apply(l.c.Create(transactionID, 1, request(payment.Payout, "10"), boundedTerms(terms(feeDeducted(0, "10"))))), "", false)
	if l.r.Failure.Code != payment.FeeExceedsAmount {
		t.Errorf("%q", l.r.Failure.Describe("en"))
	}
}

// sharedTerms is boundedTerms with bounds that many transactions can share.
func sharedTerms(on *payment.Terms) *payment.Terms {
	on = boundedTerms(on)
	payment.Share(on.Bounds)
	return on
}

func TestSharedBoundsHaveTheEffectOfOwnBounds(t *testing.T) {
	on := sharedTerms(terms(feeDeducted(0, "0")))
	begin := func() *scenario {
		l := &scenario{t: t, c: testContext}
		d := l.apply(l.c.Create(transactionID, 1, request(payment.Payment, "1000"), on))
		l.wantVolumes(d, reserves, true)
		for i, want := range []string{"amount out of range", "the day", "the month"} {
			if got := d.Breach(i).Describe("en"); got != want {
				t.Errorf("counter %d refuses with %q, want %q", i, got, want)
			}
		}
		return l
	}
	first, second := begin(), begin()
	if &first.r.Volumes[0] != &second.r.Volumes[0] {
		t.Error("each has its own volumes")
	}
	second.wantVolumes(second.onAnswer(payment.Answer{Verdict: payment.VerdictRefused}), givesAll, false)
	first.wantVolumes(first.onAnswer(payment.Answer{Verdict: payment.VerdictCharged}), settles, true)
	begin()
	payment.Share(nil) // no bounds
}

func TestAPartOfSharedBoundsIsThatPart(t *testing.T) {
	on := sharedTerms(terms(feeDeducted(0, "0")))
	for part, want := range map[int]string{0: "", 1: "reserve 1000 volume day"} {
		on := *on
		on.Bounds = on.Bounds[:part]
		d := testContext.Create(transactionID, 1, request(payment.Payment, "1000"), &on)
		if volumes(&d) != want || len(d.Record.Volumes) != part {
			t.Errorf("%d of them: %s", part, volumes(&d))
		}
	}
}

// The keys of counters are not stored. Nevertheless a record from the store counts like one that never left memory.
func TestStoredVolumesCountLikeThoseInMemory(t *testing.T) {
	for name, outcome := range map[string]struct {
		says payment.Verdict
		want string
	}{"charged": {payment.VerdictCharged, settles}, "refused": {payment.VerdictRefused, givesAll}} {
		l := newScenario(t, payment.Payment, "1000", sharedTerms(terms(feeDeducted(0, "0"))))
		for i, v := range l.r.Volumes {
			stored := payment.Volume{Limit: v.Limit, Window: v.Window, Subject: v.Subject}
			if v == stored {
				t.Errorf("%s: volume %d has no names", name, i)
			}
		}
		read := make([]payment.Volume, 0, len(l.r.Volumes))
		for _, v := range l.r.Volumes {
			read = append(read, payment.Volume{Limit: v.Limit, Window: v.Window, Subject: v.Subject})
		}
		l.r.Volumes = read
		if d := l.onAnswer(payment.Answer{Verdict: outcome.says}); volumes(&d) != outcome.want {
			t.Errorf("%s: %s, want %s", name, volumes(&d), outcome.want)
		}
	}
}

// DecisionContext.Room only provides memory for an outcome's counters. Whatever it contains and whatever its size is, the
// counters are the same.
func TestCountersDoNotDependOnTheReusedMemory(t *testing.T) {
	litter := ledger.CounterGuard{Key: "litter", Add: money.FromUint64(9), Max: money.Max, Release: true, Refuse: ledger.Invalid}
	for verdict, want := range map[payment.Verdict]string{payment.VerdictCharged: settles, payment.VerdictRefused: givesAll} {
		for size := range 6 {
			l := newScenario(t, payment.Payment, "1000", boundedTerms(terms(feeDeducted(0, "0"))))
			for range size {
				l.c.Room = append(l.c.Room, litter)
			}
			free, _ := testContext.Answered(l.r, payment.Answer{Verdict: verdict, Failure: payment.Failure{Detail: "no"}})
			d := l.onAnswer(payment.Answer{Verdict: verdict, Failure: payment.Failure{Detail: "no"}})
			if volumes(&d) != want || !slices.Equal(d.Counters, free.Counters) {
				t.Errorf("in room for %d: %+v, want %+v", size, d.Counters, free.Counters)
			}
			if memory := l.c.Room; size > len(d.Counters) && &memory[0] != &d.Counters[0] {
				t.Errorf("room for %d is not used", size)
			}
		}
	}
}

// A create under shared volumes, and its outcome, allocate nothing for them except the slice of
// counters. Nearly every payment of a partner with limits is of that kind.
func TestSharedVolumesDoNotAllocate(t *testing.T) {
	request := request(payment.Payment, "1000")
	allocations := func(on *payment.Terms) float64 {
		return testing.AllocsPerRun(100, func() {
			c := testContext
			d := c.Create(transactionID, 1, request, on)
			c.Room = d.Counters
			if _, ok := c.Answered(d.Record, payment.Answer{Verdict: payment.VerdictCharged}); !ok {
				t.Fatal("it was not decided on")
			}
		})
	}
	free, bound := allocations(terms(feeDeducted(0, "0"))), allocations(sharedTerms(terms(feeDeducted(0, "0"))))
	if bound != free {
		t.Errorf("%v allocations, %v without volumes", bound, free)
	}
}
