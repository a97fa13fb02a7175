package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	mizan "mizan/api/sdk/go"
)

const currency, maxQuantity = "EUR", 20 // maxQuantity is the maximum quantity of one product in a cart

// shop holds the data that the handlers share.
type shop struct {
	client   *mizan.Client
	verifier *mizan.Verifier
	address  string // the shop's URL for browsers
	password string // for the office, the page of the shop's staff

	mu     sync.Mutex        // guards the fields below
	orders map[string]*order // by order number
	latest []*order
	events map[string]bool // ids of processed events
}

// order is what a buyer has ordered. Only the buyer knows the order's number.
type order struct {
	Number string
	Lines  []line
	Total  mizan.Amount

	mu      sync.Mutex        // held while the transaction is read, so that an older state never replaces a newer one
	state   mizan.Transaction // the transaction as it was last read; its id is empty until the transaction is created
	shipped bool              // the goods were sent; they are sent only once
}

func main() {
	client, err := mizan.New(mizan.ConfigFromEnvironment())
	check(err)
	verifier, err := mizan.NewVerifier(os.Getenv("WEBHOOK_SECRET"))
	check(err)
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8090"))
	check(err)
	address := cmp.Or(os.Getenv("SHOP_URL"), "http://"+listener.Addr().String())
	password := cmp.Or(os.Getenv("OFFICE_PASSWORD"), rand.Text())
	s := &shop{client: client, verifier: verifier, address: address, password: password, orders: map[string]*order{}, events: map[string]bool{}}
	fmt.Printf("shop: %s\noffice: %s/office (user office, password %s)\n", address, address, password)
	check((&http.Server{Handler: s.handler(), ReadTimeout: 15 * time.Second, WriteTimeout: 2 * time.Minute}).Serve(listener))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.showCart)
	mux.HandleFunc("POST /checkout", s.checkOut)
	mux.HandleFunc("GET /orders/{number}", s.showOrder)
	mux.HandleFunc("POST /notifications", s.receive)
	mux.HandleFunc("GET /office", s.inOffice(s.showOffice))
	mux.HandleFunc("POST /office/refund", s.inOffice(s.refund))
	guarded := http.NewCrossOriginProtection().Handler(mux) // forms on other sites cannot order or refund
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer")
		r.Body = http.MaxBytesReader(w, r.Body, 2<<20)
		guarded.ServeHTTP(w, r)
	})
}

func (s *shop) showCart(w http.ResponseWriter, r *http.Request) {
	lines, total := cartOf(r)
	show(w, http.StatusOK, "cart", map[string]any{"Lines": lines, "Total": total.Decimal(2)})
}

// checkOut creates an order and its payment, and redirects the browser to the payment page.
func (s *shop) checkOut(w http.ResponseWriter, r *http.Request) {
	lines, total := cartOf(r)
	if total.IsZero() {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	o := &order{Number: rand.Text(), Lines: lines, Total: total}
	s.mu.Lock()
	// The order is stored before the payment is created, so that the payment's first notification finds the order.
	s.orders[o.Number], s.latest = o, append(s.latest, o)
	s.mu.Unlock()
	page := s.address + "/orders/" + o.Number
	payment, err := s.client.CreateTransaction(r.Context(), mizan.TransactionCreate{
		Type: mizan.TypePayment, Amount: total, Currency: currency, Env: mizan.EnvTest, TxID: o.Number, Hosted: true,
		ReturnURL: page, FailURL: page, Description: "Your order at the example shop",
	}, mizan.WithIdempotencyKey("pay-"+o.Number))
	if err != nil {
		log.Print(err)
		show(w, http.StatusBadGateway, "fail", "The payment could not be started. You have not paid anything; please try again.")
		return
	}
	o.mu.Lock()
	o.state = *payment
	o.mu.Unlock()
	// If there is no payment page, the payment was rejected at once, and the browser is redirected to the order's page.
	http.Redirect(w, r, cmp.Or(payment.WidgetURL, page), http.StatusSeeOther)
}

// showOrder shows an order. The payer returns to this page after the payment. Neither the payer's return nor the page's
// address proves that the order is paid.
func (s *shop) showOrder(w http.ResponseWriter, r *http.Request) {
	o := s.order(r.PathValue("number"))
	if o == nil {
		http.NotFound(w, r)
		return
	}
	_ = s.update(r.Context(), o, "") // if the API does not answer, the page shows the last known state
	show(w, http.StatusOK, "order", o.shown())
}

// receive receives notifications. If receive responds with an error, the service sends the notification again.
func (s *shop) receive(w http.ResponseWriter, r *http.Request) {
	n, err := s.verifier.ReadNotification(r)
	if err == nil && n.Transaction != nil { // a notification without a transaction is about a subscription
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second) // the service waits 15 seconds for the response
		defer cancel()
		err = s.process(ctx, n.Transaction)
	}
	if err != nil {
		log.Print(err)
	}
	w.WriteHeader(mizan.WebhookStatus(err))
}

// process handles each event only once. It reads the transaction from the API and ignores the state in the event, because
// events can arrive in any order.
func (s *shop) process(ctx context.Context, event *mizan.TransactionEvent) error {
	s.mu.Lock()
	isKnown := s.events[event.EventID]
	s.mu.Unlock()
	o := s.order(event.Data.TxID)
	if isKnown || o == nil {
		return nil // if the order is unknown, another program of this merchant may have created the transaction
	}
	if err := s.update(ctx, o, event.Data.ID); err != nil {
		return err
	}
	s.mu.Lock()
	// The event is marked after the work, so that it is processed again if the work fails and the service repeats the
	// notification.
	s.events[event.EventID] = true
	s.mu.Unlock()
	log.Printf("order %s: %s", o.Number, event.Type)
	return nil
}

// update reads the order's transaction from the API, and ships the goods once when the order is paid. The parameter id is used
// only if the order has no transaction yet, because the response to the create request has not arrived or was lost.
func (s *shop) update(ctx context.Context, o *order, id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	t, err := s.client.GetTransaction(ctx, cmp.Or(o.state.ID, id))
	if err != nil {
		return err
	}
	if t.TxID != o.Number || t.Amount != o.Total || t.Currency != currency {
		return fmt.Errorf("transaction %s is not that of order %s", t.ID, o.Number)
	}
	o.state = *t
	if t.Status == mizan.StatusCharged && !o.shipped {
		o.shipped = true
		log.Printf("order %s: paid %s %s, the goods are sent", o.Number, o.Total.Decimal(2), currency)
	}
	return nil
}

// refund returns the money of an order. Until the first refund is known, repeated clicks send the same idempotency key and so
// refund nothing more. After that, Mizan refuses another refund, because no money is left.
func (s *shop) refund(w http.ResponseWriter, r *http.Request) {
	o := s.order(r.FormValue("number"))
	if o == nil {
		http.NotFound(w, r)
		return
	}
	o.mu.Lock()
	id, key := o.state.ID, fmt.Sprintf("refund-%s-%d", o.Number, len(o.state.Refunds))
	o.mu.Unlock()
	if _, err := s.client.RefundAll(r.Context(), id, mizan.WithIdempotencyKey(key)); err != nil {
		show(w, http.StatusConflict, "fail", "The money could not be returned: "+err.Error())
		return
	}
	_ = s.update(r.Context(), o, id)
	http.Redirect(w, r, "/office", http.StatusSeeOther)
}

func (s *shop) showOffice(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	latest := slices.Clone(s.latest)
	s.mu.Unlock()
	var orders []any
	for _, o := range latest {
		orders = append(orders, o.shown())
	}
	show(w, http.StatusOK, "office", orders)
}

// inOffice returns a handler that calls handle only if the request contains the office's password.
func (s *shop) inOffice(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "office" || subtle.ConstantTimeCompare([]byte(password), []byte(s.password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="office", charset="UTF-8"`)
			http.Error(w, "the office needs its password", http.StatusUnauthorized)
			return
		}
		handle(w, r)
	}
}

func (s *shop) order(number string) *order {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[number]
}

// cartOf reads the quantities from a form. It takes the prices from the shop's own products, never from the browser.
func cartOf(r *http.Request) (lines []line, total mizan.Amount) {
	for _, p := range products {
		n, err := strconv.Atoi(r.FormValue(p.id))
		if err != nil || n < 0 || n > maxQuantity {
			n = 0
		}
		sum := p.price.Times(int64(n))
		total = total.Add(sum)
		lines = append(lines, line{ID: p.id, Name: p.name, Price: p.price.Decimal(2), Quantity: n, Sum: sum.Decimal(2)})
	}
	return lines, total
}
