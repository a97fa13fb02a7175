package check_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	paymentactor "mizan/actors/payment"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/fixture"
)

const (
	benchLines   = 100_000
	benchWorkers = 32
)

// BenchmarkImport measures the import of a report of 100,000 lines, each of which is matched with the entry of a charged payment
// by its txid, while payments are made. It reports the time of the import, and the slowest hundredth of the payments during it
// and before it. Run it with -benchtime 1x.
func BenchmarkImport(b *testing.B) {
	for range b.N {
		w := fixture.Copy(b)
		server := fixture.Start(b, w)
		partner, _ := server.Directory.Partner(w.FirstDemo.Org, w.FirstDemo.Partner)
		pay := func(txid string) *payment.Record {
			result, err := server.Payments.Create(paymentactor.Create{Author: ledger.ByPayer.Author(), Org: w.FirstDemo.Org, Partner: partner, Request: payment.Request{
				Type: payment.Payment, TxID: txid, Amount: money.FromUint64(1000), Asset: fixture.USD, Method: payment.BankCard,
				ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
			}, Card: &secret.Card{Number: []byte("4242424242424242"), CVV: []byte("123")}})
			if err != nil || result.Record.Status != payment.Charged {
				b.Fatalf("%+v, %v", result.Record, err)
			}
			return result.Record
		}
		terminal := pay("first").Terminal
		inParallel(benchWorkers, benchLines-1, func(i int) { pay(fmt.Sprint("p", i)) })
		lines := []string{"first,2026-09-03,charge,1000,0,USD,first"}
		for i := range benchLines - 1 {
			lines = append(lines, fmt.Sprintf("l%d,2026-09-03,charge,1000,0,USD,p%d", i, i))
		}
		r := newReconciler(server, w.FirstDemo.Org, terminal, server.Directory)
		upload := r.upload(lines...)
		quiet := payUntil(time.After(2*time.Second), pay, "quiet")
		imported := make(chan time.Time)
		start := time.Now()
		go func() {
			report, _, err := r.Import(b.Context(), upload)
			if err != nil || report.Matched != benchLines {
				b.Errorf("%+v, %v", report, err)
			}
			imported <- time.Now()
		}()
		busy, end := payUntilImported(imported, pay)
		b.ReportMetric(end.Sub(start).Seconds(), "s/import")
		b.ReportMetric(benchLines/end.Sub(start).Seconds(), "lines/s")
		b.ReportMetric(float64(len(busy))/end.Sub(start).Seconds(), "payments/s")
		b.ReportMetric(float64(p99(quiet).Microseconds()), "µs-p99-before")
		b.ReportMetric(float64(p99(busy).Microseconds()), "µs-p99-during")
		server.Close()
		b.Log(strings.TrimSpace(fmt.Sprintln(len(quiet), "payments before,", len(busy), "during")))
	}
}

// inParallel calls fn with 0 to n − 1 from several goroutines.
func inParallel(workers, n int, fn func(int)) {
	var group sync.WaitGroup
	for k := range workers {
		group.Go(func() {
			for i := k; i < n; i += workers {
				fn(i)
			}
		})
	}
	group.Wait()
}

// payUntil makes one payment after the other until the channel receives a value, and returns how long each took.
func payUntil[T any](end <-chan T, pay func(string) *payment.Record, prefix string) (times []time.Duration) {
	times, _ = payUntilValue(end, pay, prefix)
	return times
}

func payUntilImported(end <-chan time.Time, pay func(string) *payment.Record) ([]time.Duration, time.Time) {
	return payUntilValue(end, pay, "busy")
}

func payUntilValue[T any](end <-chan T, pay func(string) *payment.Record, prefix string) (times []time.Duration, value T) {
	for {
		select {
		case value = <-end:
			return times, value
		default:
			began := time.Now()
			pay(fmt.Sprint(prefix, len(times)))
			times = append(times, time.Since(began))
		}
	}
}

func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*99/100]
}
