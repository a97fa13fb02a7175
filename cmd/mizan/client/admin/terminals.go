package admin

import (
	"net/url"
	"strconv"

	"mizan/cmd/mizan/client"
)

// The paths of the collection of terminals and of one terminal differ.
const (
	terminalsPath = "/terminals"
	terminalPath  = "/terminal"
)

// partnerQuery is a query that many lists accept.
func partnerQuery(n *client.PartnerNumber) url.Values {
	query := url.Values{}
	if n != nil {
		query.Set("partner_id", strconv.FormatInt(int64(*n), 10))
	}
	return query
}
