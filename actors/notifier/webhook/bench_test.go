package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"mizan/internal/clock"
)

// inFlightPerProcessor is how many deliveries are in progress at once per processor.
const inFlightPerProcessor = 16

// startSink starts a server in this process that acknowledges everything, and returns its URL.
func startSink(b *testing.B, tlsConfig *tls.Config) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	tcpListener, scheme := listener, "http"
	if tlsConfig != nil {
		listener, scheme = tls.NewListener(listener, tlsConfig), "https"
	}
	server := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, NoDefaultServerHeader: true}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	b.Cleanup(func() {
		if err := tcpListener.Close(); err != nil {
			b.Error(err)
		}
		<-ended
	})
	return scheme + "://" + listener.Addr().String() + "/hook"
}

func newBenchmarkDelivery(url string) *Delivery {
	return &Delivery{
		URL: url, Secret: "a secret of the terminal's", EventID: "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", Type: "transaction.charged",
		Data: []byte(`{"type":"payment","txid":"order-1","id":"3f0c8a52-8d9e-4a5b-9c6d-7e8f9a0b1c2d","amount":"1000","amount_dest":"1000","amount_with_fee":"1000","status":"charged","error_description":"","merchant_meta":{"basket":[1,2]}}`),
	}
}

// measure runs deliveries and reports the cost of one delivery, the server's part included.
func measure(b *testing.B, deliver func() error) {
	b.Helper()
	b.ReportAllocs()
	b.SetParallelism(inFlightPerProcessor)
	timeBefore := processorTime(b)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := deliver(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64((processorTime(b)-timeBefore).Nanoseconds())/float64(b.N)/1000, "cpu-µs/delivery")
}

// processorTime returns the processor time that this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// deliveryError is the Failure of an attempt as an error.
type deliveryError string

// Error implements error.
func (f deliveryError) Error() string { return string(f) }

func BenchmarkDelivery(b *testing.B) {
	sender := New(Options{AllowPrivate: true, Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler)})
	b.Cleanup(sender.Close)
	benchmarkDelivery(b, sender, startSink(b, nil))
}

func BenchmarkDeliveryOverTLS(b *testing.B) {
	a := newAuthority(b)
	sender := New(Options{AllowPrivate: true, Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler)})
	b.Cleanup(sender.Close)
	sender.roots = x509.NewCertPool()
	sender.roots.AddCert(a.cert)
	benchmarkDelivery(b, sender, startSink(b, &tls.Config{Certificates: []tls.Certificate{a.issue(false, noChange)}}))
}

func benchmarkDelivery(b *testing.B, sender *Sender, url string) {
	b.Helper()
	d := newBenchmarkDelivery(url)
	measure(b, func() error {
		if a := sender.Deliver(d); a.Failure != "" {
			return deliveryError(a.Failure)
		}
		return nil
	})
}

// BenchmarkNetHTTP makes the same requests with net/http's client.
func BenchmarkNetHTTP(b *testing.B) {
	d := newBenchmarkDelivery(startSink(b, nil))
	transport := &http.Transport{MaxIdleConnsPerHost: 1024}
	b.Cleanup(transport.CloseIdleConnections)
	measure(b, func() error {
		now := time.Now()
		buffers := buffersPool.Get().(*requestBuffers)
		defer buffers.release()
		buffers.body = appendEnvelope(buffers.body[:0], d, now.Unix())
		request, err := http.NewRequest("POST", d.URL, bytes.NewReader(buffers.body))
		if err != nil {
			return err
		}
		request.Header = http.Header{
			"Content-Type": {"application/json"}, "User-Agent": {userAgent}, "X-Webhook-Event-Id": {d.EventID}, "X-Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
			"X-Webhook-Signature": {string(appendSignature(nil, d.Secret, now.Unix(), buffers.body))},
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxBody))
		_ = response.Body.Close()
		return err
	})
}

// BenchmarkFasthttp makes the same requests with fasthttp's client.
func BenchmarkFasthttp(b *testing.B) {
	d := newBenchmarkDelivery(startSink(b, nil))
	client := &fasthttp.Client{MaxConnsPerHost: 1024, MaxResponseBodySize: maxBody}
	b.Cleanup(client.CloseIdleConnections)
	measure(b, func() error {
		now := time.Now()
		buffers := buffersPool.Get().(*requestBuffers)
		defer buffers.release()
		buffers.body = appendEnvelope(buffers.body[:0], d, now.Unix())
		request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(request)
		defer fasthttp.ReleaseResponse(response)
		request.Header.SetMethod("POST")
		request.SetRequestURI(d.URL)
		request.Header.SetContentType("application/json")
		request.Header.SetUserAgent(userAgent)
		request.Header.Set("x-webhook-event-id", d.EventID)
		request.Header.Set("x-webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
		request.Header.SetBytesV("x-webhook-signature", appendSignature(nil, d.Secret, now.Unix(), buffers.body))
		request.SetBodyRaw(buffers.body)
		return client.DoDeadline(request, response, now.Add(15*time.Second))
	})
}
