package operations

import (
	"slices"

	"mizan/api/description/spec"
)

// v1 is the beginning of all paths of this version of the API.
const v1 = "/api/v1"

// Contents returns the whole declaration of the API.
func Contents() spec.Contents {
	contents := spec.Contents{
		Title: "Mizan",
		Tags:  tags(),
		Operations: slices.Concat(
			transactionOperations(), transactionActions(), transactionReads(), subscriptionOperations(), storefrontOperations(), pageOperations(),
			sessionOperations(), recordOperations(), settlementOperations(), reconciliationOperations(), limitOperations(), deliveryOperations(), platformOperations(), clusterOperations(),
			ledgerOperations(), journalOperations(), periodOperations(),
			contractOperations(), religiousOperations(), descriptionOperations(),
		),
		Schemas:  slices.Concat(transactionSchemas(), subscriptionSchemas(), recordSchemas(), reconciliationSchemas(), deliverySchemas(), ledgerSchemas(), contractSchemas()),
		Webhooks: webhooks(),
		Failures: failures(),
	}
	addTexts(&contents)
	return contents
}

// Names of tags.
const (
	tagTransactions   = "Transactions"
	tagSubscriptions  = "Subscriptions"
	tagLinks          = "Payment links and products"
	tagPages          = "Payers' pages"
	tagWebhooks       = "Webhooks"
	tagSessions       = "Sessions"
	tagOrganizations  = "Organizations"
	tagPartners       = "Partners"
	tagUsers          = "Users"
	tagTerminals      = "Terminals"
	tagKeys           = "Keys and tokens"
	tagSettlements    = "Settlements"
	tagReconciliation = "Reconciliation"
	tagRates          = "Rates"
	tagLimits         = "Limits"
	tagBlocklist      = "Blocklist"
	tagDeliveries     = "Deliveries"
	tagPlatform       = "Backups and clock"
	tagCluster        = "Cluster"
	tagLedger         = "Accounts and balances"
	tagJournal        = "Entries and events"
	tagPeriods        = "Closed months and exports"
	tagChecks         = "Checks and description"
)

// Groups of tags.
const (
	groupPayments = "Payments"
	groupLedger   = "Ledger"
	groupAdmin    = "Administration"
	groupSecular  = "Contracts"
	groupBank     = "Islamic banking"
	groupService  = "Service"
)

// tags returns the tags in the order in which the reference shows them.
func tags() []spec.Tag {
	list := []spec.Tag{
		{Name: tagTransactions, Group: groupPayments},
		{Name: tagSubscriptions, Group: groupPayments},
		{Name: tagLinks, Group: groupPayments},
		{Name: tagPages, Group: groupPayments},
		{Name: tagWebhooks, Group: groupPayments},
		{Name: tagSessions, Group: groupAdmin},
		{Name: tagOrganizations, Group: groupAdmin},
		{Name: tagPartners, Group: groupAdmin},
		{Name: tagUsers, Group: groupAdmin},
		{Name: tagTerminals, Group: groupAdmin},
		{Name: tagKeys, Group: groupAdmin},
		{Name: tagSettlements, Group: groupAdmin},
		{Name: tagReconciliation, Group: groupAdmin},
		{Name: tagRates, Group: groupAdmin},
		{Name: tagLimits, Group: groupAdmin},
		{Name: tagBlocklist, Group: groupAdmin},
		{Name: tagDeliveries, Group: groupAdmin},
		{Name: tagPlatform, Group: groupAdmin},
		{Name: tagCluster, Group: groupAdmin},
		{Name: tagLedger, Group: groupLedger},
		{Name: tagJournal, Group: groupLedger},
		{Name: tagPeriods, Group: groupLedger},
	}
	list = append(list, contractTags()...)
	return append(list, spec.Tag{Name: tagChecks, Group: groupService})
}

// Parameters that several operations have.
var (
	cursorParameter = spec.InQuery("cursor", spec.Text(), "The `cursor_value` of the previous page.")
	envParameter    = spec.InQuery("env", spec.Words("prod", "test").WithDefault("prod"), "The environment.")
	envFilter       = spec.InQuery("env", spec.Words("prod", "test"), "The environment. If absent, both environments.")
	idParameter     = spec.InPath("id", spec.UUID(), "The id of the record.")
)

// limitParameter is the parameter for the number of rows on a page, with its default and its maximum.
func limitParameter(usual, most int64) spec.Parameter {
	return spec.InQuery("limit", spec.IntegerUpTo(1, most).WithDefault(usual), "How many rows a page has at most.")
}

// ok returns the declaration of a response with status 200.
func ok(s *spec.Schema) []spec.Answer {
	return []spec.Answer{{Status: 200, Schema: s}}
}

// created returns the declaration of a response with status 201.
func created(s *spec.Schema, headers ...spec.Header) []spec.Answer {
	return []spec.Answer{{Status: 201, Schema: s, Headers: headers}}
}

// locationHeader is the response header with the path of the created record.
var locationHeader = spec.Header{Name: "location", Schema: spec.Text(), Text: "The path of the new record.", Required: true}
