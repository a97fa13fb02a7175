package simulator

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"time"

	"mizan/actors"
	"mizan/ledger"
)

const (
	// maxLine bounds a line of the log. The longest that is written has fewer
	// than 420 bytes.
	maxLine = 512

	// keySize is the length of the key with which a line begins.
	keySize = len(`{"reference":"","terminal":"",`) + 2*len("00000000-0000-0000-0000-000000000000")

	// timeLayout is RFC 3339 in UTC to the microsecond, always of one length.
	timeLayout = "2006-01-02T15:04:05.000000Z"
)

// reversesMark is in the line of a call that the rail takes back, and in no
// other line: no field that is free text is ever written.
var reversesMark = []byte(`"then":"` + string(reverses) + `"`)

// sealSize is the length of what ends a line: its checksum.
const sealSize = len(sumKey) + 2*crc32.Size + len(lineEnd)

const (
	lineStart = `{"reference":"`
	sumKey    = `,"sum":"`
	lineEnd   = "\"}\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is a line that is not what appendFact writes.
var errDamaged = errors.New("damaged; restore from a backup")

// fact is what a line says of a call.
type fact struct {
	verdict actors.Verdict
	reason  string
	then    fate
	at      time.Time // when the rail does then; else when the call was taken
}

// at fixes when the decision comes true.
func (d decision) at(now time.Time) fact {
	return fact{verdict: d.verdict, reason: d.reason, then: d.then, at: now.Add(d.after)}
}

// answer is what the caller is told at the instant now.
func (f fact) answer(reference ledger.ID, now time.Time) actors.Outcome {
	switch {
	case f.verdict == actors.VerdictCharged, f.then == charges && !now.Before(f.at):
		return actors.Outcome{Verdict: actors.VerdictCharged, RRN: retrievalNumber(reference)}
	case f.then == charges:
		return actors.Outcome{Verdict: f.verdict, Again: f.at.Sub(now)}
	}
	return actors.Outcome{Verdict: f.verdict, Reason: f.reason}
}

// appendKey begins a line: what a call is found by.
func appendKey(dst []byte, terminal, reference ledger.ID) []byte {
	dst = append(dst, lineStart...)
	dst = appendID(dst, reference)
	dst = append(dst, `","terminal":"`...)
	dst = appendID(dst, terminal)
	return append(dst, `",`...)
}

// appendFact ends the line that appendKey began.
func appendFact(dst []byte, org ledger.ID, operation actors.Operation, f fact) []byte {
	dst = append(dst, `"operation":"`...)
	dst = append(dst, operation.String()...)
	dst = append(dst, `","outcome":"`...)
	dst = append(dst, f.verdict.String()...)
	if f.reason != "" {
		dst = append(dst, `","reason":"`...)
		dst = append(dst, f.reason...)
	}
	if f.then != "" {
		dst = append(dst, `","then":"`...)
		dst = append(dst, f.then...)
	}
	dst = append(dst, `","at":"`...)
	dst = f.at.UTC().AppendFormat(dst, timeLayout)
	dst = append(dst, `","org":"`...)
	dst = appendID(dst, org)
	return appendSeal(append(dst, '"'))
}

// appendSeal ends a line with the CRC-32C of all that is before it in the line.
func appendSeal(line []byte) []byte { return appendSum(line, line) }

func appendSum(dst, body []byte) []byte {
	var sum [crc32.Size]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(body, castagnoli))
	dst = hex.AppendEncode(append(dst, sumKey...), sum[:])
	return append(dst, lineEnd...)
}

// sealed tells whether a line, with its newline, is as it was written.
func sealed(line []byte) bool {
	if len(line) < keySize+sealSize || len(line) > maxLine {
		return false
	}
	var again [sealSize]byte
	body, seal := line[:len(line)-sealSize], line[len(line)-sealSize:]
	return bytes.Equal(seal, appendSum(again[:0], body))
}

// appendID writes the UUID as String does, without allocating.
func appendID(dst []byte, id ledger.ID) []byte {
	dst = hex.AppendEncode(dst, id[0:4])
	dst = hex.AppendEncode(append(dst, '-'), id[4:6])
	dst = hex.AppendEncode(append(dst, '-'), id[6:8])
	dst = hex.AppendEncode(append(dst, '-'), id[8:10])
	return hex.AppendEncode(append(dst, '-'), id[10:16])
}

// verdicts reads what Verdict.String wrote.
var verdicts = map[string]actors.Verdict{
	actors.VerdictCharged.String(): actors.VerdictCharged,
	actors.VerdictPending.String(): actors.VerdictPending,
	actors.VerdictRefused.String(): actors.VerdictRefused,
	actors.VerdictFailed.String():  actors.VerdictFailed,
	actors.VerdictUnknown.String(): actors.VerdictUnknown,
}

// parsed is a line read back.
type parsed struct {
	fact
	reference, org ledger.ID
}

// parse reads a line, or says errDamaged.
func parse(line []byte) (parsed, error) {
	var fields struct {
		Reference, Org        ledger.ID
		Outcome, Reason, Then string
		At                    time.Time
	}
	if !sealed(line) || json.Unmarshal(line, &fields) != nil {
		return parsed{}, errDamaged
	}
	verdict, known := verdicts[fields.Outcome]
	then := fate(fields.Then)
	waits := verdict == actors.VerdictPending || verdict == actors.VerdictUnknown
	if !known || fields.At.IsZero() || waits != (then == charges) || (then == reverses && verdict != actors.VerdictCharged) {
		return parsed{}, errDamaged
	}
	return parsed{
		fact:      fact{verdict: verdict, reason: fields.Reason, then: then, at: fields.At.UTC()},
		reference: fields.Reference,
		org:       fields.Org,
	}, nil
}

// retrievalNumber is the rail's own number for a call, 12 digits, always the
// same for a reference. Answers are derived again at each inquiry, so this must
// never change.
func retrievalNumber(reference ledger.ID) string {
	const prime, digits, modulus = 1_099_511_628_211, 12, 1_000_000_000_000
	hash := uint64(14_695_981_039_346_656_037) // FNV-1a, 64 bits
	for _, b := range reference {
		hash = (hash ^ uint64(b)) * prime
	}
	number := hash % modulus
	var text [digits]byte
	for i := digits - 1; i >= 0; i-- {
		text[i] = byte('0' + number%10)
		number /= 10
	}
	return string(text[:])
}
