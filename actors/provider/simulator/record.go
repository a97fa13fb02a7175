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
	// maxLine bounds a line of the log, in bytes. The longest line has a return address of maxReturnURL bytes,
	// which JSON may escape with six bytes each, and fewer than 1,400 other bytes.
	maxLine = 8 << 10

	// usualLine is a size in bytes that few lines exceed; a reader reads this much first.
	usualLine = 512

	// maxReturnURL bounds the return address in a line, in bytes before JSON escapes.
	maxReturnURL = 1 << 10

	// keySize is the length of the key with which a line begins.
	keySize = len(`{"reference":"","terminal":"",`) + 2*len("00000000-0000-0000-0000-000000000000")

	// noLine is the value of record.before if the charge has no earlier line.
	noLine = -1
)

// nextStepPrefix precedes the next step of the rail (the simulated payment network) in a line. It occurs
// nowhere else in a line, because free text has a backslash before each quotation mark.
var nextStepPrefix = []byte(`"then":"`)

// sealSize is the length of a line's seal: the checksum field and the brace with which the line ends.
const sealSize = len(sumKey) + 2*crc32.Size + len(lineEnd)

const (
	lineStart = `{"reference":"`
	sumKey    = `,"sum":"`
	lineEnd   = "\"}\n"
)

// Values of a line's operation, in addition to Pay and PayOut. The payer's decision on the challenge
// page and a reissue are operations too.
var (
	voidOperation   = actors.Void.String()
	refundOperation = actors.Refund.String()
)

const (
	challengeOperation = "challenge"
	reissueOperation   = "reissue" // a reissue of a payload to be signed
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged says that a line differs from every line that appendLine writes.
var errDamaged = errors.New("damaged; restore from a backup")

// record is a line of the log: a call, and the state of its charge after the call.
// All values are strings. A charge begins with a line such as
//
//	{"reference":"…","terminal":"…","operation":"payment","outcome":"pending","then":"charged","at":"2026-11-21T10:15:35.000000Z","amount":"1000","org":"…","sum":"7d1f0a93"}
//
// and continues with lines such as
//
//	{"reference":"…","terminal":"…","operation":"refund","request":"…","outcome":"charged","charge":"payment","status":"charged","captured":"1000","refunded":"400","at":"…","amount":"1000","before":"0","org":"…","sum":"…"}
//
// batch says how many bytes of lines directly before this one were written and synced together with it; a line without
// batch was the first of its batch. So a line shows that everything before its batch was durable when it was written.
// sum is the CRC-32C of everything before it.
type record struct {
	reference, terminal, org ledger.ID
	call                     callFields
	charge                   charge
	before                   int64  // where the charge's previous line begins, or noLine
	inBatch                  uint64 // how many bytes precede this line in its batch
	offset                   int64  // where this line begins
	batch                    *batch // the line's batch if it is not durable yet
}

// callFields are the fields of a line that describe its call.
type callFields struct {
	operation string    // as actors.Operation names it, or challengeOperation or reissueOperation
	request   ledger.ID // zero for a call that opens a charge, and for a challenge
	outcome   string    // as payment.Verdict names it, or the payer's decision
	reason    string
	doneAt    time.Time // when a refund in progress is done; else zero
}

// appendKey writes the beginning of a line: the key of its charge.
func appendKey(dst []byte, terminal, reference ledger.ID) []byte {
	dst = append(dst, lineStart...)
	dst = appendID(dst, reference)
	dst = append(dst, `","terminal":"`...)
	dst = appendID(dst, terminal)
	return append(dst, `",`...)
}

// appendLine writes the part of a line that follows the key, which appendKey wrote. The fields of
// the call are operation, request, outcome, reason and done. A charge's first line omits the fields
// of the charge that repeat fields of the call.
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

// appendState writes the fields that a charge's first line omits: charge (the operation that opened
// it), status and cause (its verdict and reason), captured and refunded.
func appendState(dst []byte, c *charge) []byte {
	if c.operation != 0 {
		dst = appendField(dst, `,"charge":"`, c.operation.String())
	}
	dst = appendField(dst, `,"status":"`, c.verdict.String())
	dst = appendField(dst, `,"cause":"`, c.reason)
	dst = appendAmount(dst, `,"captured":"`, c.captured)
	return appendAmount(dst, `,"refunded":"`, c.refunded)
}

// appendCharge writes the fields of the charge that every line has: then (what the rail does next), at
// (when it does that; else the time of the charge's last change), amount, refunds, challenge, answer,
// asset, return_url; and sequence and expires if the payer signs a payload.
func appendCharge(dst []byte, c *charge) []byte {
	dst = appendField(dst, `,"then":"`, string(c.next))
	dst = appendTime(dst, `,"at":"`, c.at)
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

// appendField writes the prefix, a word that needs no escape, and a quotation mark; nothing if the word is empty.
func appendField(dst []byte, prefix, word string) []byte {
	if word == "" {
		return dst
	}
	dst = append(append(dst, prefix...), word...)
	return append(dst, '"')
}

// appendText writes text that may need escapes, unless it is empty. Bytes that are not UTF-8 are
// lost.
func appendText(dst []byte, prefix, text string) []byte {
	if text == "" {
		return dst
	}
	dst, _ = jsontext.AppendQuote(append(dst, prefix...), text)
	return dst
}

// appendAmount writes an amount, unless it is zero.
func appendAmount(dst []byte, prefix string, amount money.Amount) []byte {
	if amount.IsZero() {
		return dst
	}
	return append(amount.AppendDecimal(append(dst, prefix...)), '"')
}

// appendTime writes a time, unless it is zero: RFC 3339 in UTC with microseconds, always of one
// length. It adds the microseconds itself, because package time is slower with a fraction in the layout.
func appendTime(dst []byte, prefix string, at time.Time) []byte {
	if at.IsZero() {
		return dst
	}
	at = at.UTC()
	dst = at.AppendFormat(append(dst, prefix...), time.RFC3339)
	dst[len(dst)-1] = '.' // the point replaces the Z of UTC
	micros := at.Nanosecond() / 1000
	dst = append(dst, `000000Z"`...)
	for i := len(dst) - len(`Z"`) - 1; micros > 0; i-- {
		dst[i] = byte('0' + micros%10)
		micros /= 10
	}
	return dst
}

// appendSum appends the seal of a line with this body: the CRC-32C of the body.
func appendSum(dst, body []byte) []byte {
	var sum [crc32.Size]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(body, castagnoli))
	dst = hex.AppendEncode(append(dst, sumKey...), sum[:])
	return append(dst, lineEnd...)
}

// isSealed tells whether a line, with its newline, has the right checksum.
func isSealed(text []byte) bool {
	if len(text) < keySize+sealSize || len(text) > maxLine {
		return false
	}
	var wantSeal [sealSize]byte
	body, seal := text[:len(text)-sealSize], text[len(text)-sealSize:]
	return bytes.Equal(seal, appendSum(wantSeal[:0], body))
}

// appendID writes the UUID as String does, without allocating.
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

// lineFields are the members of a line, which is a JSON object.
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

// parseLine parses the line that begins at offset. It returns errDamaged for a line with a wrong checksum, and
// for a line that appendLine would write differently.
func parseLine(text []byte, offset int64) (*record, error) {
	var decoded lineFields
	if !isSealed(text) || json.Unmarshal(text, &decoded) != nil {
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

// charge returns the charge that the fields describe, as appendState and appendCharge wrote it.
func (f *lineFields) charge() charge {
	c := charge{
		operation: openingOperations[f.Charge], verdict: verdicts[f.Status], reason: f.Cause, next: f.Then, at: f.At.UTC(),
		amount: f.Amount, captured: f.Captured, refunded: f.Refunded,
		refundMode: f.Refunds, payerAction: f.Challenge, answer: f.Answer, asset: f.Asset, returnURL: f.ReturnURL,
		sequence: f.Sequence, expires: f.Expires.UTC(),
	}
	if f.Before == nil {
		c.operation, c.verdict, c.reason = openingOperations[f.Operation], verdicts[f.Outcome], f.Reason
		if c.verdict == payment.VerdictCharged {
			c.captured = c.amount
		}
	}
	return c
}

// isConsistent tells whether the values of the line agree with each other, as in every line that the simulator
// writes. Readers rely on that.
func (line *record) isConsistent() bool {
	c := &line.charge
	if _, known := verdicts[line.call.outcome]; !known && line.call.operation != challengeOperation {
		return false
	}
	if (c.operation == 0) != (c.verdict == payment.VerdictNotFound) || (c.operation != 0) == c.at.IsZero() {
		return false
	}
	if (c.payerAction == asksSignature) != (c.sequence > 0) || (c.sequence > 0) == c.expires.IsZero() {
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
