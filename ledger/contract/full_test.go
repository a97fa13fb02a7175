package contract

import (
	"strconv"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// longestText returns a text of n characters of four bytes each, as JSON.
func longestText(n int) string { return `"` + strings.Repeat("𝄞", n) + `"` }

// largestObject returns the largest object that a body's member may have.
func largestObject() string { return `{"x":"` + strings.Repeat("x", schema.MaxObject-8) + `"}` }

// objectOf returns a body as a JSON object.
func objectOf(body schema.Input) string {
	var members []string
	for name, value := range body {
		members = append(members, strconv.Quote(name)+":"+string(value))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// largestBody returns a body with the largest value of each column of a table. For the members in given, the body has the
// values in given.
func largestBody(table *schema.Table, given schema.Input) schema.Input {
	body := schema.Input{}
	for _, c := range table.Columns {
		if !c.Settable {
			continue
		}
		maxLength := c.MaxLength
		if maxLength == 0 {
			maxLength = schema.MaxText
		}
		value := ""
		switch c.Kind {
		case schema.KindText:
			value = longestText(maxLength)
			if c.DateOrTime {
				value = `"2026-01-01T00:00:00.` + strings.Repeat("0", schema.MaxText-21) + `Z"`
			}
		case schema.KindTexts:
			value = "[" + strings.TrimSuffix(strings.Repeat(longestText(schema.MaxText)+",", schema.MaxList), ",") + "]"
		case schema.KindObject:
			value = largestObject()
		case schema.KindList:
			value = "[" + largestObject()[:schema.MaxObject-6] + `"}]`
		case schema.KindRows:
			value = objectOf(largestBody(c.Nested, nil))
		case KindReview:
			value = objectOf(largestBody(c.Nested, nil))
		}
		if value != "" {
			body[c.Name] = []byte(value)
		}
	}
	for name, value := range given {
		body[name] = value
	}
	return body
}

// fillList repeats an action with the largest texts until the action is refused because its list is full. Then it
// checks the record's size. It fails the test if the list accepts tooMany rows.
func (fixture *contractFixture) fillList(list string, name Action, body schema.Input, tooMany int) {
	fixture.t.Helper()
	rows := 0
	for ; rows < tooMany; rows++ {
		d, err := fixture.record.Act(name, largestBody(fixture.record.Product.Handler(name).Body, body), fixture.now)
		if err != nil {
			if got := strings.Join(faultyFields(err), " "); got != list {
				fixture.t.Fatalf("the row %d of %s is refused for %s: %v", rows, list, got, err)
			}
			break
		}
		fixture.book(&d)
		fixture.record = d.Record
	}
	if rows == tooMany {
		fixture.t.Fatalf("all %d rows of %s were accepted", rows, list)
	}
	if size := len(AppendRecord(nil, fixture.record)); rows < alwaysFittingRows || size > MaxStored || size < MaxStored-10*maxNote {
		fixture.t.Errorf("with %d rows of %s a record has %d bytes, of %d", rows, list, size, MaxStored)
	}
}

// maxRecord is the size in bytes of the largest record that can be stored (posting.MaxRecord).
const maxRecord = 1<<20 + 64<<10

// doWithLargestBody carries out an action with the largest texts. The record must have room for them, even if the contract's
// list is full.
func (fixture *contractFixture) doWithLargestBody(name Action, body schema.Input, want Status) {
	fixture.t.Helper()
	input := body
	if table := fixture.record.Product.Handler(name).Body; table != nil {
		input = largestBody(table, body)
	}
	d, err := fixture.record.Act(name, input, fixture.now)
	if err != nil {
		fixture.t.Fatalf("a full %s cannot be ended by %s: %v", fixture.record.Product.Variants[fixture.record.Reading].Name, name, err)
	}
	fixture.apply(d)
	if fixture.record.Status != want {
		fixture.t.Errorf("%s leads to %s", name, fixture.record.Status)
	}
	if size := len(AppendRecord(nil, fixture.record)); size > maxRecord {
		fixture.t.Errorf("after %s the record has %d bytes: the writer accepts %d", name, size, maxRecord)
	}
}

// A contract with a full list refuses reports but can still be ended. Even with the largest texts, its record is then not too
// large.
func TestFullContractRefusesReportsAndCanBeEnded(t *testing.T) {
	oneUnit := input("amount", `"1"`)
	for _, reading := range Readings {
		body := largestBody(Safekeeping.Columns, withChanges(keepingBody(), "currency", `"AED"`))
		body["compliance_review"] = []byte(objectOf(largestBody(reading.Reviews, nil)))
		fixture := openContract(t, Safekeeping, reading, body)
		if reading == Secular {
			fixture.do(Activate, "compliance_review", objectOf(largestBody(reading.Reviews, nil)))
		}
		fixture.fillList("hibah_history", GrantHibah, oneUnit, maxRows)
		if reading == Religious {
			continue // the contract has no other action in this reading
		}
		fixture.do(Withdraw, "amount", `"1"`)
		fixture.do(DepositMoney, "amount", `"1"`)
		fixture.doWithLargestBody(Close, nil, Closed)
	}
	lease := newLease(t, Secular, largestBody(Lease.Columns, leaseBody("lease_term_months", "240", "currency", `"AED"`)))
	lease.do(Submit)
	lease.doWithLargestBody(Approve, largestBody(reviews, nil), ReviewPassed)
	lease.doWithLargestBody(Acquire, nil, AssetAcquired)
	lease.do(Activate)
	lease.fillList("owner_expenses", BearExpense, oneUnit, maxExpenses)
	lease.passDays(100) // rows of rent fall due
	lease.do(RecordArrears, "amount", `"1"`)
	lease.doWithLargestBody(Terminate, nil, Terminated)
}

// largestValue returns the value with the longest stored form, for a column that no body sets.
func largestValue(c *schema.Column) any {
	switch c.Kind {
	case schema.KindText:
		return strings.Repeat("𝄞", maxNote)
	case schema.KindList:
		return make([]byte, schema.MaxObject)
	case schema.KindAmount:
		return ledger.MaxAmount
	case schema.KindSigned:
		return money.Signed{Abs: ledger.MaxAmount, Negative: true}
	case schema.KindInteger, schema.KindPercent:
		return int64(maxExact)
	case schema.KindDate:
		return ledger.DateOf(ledger.Micros(1 << 55).Time())
	case schema.KindInstant:
		return ledger.Micros(1 << 60)
	case schema.KindID:
		return ledger.ID{1}
	case schema.KindRows:
		return fullRows(c)
	}
	return nil
}

// fullRows returns the rows of a full list, each with the longest values. It returns nil for rows with texts. A list of such
// rows is full before it has so many rows, as TestFullContractRefusesReportsAndCanBeEnded shows.
func fullRows(c *schema.Column) any {
	row := c.Nested.New()
	for _, column := range c.Nested.Columns {
		if column.Kind == schema.KindText {
			return nil
		}
		column.Put(row, largestValue(column))
	}
	n := c.MaxLength
	switch {
	case c.Single:
		n = 1
	case n == 0:
		n = maxRows
	}
	rows := make([]schema.Row, n)
	for i := range rows {
		rows[i] = row
	}
	return rows
}

// Lists of amounts and days never fill a record, even with the longest values in the lists and in
// all other columns: no report of a result is refused for lack of room.
func TestListsOfAmountsNeverFillARecord(t *testing.T) {
	for _, p := range Products {
		ignored := new(schema.Faults)
		r := &Record{Product: p, Reading: Secular, Status: p.States[0], Values: p.Columns.Read(largestBody(p.Columns, nil), schema.ParseOptions{}, "", ignored)}
		for _, c := range p.Columns.Columns {
			if c.Compute == nil && c.Stored(r.Values) == nil {
				c.Put(r.Values, largestValue(c))
			}
		}
		for _, field := range approvalOf(boardReviews, boardReviews.Read(largestBody(boardReviews, nil), schema.ParseOptions{}, "", ignored)) {
			Reviewed.Set(r.Values, append(Reviewed.Get(r.Values), field))
		}
		if size := len(AppendRecord(nil, r)); size > MaxStored || size < 100_000 {
			t.Errorf("%s: the longest record has %d bytes, of %d", p.Variants[Secular].Name, size, MaxStored)
		}
	}
}
