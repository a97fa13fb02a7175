package partner

import (
	"html/template"
	"net/url"
	"strings"

	"mizan/api/console/resource"
	"mizan/api/console/view"
	"mizan/api/console/visit"
)

// kinds returns the kinds of records whose pages are made from the description of the API.
func (h *Handlers) kinds() []resource.Kind {
	unset := func(*visit.Visit) map[string]any { return map[string]any{"partner_id": nil} }
	own := func(v *visit.Visit) map[string]any { return map[string]any{"partner_id": v.Partner().Number} }
	return []resource.Kind{
		{Name: "links", List: "listLinks", Columns: []string{"id", "name", "amount_type", "active"}, Hidden: []string{"partner_id", "url", "qr_url", "image", "description", "return_url", "fail_url"},
			Fixed: unset, Section: h.address},
		{Name: "products", List: "listProducts", Columns: []string{"id", "header", "price", "currency", "active"}, Hidden: []string{"partner_id", "url", "qr_url", "image", "text"},
			Fixed: unset, Section: h.address},
		{Name: "subscriptions", List: "listSubscriptions", Columns: []string{"id", "status", "amount"}, Hidden: []string{"partner_id"},
			HiddenOperations: []string{"createSubscription"}}, // only a payment of the customer can begin a subscription
		{Name: "keys", List: "listApiKeys", Columns: []string{"id", "name", "prefix"}, Hidden: []string{"partner_id"}, ShownOnce: []string{"key"}, Fixed: own},
	}
}

// notificationKinds returns the kinds of records whose pages belong to the notifications: deliveries and terminals.
func notificationKinds() []resource.Kind {
	return []resource.Kind{
		{Name: "deliveries", List: "listDeliveries", Columns: []string{"event_id", "type", "state", "attempts", "booked_at", "next_at"}, Hidden: []string{"terminal_id", "subscription_id"},
			Above: receivers},
		{Name: "terminals", List: "listTerminals", Columns: []string{"id", "name", "type", "env", "is_active"}, Hidden: []string{"partner_id", "merchant_adapter", "provider"},
			HiddenOperations: []string{"createTerminal", "deleteTerminal", "settleProvider"}},
	}
}

// choosingReceiver returns the handler of the list of notifications. A list always shows the notifications of one terminal or
// one payment. If the address names neither, the person is redirected to the list of the partner's first terminal.
func choosingReceiver(list func(*visit.Visit) error) func(*visit.Visit) error {
	return func(v *visit.Visit) error {
		if v.Query("terminal_id") != "" || v.Query("transaction_id") != "" {
			return list(v)
		}
		terminals, err := readTerminals(v)
		if err != nil {
			return err
		}
		if len(terminals) == 0 {
			return v.Redirect(webhooksPath, false)
		}
		query := v.Params()
		query.Set("terminal_id", terminals[0].ID)
		return v.Redirect(webhooksPath+"/deliveries?"+query.Encode(), v.IsDone())
	}
}

// readTerminals reads the first 100 terminals of the partner.
func readTerminals(v *visit.Visit) ([]terminal, error) {
	var terminals struct{ Data []terminal }
	err := v.Get(v1+"/terminals", url.Values{"limit": {"100"}}, &terminals)
	return terminals.Data, err
}

// receiversPart is the data for the template with a link to the notifications of each terminal.
type receiversPart struct {
	Path      string
	Terminals []terminal
	Current   string
}

func receivers(v *visit.Visit) (template.HTML, error) {
	terminals, err := readTerminals(v)
	if err != nil {
		return "", err
	}
	return view.Part(templates, "receivers", "main", v.FrameOf(receiversPart{string(v.Path()), terminals, v.Query("terminal_id")}))
}

// addressPart is the data for the template with the public address of a payment link or a product.
type addressPart struct {
	T       *Texts
	URL, QR string // the public address, and the path of its QR code
	Image   string
	Upload  string // path to which the form with the picture is posted
}

// address returns the section that shows the public address of a payment link or a product, with the QR code and the picture.
func (h *Handlers) address(v *visit.Visit, id string, record map[string]any) (template.HTML, error) {
	text := func(name string) string { s, _ := record[name].(string); return s }
	part := addressPart{T: textsOf(v), URL: text("url"), QR: pathOf(text("qr_url")), Image: pathOf(text("image")), Upload: string(v.Path()) + "/picture"}
	return view.Part(templates, "address", "main", v.FrameOf(part))
}

// pathOf removes the scheme and the host from an address of this server. A page that contains only the path works under any
// host name of the server.
func pathOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		return rest[slash:]
	}
	return ""
}
