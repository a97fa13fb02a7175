package api_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/reconciliation"
	"mizan/ledger/schema"
	"mizan/ledger/storefront"
)

var updateDocs = flag.Bool("update", false, "rewrite docs/records.md")

// documentedRecords lists the records of docs/records.md in their order.
var documentedRecords = []struct {
	kind               ledger.Kind
	title, paths, note string // paths has the URL paths of the record's requests; note is a sentence above the table of columns
}{
	{ledger.Organization, "Organizations", "`/organizations`", ""},
	{ledger.Partner, "Partners", "`/partners`", ""},
	{ledger.Terminal, "Terminals", "`/terminal`, `/terminals`", ""},
	{ledger.APIKey, "API keys", "`/api_keys`", ""},
	{ledger.User, "Users", "`/users`", ""},
	{ledger.Limit, "Limits", "`/limits`", ""},
	{ledger.Block, "Blocklist entries", "`/blocklist`", "The body of a request has the fields kind and value."},
	{ledger.Rate, "Rates", "`/rates`", ""},
	{ledger.Settlement, "Settlements", "`/partners/{id}/settlements`, `/terminal/{id}/settlements`, `/settlements/{id}`",
		"The body of a request has the fields direction and amount, or gross and fee, and the asset and the reference."},
	{ledger.Link, "Payment links", "`/links`", "The field amount has default, currency, network, min and max; pay_config has methods; payments has count and amount."},
	{ledger.Product, "Products", "`/products`", ""},
	{ledger.SettlementReport, "Settlement reports", "`/reconciliation/reports`", "A request has the parts terminal_id, format, mapping and file of a form (multipart/form-data)."},
	{ledger.Difference, "Differences", "`/reconciliation/differences`", "A decision has the fields decision, entry_seq and note."},
	{ledger.ReconciledDay, "Reconciled days", "`/reconciliation/days/{terminal_id}`", ""},
	{ledger.Image, "Images", "`/images`", "A request has the file in the field image of a form (multipart/form-data)."},
}

// docs/records.md is generated from the declarations of the records' fields in ledger/directory and ledger/storefront.
func TestTheRecordsAreDocumentedByTheirColumns(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "records.md")
	want := recordsPage()
	if *updateDocs {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/records.md does not have the columns of ledger/directory: go test ./api -run TestTheRecordsAreDocumented -update")
	}
}

// recordsPage returns the content that docs/records.md must have.
func recordsPage() string {
	var page strings.Builder
	page.WriteString(`# The fields of the records

This page is generated from the columns that ` + "`ledger/directory`, `ledger/storefront` and `ledger/reconciliation`" + ` declare; a test fails if it is out of date.
The reference of a server at /docs describes the requests, and the rules that concern several fields.

The column *set by* says which requests set a field:

- *create*: only the POST that creates the record;
- *create, change*: also PATCH;
- *required*: the POST must set the field.

An optional field without a value or a default is null, or an empty text or list. A password is never shown, and any other secret is shown as ` + "`•••`" + `.
`)
	for _, record := range documentedRecords {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n", record.title, strings.TrimSuffix(record.paths+". "+record.note, " "))
		recordType := directory.Types[record.kind]
		if recordType == nil {
			recordType = storefront.Types[record.kind]
		}
		if recordType == nil {
			recordType = reconciliation.Types[record.kind]
		}
		columns := slices.Clone(recordType.ShownColumns())
		for _, c := range recordType.RequestColumns() {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
		writeColumns(&page, columns)
	}
	page.WriteString("\n## Settings of terminals\n\nMembers of a terminal's `provider_params`, whatever its provider is.\n\n")
	writeColumns(&page, directory.SettingsColumns.RequestColumns())
	page.WriteString("\n## Notification settings of terminals\n\nMembers of a terminal's `merchant_params`.\n\n")
	writeColumns(&page, directory.NotificationColumns.RequestColumns())
	for _, provider := range directory.Providers() {
		if provider.Parameters != nil {
			fmt.Fprintf(&page, "\n## Parameters of provider %s\n\nMembers of a terminal's `provider_params`, besides the [settings of all terminals](#settings-of-terminals).\n\n", provider.Name)
			writeColumns(&page, provider.Parameters.RequestColumns())
		}
	}
	return page.String()
}

func writeColumns(page *strings.Builder, columns []*schema.Column) {
	page.WriteString("| field | value | set by | meaning |\n|---|---|---|---|\n")
	for _, c := range columns {
		page.WriteString(columnRow(c))
	}
}

// columnRow returns a column's row in the table of docs/records.md.
func columnRow(c *schema.Column) string {
	value := c.Kind.String()
	if len(c.Words) > 0 {
		value = "`" + strings.Join(c.Words, "`, `") + "`"
	}
	if c.Secret || c.InputOnly {
		value += ", secret"
	}
	setBy := ""
	switch {
	case c.Settable && c.Fixed:
		setBy = "create"
	case c.Settable:
		setBy = "create, change"
	}
	switch {
	case c.Settable && c.Default != nil:
		setBy += fmt.Sprintf("; default `%v`", c.Default)
	case c.Settable && c.Required:
		setBy += "; required"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", c.Name, value, setBy, c.Help)
}
