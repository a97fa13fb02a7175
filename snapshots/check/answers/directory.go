package answers

import (
	"bytes"
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1, the directory. Each record that the administration created is stored and equal in the
// fields that never change. If no later write changed the record, all fields except secrets are
// equal.

// directoryField maps a field of the directory's answers to the stored field. No later write
// changes a field with forGood.
type directoryField struct {
	name, stored string
	form         storedForm
	forGood      bool
}

// storedForm is the encoding of a stored field.
type storedForm uint8

const (
	plain    storedForm = iota // a text, a number, a flag, or a list of texts
	idBytes                    // 16 bytes
	amounted                   // the binary form of package money
	hashed                     // SHA-256 of a text that the service shows once
	outgoing                   // a flag, shown as "out" if set and as "in" otherwise
	moving                     // the amount of the settlement's only line
	currency                   // the currency of the settlement's only line
	network
	env
)

// directoryFields lists the fields that answers show of each kind of record, besides the id and
// the creation time. Secrets and fields that may be masked are left out.
var directoryFields = map[ledger.Kind][]directoryField{
	ledger.Organization: {
		{name: "name", stored: "name"}, {name: "type", stored: "type"}, {name: "status", stored: "status"},
		{name: "modules", stored: "modules"}, {name: "allowed_regions", stored: "regions"},
	},
	ledger.Partner: {
		{name: "name", stored: "name"}, {name: "login", stored: "login", forGood: true}, {name: "email", stored: "email"}, {name: "lang", stored: "lang"},
		{name: "notify_url", stored: "notify_url"}, {name: "active", stored: "active"}, {name: "id", stored: "number", forGood: true},
	},
	ledger.Terminal: {
		{name: "name", stored: "name"}, {name: "partner_id", stored: "partner", forGood: true}, {name: "provider", stored: "provider", forGood: true},
		{name: "type", stored: "type", forGood: true}, {name: "is_active", stored: "active"}, {name: "env", stored: "env", forGood: true},
	},
	ledger.APIKey: {
		{name: "prefix", stored: "prefix", forGood: true}, {name: "name", stored: "name", forGood: true},
		{name: "partner_id", stored: "partner", forGood: true}, {name: "key", stored: "hash", form: hashed, forGood: true},
	},
	ledger.User: {
		{name: "login", stored: "login", forGood: true}, {name: "name", stored: "name"}, {name: "email", stored: "email"}, {name: "roles", stored: "roles"},
		{name: "partner_id", stored: "partner"}, {name: "active", stored: "active"},
	},
	ledger.Limit: {
		{name: "partner_id", stored: "partner", forGood: true}, {name: "terminal_id", stored: "terminal", form: idBytes, forGood: true},
		{name: "kind", stored: "kind", forGood: true}, {name: "type", stored: "type", forGood: true}, {name: "currency", stored: "currency", forGood: true},
		{name: "network", stored: "network", forGood: true}, {name: "env", stored: "env", forGood: true}, {name: "max_amount", stored: "max_amount", form: amounted},
		{name: "max_count", stored: "max_count"}, {name: "scope", stored: "scope", forGood: true}, {name: "active", stored: "active"},
	},
	ledger.Block: {{name: "kind", stored: "kind", forGood: true}, {name: "active", stored: "active"}},
	ledger.Settlement: {
		{name: "partner_id", stored: "partner", forGood: true}, {name: "terminal_id", stored: "terminal", form: idBytes, forGood: true},
		{name: "reference", stored: "reference", forGood: true}, {name: "direction", stored: "out", form: outgoing, forGood: true},
		{name: "amount", stored: "lines", form: moving, forGood: true}, {name: "gross", stored: "lines", form: moving, forGood: true},
		{name: "fee", stored: "fee", form: amounted, forGood: true}, {name: "currency", stored: "lines", form: currency, forGood: true},
		{name: "network", stored: "lines", form: network, forGood: true}, {name: "env", stored: "lines", form: env, forGood: true},
	},
}

// directoryAnswer is what one answer shows of a record of the directory.
type directoryAnswer struct {
	line    uint32
	made    directory.Made
	created bool     // this is the answer to the record's creation
	began   uint32   // hash of the creation time; 0: not shown
	fields  []uint32 // hashes in the order of directoryFields; 0: not shown
}

// directoryAddress returns the kind and the id of the directory record that a path names.
func directoryAddress(path string) (kind ledger.Kind, id string, ok bool) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return 0, "", false
	}
	if path[:at] == "/api/v1/settlements" {
		return ledger.Settlement, path[at+1:], true
	}
	kind, ok = creations[path[:at]]
	return kind, path[at+1:], ok
}

// readDirectoryRecord reads the answer to a create in the directory, with an empty id, or to a
// request about the record with the id.
func (c *Check) readDirectoryRecord(n uint32, kind ledger.Kind, id string, l *answerLine) bool {
	s := parseObject(embedded(l.Response))
	if inner := parseObject(s["data"]); inner != nil {
		s = inner
	}
	name := strings.Trim(string(s["id"]), `"`)
	if id != "" && name == "" && l.Method == "DELETE" {
		name = id
	}
	if id != "" && name != id || name == "" {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no %s, or another one than was asked for", n, scan.KindName(kind))
		return true
	}
	a, org := &c.answers, l.org
	if kind == ledger.Organization {
		org, _ = uuid.Parse(name) // an organization's record is stored under the organization itself; without an id there is no record
	}
	of := directoryAnswer{line: n, made: directory.Made{Kind: kind, Org: org, Name: name}, created: id == ""}
	if began, shows := s["created_at"]; shows {
		of.began = a.hashOf(began) | 1
	}
	for _, f := range directoryFields[kind] {
		hash := uint32(0)
		if value, shows := s[f.name]; shows {
			hash = a.hashOf(f.asStored(value)) | 1
		}
		of.fields = append(of.fields, hash)
	}
	if a.kept == nil {
		a.kept = make(map[directory.Made][]int32)
	}
	a.kept[of.made] = append(a.kept[of.made], a.records.Add(of))
	return true
}

// asStored returns a shown value in the form in which stored values are compared.
func (f *directoryField) asStored(v jsontext.Value) jsontext.Value {
	if isNothing(v) || string(v) == "0" {
		return nil
	}
	if f.form == hashed {
		sum := sha256.Sum256([]byte(object{"": v}.text("")))
		return quoted(string(strconv.AppendQuoteToASCII(nil, string(sum[:]))))
	}
	if f.form == amounted && string(v) == `"0"` {
		return nil
	}
	return v
}

// CompareDirectoryRecord compares a stored record of the directory with the answers about it.
// Fields that a later write can change are compared only if no later write happened.
func (c *Check) CompareDirectoryRecord(r *scan.Record, name string) {
	a := &c.answers
	var found []int32
	for _, org := range []ledger.ID{r.Organization.ID, {}} { // the zero id: a client may omit the header if there is only one organization
		found = append(found, a.kept[directory.Made{Kind: r.Source.Kind, Org: org, Name: name}]...)
	}
	if len(found) == 0 {
		return
	}
	var stored map[string]any
	d := msgpack.NewDecoder(bytes.NewReader(r.Payload[1:]))
	d.UseLooseInterfaceDecoding(true)
	if err := d.Decode(&stored); err != nil {
		return // decoding cannot fail: the scan has decoded this row before
	}
	for _, at := range found {
		of := a.records.At(at)
		var names []string
		if of.began != 0 && of.began != a.hashOf(instant(r.Stamp.Started))|1 {
			names = append(names, "created_at")
		}
		for i, f := range directoryFields[r.Source.Kind] {
			untouched := of.created && r.Stamp.Version == 1
			if of.fields[i] != 0 && (f.forGood || untouched) && of.fields[i] != a.hashOf(f.read(stored))|1 {
				names = append(names, f.name)
			}
		}
		if names != nil {
			c.Report.Breach(findings.RuleAnswers, "line %d: the %s of organization %v is stored with another %s", of.line, scan.KindName(r.Source.Kind), r.Organization.ID, joined(names))
		}
	}
}

// read returns a stored field as answers show it; nil if it is empty.
func (f *directoryField) read(stored map[string]any) jsontext.Value {
	value := stored[f.stored]
	text, _ := value.(string) // the loose decoder returns bytes as a string too
	raw := []byte(text)
	var written jsontext.Value
	switch f.form {
	case plain:
		written = asJSON(value)
	case idBytes:
		if id, err := uuid.FromBytes(raw); err == nil {
			written = quoted(id.String())
		}
	case amounted:
		if amount, _, err := money.ReadAmount(raw); err == nil && !amount.IsZero() {
			written = quoted(amount.String())
		}
	case hashed:
		written = quoted(string(strconv.AppendQuoteToASCII(nil, string(raw))))
	case outgoing:
		written = quoted("in")
		if out, _ := value.(bool); out {
			written = quoted("out")
		}
	default:
		written = f.ofLine(value)
	}
	if isNothing(written) || string(written) == "0" {
		return nil
	}
	return written
}

// ofLine returns a field of a settlement's first line.
func (f *directoryField) ofLine(value any) jsontext.Value {
	lines, _ := value.([]any)
	if len(lines) == 0 {
		return nil
	}
	first, _ := lines[0].(map[string]any)
	coded, _ := first["asset"].(string)
	sum, _ := first["amount"].(string)
	row := directory.MoneyRow{Asset: []byte(coded), Amount: []byte(sum)}
	asset, amount, err := row.Read()
	if err != nil {
		return nil
	}
	switch f.form {
	case currency:
		return quoted(string(asset.Currency))
	case network:
		return quoted(string(asset.Network))
	case env:
		return quoted(asset.Env.String())
	}
	return quoted(amount.String())
}

// checkDirectory reports the records that answers show and the store lacks.
func (c *Check) checkDirectory() {
	for m, found := range c.answers.kept {
		if !c.directory.Made[m] && !c.madeInAnyOrganization(m) {
			for _, at := range found {
				c.Report.Breach(findings.RuleAnswers, "line %d: the %s of organization %v is lost", c.answers.records.At(at).line, scan.KindName(m.Kind), m.Org)
			}
		}
	}
}
