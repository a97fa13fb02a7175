package admin

import (
	"net/url"
	"strconv"

	"mizan/cmd/mizan/client"
)

// The server uses different URL paths for the list of terminals and for a single terminal.
const (
	terminalsPath = "/terminals"
	terminalPath  = "/terminal"
)

// partnerQuery returns the query that restricts a list to one partner. If partner is nil, the query is empty and the list has
// the records of all partners.
func partnerQuery(partner *client.PartnerNumber) url.Values {
	query := url.Values{}
	if partner != nil {
		query.Set("partner_id", strconv.FormatInt(int64(*partner), 10))
	}
	return query
}
