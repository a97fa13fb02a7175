package answers

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"

	"mizan/ledger"
	ledgerdirectory "mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/ledger/storefront"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 1 of the checker (acknowledged responses), this file checks responses about the directory. Each record whose
// creation was acknowledged must be stored. Columns that never change must have the values that the response shows. If
// the record was not written again after its creation, its other columns, except secrets, must have the shown values too,
// and no response may say that the record was deleted.

// shownDirectoryRecord is a record of the directory as one response showed it.
type shownDirectoryRecord struct {
	line       uint32
	name       directory.RecordName
	isDeletion bool     // this is the response to a DELETE
	hashes     []uint32 // hashes of the columns, in the order in which responses show them; 0 for a column that is not shown
}

// apiKeyMember is the name of the member with the plaintext of an API key. Only the response to the key's creation
// shows the plaintext. The store has a hash of it.
const apiKeyMember = "key"

// directoryPaths maps the first segment of a URL path after /api/v1/ to a kind of directory record.
var directoryPaths = map[string]ledger.Kind{
	"organizations": ledger.Organization,
	"partners":      ledger.Partner,
	"terminal":      ledger.Terminal,
	"api_keys":      ledger.APIKey,
	"users":         ledger.User,
	"limits":        ledger.Limit,
	"blocklist":     ledger.Block,
	"settlements":   ledger.Settlement,
	"links":         ledger.Link,
	"products":      ledger.Product,
	"images":        ledger.Image,
}

// parseDirectoryPath returns the kind and the id of the directory record that a URL path names. If records of the kind are
// created at this path, the id is empty.
func parseDirectoryPath(path string) (kind ledger.Kind, id string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/api/v1/")
	if ownerPath, isSettlement := strings.CutSuffix(rest, "/settlements"); isSettlement {
		ownerKind, _, hasID := strings.Cut(ownerPath, "/")
		return ledger.Settlement, "", ok && hasID && (ownerKind == "partners" || ownerKind == "terminal")
	}
	name, id, _ := strings.Cut(rest, "/")
	kind, known := directoryPaths[name]
	return kind, id, ok && known && !strings.Contains(id, "/")
}

// readDirectoryRecord reads the response to a request about a record. If id is empty, the request created the record.
// readDirectoryRecord always returns true, because every such response is compared.
func (c *Check) readDirectoryRecord(lineNumber uint32, kind ledger.Kind, id string, l *responseLine) bool {
	object := parseObject(decodeEmbedded(l.Response))
	if data := parseObject(object["data"]); data != nil {
		object = data
	}
	name := strings.Trim(string(object["id"]), `"`)
	switch {
	case kind == ledger.Image:
		name = imageID(object.text("url"))
	case id != "" && name == "" && l.Method == "DELETE":
		name = id
	}
	if id != "" && name != id || name == "" {
		c.Report.Breach(findings.RuleAnswers, "line %d: the response shows no %s, or another one than was asked for", lineNumber, scan.KindName(kind))
		return true
	}
	a, org := &c.answers, l.org
	if kind == ledger.Organization {
		org, _ = uuid.Parse(name) // an organization's record is stored under the organization's own id; an invalid id names no record
	}
	shown := shownDirectoryRecord{line: lineNumber, name: directory.RecordName{Kind: kind, Org: org, ID: name}, isDeletion: l.Method == "DELETE"}
	for _, column := range directory.TypeOf(kind).ShownColumns() {
		hash := uint32(0)
		if value, isShown := object[column.Name]; isShown && !column.Secret {
			if column.Name == apiKeyMember {
				sum := sha256.Sum256([]byte(object.text(apiKeyMember)))
				value = quoteJSON(hex.EncodeToString(sum[:]))
			}
			value, _ = storefrontValue(kind, column.Name, value)
			hash = a.hashOf(value) | 1
		}
		if column.Name == productsColumn && id != "" {
			hash = 0 // not compared, because a product may be removed from a link without a write to the link's record
		}
		shown.hashes = append(shown.hashes, hash)
	}
	if a.directoryResponses == nil {
		a.directoryResponses = make(map[directory.RecordName][]int32)
	}
	a.directoryResponses[shown.name] = append(a.directoryResponses[shown.name], a.directoryRecords.Add(shown))
	return true
}

// CompareDirectoryRecord compares a stored record of the directory with the responses about it. It renders the record
// like the API does. Columns that a later write can change are compared only if there was no later write.
func (c *Check) CompareDirectoryRecord(r *scan.Record, name string, record any) {
	a := &c.answers
	var responses []int32
	for _, org := range []ledger.ID{r.Organization.ID, {}} { // also the responses that name no organization (zero id), as is allowed if the server has only one
		responses = append(responses, a.directoryResponses[directory.RecordName{Kind: r.Source.Kind, Org: org, ID: name}]...)
	}
	if len(responses) == 0 {
		return
	}
	recordType := directory.TypeOf(r.Source.Kind)
	stored := parseObject(append(recordType.AppendRecord([]byte{'{'}, record, schema.Style{}), '}'))
	if k, isKey := record.(*ledgerdirectory.APIKey); isKey {
		stored[apiKeyMember] = quoteJSON(hex.EncodeToString(k.Hash[:]))
	}
	if l, isLink := record.(*storefront.Link); isLink {
		stored[productsColumn] = storedProducts(l)
	}
	isUnchanged := r.Header.Version == 1
	for _, index := range responses {
		shown := a.directoryRecords.At(index)
		if shown.isDeletion && isUnchanged && isActive(stored) {
			c.Report.Breach(findings.RuleAnswers, "line %d: the %s of organization %v is not deleted", shown.line, scan.KindName(r.Source.Kind), r.Organization.ID)
		}
		var names []string
		for i, column := range recordType.ShownColumns() {
			// The value of a Contextual column depends on more than its record, so it may have changed without a write to the
			// record.
			value, isComparable := storefrontValue(r.Source.Kind, column.Name, stored[column.Name])
			isCompared := shown.hashes[i] != 0 && (isComparable || !column.Contextual) && (column.Fixed || isUnchanged)
			if isCompared && shown.hashes[i] != a.hashOf(value)|1 {
				names = append(names, column.Name)
			}
		}
		if names != nil {
			c.Report.Breach(findings.RuleAnswers, "line %d: the %s of organization %v is stored with another %s", shown.line, scan.KindName(r.Source.Kind), r.Organization.ID, joinNames(names))
		}
	}
}

// isActive tells whether a JSON object of a response shows an active record.
func isActive(record jsonObject) bool {
	return string(record["active"]) == "true" || string(record["is_active"]) == "true"
}

// checkDirectory reports the records that responses show but the store lacks.
func (c *Check) checkDirectory() {
	for recordName, responses := range c.answers.directoryResponses {
		if !c.directory.RecordNames[recordName] && !c.existsInAnyOrganization(recordName) {
			for _, index := range responses {
				c.Report.Breach(findings.RuleAnswers, "line %d: the %s of organization %v is lost", c.answers.directoryRecords.At(index).line, scan.KindName(recordName.Kind), recordName.Org)
			}
		}
	}
}
