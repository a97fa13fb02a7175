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

// signatureOf returns the text that the simulator accepts as the signature of a payload: its SHA-256 in
// lower-case hex.
func signatureOf(payload string) string {
	digest := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(digest[:])
}

var awaitsSignatureOutcome = actors.Outcome{Verdict: payment.VerdictAction}

func TestOnlyTheSignatureOfThePayloadCharges(t *testing.T) {
	validSignature := signatureOf(payloadOne)
	for material, want := range map[string]actors.Outcome{
		`{"signature":"` + validSignature + `"}`:                           chargedOutcome(1),
		`{"x":1, "signature" : "` + validSignature + `"}`:                  chargedOutcome(1),
		`{"signature":"` + strings.ToUpper(validSignature) + `"}`:          unpaidOutcome,
		`{"signature":"` + validSignature[:63] + `"}`:                      unpaidOutcome,
		`{"signature":"` + signatureOf(payloadOne+" ") + `"}`:              unpaidOutcome,
		`{"signature":"` + payloadOne + `"}`:                               unpaidOutcome,
		`{"signature":["` + validSignature + `"]}`:                         unpaidOutcome,
		`{"Signature":"` + validSignature + `"}`:                           unpaidOutcome,
		`{"otp":"123456"}`:                                                 unpaidOutcome,
		`{"signature":"` + validSignature + `","signature":"` + `x` + `"}`: unpaidOutcome,
	} {
		for _, hold := range []bool{false, true} {
			sim := open(t)
			call := methodCall(1, actors.Pay, "native_gas")
			call.Hold = hold
			sim.submit(call)
			want := want
			if hold && want.Verdict == payment.VerdictCharged {
				want = heldOutcome(1)
			}
			complete := followUpCall(1, actors.Complete, 2, 0)
			complete.Material = []byte(material)
			sim.reopen()
			sim.expect("complete with "+material, sim.submit(complete), want)
			sim.reopen()
			sim.expect("inquiry after "+material, sim.inquireAbout(1, actors.Pay, 0), want)
		}
	}
}

func TestASequenceNumberIsReservedForAMinute(t *testing.T) {
	for after, want := range map[time.Duration]actors.Outcome{
		time.Minute: chargedOutcome(1), time.Minute + time.Microsecond: awaitsSignatureOutcome, time.Hour: awaitsSignatureOutcome,
	} {
		sim := open(t)
		sim.submit(methodCall(1, actors.Pay, "native_gas"))
		sim.advance(after)
		sim.expect(fmt.Sprint("signed after ", after), sim.submit(signatureCall(1, 2, signatureOf(payloadOne))), want)
		sim.expect("inquiry", sim.inquireAbout(1, actors.Pay, 0), want)
	}
}

// A reissued payload has the next sequence number and can be signed for another minute. It is in the log before
// it is returned, so that it can be signed after a restart too.
func TestReissuePublishesANewPayload(t *testing.T) {
	sim := open(t)
	sim.submit(methodCall(1, actors.Pay, "native_gas"))
	wantPublished := func(sequence int, at time.Duration) {
		t.Helper()
		want := payment.Action{
			Type: "none", Requires: []string{"signature"}, ExpiresAt: ledger.MicrosOf(start.Add(at + time.Minute)),
			Material: fmt.Appendf(nil, `{"payload":"%s%d","sequence":%d}`, strings.TrimSuffix(payloadOne, "1"), sequence, sequence),
		}
		for _, o := range []actors.Outcome{sim.Reissue(t.Context(), inquiryOf(1, actors.Pay)), sim.Inquire(t.Context(), inquiryOf(1, actors.Pay))} {
			if o.Verdict != payment.VerdictAction || o.Action == nil || o.Action.ExpiresAt != want.ExpiresAt || !bytes.Equal(o.Action.Material, want.Material) {
				t.Errorf("%+v with %+v, want %+v", o, o.Action, want)
			}
		}
	}
	wantPublished(1, 0)
	sim.advance(time.Minute)
	wantPublished(1, 0) // the sequence number is still reserved
	if n := sim.countLines(1, "reissue"); n != 0 {
		t.Errorf("it was published anew %d times", n)
	}
	sim.advance(time.Microsecond)
	wantPublished(2, time.Minute+time.Microsecond)
	sim.reopen()
	wantPublished(2, time.Minute+time.Microsecond)
	sim.advance(3 * time.Minute)
	wantPublished(3, 4*time.Minute+time.Microsecond)
	sim.reopen()
	if n := sim.countLines(1, "reissue"); n != 2 {
		t.Errorf("it was published anew %d times", n)
	}
	sim.expect("the first one's signature", sim.submit(signatureCall(1, 2, signatureOf(payloadOne))), unpaidOutcome)
	sim.expect("inquiry", sim.inquireAbout(1, actors.Pay, 0), unpaidOutcome)

	sim.submit(methodCall(2, actors.Pay, "native_gas"))
	sim.advance(2 * time.Minute)
	if o := sim.Reissue(t.Context(), inquiryOf(2, actors.Pay)); o.Action == nil {
		t.Fatalf("%+v", o)
	}
	secondPayload := strings.TrimSuffix(strings.Replace(payloadOne, "01:1", "02:1", 1), "1") + "2"
	sim.expect("the second one's signature", sim.submit(signatureCall(2, 3, signatureOf(secondPayload))), chargedOutcome(2))
}

// A charge that does not wait for a signature gets no new payload, and a finished charge stays finished.
func TestReissueNeedsAnExpiredPayload(t *testing.T) {
	sim := open(t)
	sim.submit(methodCall(1, actors.Pay, "native_gas"))
	sim.submit(followUpCall(1, actors.Void, 2, 0))
	sim.submit(methodCall(2, actors.Pay, "native_gas"))
	sim.submit(signatureCall(2, 3, signatureOf(strings.Replace(payloadOne, "01:1", "02:1", 1))))
	sim.submit(cardCall(3, actors.Pay, passwordCard))
	sim.submit(methodCall(4, actors.Pay, "sbp"))
	sim.submit(methodCall(5, actors.PayOut, "native_gas"))
	sim.advance(time.Hour)
	contentBefore := sim.content()
	for n, want := range map[uint64]payment.Verdict{
		1: payment.VerdictRefused, 2: payment.VerdictCharged, 3: payment.VerdictAction, 4: payment.VerdictAction, 6: payment.VerdictNotFound,
	} {
		if o := sim.Reissue(t.Context(), inquiryOf(n, actors.Pay)); o.Verdict != want {
			t.Errorf("%d: %+v, want %v", n, o, want)
		}
	}
	if o := sim.Reissue(t.Context(), inquiryOf(5, actors.PayOut)); o.Verdict != payment.VerdictCharged {
		t.Errorf("a payout: %+v", o)
	}
	if !bytes.Equal(contentBefore, sim.content()) {
		t.Errorf("the log grew by %s", sim.content()[len(contentBefore):])
	}
}

func TestReissueThatCannotBeLoggedPublishesNothing(t *testing.T) {
	sim, disk := openFaulty(t)
	sim.submit(methodCall(1, actors.Pay, "native_gas"))
	sim.advance(2 * time.Minute)
	disk.fill(sim, 100)
	sim.expect("reissue on a full disk", sim.Reissue(t.Context(), inquiryOf(1, actors.Pay)), unknownOutcome)
	disk.bytesLeft = -1
	if o := sim.Reissue(t.Context(), inquiryOf(1, actors.Pay)); o.Action == nil || !bytes.Contains(o.Action.Material, []byte(`"sequence":2}`)) {
		t.Errorf("%+v with %+v", o, o.Action)
	}
}

func TestSignatureLineHasTheDocumentedForm(t *testing.T) {
	sim := open(t)
	sim.submit(methodCall(1, actors.Pay, "native_gas"))
	sim.advance(2 * time.Minute)
	sim.Reissue(t.Context(), inquiryOf(1, actors.Pay))
	sim.expectLog(
		`1`+lineMiddle+`payment","outcome":"action","then":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000","challenge":"signature","asset":"test/USD/","sequence":"1","expires":"2026-11-21T10:16:30.123456Z`,
		`1`+lineMiddle+`reissue","outcome":"action","charge":"payment","status":"action","then":"charged","at":"2026-11-21T10:15:30.123456Z","amount":"1000","challenge":"signature","asset":"test/USD/","sequence":"2","expires":"2026-11-21T10:18:30.123456Z","before":"0`,
	)
}

// A refused signature has the code of a refused password.
func TestARefusedSignatureIsAFailedAuthentication(t *testing.T) {
	if unpaidOutcome.Failure.Code != payment.AuthenticationFailed {
		t.Errorf("%+v", unpaidOutcome)
	}
}
