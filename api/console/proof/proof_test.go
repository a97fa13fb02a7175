package proof_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/cmd/mizan/audit/evidence"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
)

// wantCode checks that a call was refused with one of the codes.
func wantCode(t *testing.T, what string, a answer, codes ...string) {
	t.Helper()
	if !slices.Contains(codes, a.Code) {
		t.Errorf("%s: %q %s, want a refusal: %v", what, a.Code, a.Result, codes)
	}
}

func TestEveryEventOfEveryJournalIsProven(t *testing.T) {
	j := newJournal(t, 20)
	var calls []call
	for size := int64(1); size <= 20; size++ {
		for seq := int64(1); seq <= size; seq++ {
			calls = append(calls, j.proveEvent(j.head(size), j.inclusion(seq, size)))
		}
	}
	for i, a := range run(t, calls...) {
		if a.Code != "" || !bytes.Contains(a.Result, []byte(`"event":"settle"`)) {
			t.Errorf("call %d: %s %s", i, a.Code, a.Result)
		}
	}
}

// flips returns copies of the bytes, each with one bit of one byte changed.
func flips(content []byte) (changed [][]byte) {
	for at := range content {
		for _, bit := range []byte{1, 0x20, 0x80} {
			flipped := bytes.Clone(content)
			flipped[at] ^= bit
			changed = append(changed, flipped)
		}
	}
	return changed
}

func TestAnyChangedByteIsRefusedByTheNameOfItsPart(t *testing.T) {
	j := newJournal(t, 6)
	head, inclusion := j.head(6), j.inclusion(4, 6)
	type change struct {
		what  string
		codes []string
	}
	var calls []call
	var changes []change
	try := func(what string, c call, codes ...string) {
		calls, changes = append(calls, c), append(changes, change{what, codes})
	}
	for _, leaf := range flips(inclusion.Leaf) {
		changed := inclusion
		changed.Leaf = leaf
		try("leaf", j.proveEvent(head, changed), "leaf_form", "leaf_seq", "proof_path")
	}
	for at := range inclusion.Path {
		for _, hash := range flips(inclusion.Path[at][:]) {
			changed := inclusion
			changed.Path = slices.Clone(changed.Path)
			changed.Path[at] = tlog.Hash(hash)
			try("hash of the proof", j.proveEvent(head, changed), "proof_path")
		}
	}
	for _, root := range flips(head.Root[:]) {
		changedHead, changed := head, inclusion
		changedHead.Root, changed.Root = tlog.Hash(root), tlog.Hash(root)
		try("root beside the note", j.proveEvent(changedHead, inclusion), "head_root")
		try("root of the proof", j.proveEvent(head, changed), "proof_root")
	}
	for _, signed := range flips(head.Signature) {
		changed := head
		changed.Signature = signed
		try("note", j.proveEvent(changed, inclusion), "head_form", "head_key", "head_signature")
	}
	for at := range j.key {
		key := j.key[:at] + string(j.key[at]^1) + j.key[at+1:]
		try("key", call{"proveEvent", key, head, inclusion, organization}, "key_form", "key_hash")
	}
	for i, a := range run(t, calls...) {
		wantCode(t, changes[i].what, a, changes[i].codes...)
	}
}

func TestPartsThatDoNotBelongTogetherAreRefused(t *testing.T) {
	j, other := newJournal(t, 6), newJournal(t, 6)
	head, inclusion := j.head(6), j.inclusion(4, 6)
	with := func(change func(*journalParts)) call {
		p := journalParts{j.key, head, inclusion, organization}
		change(&p)
		return call{"proveEvent", p.key, p.head, p.inclusion, p.organization}
	}
	signedTwice := append(bytes.Clone(head.Signature), bytes.SplitAfter(other.note(6), []byte("\n\n"))[1]...)
	wrongSeq := j.inclusion(4, 6)
	wrongSeq.Leaf = j.leaves[4]
	beyond := newJournal(t, 1)
	late := eventOf(9)
	beyond.leaves, beyond.treeHashes = nil, nil
	beyond.add(late.AppendCanonical(nil))
	zero := newJournal(t, 0)
	zero.add((&ledger.Event{Author: ledger.BySystem.Author(), Name: "x"}).AppendCanonical(nil))
	unbalanced := newJournal(t, 0)
	e := eventOf(1)
	e.Entry.Postings[0].Amount = money.FromUint64(7)
	unbalanced.add(e.AppendCanonical(nil))
	cases := []struct {
		what, code string
		call       call
	}{
		{"the key of another server", "head_key", with(func(p *journalParts) { p.key = other.key })},
		{"the head of another server", "head_key", with(func(p *journalParts) { p.head = other.head(6) })},
		{"a note with two signatures", "head_form", with(func(p *journalParts) { p.head.Signature = signedTwice })},
		{"another organization", "head_organization", with(func(p *journalParts) { p.organization = "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01" })},
		{"a size that was not signed", "head_size", with(func(p *journalParts) { p.head.Size = 7 })},
		{"the head of a shorter journal", "proof_size", with(func(p *journalParts) { p.head = j.head(5) })},
		{"the proof of a shorter journal, renamed", "proof_root", with(func(p *journalParts) { p.inclusion = j.inclusion(4, 5); p.inclusion.Size = 6 })},
		{"the proof of another event", "proof_path", with(func(p *journalParts) { p.inclusion.Path = j.inclusion(3, 6).Path })},
		{"a proof that is too short", "proof_path", with(func(p *journalParts) { p.inclusion.Path = p.inclusion.Path[1:] })},
		{"a proof that is too long", "proof_path", with(func(p *journalParts) { p.inclusion.Path = append(slices.Clone(p.inclusion.Path), tlog.Hash{}) })},
		{"another event's bytes", "leaf_seq", call{"proveEvent", j.key, head, wrongSeq, organization}},
		{"an event beyond the head", "leaf_beyond_head", with(func(p *journalParts) {
			p.key, p.head, p.inclusion = beyond.key, beyond.head(1), beyond.inclusion(1, 1)
			p.inclusion.Seq = 9
		})},
		{"an event without a place", "leaf_beyond_head", with(func(p *journalParts) {
			p.key, p.head, p.inclusion = zero.key, zero.head(1), zero.inclusion(1, 1)
			p.inclusion.Seq = 0
		})},
		{"an entry that does not balance", "entry_unbalanced", unbalanced.proveEvent(unbalanced.head(1), unbalanced.inclusion(1, 1))},
		{"no signed head", "head_form", with(func(p *journalParts) { p.head.Signature = nil })},
		{"no proof", "proof_form", with(func(p *journalParts) { p.inclusion.Path = nil })},
	}
	calls := make([]call, len(cases))
	for i := range cases {
		calls[i] = cases[i].call
	}
	for i, a := range run(t, calls...) {
		wantCode(t, cases[i].what, a, cases[i].code)
	}
}

// journalParts has the arguments of the script's function proveEvent.
type journalParts struct {
	key          string
	head         head
	inclusion    inclusion
	organization string
}

func TestKeyHasOneForm(t *testing.T) {
	const key = "mizan+1ce84034+AW1xFsgr5i+bsErRXLr7DkaRdgnK+yiSz9qqCA8T+JNi"
	other, err := note.NewEd25519VerifierKey("mizan", make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	keys := []struct{ key, code string }{
		{key, ""}, {other, ""},
		{"", "key_form"}, {"mizan", "key_form"}, {strings.Replace(key, "1ce", "1CE", 1), "key_form"}, {key + "A", "key_form"}, {" " + key, "key_form"},
		{key + "\n", "key_form"}, {strings.Replace(key, "mizan", "other", 1), "key_hash"}, {strings.Replace(key, "AW1x", "AW1y", 1), "key_hash"},
		{"PRIVATE+KEY+mizan+1ce84034+ARSeSWQponA3TJXWYYFyrpKGbhJNqpLbYpLztO71Rm7c", "key_form"},
		{keyText([]byte{2, 0, 1}), "key_algorithm"}, {keyText(make([]byte, 33)), "key_algorithm"}, {keyText([]byte{1, 0, 1}), "key_algorithm"},
	}
	calls := make([]call, len(keys))
	for i := range keys {
		calls[i] = call{"parseKey", keys[i].key}
	}
	for i, a := range run(t, calls...) {
		if a.Code != keys[i].code {
			t.Errorf("%q: %s, want %s", keys[i].key, a.Code, keys[i].code)
		}
	}
}

// keyText returns the text of a verifier key, with the right hash. The first byte of key is the algorithm.
func keyText(key []byte) string {
	sum := sha256.Sum256(append([]byte("mizan\n"), key...))
	return fmt.Sprintf("mizan+%x+%s", sum[:4], base64.StdEncoding.EncodeToString(key))
}

// otherBase64 returns base64 of 3n − 1 bytes with an unused bit set, which many decoders ignore.
func otherBase64(text string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	at := len(text) - 2
	return text[:at] + string(digits[strings.IndexByte(digits, text[at])|1]) + "="
}

func TestHeadHasOneForm(t *testing.T) {
	j := newJournal(t, 3)
	root := j.root(3)
	text := headText(3, root)
	_, signature, _ := strings.Cut(string(j.note(3)), "\n\n")
	notes := map[string][]byte{
		"no organization":               j.sign(fmt.Sprintf("go.sum database tree\n3\n%s\n", root)),
		"an additional line":            j.sign(text + "and more\n"),
		"an id in upper case":           j.sign(strings.Replace(text, organization, strings.ToUpper(organization), 1)),
		"another first line":            j.sign(strings.Replace(text, "tree", "trees", 1)),
		"a negative size":               j.sign(strings.Replace(text, "\n3\n", "\n-3\n", 1)),
		"a padded size":                 j.sign(strings.Replace(text, "\n3\n", "\n03\n", 1)),
		"the largest possible size":     j.sign(strings.Replace(text, "\n3\n", "\n9223372036854775807\n", 1)),
		"a short root":                  j.sign(strings.Replace(text, root.String(), root.String()[:40], 1)),
		"a signature repeated":          []byte(text + "\n" + signature + signature),
		"an empty note":                 nil,
		"no signature":                  []byte(text + "\n"),
		"a root in another base64":      j.sign(strings.Replace(text, root.String(), otherBase64(root.String()), 1)),
		"a byte order mark":             append([]byte("\xef\xbb\xbf"), j.note(3)...),
		"a signature in another base64": []byte(text + "\n" + otherBase64(strings.TrimSpace(signature)) + "\n"),
		"CRLF":                          bytes.ReplaceAll(j.note(3), []byte("\n"), []byte("\r\n")),
	}
	names, calls := make([]string, 0, len(notes)), make([]call, 0, len(notes))
	for name, signed := range notes {
		names, calls = append(names, name), append(calls, call{"openHead", j.key, signed})
	}
	for i, a := range run(t, calls...) {
		wantCode(t, names[i], a, "head_form")
	}
}

// randomEvent returns an event with random fields, some of them at their bounds.
func randomEvent(random *rand.Rand) ledger.Event {
	number := func() uint64 { return random.Uint64() >> random.IntN(64) >> 1 }
	text := func() string { return strings.Repeat("ab—ч", random.IntN(4)) + string(rune('a'+random.IntN(26))) }
	hash := func() (h ledger.Hash) { h[random.IntN(32)] = 1 + byte(random.IntN(255)); return h }
	e := ledger.Event{
		Seq: number(), Version: number(), Previous: number(), Booked: ledger.Micros(random.Int64N(253402300800000000)),
		Source: ledger.Source{Kind: ledger.Kind('a' + random.IntN(26))}, Name: text(), From: text(), To: text(),
	}
	e.Source.ID[random.IntN(16)] = byte(random.IntN(256))
	kinds := ledger.AuthorKinds()
	if e.Author.Kind = kinds[random.IntN(len(kinds))]; e.Author.Kind.HasRecord() {
		e.Author.Seq = 1 + number()
	}
	if random.IntN(3) > 0 {
		e.Entry = &ledger.Entry{Phase: ledger.Phase(1 + random.IntN(4)), Effective: ledger.Date(random.IntN(2932898)), Reverses: number() * uint64(random.IntN(2)), Closes: number()}
		for range random.IntN(4) {
			asset := money.Asset{Currency: money.Currency("USD" + strings.Repeat("T", random.IntN(30))), Network: money.Network(strings.Repeat("n", random.IntN(33))), Env: money.Env(1 + random.IntN(2))}
			var digits [33]byte
			digits[0] = byte(random.IntN(33))
			for i := range digits[0] {
				digits[1+i] = 1 + byte(random.IntN(255))
			}
			amount, _, err := money.ReadAmount(digits[:1+digits[0]])
			if err != nil {
				panic(err)
			}
			e.Entry.Postings = append(e.Entry.Postings, ledger.Posting{Account: ledger.Path(text()), Side: ledger.Side(1 + random.IntN(2)), Asset: asset, Amount: amount})
		}
	}
	if random.IntN(2) == 0 {
		e.StoredHashes.Record = hash()
	}
	if random.IntN(2) == 0 {
		e.StoredHashes.Notices = hash()
	}
	for range random.IntN(3) * random.IntN(33) {
		e.StoredHashes.Claims = append(e.StoredHashes.Claims, hash())
	}
	return e
}

// Package evidence is the oracle: it decodes the file of a proof, encodes the result again, and compares every byte.
func TestProofFileIsTheOneThatTheAuditorsCommandWrites(t *testing.T) {
	random := testseed.Random(t)
	j := newJournal(t, 0)
	for range 40 {
		e := randomEvent(random)
		e.Seq, e.Version, e.Previous = uint64(len(j.leaves)+1), e.Version>>11, e.Previous>>11
		e.Author.Seq = (e.Author.Seq + 1<<11 - 1) >> 11 // at most 53 bits, which JavaScript represents exactly; rounded up, so that a seq above 0 stays above 0
		if e.Entry != nil {
			e.Entry.Reverses, e.Entry.Closes = e.Entry.Reverses>>11, e.Entry.Closes>>11
			e.Entry.Postings = append(e.Entry.Postings, e.Entry.Postings...)
			for i := range e.Entry.Postings {
				e.Entry.Postings[i].Side = ledger.Debit + ledger.Side(i/(len(e.Entry.Postings)/2))
			}
		}
		j.add(e.AppendCanonical(nil))
	}
	odd := ledger.Event{Author: ledger.BySystem.Author(), Seq: 41, Version: 1, Name: "<&>\u2028\u2029\x1b\x7f\"\\", From: "\r\n\t\b\f", To: "\u202e\ufeff", Source: ledger.Source{Kind: 0xe9}}
	j.add(odd.AppendCanonical(nil))
	verifier, err := evidence.ParseKey(j.key)
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	for seq := range int64(41) {
		calls = append(calls, call{"proofFile", j.key, j.head(41), j.inclusion(seq+1, 41), organization})
	}
	for i, a := range run(t, calls...) {
		var file string
		if err := json.Unmarshal(a.Result, &file); err != nil {
			t.Fatalf("event %d: %s %v", i+1, a.Code, err)
		}
		if p, err := evidence.Check([]byte(file), verifier); err != nil || p.Event.Seq != uint64(i+1) {
			t.Errorf("event %d: %v in\n%s", i+1, err, file)
		}
	}
}

// canShow tells whether the script can show an event that package ledger can read: its texts are UTF-8, and phase and sides are
// known.
func canShow(e *ledger.Event) bool {
	texts := []string{e.Name, e.From, e.To}
	if e.Entry != nil {
		if e.Entry.Phase.String() == "invalid" {
			return false
		}
		for _, p := range e.Entry.Postings {
			if p.Side.String() == "invalid" {
				return false
			}
			texts = append(texts, string(p.Account), string(p.Asset.Currency), string(p.Asset.Network))
		}
	}
	return !slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) })
}

func TestBytesAreReadExactlyIfTheLedgerReadsThem(t *testing.T) {
	random := testseed.Random(t)
	var leaves [][]byte
	var calls []call
	for range 1500 {
		e := randomEvent(random)
		leaf := e.AppendCanonical(nil)
		switch random.IntN(6) {
		case 0:
			leaf = leaf[:random.IntN(len(leaf))]
		case 1:
			leaf = append(leaf, byte(random.IntN(256)))
		case 2, 3:
			leaf[random.IntN(len(leaf))] = byte(random.IntN(256))
		case 4:
			leaf = slices.Insert(leaf, random.IntN(len(leaf)), byte(0x80*random.IntN(2)))
		}
		leaves, calls = append(leaves, leaf), append(calls, call{"decodeLeaf", leaf})
	}
	read := 0
	for i, a := range run(t, calls...) {
		e, err := ledger.ParseCanonical(leaves[i])
		if want := err == nil && canShow(&e); want != (a.Code == "") {
			t.Errorf("%x: %q, want read %t", leaves[i], a.Code, want)
			continue
		}
		if a.Code != "" {
			wantCode(t, "a leaf", a, "leaf_form")
			continue
		}
		read++
		var got struct {
			Seq, Version, Event, Source, Author string
			CreatedBy                           string `json:"author_created_by"`
		}
		if err := json.Unmarshal(a.Result, &got); err != nil {
			t.Fatal(err)
		}
		if got.Seq != strconv.FormatUint(e.Seq, 10) || got.Version != strconv.FormatUint(e.Version, 10) || got.Event != e.Name || got.Source != e.Source.ID.String() ||
			got.Author != e.Author.Kind.String() || (got.CreatedBy != "") != (e.Author.Seq != 0) || got.CreatedBy != "" && got.CreatedBy != strconv.FormatUint(e.Author.Seq, 10) {
			t.Errorf("%x: %s, want %+v", leaves[i], a.Result, e)
		}
	}
	if read < 300 || read > 1300 {
		t.Errorf("%d of 1500 were read", read)
	}
}

func TestEveryJournalExtendsItsBeginnings(t *testing.T) {
	j := newJournal(t, 20)
	var calls []call
	for to := int64(1); to <= 20; to++ {
		for from := int64(1); from <= to; from++ {
			calls = append(calls, call{"proveExtension", j.key, string(j.note(from)), j.head(to), j.consistency(from, to), organization})
		}
		calls = append(calls, call{"proveExtension", j.key, string(j.note(0)), j.head(to), nil, organization})
	}
	for i, a := range run(t, calls...) {
		if a.Code != "" {
			t.Errorf("call %d: %s", i, a.Code)
		}
	}
}

func TestAnExtensionThatIsNotProvenIsRefused(t *testing.T) {
	j, fork := newJournal(t, 7), newJournal(t, 4)
	fork.key, fork.signer = j.key, j.signer
	for seq := uint64(5); seq <= 7; seq++ {
		e := eventOf(seq)
		e.Name = "other"
		fork.add(e.AppendCanonical(nil))
	}
	older, newer, proof := string(j.note(5)), j.head(7), j.consistency(5, 7)
	type change struct {
		what string
		code string
	}
	var calls []call
	var changes []change
	try := func(what, code, key, older string, h head, c any) {
		calls, changes = append(calls, call{"proveExtension", key, older, h, c, organization}), append(changes, change{what, code})
	}
	for at := range proof.Path {
		for _, hash := range flips(proof.Path[at][:]) {
			changed := proof
			changed.Path = slices.Clone(proof.Path)
			changed.Path[at] = tlog.Hash(hash)
			try("hash", "extension_path", j.key, older, newer, changed)
		}
	}
	changed := proof
	changed.Path = proof.Path[1:]
	try("a proof that is too short", "extension_path", j.key, older, newer, changed)
	changed.Path = append(slices.Clone(proof.Path), tlog.Hash{})
	try("a proof that is too long", "extension_path", j.key, older, newer, changed)
	changed.Path = []tlog.Hash{}
	try("an empty proof", "extension_path", j.key, older, newer, changed)
	changed = proof
	changed.FromRoot[0] ^= 1
	try("another root of the older journal", "extension_roots", j.key, older, newer, changed)
	changed = proof
	changed.ToRoot[0] ^= 1
	try("another root of the newer journal", "extension_roots", j.key, older, newer, changed)
	try("the proof for another older journal", "extension_sizes", j.key, older, newer, j.consistency(4, 7))
	try("the proof for another newer journal", "extension_sizes", j.key, older, newer, j.consistency(5, 6))
	try("no proof", "extension_form", j.key, older, newer, nil)
	try("a journal that shrank", "journal_shrank", j.key, older, j.head(4), nil)
	try("two journals of one size", "two_journals", j.key, string(fork.note(7)), newer, nil)
	try("a journal that went another way", "extension_roots", j.key, string(fork.note(5)), newer, proof)
	try("an older head of another key", "older_key", j.key, string(newJournal(t, 5).note(5)), newer, proof)
	try("an older head that was changed", "older_signature", j.key, strings.Replace(older, "\n5\n", "\n6\n", 1), newer, proof)
	try("no older head", "older_form", j.key, "hello", newer, proof)
	try("an empty older journal that was not empty", "extension_roots", j.key, string(j.sign(headText(0, j.root(1)))), newer, nil)
	otherOrganization := j.sign(strings.Replace(headText(5, j.root(5)), organization, "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01", 1))
	try("an older head of another organization", "older_organization", j.key, string(otherOrganization), newer, proof)
	for i, a := range run(t, calls...) {
		wantCode(t, changes[i].what, a, changes[i].code)
	}
}

func TestOlderHeadIsReadAsAuditorsKeepIt(t *testing.T) {
	j := newJournal(t, 5)
	signed := j.note(5)
	verifier, err := evidence.ParseKey(j.key)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := evidence.OpenHead(signed, verifier)
	if err != nil {
		t.Fatal(err)
	}
	inclusion := j.inclusion(4, 5)
	proof, err := evidence.Prove(inclusion.Leaf, inclusion.Path, opened)
	if err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString(signed)
	kept := map[string]string{
		"the note": string(signed), "the note without its last line feed": strings.TrimSpace(string(signed)), "the note of Windows": strings.ReplaceAll(string(signed), "\n", "\r\n"),
		"base64": encoded, "base64 in lines": encoded[:76] + "\n" + encoded[76:],
		"the data of a head":      `{"tree_size":5,"signature":"` + encoded + `"}`,
		"the answer":              `{"data":{"tree_size":5,"signature":"` + encoded + `"}}`,
		"a watch's state":         string((&evidence.Watch{Key: j.key, Head: opened}).Encode()),
		"the file of a proof":     string(proof.Encode()),
		"the note with spaces on": "\n\n " + string(signed) + "  \n",
	}
	names, calls := []string{}, []call{}
	for name, text := range kept {
		names, calls = append(names, name), append(calls, call{"pastedHead", text})
	}
	for i, a := range run(t, calls...) {
		if want, _ := json.Marshal(encoded); string(a.Result) != string(want) {
			t.Errorf("%s: %s %s", names[i], a.Code, a.Result)
		}
	}
}

func TestDifferencesNameEachFieldThatIsShownOtherwise(t *testing.T) {
	const proven = `{"seq":"7","from":"","to":"charged","booked_at":"2026-09-03T10:15:30.123456Z","entry":{"phase":"posted","reverses":"",
		"postings":[{"account":"A:bank","amount":"1250"},{"account":"L:x","amount":"1250"}]}}`
	cases := []struct{ shown, want string }{
		{`{"seq":7,"from":null,"booked_at":"2026-09-03T10:15:30.123456+00:00","entry":{"phase":"posted","reverses":null,"postings":[{"amount":"1250"},{"account":"L:x"}]}}`, `[]`},
		{`{"seq":8}`, `[{"field":"seq","proven":"7","shown":"8"}]`},
		{`{"booked_at":"2026-09-03T10:15:30.123457Z"}`, `[{"field":"booked_at","proven":"2026-09-03T10:15:30.123456Z","shown":"2026-09-03T10:15:30.123457Z"}]`},
		{`{"entry":{"reverses":3}}`, `[{"field":"entry.reverses","proven":"","shown":"3"}]`},
		{`{"entry":{"postings":[{"amount":"1250"},{"amount":"1251"}]}}`, `[{"field":"entry.postings.1.amount","proven":"1250","shown":"1251"}]`},
		{`{"entry":{"postings":[{"amount":"1250"}]}}`, `[{"field":"entry.postings.1","proven":"+","shown":""}]`},
		{`{"entry":{"postings":[{},{},{"amount":"1"}]}}`, `[{"field":"entry.postings.2.amount","proven":"","shown":"1"}]`},
		{`{"entry":null}`, `[{"field":"entry","proven":"[object Object]","shown":""}]`},
	}
	calls := make([]call, len(cases))
	for i, c := range cases {
		calls[i] = call{"differences", json.RawMessage(proven), json.RawMessage(c.shown)}
	}
	for i, a := range run(t, calls...) {
		if string(a.Result) != cases[i].want {
			t.Errorf("%s: %s, want %s", cases[i].shown, a.Result, cases[i].want)
		}
	}
}

func TestCharactersThatHideOthersAreReplaced(t *testing.T) {
	a := run(t, call{"printable", "pay\x1b[2J \u202eabc\u2028ü ч"})[0]
	if want := "\"pay\ufffd[2J \ufffdabc\ufffdü ч\""; string(a.Result) != want {
		t.Errorf("%s, want %s", a.Result, want)
	}
}

func TestABrowserWithoutEd25519SaysSo(t *testing.T) {
	j := newJournal(t, 1)
	prove := j.proveEvent(j.head(1), j.inclusion(1, 1))
	for _, lacking := range []string{"withoutEd25519", "withoutCrypto"} {
		answers := run(t, call{"canCheck"}, call{lacking}, call{"canCheck"})
		if string(answers[0].Result) != "true" || string(answers[2].Result) != "false" {
			t.Errorf("%s: %s and %s, want true and false", lacking, answers[0].Result, answers[2].Result)
		}
	}
	wantCode(t, "no Ed25519", run(t, call{"withoutEd25519"}, prove)[1], "browser")
}
