package directory

import (
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

func TestCreatedRecordsAreFoundAndInTheJournal(t *testing.T) {
	f := open(t)
	if !f.Empty() {
		t.Error("a new store isn't empty")
	}
	if _, ok := f.SoleOrganization(); ok {
		t.Error("an organization out of nothing")
	}
	org := f.newOrganization("One")
	if sole, ok := f.SoleOrganization(); !ok || sole != org.ID || f.Empty() {
		t.Error("one organization isn't the sole one")
	}
	partner := f.newPartner(org.ID, "one")
	low, high := f.newTerminal(partner, `{"priority":2}`), f.newTerminal(partner, `{"priority":1}`)
	apiKey, value := f.issueKey(partner)

	if got, _ := f.Organization(org.ID); got != org {
		t.Error("organization not found")
	}
	if got, _ := f.Partner(org.ID, partner.Number); got != partner || partner.Number != 1 || partner.CreatedAt == 0 {
		t.Error("partner not found")
	}
	if got := f.Terminals(org.ID, partner.Number); !slices.Equal(got, []*directory.Terminal{high, low}) {
		t.Error("terminals aren't by priority")
	}
	if got, _ := f.Terminal(org.ID, low.ID); got != low {
		t.Error("terminal not found")
	}
	if gotKey, gotPartner, ok := f.Authenticate(org.ID, value); !ok || !equalExcept(*gotKey, *apiKey, func(k *directory.APIKey) { k.Value = "" }) || gotKey.Value != "" || gotPartner != partner {
		t.Error("key not found")
	}
	if string(value[:len(apiKey.Prefix)]) != apiKey.Prefix || len(apiKey.Prefix) != 12 || apiKey.Prefix[:4] != "mzk_" {
		t.Errorf("prefix %s", apiKey.Prefix)
	}
	want := "[o:create p:create n:create n:create k:create]"
	if got := fmt.Sprint(f.events(org.ID)); got != want {
		t.Errorf("journal %s, want %s", got, want)
	}
	if second := f.newOrganization("Two"); second.CreatedAt != org.CreatedAt {
		t.Log("the clock stood still, yet the organizations differ in time")
	}
	if _, ok := f.SoleOrganization(); ok {
		t.Error("two organizations, yet a sole one")
	}
}

func TestPatchesArePublished(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	org := f.newOrganization("One")
	partner := f.newPartner(org.ID, "one")
	terminal := f.newTerminal(partner, `{"priority":1}`)
	other := f.newTerminal(partner, `{"priority":2}`)

	name, params, status := "Renamed", []byte(`{"priority":3}`), directory.Maintenance
	if next := must(f.PatchPartner(ctx, org.ID, partner.Number, func(r *directory.Partner, _ *schema.Faults) { r.Active = false })); next.Active || next.CreatedAt != partner.CreatedAt {
		t.Error("partner not switched off", next)
	}
	if got, _ := f.Partner(org.ID, partner.Number); got.Active || !partner.Active {
		t.Error("the view has the old partner, or the old record changed")
	}
	must(f.PatchTerminal(ctx, org.ID, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.ProviderParams = params }))
	if got := f.Terminals(org.ID, partner.Number); len(got) != 2 || got[0].ID != other.ID || got[1].Settings.Priority != 3 {
		t.Error("terminals aren't in their new order")
	}
	must(f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Name = name }))
	must(f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = status }))
	if got, _ := f.Organization(org.ID); got.Name != name || got.Status != status {
		t.Error("organization not changed", got)
	}
	before := len(f.events(org.ID))
	must(f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Name = name }))
	must(f.PatchPartner(ctx, org.ID, partner.Number, func(r *directory.Partner, _ *schema.Faults) { r.Active = false }))
	must(f.PatchTerminal(ctx, org.ID, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.ProviderParams = params }))
	if events := f.events(org.ID); len(events) != before {
		t.Errorf("changes that change nothing were written: %v", events[before:])
	}
}

func TestRefusedWritesStoreNothing(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	org, unknownID := f.newOrganization("One"), uuid.New()
	p := f.newPartner(org.ID, "one")
	apiKey, _ := f.issueKey(p)
	terminal := f.newTerminal(p, ``)
	pass := []byte("nine-Lions-paint")
	draft := directory.Partner{Name: "x", Login: "x", Active: true}

	_, err := f.CreateOrganization(ctx, directory.Organization{Type: directory.Merchant, Status: directory.Active})
	wantCode(t, "organization without a name", err, ledger.Invalid, "name")
	_, err = f.PatchOrganization(ctx, unknownID, func(_ *directory.Organization, _ *schema.Faults) {})
	wantCode(t, "patch of no organization", err, ledger.NotFound, "")
	_, err = f.CreatePartner(ctx, unknownID, draft, pass)
	wantCode(t, "partner of no organization", err, ledger.NotFound, "")
	_, err = f.CreatePartner(ctx, org.ID, directory.Partner{Name: "x", Active: true}, pass)
	wantCode(t, "partner without a login", err, ledger.Invalid, "login")
	_, err = f.CreatePartner(ctx, org.ID, draft, nil)
	wantCode(t, "partner without a password", err, ledger.Invalid, "pass")
	_, err = f.CreatePartner(ctx, org.ID, directory.Partner{Name: "x", Login: "one", Active: true}, pass)
	wantCode(t, "login twice", err, ledger.Conflict, "login")
	_, err = f.PatchPartner(ctx, org.ID, 99, func(_ *directory.Partner, _ *schema.Faults) {})
	wantCode(t, "patch of no partner", err, ledger.NotFound, "")
	terminalFor := func(partner int64) directory.Terminal {
		return directory.Terminal{
			Partner: partner, Name: "T", Provider: directory.Simulator, Type: directory.PaymentTerminal, Env: money.Prod, Active: true,
		}
	}
	_, err = f.CreateTerminal(ctx, org.ID, terminalFor(99))
	wantCode(t, "terminal of no partner", err, ledger.Invalid, "partner_id")
	_, err = f.CreateTerminal(ctx, unknownID, terminalFor(p.Number))
	wantCode(t, "terminal of no organization", err, ledger.NotFound, "")
	_, err = f.PatchTerminal(ctx, org.ID, unknownID, func(_ *directory.Terminal, _ *schema.Faults) {})
	wantCode(t, "patch of no terminal", err, ledger.NotFound, "")
	_, err = f.CreateAPIKey(ctx, org.ID, directory.APIKey{Partner: 99, Name: "k"})
	wantCode(t, "key of no partner", err, ledger.Invalid, "partner_id")
	_, err = f.CreateAPIKey(ctx, org.ID, directory.APIKey{Partner: p.Number, Name: "k", ExpiresAt: 1})
	wantCode(t, "key of the past", err, ledger.Invalid, "expires_at")
	_, err = f.RevokeAPIKey(ctx, org.ID, unknownID)
	wantCode(t, "revocation of no key", err, ledger.NotFound, "")

	// A key of another organization gets the same refusal as a key that does not exist.
	foreign := f.newOrganization("Two")
	_, err = f.RevokeAPIKey(ctx, foreign.ID, apiKey.ID)
	wantCode(t, "revocation of a foreign key", err, ledger.NotFound, "")
	_, err = f.PatchTerminal(ctx, foreign.ID, terminal.ID, func(_ *directory.Terminal, _ *schema.Faults) {})
	wantCode(t, "patch of a foreign terminal", err, ledger.NotFound, "")
	_, err = f.PatchPartner(ctx, foreign.ID, p.Number, func(_ *directory.Partner, _ *schema.Faults) {})
	wantCode(t, "patch of a foreign partner", err, ledger.NotFound, "")
	_, err = f.CreateTerminal(ctx, foreign.ID, terminalFor(p.Number))
	wantCode(t, "terminal of a foreign partner", err, ledger.Invalid, "partner_id")
	if _, ok := f.Partner(foreign.ID, p.Number); ok {
		t.Error("a partner shows in another organization")
	}

	archived, active := directory.Archived, directory.Active
	must(f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = archived }))
	_, err = f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = active })
	wantCode(t, "back from archived", err, ledger.IllegalTransition, "")
	_, err = f.CreatePartner(ctx, org.ID, draft, pass)
	wantCode(t, "partner of an archived organization", err, ledger.Conflict, "")
	_, err = f.CreateTerminal(ctx, org.ID, terminalFor(p.Number))
	wantCode(t, "terminal of an archived organization", err, ledger.Conflict, "")
	_, err = f.CreateAPIKey(ctx, org.ID, directory.APIKey{Partner: p.Number, Name: "k"})
	wantCode(t, "key of an archived organization", err, ledger.Conflict, "")
	if revoked := must(f.RevokeAPIKey(ctx, org.ID, apiKey.ID)); revoked.RevokedAt == 0 {
		t.Error("a key of an archived organization can't be revoked")
	}
}

func TestConcurrentCreatesCannotShareALogin(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	const parallel = 64
	errs := make([]error, parallel)
	var wait sync.WaitGroup
	for i := range parallel {
		wait.Go(func() {
			_, errs[i] = f.CreatePartner(t.Context(), org.ID, directory.Partner{Name: "x", Login: "same", Active: true}, []byte("nine-Lions-paint"))
		})
	}
	wait.Wait()
	created := 0
	for _, err := range errs {
		if err == nil {
			created++
			continue
		}
		wantCode(t, "a refused create", err, ledger.Conflict, "login")
	}
	partners, _, err := f.ListPartners(org.ID, Page{})
	if err != nil || created != 1 || len(partners) != 1 {
		t.Errorf("%d created, %d partners, %v", created, len(partners), err)
	}
	if events := f.events(org.ID); len(events) != 2 {
		t.Errorf("journal: %v", events)
	}
	// The numbers that the refused creates had reserved go to the next partners.
	if next := f.newPartner(org.ID, "next"); next.Number == partners[0].Number || next.Number > parallel {
		t.Errorf("the next partner got %d", next.Number)
	}
	// A login that was claimed without the service, here for a user, is refused although the view in memory lacks it.
	id := uuid.New()
	claim := ledger.Claim{Org: org.ID, Kind: ledger.ClaimLogin, Key: "user", Owner: id[:]}
	user := posting.Step{Org: org.ID, Source: ledger.Source{Kind: ledger.User, ID: id}, Record: []byte{1}, Events: []ledger.Event{{Source: ledger.Source{Kind: ledger.User, ID: id}, Name: "create", To: "active"}}}
	if err := f.commit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{user}, Claims: []ledger.Claim{claim}}); err != nil {
		t.Fatal(err)
	}
	_, err = f.CreatePartner(t.Context(), org.ID, directory.Partner{Name: "x", Login: "user", Active: true}, []byte("nine-Lions-paint"))
	wantCode(t, "a user's login", err, ledger.Conflict, "login")
}

func TestLoginIsUniqueInItsOrganizationOnly(t *testing.T) {
	f := open(t)
	firstOrg, secondOrg := f.newOrganization("One"), f.newOrganization("Two")
	if f.newPartner(firstOrg.ID, "same").Number == f.newPartner(secondOrg.ID, "same").Number {
		t.Error("two partners with one number")
	}
}

func TestPartnerNumbersAreOneSequenceOfThePlatform(t *testing.T) {
	f := open(t)
	const organizations, perOrganization = 6, 5
	var mu sync.Mutex
	var numbers []int64
	var wait sync.WaitGroup
	for i := range organizations {
		org := f.newOrganization(fmt.Sprint("Org ", i))
		for k := range perOrganization {
			wait.Go(func() {
				p := f.newPartner(org.ID, fmt.Sprint("p", k))
				mu.Lock()
				defer mu.Unlock()
				numbers = append(numbers, p.Number)
			})
		}
	}
	wait.Wait()
	slices.Sort(numbers)
	for i, number := range numbers {
		if number != int64(i+1) {
			t.Fatalf("numbers %v", numbers)
		}
	}
	// A number that was reserved and lost is not given out again.
	lost := must(f.reservePartnerNumber(t.Context()))
	f.restart()
	org := f.newOrganization("Last")
	if p := f.newPartner(org.ID, "p"); p.Number != lost+1 || lost != organizations*perOrganization+1 {
		t.Errorf("after %d was lost comes %d", lost, p.Number)
	}
	v := f.Journal.View()
	defer v.Close()
	for _, number := range append(numbers, lost+1) {
		if _, claimed, err := v.Claim(directory.PlatformOrg, ledger.ClaimNumber, fmt.Sprint(number)); !claimed || err != nil {
			t.Errorf("number %d isn't claimed (%v)", number, err)
		}
	}
}

func TestRestartFindsEverything(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	sandbox := must(f.Seed(ctx, SeedInput{}))
	org := must(f.CreateOrganization(ctx, directory.Organization{
		Name: "Third", Type: directory.Bank, Status: directory.Maintenance, Modules: []string{directory.IslamicFinance}, Regions: []string{"AE", "MY"},
	}))
	fullPartner := must(f.CreatePartner(ctx, org.ID, directory.Partner{
		Name: "Full", Login: "full", Email: "a@example.com", Lang: "ru", NotifyURL: "https://example.com/", Secret: "s",
		Sources:   sources("10.0.0.0/8", "2001:db8::/32"),
		Overdraft: []directory.Overdraft{{Asset: money.Asset{Currency: "USDT", Network: "bsc", Env: money.Test}, Amount: ledger.MaxAmount}},
	}, []byte("nine-Lions-paint")))
	terminal := must(f.CreateTerminal(ctx, org.ID, directory.Terminal{
		Partner: fullPartner.Number, Name: "Full", Provider: directory.Simulator, Type: directory.PayoutTerminal, Env: money.Test, MerchantAdapter: "a",
		ProviderParams: []byte(`{"priority":4,"fee_bps":"250","own":[1]}`), MerchantParams: []byte(`{"secret":"x","emails_to_notify":["a@example.com"]}`),
	}))
	apiKey := must(f.CreateAPIKey(ctx, org.ID, directory.APIKey{Partner: fullPartner.Number, Name: "k", ExpiresAt: ledger.MicrosOf(startTime.AddDate(1, 0, 0))}))
	revoked := must(f.RevokeAPIKey(ctx, org.ID, apiKey.ID))
	must(f.PutRate(ctx, org.ID, directory.Rate{From: "USD", To: "RUB", Value: must(money.ParseRate("90"))}))
	rate := must(f.PutRate(ctx, org.ID, directory.Rate{From: "USD", To: "RUB", Value: testRate}))
	active := directory.Active
	changedOrg := must(f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = active }))
	adminToken := must(f.CreateAdminToken(ctx))

	f.restart()
	if got, _ := f.Organization(org.ID); !reflect.DeepEqual(got, changedOrg) {
		t.Errorf("organization %+v, want %+v", got, changedOrg)
	}
	if got, _ := f.Partner(org.ID, fullPartner.Number); !reflect.DeepEqual(got, fullPartner) {
		t.Errorf("partner %+v, want %+v", got, fullPartner)
	}
	if got, _ := f.Terminal(org.ID, terminal.ID); !reflect.DeepEqual(got, terminal) || len(f.Terminals(org.ID, fullPartner.Number)) != 1 {
		t.Errorf("terminal %+v, want %+v", got, terminal)
	}
	if got, _ := f.APIKey(org.ID, apiKey.ID); !reflect.DeepEqual(got, revoked) {
		t.Errorf("key %+v, want %+v", got, revoked)
	}
	if rates, _, err := f.ListRates(org.ID, Page{}); err != nil || len(rates) != 1 || !reflect.DeepEqual(rates[0], rate) || rate.UpdatedAt <= rate.CreatedAt {
		t.Errorf("rates %+v (%v), want %+v", rates, err, rate)
	}
	if got, ok := f.Rate(org.ID, "USD", "RUB"); !ok || got != testRate {
		t.Errorf("rate %v, want %v", got, testRate)
	}
	if _, _, ok := f.Authenticate(org.ID, []byte(apiKey.Value)); ok {
		t.Error("a revoked key came back")
	}
	if !f.AdminToken(text(adminToken)) || !f.AdminToken(text(sandbox.AdminToken)) {
		t.Error("an administration token is lost")
	}
	checkSandbox(t, f, sandbox)
	// Versions, numbers and logins continue after the restart.
	name := "Renamed"
	must(f.PatchPartner(ctx, org.ID, fullPartner.Number, func(r *directory.Partner, _ *schema.Faults) { r.Name = name }))
	_, err := f.CreatePartner(ctx, org.ID, directory.Partner{Name: "x", Login: "full", Active: true}, []byte("nine-Lions-paint"))
	wantCode(t, "a login from before", err, ledger.Conflict, "login")
	if p := f.newPartner(org.ID, "new"); p.Number != 4 {
		t.Errorf("the next number is %d", p.Number)
	}
}

func TestCommandTimesOutBehindASlowCommand(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	entered, leave := make(chan bool), make(chan bool)
	slowResult := make(chan error)
	go func() {
		slowResult <- f.run(t.Context(), org.ID, "test", func(ledger.Micros) (*posting.Change, error) {
			entered <- true
			<-leave
			return nil, nil
		}, nil)
	}()
	<-entered
	_, err := f.CreateAPIKey(canceledContext(t), org.ID, directory.APIKey{Partner: 1, Name: "k"})
	wantCode(t, "behind a slow command", err, ledger.Unavailable, "")
	leave <- true
	if err := <-slowResult; err != nil {
		t.Error(err)
	}
}

// Commands beyond the number that an actor accepts at once wait for their turn.
func TestCommandsBeyondTheActorsBoundWait(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	partner := f.newPartner(org.ID, "one")
	var wait sync.WaitGroup
	for range 3 * maxCommands {
		wait.Go(func() {
			if _, err := f.CreateAPIKey(t.Context(), org.ID, directory.APIKey{Partner: partner.Number, Name: "k"}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if keys, _, err := f.ListAPIKeys(org.ID, Page{Limit: MaxPage}); err != nil || len(keys) != 3*maxCommands {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	for range cap(f.commands.insideOrWaiting) {
		f.commands.insideOrWaiting <- struct{}{}
	}
	_, err := f.CreateAPIKey(t.Context(), org.ID, directory.APIKey{Partner: partner.Number, Name: "k"})
	wantCode(t, "one too many", err, ledger.Unavailable, "")
}

func TestPanicIsAnsweredAndTheViewReadAgain(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	org := f.newOrganization("One")
	p := f.newPartner(org.ID, "one")
	err := f.run(ctx, org.ID, "test", func(ledger.Micros) (*posting.Change, error) { panic("in the decision") }, nil)
	wantCode(t, "a panic in the decision", err, ledger.Internal, "")

	// A panic after the commit and before the view is updated: the change is durable and must show.
	draft := directory.APIKey{Org: org.ID, Partner: p.Number, Name: "k"}
	value := fillNewKey(&draft, rand.Reader)
	id := draft.ID
	k, event, err := directory.NewAPIKey(draft, 1)
	if err != nil {
		t.Fatal(err)
	}
	err = f.run(ctx, org.ID, "test", func(ledger.Micros) (*posting.Change, error) {
		return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{stepWithoutSecrets(directory.APIKeys, org.ID, 0, k, event)}}, nil
	}, func([]posting.RecordHeader) { panic("in the publication") })
	wantCode(t, "a panic in the publication", err, ledger.Internal, "")
	f.Runtime.Quiesce()
	if got, _, ok := f.Authenticate(org.ID, []byte(value)); !ok || got.ID != id {
		t.Error("a durable key isn't in the view")
	}
	// After such a panic in the platform's actor, the organization that the Change has created must
	// show too.
	err = f.run(ctx, directory.PlatformOrg, "test", func(ledger.Micros) (*posting.Change, error) {
		other, event, err := directory.NewOrganization(directory.Organization{ID: id, Name: "Two", Type: directory.Merchant, Status: directory.Active})
		if err != nil {
			return nil, err
		}
		return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{stepWithoutSecrets(directory.Organizations, id, 0, other, event)}}, nil
	}, func([]posting.RecordHeader) { panic("in the publication") })
	wantCode(t, "a panic in the platform's publication", err, ledger.Internal, "")
	f.Runtime.Quiesce()
	if got, ok := f.Organization(id); !ok || got.Name != "Two" {
		t.Error("a durable organization isn't in the view")
	}
	if second := f.newPartner(org.ID, "two"); second.Number != 2 {
		t.Errorf("the next partner has number %d", second.Number)
	}
}

func TestStaleViewIsReadAgain(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	p := f.newPartner(org.ID, "one")
	newerPartner := *p
	newerPartner.Name = "Behind the view's back"
	event := ledger.Event{Source: ledger.Source{Kind: ledger.Partner, ID: p.ID}, Name: "update", From: "active", To: "active"}
	if err := f.commit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{must(recordStep(f.Service, directory.Partners, org.ID, 1, &newerPartner, event))}}); err != nil {
		t.Fatal(err)
	}
	_, err := f.PatchPartner(t.Context(), org.ID, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Active = false })
	wantCode(t, "against another version", err, ledger.StaleVersion, "")
	next := must(f.PatchPartner(t.Context(), org.ID, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Active = false }))
	if next.Name != newerPartner.Name || next.Active {
		t.Errorf("%+v", next)
	}
}
