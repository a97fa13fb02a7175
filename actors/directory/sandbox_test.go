package directory

import (
	"fmt"
	"testing"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// checkSandbox checks that the secrets that Seed returned are accepted.
func checkSandbox(t *testing.T, f *fixture, sandbox *Sandbox) {
	t.Helper()
	now := ledger.MicrosOf(startTime)
	for i, demo := range []SandboxOrganization{sandbox.First, sandbox.Second} {
		_, p, ok := f.Authenticate(demo.Org, text(demo.APIKey))
		if !ok || p.Number != int64(i+1) || p.Number != demo.Partner {
			t.Errorf("key %d: %v %v", i, p, ok)
		}
		if n, ok := f.Session(demo.Org, text(demo.SessionToken), now); !ok || !n.Roles.Has(directory.Admin) {
			t.Errorf("session %d: %v %v", i, n, ok)
		}
	}
	if n, ok := f.Session(sandbox.First.Org, text(sandbox.First.AuditorToken), now); !ok || !n.Roles.Has(directory.Auditor) {
		t.Error("auditor:", n, ok)
	}
	if !f.AdminToken(text(sandbox.AdminToken)) {
		t.Error("the administration token isn't taken")
	}
}

func TestSeedIsOneChange(t *testing.T) {
	f := open(t)
	before, _ := f.Journal.LastGroup()
	changes := f.Journal.Stats.Changes.Load()
	sandbox := must(f.Seed(t.Context(), SeedInput{}))
	after, _ := f.Journal.LastGroup()
	if after != before+1 || f.Journal.Stats.Changes.Load() != changes+1 {
		t.Errorf("%d groups, %d changes", after-before, f.Journal.Stats.Changes.Load()-changes)
	}
	first, _ := f.Organization(sandbox.First.Org)
	second, _ := f.Organization(sandbox.Second.Org)
	if first.Type != directory.Bank || !first.HasModule(directory.IslamicFinance) || !first.HasModule(directory.ParticipatoryFinance) ||
		second.Type != directory.Merchant || len(second.Modules) != 0 {
		t.Errorf("%+v %+v", first, second)
	}
	p, _ := f.Partner(sandbox.First.Org, 1)
	if p.Login != "demo" || sandbox.First.Login != "demo" || !matches(t, p.PassHash, string(sandbox.First.Pass)) || sandbox.Second.Pass != "" {
		t.Error("the first partner's login")
	}
	for _, demo := range []SandboxOrganization{sandbox.First, sandbox.Second} {
		served := 0
		for _, env := range []money.Env{money.Prod, money.Test} {
			for _, asset := range money.AcceptedAssets(env) {
				for _, kind := range []directory.TerminalType{directory.PaymentTerminal, directory.PayoutTerminal} {
					found := directory.Candidates(f.Terminals(demo.Org, demo.Partner), kind, asset, "sbp", money.FromUint64(1))
					if len(found) != 1 || !found[0].Settings.FeeFixed.IsZero() || found[0].Settings.FeeBps != 0 {
						t.Errorf("%v %s: %d terminals", asset, kind, len(found))
					}
					served++
				}
			}
		}
		if served != 4*len(money.AcceptedAssets(money.Prod)) || len(f.Terminals(demo.Org, demo.Partner)) != 4 {
			t.Errorf("%d served by %d terminals", served, len(f.Terminals(demo.Org, demo.Partner)))
		}
	}
	want := "[o:create p:create n:create n:create n:create n:create k:create s:create s:create b:settle b:settle u:create u:create u:create]"
	if got := fmt.Sprint(f.events(sandbox.First.Org)); got != want {
		t.Errorf("journal %s", got)
	}
	if got := fmt.Sprint(f.events(directory.PlatformOrg)); got != "[f:create]" {
		t.Errorf("the platform's journal %s", got)
	}
	_, err := f.Seed(t.Context(), SeedInput{})
	wantCode(t, "a second seed", err, ledger.Conflict, "")
	checkSandbox(t, f, sandbox)
}

func TestSeedBalances(t *testing.T) {
	f := open(t)
	sandbox := must(f.Seed(t.Context(), SeedInput{}))
	v := f.Journal.View()
	defer v.Close()
	for _, demo := range []SandboxOrganization{sandbox.First, sandbox.Second} {
		for _, env := range []money.Env{money.Prod, money.Test} {
			debits, credits := make(map[money.Asset]money.Amount), make(map[money.Asset]money.Amount)
			err := v.Accounts(demo.Org, "", env, func(a ledger.Account) (bool, error) {
				totals, err := v.Totals(demo.Org, a)
				if err != nil {
					return false, err
				}
				debits[a.Asset] = must(debits[a.Asset].Add(totals.DebitsPosted))
				credits[a.Asset] = must(credits[a.Asset].Add(totals.CreditsPosted))
				return true, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			assets := money.AcceptedAssets(env)
			if len(debits) != len(assets) {
				t.Errorf("%v: %d assets, want %d", env, len(debits), len(assets))
			}
			for _, asset := range assets {
				if debits[asset] != credits[asset] || debits[asset].IsZero() {
					t.Errorf("%v: debits %v, credits %v", asset, debits[asset], credits[asset])
				}
			}
		}
	}
	usd := money.Asset{Currency: "USD", Env: money.Test}
	totals := must(v.Totals(sandbox.Second.Org, ledger.Account{Path: ledger.PartnerAvailable(2), Asset: usd}))
	if got := totals.Available().String(); got != "100000000" {
		t.Errorf("available %s", got)
	}
	headroomTaken := must(v.Counter(sandbox.Second.Org, ledger.ReserveHeadroom(sandbox.Second.Org, usd, money.Amount{}).Key, ""))
	if headroomTaken.String() != "100000000" {
		t.Errorf("headroom taken %v", headroomTaken)
	}
	if owner, found, err := v.Claim(sandbox.First.Org, ledger.ClaimSettlement, directory.SettlementKey(1, directory.OpeningBalanceReference)); err != nil || !found || len(owner) != 16 {
		t.Error("the opening settlement has no claim", found, err)
	}
}

func TestSeedNeedsAnEmptyStore(t *testing.T) {
	f := open(t)
	f.newOrganization("First")
	_, err := f.Seed(t.Context(), SeedInput{})
	wantCode(t, "an organization is there", err, ledger.Conflict, "")
	if _, ok := f.Sandbox(); ok {
		t.Error("a sandbox without a seed")
	}
	_, err = f.Reissue(t.Context(), APIKey)
	wantCode(t, "a store that is no sandbox", err, ledger.NotFound, "")

	withToken := open(t)
	must(withToken.CreateAdminToken(t.Context()))
	_, err = withToken.Seed(t.Context(), SeedInput{})
	wantCode(t, "an administration token is there", err, ledger.Conflict, "")
}

func TestSeedTakesTheOperatorsToken(t *testing.T) {
	f := open(t)
	_, err := f.Seed(t.Context(), SeedInput{AdminToken: "short"})
	wantCode(t, "a short token", err, ledger.Invalid, "")
	sandbox := must(f.Seed(t.Context(), SeedInput{AdminToken: "0123456789abcdef"}))
	if sandbox.AdminToken != "" || !f.AdminToken([]byte("0123456789abcdef")) {
		t.Error("the operator's token isn't the one")
	}
}

func TestReissueReplacesNothingButThePassword(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	sandbox := must(f.Seed(ctx, SeedInput{}))
	storedSandbox, ok := f.Sandbox()
	if !ok || storedSandbox.First.Org != sandbox.First.Org || storedSandbox.Second.Org != sandbox.Second.Org || storedSandbox.Second.Partner != 2 || storedSandbox.First.APIKey != "" {
		t.Fatalf("the stored sandbox: %+v", storedSandbox)
	}
	reissued := *sandbox
	for name, value := range map[Value]*secret.Text{
		AdminToken: &reissued.AdminToken, PartnerPass: &reissued.First.Pass, APIKey: &reissued.First.APIKey, SessionToken: &reissued.First.SessionToken,
		AuditorToken: &reissued.First.AuditorToken, SecondAPIKey: &reissued.Second.APIKey, SecondSessionToken: &reissued.Second.SessionToken,
	} {
		old := *value
		if *value = must(f.Reissue(ctx, name)); *value == old || *value == "" {
			t.Errorf("%s is as before", name)
		}
	}
	checkSandbox(t, f, &reissued)
	checkSandbox(t, f, sandbox) // no old key, session or token was revoked
	p, _ := f.Partner(sandbox.First.Org, 1)
	if !matches(t, p.PassHash, string(reissued.First.Pass)) || matches(t, p.PassHash, string(sandbox.First.Pass)) {
		t.Error("the password isn't the new one")
	}
	_, err := f.Reissue(ctx, "base_url")
	wantCode(t, "no secret", err, ledger.NotFound, "")
	f.restart()
	checkSandbox(t, f, &reissued)
}

func TestPassInForce(t *testing.T) {
	f := open(t)
	sandbox := must(f.Seed(t.Context(), SeedInput{}))
	check := func(what string, demo SandboxOrganization, pass []byte, want bool) {
		t.Helper()
		if got := must(f.PassInForce(t.Context(), demo.Org, "demo", pass)); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("the partner's own password", sandbox.First, text(sandbox.First.Pass), true)
	check("another password", sandbox.First, []byte("another"), false)
	check("no password", sandbox.First, nil, false)
	check("a partner without a password", sandbox.Second, text(sandbox.First.Pass), false)
	check("an unknown partner", SandboxOrganization{Partner: 1}, text(sandbox.First.Pass), false)
	must(f.Reissue(t.Context(), PartnerPass))
	check("a password that was replaced", sandbox.First, text(sandbox.First.Pass), false)
}
