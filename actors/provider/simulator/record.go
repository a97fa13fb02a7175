package simulator

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

const (
	// maxLine bounds a line of the log, in bytes. The longest possible line contains a return address of
	// maxReturnURL bytes, each of which JSON may escape with six bytes, and fewer than 1,400 other bytes.
	maxLine = 8 << 10

	// usualLine is a size in bytes that few lines exceed. A reader reads only so many bytes at first.
	usualLine = 512

	// maxReturnURL bounds the length of a return address, in bytes without JSON escapes.
	maxReturnURL = 1 << 10

	// keySize is the length of the key with which a line begins.
	keySize = len(`{"reference":"","terminal":"",`) + 2*len("00000000-0000-0000-0000-000000000000")

	// noLine is the value of record.before in the first line of a charge.
	noLine = -1
)

// nextStepPrefix precedes the name of the rail's next step in a line; the rail is the simulated payment network.
// The prefix occurs nowhere else in a line, because in free text a backslash precedes each quotation mark.
var nextStepPrefix = []byte(`"then":"`)

// sumSize is the length of a line's seal: the field with the checksum, the closing brace and the newline.
const sumSize = len(sumKey) + 2*crc32.Size + len(lineEnd)

const (
	lineStart = `{"reference":"`
	sumKey    = `,"sum":"`
	lineEnd   = "\"}\n"
)

// Values of the field operation in a line that does not open a charge. The payer's decision on the
// challenge page and a reissue count as operations too.
var (
	voidOperation   = actors.Void.String()
	refundOperation = actors.Refund.String()
)

const (
	challengeOperation = "challenge"
	reissueOperation   = "reissue" // a payload to be signed was published again
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged says that the simulator cannot have written a line in this form.
var errDamaged = errors.New("damaged; restore from a backup")

// record is a line of the log. It describes a call, and the state of the call's charge after the call. All values are
// strings. A charge begins with a line such as
//
//	{"reference":"…","terminal":"…","operation":"payment","outcome":"pending","then":"charged","at":"2026-11-21T10:15:35.000000Z","amount":"1000","org":"…","sum":"7d1f0a93"}
//
// and continues with lines such as
//
//	{"reference":"…","terminal":"…","operation":"refund","request":"…","outcome":"charged","charge":"payment","status":"charged","captured":"1000","refunded":"400","at":"…","amount":"1000","before":"0","org":"…","sum":"…"}
//
// The field batch is the length in bytes of the lines before this line in its batch, which are written and synced
// together with it. The first line of a batch has no such field. Everything before a batch was durable when the batch
// was written. The field sum is the CRC-32C of all bytes of the line before it.
type record struct {
	reference, terminal, org ledger.ID
	call                     callFields
	charge                   charge
	before                   int64  // offset of the charge's previous line, or noLine
	inBatch                  uint64 // number of bytes before this line in its batch
	offset                   int64  // offset at which this line begins
	batch                    *batch // the line's batch if it is not durable yet
}

// callFields are the fields of a line that describe its call.
type callFields struct {
	operation string    // the name of an actors.Operation, or challengeOperation or reissueOperation
	request   ledger.ID // zero for a call that opens a charge, and for a challenge
	outcome   string    // the name of a payment.Verdict, or the payer's decision
	reason    string
	doneAt    time.Time // when a refund in progress will be done; otherwise zero
}

// appendKey writes the beginning of a line, which is the key of its charge.
func appendKey(dst []byte, terminal, reference ledger.ID) []byte {
	dst = append(dst, lineStart...)
	dst = appendID(dst, reference)
	dst = append(dst, `","terminal":"`...)
	dst = appendID(dst, terminal)
	return append(dst, `",`...)
}

// appendLine writes the rest of a line, after the key from appendKey: first the fields of the call (operation,
// request, outcome, reason and done), then the fields of the charge. A charge's first line omits those fields of the
// charge that would only repeat fields of the call.
func appendLine(dst []byte, line *record) []byte {
	begin := len(dst) - keySize
	dst = append(dst, `"operation":"`...)
	dst = append(dst, line.call.operation...)
	dst = append(dst, '"')
	if line.call.request != (ledger.ID{}) {
		dst = append(dst, `,"request":"`...)
		dst = append(appendID(dst, line.call.request), '"')
	}
	dst = appendField(dst, `,"outcome":"`, line.call.outcome)
	dst = appendField(dst, `,"reason":"`, line.call.reason)
	dst = appendTime(dst, `,"done":"`, line.call.doneAt)
	if line.before != noLine {
		dst = appendState(dst, &line.charge)
	}
	dst = appendCharge(dst, &line.charge)
	if line.before != noLine {
		dst = append(dst, `,"before":"`...)
		dst = append(strconv.AppendInt(dst, line.before, 10), '"')
	}
	if line.inBatch > 0 {
		dst = append(dst, `,"batch":"`...)
		dst = append(strconv.AppendUint(dst, line.inBatch, 10), '"')
	}
	dst = append(dst, `,"org":"`...)
	dst = appendID(dst, line.org)
	dst = append(dst, '"')
	return appendSum(dst, dst[begin:])
}

// appendState writes the fields that are omitted in a charge's first line: charge (the operation that opened the
// charge), status and cause (the charge's verdict and reason), captured and refunded.
func appendState(dst []byte, c *charge) []byte {
	if c.operation != 0 {
		dst = appendField(dst, `,"charge":"`, c.operation.String())
	}
	dst = appendField(dst, `,"status":"`, c.verdict.String())
	dst = appendField(dst, `,"cause":"`, c.reason)
	dst = appendAmount(dst, `,"captured":"`, c.capturedAmount)
	return appendAmount(dst, `,"refunded":"`, c.refundedAmount)
}

// appendCharge writes the fields of the charge that every line contains: then (the rail's next step), at
// (the time of that step or, if there is none, of the charge's last change), amount, refunds, challenge,
// answer, asset and return_url. If the payer signs a payload, the fields sequence and expires follow.
func appendCharge(dst []byte, c *charge) []byte {
	dst = appendField(dst, `,"then":"`, string(c.next))
	dst = appendTime(dst, `,"at":"`, c.changedAt)
	dst = appendAmount(dst, `,"amount":"`, c.amount)
	dst = appendField(dst, `,"refunds":"`, string(c.refundMode))
	dst = appendField(dst, `,"challenge":"`, string(c.payerAction))
	dst = appendField(dst, `,"answer":"`, string(c.answer))
	dst = appendText(dst, `,"asset":`, c.asset)
	dst = appendText(dst, `,"return_url":`, c.returnURL)
	if c.sequence == 0 {
		return dst
	}
	dst = strconv.AppendUint(append(dst, `,"sequence":"`...), c.sequence, 10)
	return appendTime(append(dst, '"'), `,"expires":"`, c.expires)
}

// appendField writes the prefix, a word that needs no escapes, and a quotation mark. If the word is empty, it writes nothing.
func appendField(dst []byte, prefix, word string) []byte {
	if word == "" {
		return dst
	}
	dst = append(append(dst, prefix...), word...)
	return append(dst, '"')
}

// appendText writes the prefix and a text that may need escapes. If the text is empty, it writes nothing. Bytes that
// are not valid UTF-8 are lost.
func appendText(dst []byte, prefix, text string) []byte {
	if text == "" {
		return dst
	}
	dst, _ = jsontext.AppendQuote(append(dst, prefix...), text)
	return dst
}

// appendAmount writes the prefix and an amount. If the amount is zero, it writes nothing.
func appendAmount(dst []byte, prefix string, amount money.Amount) []byte {
	if amount.IsZero() {
		return dst
	}
	return append(amount.AppendDecimal(append(dst, prefix...)), '"')
}

// appendTime writes the prefix and a time in RFC 3339 form, in UTC with microseconds; the length is
// always the same. If the time is zero, it writes nothing. appendTime formats the microseconds itself,
// because package time is slower if the layout contains a fraction.
func appendTime(dst []byte, prefix string, at time.Time) []byte {
	if at.IsZero() {
		return dst
	}
	at = at.UTC()
	dst = at.AppendFormat(append(dst, prefix...), time.RFC3339)
	dst[len(dst)-1] = '.' // replaces the Z of UTC by the decimal point
	micros := at.Nanosecond() / 1000
	dst = append(dst, `000000Z"`...)
	for i := len(dst) - len(`Z"`) - 1; micros > 0; i-- {
		dst[i] = byte('0' + micros%10)
		micros /= 10
	}
	return dst
}

// appendSum appends the end of a line, which contains the CRC-32C of the body: the line's bytes so far.
func appendSum(dst, body []byte) []byte {
	var sum [crc32.Size]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(body, castagnoli))
	dst = hex.AppendEncode(append(dst, sumKey...), sum[:])
	return append(dst, lineEnd...)
}

// hasValidSum tells whether a line (including its newline) contains the right checksum.
func hasValidSum(text []byte) bool {
	if len(text) < keySize+sumSize || len(text) > maxLine {
		return false
	}
	var wantSeal [sumSize]byte
	body, seal := text[:len(text)-sumSize], text[len(text)-sumSize:]
	return bytes.Equal(seal, appendSum(wantSeal[:0], body))
}

// appendID writes a UUID in the form of ID.String, without allocating memory.
func appendID(dst []byte, id ledger.ID) []byte {
	dst = hex.AppendEncode(dst, id[0:4])
	dst = hex.AppendEncode(append(dst, '-'), id[4:6])
	dst = hex.AppendEncode(append(dst, '-'), id[6:8])
	dst = hex.AppendEncode(append(dst, '-'), id[8:10])
	return hex.AppendEncode(append(dst, '-'), id[10:16])
}

// verdicts maps the texts of Verdict.String to verdicts.
var verdicts = map[string]payment.Verdict{
	payment.VerdictCharged.String():  payment.VerdictCharged,
	payment.VerdictPending.String():  payment.VerdictPending,
	payment.VerdictRefused.String():  payment.VerdictRefused,
	payment.VerdictFailed.String():   payment.VerdictFailed,
	payment.VerdictUnknown.String():  payment.VerdictUnknown,
	payment.VerdictNotFound.String(): payment.VerdictNotFound,
	payment.VerdictHeld.String():     payment.VerdictHeld,
	payment.VerdictAction.String():   payment.VerdictAction,
}

// openingOperations maps the texts of Operation.String to the operations that open a charge.
var openingOperations = map[string]actors.Operation{
	actors.Pay.String():    actors.Pay,
	actors.PayOut.String(): actors.PayOut,
}

// lineFields are the members of the JSON object in a line.
type lineFields struct {
	Reference, Terminal, Org ledger.ID
	Operation                string
	Request                  ledger.ID
	Outcome, Reason          string
	Done                     time.Time

	Charge, Status, Cause      string
	Captured, Refunded, Amount money.Amount
	Then                       nextStep
	At                         time.Time
	Refunds                    refundMode
	Challenge                  payerAction
	Answer                     answer
	Asset                      string
	ReturnURL                  string `json:"return_url"`
	Sequence                   uint64 `json:",string"`
	Expires                    time.Time
	Before                     *string
	Batch                      uint64 `json:",string"`
}

// parseLine parses the line that begins at offset. It returns errDamaged if the checksum is wrong, or if
// appendLine would write the same values differently.
func parseLine(text []byte, offset int64) (*record, error) {
	var decoded lineFields
	if !hasValidSum(text) || json.Unmarshal(text, &decoded) != nil {
		return nil, errDamaged
	}
	line := &record{
		reference: decoded.Reference, terminal: decoded.Terminal, org: decoded.Org,
		call:   callFields{operation: decoded.Operation, request: decoded.Request, outcome: decoded.Outcome, reason: decoded.Reason, doneAt: decoded.Done.UTC()},
		charge: decoded.charge(),
		before: noLine, inBatch: decoded.Batch, offset: offset,
	}
	if decoded.Batch >= maxBatch || int64(decoded.Batch) > offset {
		return nil, errDamaged
	}
	if decoded.Before != nil {
		before, err := strconv.ParseInt(*decoded.Before, 10, 64)
		if err != nil || before < 0 || before >= offset {
			return nil, errDamaged
		}
		line.before = before
	}
	again := appendLine(appendKey(make([]byte, 0, len(text)), line.terminal, line.reference), line)
	if !line.isConsistent() || !bytes.Equal(again, text) {
		return nil, errDamaged
	}
	return line, nil
}

// charge returns the charge whose fields appendState and appendCharge wrote.
func (f *lineFields) charge() charge {
	c := charge{
		operation: openingOperations[f.Charge], verdict: verdicts[f.Status], reason: f.Cause, next: f.Then, changedAt: f.At.UTC(),
		amount: f.Amount, capturedAmount: f.Captured, refundedAmount: f.Refunded,
		refundMode: f.Refunds, payerAction: f.Challenge, answer: f.Answer, asset: f.Asset, returnURL: f.ReturnURL,
		sequence: f.Sequence, expires: f.Expires.UTC(),
	}
	if f.Before == nil {
		c.operation, c.verdict, c.reason = openingOperations[f.Operation], verdicts[f.Outcome], f.Reason
		if c.verdict == payment.VerdictCharged {
			c.capturedAmount = c.amount
		}
	}
	return c
}

// isConsistent tells whether the values of a line fit together. They do in every line that the simulator
// writes, and readers rely on this.
func (line *record) isConsistent() bool {
	c := &line.charge
	if _, known := verdicts[line.call.outcome]; !known && line.call.operation != challengeOperation {
		return false
	}
	if (c.operation == 0) != (c.verdict == payment.VerdictNotFound) || (c.operation != 0) == c.changedAt.IsZero() {
		return false
	}
	if (c.payerAction == actionSignature) != (c.sequence > 0) || (c.sequence > 0) == c.expires.IsZero() {
		return false
	}
	switch c.verdict {
	case payment.VerdictPending, payment.VerdictUnknown, payment.VerdictAction:
		return c.next == willCharge || c.next == willHold
	case payment.VerdictCharged:
		return c.next == "" || c.next == willChargeBack || c.next == chargebackCancelled
	case payment.VerdictHeld:
		return c.next == "" || c.next == willChargeBack
	case payment.VerdictRefused, payment.VerdictFailed, payment.VerdictNotFound:
		return c.next == ""
	}
	return false
}
