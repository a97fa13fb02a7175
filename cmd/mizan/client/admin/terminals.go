package admin

import (
	"net/url"
	"strconv"

	"mizan/cmd/mizan/client"
)

// The URL paths of the list of terminals and of a single terminal differ.
const (
	terminalsPath = "/terminals"
	terminalPath  = "/terminal"
)

// partnerQuery returns the query that restricts a list to one partner; nil means all partners.
func partnerQuery(partner *client.PartnerNumber) url.Values {
	query := url.Values{}
	if partner != nil {
		query.Set("partner_id", strconv.FormatInt(int64(*partner), 10))
	}
	return query
}
