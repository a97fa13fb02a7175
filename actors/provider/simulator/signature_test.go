package simulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// payloadOne is the first payload to be signed that charge 1 publishes.
const payloadOne = "simulator:native_gas:test/USD/:1000:00000000-0000-0000-0000-000000000001:1"

// signatureCall returns a call that submits a signature.
func signatureCall(n, request uint64, signature string) *actors.Call {
	c := followUpCall(n, actors.Complete, request, 0)
	c.Method, c.Material = "native_gas", []byte(`{"signature":"`+signature+`"}`)
	return c
}

// signatureOf returns what the simulator accepts as the signature of a payload: its SHA-256 in lower-case hex.
func signatureOf(payload string) string {
	digest := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(digest[:])
}

var waitsForSignature = actors.Outcome{Verdict: payment.VerdictAction}

func TestOnlyTheSignatureOfThePayloadCharges(t *testing.T) {
	validSignature := signatureOf(payloadOne)
	for material, want := range map[string]actors.Outcome{
		`{"signature":"` + validSignature + `"}`:                           chargedOutcome(1),
		`{"x":1, "signature" : "` + validSignature + `"}`:                  chargedOutcome(1),
		`{"signature":"` + strings.ToUpper(validSignature) + `"}`:          unpaid,
		`{"signature":"` + validSignature[:63] + `"}`:                      unpaid,
		`{"signature":"` + signatureOf(payloadOne+" ") + `"}`:              unpaid,
		`{"signature":"` + payloadOne + `"}`:                               unpaid,
		`{"signature":["` + validSignature + `"]}`:                         unpaid,
		`{"Signature":"` + validSignature + `"}`:                           unpaid,
		`{"otp":"123456"}`:                                                 unpaid,
		`{"signature":"` + validSignature + `","signature":"` + `x` + `"}`: unpaid,
	} {
		for _, hold := range []bool{false, true} {
			b := open(t)
			call := methodCall(1, actors.Pay, "native_gas")
			call.Hold = hold
			b.submit(call)
			want := want
			if hold && want.Verdict == payment.VerdictCharged {
				want = heldOutcome(1)
			}
			complete := followUpCall(1, actors.Complete, 2, 0)
			complete.Material = []byte(material)
			b.reopen()
			b.expect("complete with "+material, b.submit(complete), want)
			b.reopen()
			b.expect("inquiry after "+material, b.inquireAbout(1, actors.Pay, 0), want)
		}
	}
}

func TestASequenceNumberIsReservedForAMinute(t *testing.T) {
	for after, want := range map[time.Duration]actors.Outcome{
		time.Minute: chargedOutcome(1), time.Minute + time.Microsecond: waitsForSignature, time.Hour: waitsForSignature,
	} {
		b := open(t)
		b.submit(methodCall(1, actors.Pay, "native_gas"))
		b.advance(after)
		b.expect(fmt.Sprint("signed after ", after), b.submit(signatureCall(1, 2, signatureOf(payloadOne))), want)
		b.expect("inquiry", b.inquireAbout(1, actors.Pay, 0), want)
	}
}

// A reissued payload has the next number and its own minute. It is in the log before it is returned, so
// that it can be signed after a restart too.
func TestReissuePublishesANewPayload(t *testing.T) {
	b := open(t)
	b.submit(methodCall(1, actors.Pay, "native_gas"))
	publishes := func(sequence int, at time.Duration) {
		t.Helper()
		want := payment.Action{
			Type: "none", Requires: []string{"signature"}, ExpiresAt: ledger.MicrosOf(start.Add(at + time.Minute)),
			Material: fmt.Appendf(nil, `{"payload":"%s%d","sequence":%d}`, strings.TrimSuffix(payloadOne, "1"), sequence, sequence),
		}
		for _, o := range []actors.Outcome{b.Reissue(t.Context(), inquiryOf(1, actors.Pay)), b.Inquire(t.Context(), inquiryOf(1, actors.Pay))} {
			if o.Verdict != payment.VerdictAction || o.Action == nil || o.Action.ExpiresAt != want.ExpiresAt || !bytes.Equal(o.Action.Material, want.Material) {
				t.Errorf("%+v with %+v, want %+v", o, o.Action, want)
			}
		}
	}
	publishes(1, 0)
	b.advance(time.Minute)
	publishes(1, 0) // it is still reserved
	if n := b.countLines(1, "reissue"); n != 0 {
		t.Errorf("it was published anew %d times", n)
	}
	b.advance(time.Microsecond)
	publishes(2, time.Minute+time.Microsecond)
	b.reopen()
	publishes(2, time.Minute+time.Microsecond)
	b.advance(3 * time.Minute)
	publishes(3, 4*time.Minute+time.Microsecond)
	b.reopen()
	if n := b.countLines(1, "reissue"); n != 2 {
		t.Errorf("it was published anew %d times", n)
	}
	b.expect("the first one's signature", b.submit(signatureCall(1, 2, signatureOf(payloadOne))), unpaid)
	b.expect("inquiry", b.inquireAbout(1, actors.Pay, 0), unpaid)

	b.submit(methodCall(2, actors.Pay, "native_gas"))
	b.advance(2 * time.Minute)
	if o := b.Reissue(t.Context(), inquiryOf(2, actors.Pay)); o.Action == nil {
		t.Fatalf("%+v", o)
	}
	second := strings.TrimSuffix(strings.Replace(payloadOne, "01:1", "02:1", 1), "1") + "2"
	b.expect("the second one's signature", b.submit(signatureCall(2, 3, signatureOf(second))), chargedOutcome(2))
}

// A charge that does not wait for a signature gets no new payload, and a finished charge stays finished.
func TestReissueNeedsAnExpiredPayload(t *testing.T) {
	b := open(t)
	b.submit(methodCall(1, actors.Pay, "native_gas"))
	b.submit(followUpCall(1, actors.Void, 2, 0))
	b.submit(methodCall(2, actors.Pay, "native_gas"))
	b.submit(signatureCall(2, 3, signatureOf(strings.Replace(payloadOne, "01:1", "02:1", 1))))
	b.submit(cardCall(3, actors.Pay, passwordCard))
	b.submit(methodCall(4, actors.Pay, "sbp"))
	b.submit(methodCall(5, actors.PayOut, "native_gas"))
	b.advance(time.Hour)
	contentBefore := b.content()
	for n, want := range map[uint64]payment.Verdict{
		1: payment.VerdictRefused, 2: payment.VerdictCharged, 3: payment.VerdictAction, 4: payment.VerdictAction, 6: payment.VerdictNotFound,
	} {
		if o := b.Reissue(t.Context(), inquiryOf(n, actors.Pay)); o.Verdict != want {
			t.Errorf("%d: %+v, want %v", n, o, want)
		}
	}
	if o := b.Reissue(t.Context(), inquiryOf(5, actors.PayOut)); o.Verdict != payment.VerdictCharged {
		t.Errorf("a payout: %+v", o)
	}
	if !bytes.Equal(contentBefore, b.content()) {
		t.Errorf("the log grew by %s", b.content()[len(contentBefore):])
	}
}

func TestReissueThatCannotBeLoggedPublishesNothing(t *testing.T) {
	b, f := openFaulty(t)
	b.submit(methodCall(1, actors.Pay, "native_gas"))
	b.advance(2 * time.Minute)
	f.room = 100
	b.expect("reissue on a full disk", b.Reissue(t.Context(), inquiryOf(1, actors.Pay)), isUnknown)
	f.room = -1
	if o := b.Reissue(t.Context(), inquiryOf(1, actors.Pay)); o.Action == nil || !bytes.Contains(o.Action.Material, []byte(`"sequence":2}`)) {
		t.Errorf("%+v with %+v", o, o.Action)
	}
}

func TestSignatureLineHasTheDocumentedForm(t *testing.T) {
	b := open(t)
	b.submit(methodCall(1, actors.Pay, "native_gas"))
	b.advance(2 * time.Minute)
	b.Reissue(t.Context(), inquiryOf(1, actors.Pay))
	b.expectLog(
		`1`+lineMiddle+`payment","outcome":"action","then":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000","challenge":"signature","asset":"test/USD/","sequence":"1","expires":"2026-11-21T10:16:30.123456Z`,
		`1`+lineMiddle+`reissue","outcome":"action","charge":"payment","status":"action","then":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000","challenge":"signature","asset":"test/USD/","sequence":"2","expires":"2026-11-21T10:18:30.123456Z","before":"0`,
	)
}

// A refused signature has the code of a refused password.
func TestARefusedSignatureIsAFailedAuthentication(t *testing.T) {
	if unpaid.Failure.Code != payment.AuthenticationFailed {
		t.Errorf("%+v", unpaid)
	}
}
