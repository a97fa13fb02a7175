package remote

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// send encodes a message as one side does, and decodes it as the other side does.
func send[M any](t *testing.T, message *M) *M {
	t.Helper()
	var out buffer
	if err := msgpack.NewEncoder(&out).Encode(message); err != nil {
		t.Fatal(err)
	}
	received := new(M)
	if err := decode(msgpack.NewDecoder(nil), out.content, received); err != nil {
		t.Fatal(err)
	}
	return received
}

// unsetFields returns the names of the fields of a struct that have their zero values.
func unsetFields(value any) (names []string) {
	v := reflect.ValueOf(value)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}

func TestACallArrivesWhole(t *testing.T) {
	call := cardCall(3, goodCard)
	call.Operation, call.Request, call.Hold, call.Token = actors.Complete, id(4), true, "sim_plain_1"
	call.Material, call.Choice, call.Terminal = []byte(`{"otp":"1"}`), "sim-bank-1", terminal("rejected")
	call.Asset = money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	got, err := send(t, newCallMessage(call, time.Second)).call()
	if err != nil {
		t.Fatal(err)
	}
	// The simulator reads none of these.
	if unset, want := unsetFields(*got), []string{"Browser", "Repetition", "ChargeState"}; !slices.Equal(unset, want) {
		t.Errorf("the fields %v do not arrive, want %v", unset, want)
	}
	if got.ReturnURL() != returnURL {
		t.Errorf("the return URL is %q", got.ReturnURL())
	}
	got.ReturnURL, call.ReturnURL = nil, nil
	if !reflect.DeepEqual(got, call) {
		t.Errorf("got %+v, want %+v", got, call)
	}
}

func TestACallWithoutOptionalPartsArrivesWithoutThem(t *testing.T) {
	call := &actors.Call{Org: id(1), Reference: id(2), Operation: actors.Void, Request: id(3), Terminal: terminal(""), Method: "sbp"}
	got, err := send(t, newCallMessage(call, 0)).call()
	if err != nil || !reflect.DeepEqual(got, call) {
		t.Errorf("got %+v, %v, want %+v", got, err, call)
	}
}

func TestAnOutcomeArrivesWhole(t *testing.T) {
	for verdict := payment.Verdict(1); verdict.IsValid(); verdict++ {
		o := actors.Outcome{
			Verdict: verdict, Failure: payment.Failure{Code: payment.CardDeclined, Detail: "no"}, RRN: "000000000001", InquireAfter: time.Second + 1,
			Status: "refunding", Meta: []byte(`{"a":1}`), Unreachable: true, Token: "sim_plain_1", KeepCard: true,
			Action: &payment.Action{
				Type: "redirect", Method: "get", URL: "u", Params: []byte(`{}`), Page: "p", PageUntil: 1, Code: "c", Deposit: "d", Material: []byte(`{"x":1}`),
				Requires: []string{"otp"}, ExpiresAt: 2, Destinations: []payment.Destination{{ID: "i", Name: "n"}}, Until: ledger.Micros(3),
			},
		}
		if unset := slices.Concat(unsetFields(o), unsetFields(*o.Action)); len(unset) > 0 {
			t.Errorf("the test does not set %v", unset)
		}
		if got, err := send(t, newOutcomeMessage(&o)).outcome(); err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("got %+v, %v, want %+v", got, err, o)
		}
	}
	empty := actors.Outcome{Verdict: payment.VerdictNotFound}
	if got, err := send(t, newOutcomeMessage(&empty)).outcome(); err != nil || !reflect.DeepEqual(got, empty) {
		t.Errorf("got %+v, %v, want %+v", got, err, empty)
	}
}

// The simulator panics if it gets such calls, or could not read the lines that it would write.
func TestACallThatTheSimulatorCouldNeverGetIsRefused(t *testing.T) {
	for name, change := range map[string]func(*callMessage){
		"an unknown operation": func(m *callMessage) { m.Operation = "dance" },
		"no operation":         func(m *callMessage) { m.Operation = "" },
		"a bad amount":         func(m *callMessage) { m.Amount = "-1" },
		"a huge amount":        func(m *callMessage) { m.Amount = strings.Repeat("9", 100) },
		"an unknown currency":  func(m *callMessage) { m.Currency = "XQZ" },
		"no asset":             func(m *callMessage) { m.Currency, m.Network, m.Env = "", "", "" },
		"a bad network":        func(m *callMessage) { m.Network = "TRON!" },
		"a bad environment":    func(m *callMessage) { m.Env = "stage" },
		"a return URL that is not UTF-8": func(m *callMessage) {
			broken := "https://\xff"
			m.ReturnURL = &broken
		},
	} {
		m := newCallMessage(cardCall(1, goodCard), time.Second)
		change(m)
		if _, err := m.call(); err != errMessage {
			t.Errorf("%s: the error is %v, want %v", name, err, errMessage)
		}
	}
}

func TestOnlyOneWholeMessageIsDecoded(t *testing.T) {
	var out buffer
	if err := msgpack.NewEncoder(&out).Encode(&outcomeMessage{Verdict: "charged"}); err != nil {
		t.Fatal(err)
	}
	whole := out.content
	for name, body := range map[string][]byte{
		"nothing": nil, "a part": whole[:len(whole)-1], "more": append(slices.Clone(whole), 0), "a list": {0x91, 0x01},
		"a length without the bytes": {0x81, 0xa1, 'a', 0xc6, 0xff, 0xff, 0xff, 0xff},
	} {
		if err := decode(msgpack.NewDecoder(nil), body, new(outcomeMessage)); err == nil {
			t.Errorf("%s is decoded", name)
		}
	}
	if _, err := (&outcomeMessage{Verdict: "perhaps"}).outcome(); err != errMessage {
		t.Errorf("an unknown verdict: the error is %v", err)
	}
}
