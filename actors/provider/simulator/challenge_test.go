package simulator

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// tokenOfCharge1 is the challenge page's token of charge 1 at terminal 7, computed from its definition.
func tokenOfCharge1() string {
	seven, one := id(7), id(1)
	mac := hmac.New(sha256.New, testKey)
	mac.Write(seven[:])
	mac.Write(one[:])
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

const (
	pageURL      = baseURL + "/simulator/challenge"
	referenceOne = "00000000-0000-0000-0000-000000000001"
	// depositOne ends with the first 20 bytes of the SHA-256 of terminal and reference, computed by another program.
	depositOne    = "simulated-chain-2fcebc28fa674e0dfdb680d20a68d4ccb313c569"
	terminalSeven = "00000000-0000-0000-0000-000000000007"
)

func TestActionDescribesWhatThePayerHasToDo(t *testing.T) {
	query := pageURL + "?reference=" + referenceOne + "&terminal=" + terminalSeven + "&token=" + tokenOfCharge1()
	pageAction := payment.Action{Page: query, Code: query}
	depositAction := payment.Action{Page: query, Code: depositOne, Deposit: depositOne}
	bankAction := payment.Action{Destinations: []payment.Destination{
		{ID: "sim-bank-1", Name: "First Simulated Bank"}, {ID: "sim-bank-2", Name: "Bank of the Second Example"},
		{ID: "sim-bank-3", Name: "Sandbox Savings Bank"}, {ID: "sim-bank-4", Name: "Invented Credit Union"},
	}}
	for what, c := range map[string]struct {
		call *actors.Call
		want payment.Action
	}{
		"redirect": {cardCall(1, actors.Pay, redirectCard), payment.Action{Type: "redirect", Method: "get", URL: query}},
		"form": {cardCall(1, actors.Pay, formCard), payment.Action{
			Type: "auth_3ds_form", Method: "post", URL: pageURL, Page: query,
			Params: payment.ActionParams(map[string]string{"terminal": terminalSeven, "reference": referenceOne, "token": tokenOfCharge1()}),
		}},
		"password": {cardCall(1, actors.Pay, passwordCard), payment.Action{Type: "none", Material: []byte(`{"type":"otp","digits":6}`), Requires: []string{"otp"}}},
		"signature": {methodCall(1, actors.Pay, "native_gas"), payment.Action{
			Type: "none", Requires: []string{"signature"}, ExpiresAt: ledger.MicrosOf(start.Add(time.Minute)),
			Material: []byte(`{"payload":"` + payloadOne + `","sequence":1}`),
		}},
		"sbp":                 {methodCall(1, actors.Pay, "sbp"), pageAction},
		"sbp payout":          {methodCall(1, actors.PayOut, "sbp"), pageAction},
		"qr_code":             {methodCall(1, actors.Pay, "qr_code"), pageAction},
		"qr_code payout":      {methodCall(1, actors.PayOut, "qr_code"), pageAction},
		"crypto":              {methodCall(1, actors.Pay, "crypto"), depositAction},
		"crypto payout":       {methodCall(1, actors.PayOut, "crypto"), depositAction},
		"sepa payout":         {methodCall(1, actors.PayOut, "sepa"), bankAction},
		"open_banking payout": {methodCall(1, actors.PayOut, "open_banking"), bankAction},
	} {
		for _, hold := range []bool{false, true} {
			sim := open(t)
			c.call.Hold = hold
			for range 2 { // a repeated call gets the same outcome
				got := sim.submit(c.call)
				if got.Verdict != payment.VerdictAction || !reflect.DeepEqual(got.Action, &c.want) || got.KeepCard != (c.call.Card != nil) {
					t.Errorf("%s: %+v with %+v, want %+v", what, got, got.Action, c.want)
				}
				clear(got.Action.Destinations) // the caller may change the returned action
				clear(got.Action.Material)
				sim.reopen()
			}
			if again := sim.inquireAbout(1, c.call.Operation, 0); again.Verdict != payment.VerdictAction || again.Action != nil {
				t.Errorf("%s: an inquiry says %+v", what, again)
			}
			// A caller that has lost the outcome gets the action again.
			if again := sim.Inquire(t.Context(), inquiryOf(1, c.call.Operation)); again.Verdict != payment.VerdictAction || !reflect.DeepEqual(again.Action, &c.want) {
				t.Errorf("%s: an inquiry after a lost answer says %+v with %+v", what, again, again.Action)
			}
		}
	}
}

// The address of a deposit is unique to the charge, names the network, and is not valid for any
// wallet.
func TestEachChargeHasItsOwnDepositAddress(t *testing.T) {
	sim, addresses := open(t), make(map[string]bool)
	for n := range uint64(3) {
		for _, network := range []money.Network{"tron", "ethereum", ""} {
			call := methodCall(10*n+uint64(len(network)), actors.Pay, "crypto")
			call.Asset = money.Asset{Currency: "USDT", Network: network, Env: money.Test}
			o := sim.submit(call)
			deposit := o.Action.Deposit
			if addresses[deposit] || !strings.HasPrefix(deposit, "simulated-"+cmp.Or(string(network), "chain")+"-") || o.Action.Code != deposit {
				t.Errorf("%s: %+v", network, o.Action)
			}
			addresses[deposit] = true
		}
	}
}

func TestBaseURLMayEndWithASlash(t *testing.T) {
	sim := open(t)
	o := sim.options()
	o.BaseURL += "/"
	if err := sim.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if sim.Simulator, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if got := sim.submit(cardCall(1, actors.Pay, formCard)); got.Action.URL != pageURL {
		t.Errorf("the page is at %s", got.Action.URL)
	}
}

// callsDecidedOnPage returns, by name, calls whose payer decides on the challenge page.
func callsDecidedOnPage() map[string]*actors.Call {
	return map[string]*actors.Call{
		"redirect": cardCall(1, actors.Pay, redirectCard), "form": cardCall(1, actors.Pay, formCard),
		"sbp": methodCall(1, actors.Pay, "sbp"), "sbp payout": methodCall(1, actors.PayOut, "sbp"),
		"qr_code": methodCall(1, actors.Pay, "qr_code"), "qr_code payout": methodCall(1, actors.PayOut, "qr_code"),
		"crypto": methodCall(1, actors.Pay, "crypto"), "crypto payout": methodCall(1, actors.PayOut, "crypto"),
	}
}

func completionOf(call *actors.Call, request uint64) *actors.Call {
	complete := followUpCall(1, actors.Complete, request, 0)
	if call.Card != nil {
		complete = completeCall(1, request, string(call.Card.Number))
	}
	return complete
}

func TestThePayersAnswerDecidesWhatACompleteDoes(t *testing.T) {
	for what, call := range callsDecidedOnPage() {
		for _, approve := range []bool{true, false} {
			for _, hold := range []bool{false, true} {
				t.Run(fmt.Sprint(what, ", approve ", approve, ", hold ", hold), func(t *testing.T) {
					call.Hold = hold
					checkChallenge(t, call, approve)
				})
			}
		}
	}
}

func checkChallenge(t *testing.T, call *actors.Call, approve bool) {
	sim := open(t)
	isCrypto := call.Method == "crypto"
	waitingOutcome, completedOutcome := actors.Outcome{Verdict: payment.VerdictAction, KeepCard: call.Card != nil}, unpaidOutcome
	if isCrypto {
		waitingOutcome.Meta = []byte(`{"status":"awaiting_deposit"}`)
	}
	if approve {
		completedOutcome = chargedOutcome(1)
		if call.Hold {
			completedOutcome = heldOutcome(1)
		}
		if isCrypto {
			completedOutcome.Meta = []byte(`{"status":"confirmed"}`)
		}
	}
	sim.submit(call)
	sim.expect("inquiry before", sim.inquireAbout(1, call.Operation, 0), waitingOutcome)
	sim.expect("complete before", sim.submit(completionOf(call, 10)), waitingOutcome)
	sim.reopen()
	wantShown := Challenge{Amount: "1000", Asset: usd, State: "waiting", ReturnURL: returnURL}
	if got, err := sim.Challenge(id(7), id(1), tokenOfCharge1()); got != wantShown || err != nil {
		t.Errorf("the page shows %+v, %v", got, err)
	}
	if gotURL, org, err := sim.Decide(id(7), id(1), tokenOfCharge1(), approve); gotURL != returnURL || org != id(99) || err != nil {
		t.Errorf("decided: %q, %v, %v", gotURL, org, err)
	}
	for range 2 {
		sim.reopen()
		sim.expect("inquiry when the payer has answered", sim.inquireAbout(1, call.Operation, 0), readyOutcome)
	}
	if gotURL, org, err := sim.Decide(id(7), id(1), tokenOfCharge1(), !approve); gotURL != returnURL || org != id(99) || err != nil {
		t.Errorf("decided again: %q, %v, %v", gotURL, org, err)
	}
	wantShown.State = "answered"
	if got, err := sim.Challenge(id(7), id(1), tokenOfCharge1()); got != wantShown || err != nil {
		t.Errorf("the page shows %+v, %v", got, err)
	}
	sim.expect("complete", sim.submit(completionOf(call, 11)), completedOutcome)
	sim.reopen()
	sim.expect("inquiry", sim.inquireAbout(1, call.Operation, 0), completedOutcome)
	sim.expect("inquiry about the complete", sim.inquireAbout(1, actors.Complete, 11), completedOutcome)
	sim.expect("inquiry about the early complete", sim.inquireAbout(1, actors.Complete, 10), waitingOutcome)
	if got, err := sim.Challenge(id(7), id(1), tokenOfCharge1()); got != wantShown || err != nil {
		t.Errorf("afterwards the page shows %+v, %v", got, err)
	}
	outcome := map[bool]string{true: "approved", false: "refused"}[approve]
	if line := sim.logLines()[2]; line["operation"] != "challenge" || line["outcome"] != outcome || line["reference"] != referenceOne || sim.countLines(1, "challenge") != 1 {
		t.Errorf("the decision was logged as %v, %d times", line, sim.countLines(1, "challenge"))
	}
}

func TestCompleteNeedsTheCardAgain(t *testing.T) {
	cardMissing := actors.Outcome{Verdict: payment.VerdictFailed, Failure: failureOf["card_missing"]}
	for _, number := range []string{redirectCard, formCard, passwordCard} {
		sim := open(t)
		sim.submit(cardCall(1, actors.Pay, number))
		if number != passwordCard {
			sim.decideOnPage(true)
		}
		complete := followUpCall(1, actors.Complete, 2, 0)
		complete.Material = []byte(`{"otp":"123456"}`)
		sim.expect("complete without the card", sim.submit(complete), cardMissing)
		sim.reopen()
		sim.expect("inquiry", sim.inquire(1), cardMissing)
	}
}

func TestTheCardDecidesWhenItsPayerHasActed(t *testing.T) {
	for number, want := range map[string]actors.Outcome{
		redirectCard: chargedOutcome(1), "4242424242424242": chargedOutcome(1), chargebackCard: chargedOutcome(1),
		"4000000000009995": refusedOutcome("insufficient_funds"), "4000000000000119": processingFailedOutcome,
		"4000000000000077": pendingOutcome(5_000_000_000), "4000000000000341": pendingOutcome(10_000_000_000),
	} {
		sim := open(t)
		sim.submit(cardCall(1, actors.Pay, redirectCard))
		sim.decideOnPage(true)
		sim.expect("complete with "+number, sim.submit(completeCall(1, 2, number)), want)
		sim.reopen()
		sim.expect("inquiry", sim.inquire(1), want)
		sim.expect("inquiry about the complete", sim.inquireAbout(1, actors.Complete, 2), want)
	}
}

func TestOnlyTheOneTimePasswordCharges(t *testing.T) {
	for material, isCharged := range map[string]bool{
		`{"otp":"123456"}`: true, `{"status":"charged","otp":"123456"}`: true, ` { "otp" : "123456" } `: true,
		`{"otp":"123457"}`: false, `{"otp":""}`: false, `{"otp":123456}`: false, `{"otp":null}`: false, `{"otp":["123456"]}`: false,
		`{"OTP":"123456"}`: false, `{}`: false, `"123456"`: false, `[]`: false, `null`: false, ``: false, `{"otp":"123456"`: false, `{"otp":" 123456"}`: false,
		`{"otp":"123456","pad":"` + strings.Repeat("x", maxMaterial) + `"}`: false,
	} {
		for _, hold := range []bool{false, true} {
			sim := open(t)
			call := cardCall(1, actors.Pay, passwordCard)
			call.Hold = hold
			sim.submit(call)
			complete := completeCall(1, 2, passwordCard)
			if material != "" {
				complete.Material = []byte(material)
			}
			want := unpaidOutcome
			if isCharged {
				want = chargedOutcome(1)
				if hold {
					want = heldOutcome(1)
				}
			}
			sim.reopen()
			sim.expect("complete with "+material, sim.submit(complete), want)
			sim.reopen()
			sim.expect("inquiry after "+material, sim.inquire(1), want)
		}
	}
}

func TestAPayoutGoesToTheInstitutionThatWasChosen(t *testing.T) {
	for choice, want := range map[string]actors.Outcome{
		"sim-bank-1": chargedOutcome(1), "sim-bank-2": chargedOutcome(1), "sim-bank-3": chargedOutcome(1), "sim-bank-4": chargedOutcome(1),
		"sim-bank-5": refusedOutcome("unknown_destination"), "SIM-BANK-1": refusedOutcome("unknown_destination"), "": refusedOutcome("unknown_destination"),
	} {
		for _, method := range []string{"sepa", "open_banking"} {
			sim := open(t)
			sim.submit(methodCall(1, actors.PayOut, method))
			complete := followUpCall(1, actors.Complete, 2, 0)
			complete.Choice, complete.Material = choice, []byte(`{"otp":"123456"}`)
			sim.expect("complete with "+choice, sim.submit(complete), want)
			sim.reopen()
			sim.expect("inquiry", sim.inquireAbout(1, actors.PayOut, 0), want)
		}
	}
}

func TestChallengeTokenIsValidForOneChargeOnly(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, redirectCard))
	sim.submit(cardCall(2, actors.Pay, redirectCard))
	sim.submit(cardCall(3, actors.Pay, passwordCard))
	sim.submit(cardCall(4, actors.Pay, "4242424242424242"))
	sim.submit(followUpCall(5, actors.Void, 1, 0))
	validToken := tokenOfCharge1()
	contentBefore := sim.content()
	for what, c := range map[string]struct {
		terminal, reference uint64
		token               string
	}{
		"no token":                             {7, 1, ""},
		"half a token":                         {7, 1, validToken[:len(validToken)/2]},
		"a longer token":                       {7, 1, validToken + "A"},
		"another token":                        {7, 1, strings.Repeat("A", len(validToken))},
		"another charge's":                     {7, 1, sim.challengeToken(id(7), id(2))},
		"another terminal's":                   {8, 1, validToken},
		"of an unknown charge":                 {7, 6, sim.challengeToken(id(7), id(6))},
		"of a charge without an action":        {7, 4, sim.challengeToken(id(7), id(4))},
		"of a charge that asks for a password": {7, 3, sim.challengeToken(id(7), id(3))},
		"of a void without a charge":           {7, 5, sim.challengeToken(id(7), id(5))},
	} {
		if shown, err := sim.Challenge(id(c.terminal), id(c.reference), c.token); !errors.Is(err, ErrNoChallenge) || shown != (Challenge{}) {
			t.Errorf("%s: shown %+v, %v", what, shown, err)
		}
		if gotURL, org, err := sim.Decide(id(c.terminal), id(c.reference), c.token, true); !errors.Is(err, ErrNoChallenge) || gotURL != "" || org != (ledger.ID{}) {
			t.Errorf("%s: decided %q, %v, %v", what, gotURL, org, err)
		}
	}
	if !bytes.Equal(contentBefore, sim.content()) {
		t.Errorf("the log grew by %s", sim.content()[len(contentBefore):])
	}
	sim.expect("inquiry", sim.inquire(1), waitingOutcome)

	o := sim.options()
	o.Key = bytes.Repeat([]byte{1}, KeySize)
	otherSimulator, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer otherSimulator.Close()
	if _, err := otherSimulator.Challenge(id(7), id(1), validToken); !errors.Is(err, ErrNoChallenge) {
		t.Errorf("a token of another key was taken: %v", err)
	}
}

func TestLateDecisionChangesNothing(t *testing.T) {
	for what, finish := range map[string]func(sim *testSimulator) actors.Outcome{
		"voided": func(sim *testSimulator) actors.Outcome {
			sim.submit(followUpCall(1, actors.Void, 2, 0))
			return voidedOutcome
		},
		"failed": func(sim *testSimulator) actors.Outcome {
			return sim.submit(followUpCall(1, actors.Complete, 2, 0))
		},
	} {
		sim := open(t)
		sim.submit(cardCall(1, actors.Pay, redirectCard))
		want := finish(sim)
		before := sim.content()
		gotURL, org, err := sim.Decide(id(7), id(1), tokenOfCharge1(), true)
		if gotURL != returnURL || org != id(99) || err != nil || !bytes.Equal(before, sim.content()) {
			t.Errorf("%s: %q, %v, %v", what, gotURL, org, err)
		}
		if shown, err := sim.Challenge(id(7), id(1), tokenOfCharge1()); shown.State != ChallengeAnswered || err != nil {
			t.Errorf("%s: the page shows %+v, %v", what, shown, err)
		}
		sim.expect(what, sim.submit(completeCall(1, 3, redirectCard)), want)
	}
}

func TestDecisionThatCannotBeLoggedHasNoEffect(t *testing.T) {
	sim, disk := openFaulty(t)
	sim.submit(cardCall(1, actors.Pay, redirectCard))
	disk.fill(sim, 100)
	if gotURL, _, err := sim.Decide(id(7), id(1), tokenOfCharge1(), false); err == nil || errors.Is(err, ErrNoChallenge) || gotURL != "" {
		t.Errorf("decided: %q, %v", gotURL, err)
	}
	disk.bytesLeft, disk.failsRead = -1, true
	if _, err := sim.Challenge(id(7), id(1), tokenOfCharge1()); err == nil || errors.Is(err, ErrNoChallenge) {
		t.Errorf("shown from a log that can't be read: %v", err)
	}
	disk.failsRead = false
	sim.expect("inquiry", sim.inquire(1), waitingOutcome)
	sim.decideOnPage(true)
	sim.reopen()
	sim.expect("complete", sim.submit(completeCall(1, 2, redirectCard)), chargedOutcome(1))
}

func TestReturnAddressMayContainAnyCharacter(t *testing.T) {
	for _, address := range []string{
		"", "https://a.example/?a=1&b=<2>#\\", `"then":"reversed","sum":"`, "\u2028 ünïcødé \x00\x1f\x7f\n",
		strings.Repeat("x", maxReturnURL), strings.Repeat("\x01", maxReturnURL), strings.Repeat(`"`, maxReturnURL),
	} {
		sim := open(t)
		call := cardCall(1, actors.Pay, redirectCard)
		call.ReturnURL = func() string { return address }
		sim.submit(call)
		sim.submit(cardCall(2, actors.Pay, "4242424242424242"))
		sim.submit(call)
		sim.reopen()
		sim.forget()
		if gotURL, _, err := sim.Decide(id(7), id(1), tokenOfCharge1(), true); gotURL != address || err != nil {
			t.Errorf("%q came back as %q, %v", address, gotURL, err)
		}
		sim.reopen()
		sim.expect("complete", sim.submit(completeCall(1, 2, redirectCard)), chargedOutcome(1))
		if shown, err := sim.Challenge(id(7), id(1), tokenOfCharge1()); shown.ReturnURL != address || err != nil {
			t.Errorf("%q is shown as %+v, %v", address, shown, err)
		}
		if got, err := sim.Reports(t.Context(), start, start.AddDate(1, 0, 0)); len(got) != 0 || err != nil {
			t.Errorf("%q: reported %v, %v", address, got, err)
		}
	}
}

func TestAReturnAddressThatIsTooLongIsNotSent(t *testing.T) {
	sim := open(t)
	long := func() string { return strings.Repeat("x", maxReturnURL+1) }
	call := cardCall(1, actors.Pay, redirectCard)
	call.ReturnURL = long
	sim.expect("challenge", sim.submit(call), actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failureOf["return_url_too_long"]})
	if len(sim.content()) > 0 {
		t.Errorf("logged %s", sim.content())
	}
	call.ReturnURL = nil
	if got := sim.submit(call); got.Verdict != payment.VerdictAction {
		t.Errorf("without an address: %+v", got)
	}
	if gotURL, _, err := sim.Decide(id(7), id(1), tokenOfCharge1(), true); gotURL != "" || err != nil {
		t.Errorf("decided: %q, %v", gotURL, err)
	}
}

func TestTheReturnAddressIsMadeOnlyForTheChallengePage(t *testing.T) {
	sim := open(t)
	for n, number := range []string{"4242424242424242", "4000000000000002", "4000000000000077", passwordCard} {
		call := cardCall(uint64(n), actors.Pay, number)
		call.ReturnURL = func() string {
			t.Errorf("%s has no use for it", number)
			return ""
		}
		sim.submit(call)
	}
}
