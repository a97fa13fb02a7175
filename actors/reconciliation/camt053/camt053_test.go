package camt053

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/ledger/money"
)

func show(s *Statement) string {
	var text strings.Builder
	for _, l := range s.Lines {
		fmt.Fprintln(&text, l.ID, l.Date, l.Kind, l.Signed(), l.Fee, l.Asset.Currency, l.References)
	}
	for _, b := range s.Balances {
		fmt.Fprintln(&text, "balance", b.Amount, b.Asset.Currency)
	}
	return text.String()
}

func TestExampleFileIsRead(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "examples", "reconciliation", "statement.xml"))
	if err != nil {
		t.Fatal(err)
	}
	statement, err := Read(content, money.Test)
	if err != nil {
		t.Fatal(err)
	}
	const want = `B1/1 2026-09-04 charge 1000 59 EUR [order-2001 B1]
B1/2 2026-09-04 charge 2550 0 EUR [order-2002 B1]
balance 3491 EUR
`
	if got := show(statement); got != want {
		t.Errorf("%s", got)
	}
}

// document returns a statement of the version with the elements.
func document(version, elements string) string {
	return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.` + version + `"><BkToCstmrStmt><Stmt>` + elements + `</Stmt></BkToCstmrStmt></Document>`
}

const oldEntry = `<Ntry><NtryRef>N1</NtryRef><Amt Ccy="USD">12.5000</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts><ValDt><DtTm>2026-09-05T00:30:00+02:00</DtTm></ValDt><BkTxCd><Domn><Fmly><SubFmlyCd>CHRG</SubFmlyCd></Fmly></Domn></BkTxCd></Ntry>`

// In version .02, the status is a code without an element of its own.
func TestVersionsAreRead(t *testing.T) {
	for _, version := range []string{"02", "03", "04", "08", "13"} {
		elements := oldEntry
		if version != "02" {
			elements = strings.Replace(oldEntry, "<Sts>BOOK</Sts>", "<Sts><Cd>BOOK</Cd></Sts>", 1)
		}
		s, err := Read([]byte(document(version, elements)), money.Test)
		if err != nil || show(s) != "N1 2026-09-04 fee -1250 0 USD [N1]\n" {
			t.Errorf("version %s: %v, %v", version, s, err)
		}
	}
}

func TestWrongDocumentIsRefused(t *testing.T) {
	entry := strings.Replace(oldEntry, "<Sts>BOOK</Sts>", "<Sts><Cd>BOOK</Cd></Sts>", 1)
	for name, c := range map[string]struct{ document, want string }{
		"no XML":              {"hello", "is no camt.053 statement"},
		"another message":     {strings.Replace(document("08", entry), "camt.053", "camt.054", 1), "the document is no camt.053 message"},
		"cut off":             {document("08", entry)[:300], "unexpected EOF"},
		"a document type":     {`<!DOCTYPE x [<!ENTITY a "aaaa">]>` + document("08", entry), "document types are not accepted"},
		"an entity":           {document("08", strings.Replace(entry, "N1", "&a;", 1)), "invalid character entity"},
		"nested too deeply":   {document("08", strings.Repeat("<x>", 100)+strings.Repeat("</x>", 100)), "nested deeper"},
		"too deep in entries": {document("08", "<Ntry>"+strings.Repeat("<x>", 100)+strings.Repeat("</x>", 100)+"</Ntry>"), "nested deeper"},
		"another encoding":    {`<?xml version="1.0" encoding="ISO-8859-1"?>` + document("08", entry), "UTF-8"},
		"nothing booked":      {document("08", strings.Replace(entry, "BOOK", "PDNG", 1)), "no booked entries"},
		"no currency":         {document("08", strings.Replace(entry, "USD", "QQQ", 1)), "entry 1: the currency is not accepted"},
		"too many decimals":   {document("08", strings.Replace(entry, "12.5000", "12.505", 1)), "entry 1: an amount must be"},
		"a negative amount":   {document("08", strings.Replace(entry, "12.5000", "-1", 1)), "entry 1: an amount must be"},
		"no direction":        {document("08", strings.Replace(entry, "DBIT", "", 1)), "entry 1: CdtDbtInd"},
		"no date":             {document("08", strings.Replace(entry, "2026-09-05T00:30:00+02:00", "", 1)), "entry 1: has no booking date"},
	} {
		if _, err := Read([]byte(c.document), money.Test); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(document("02", oldEntry)))
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := Read(content, money.Test)
		for i := 0; err == nil && i < len(s.Lines); i++ {
			if _, problem := s.Lines[i].Check(); problem != "" {
				t.Errorf("%+v", s.Lines[i])
			}
		}
	})
}
