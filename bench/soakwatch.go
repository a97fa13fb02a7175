package bench

import (
	"errors"
	"fmt"
	"time"

	"mizan/bench/generator"
	"mizan/bench/server"
	"mizan/bench/soak"
)

// windowPeriod is the longest time between two samples. With each sample, the window of ten seconds moves.
const windowPeriod = time.Second

// soakWatch measures a long run. It adds a row of figures at the end of each interval.
type soakWatch struct {
	*serverRun
	figures  *generator.Figures
	schedule *soak.RowSchedule
	slider   soak.Slider
	rows     []soak.Row

	rowStart      time.Duration // start of the current row, counted from the beginning of the run
	rowCPU        time.Duration // CPU time of the server from the run's beginning to rowStart
	cpuBefore     time.Duration // CPU time of the server when the run began
	writtenBefore int64         // bytes written by the server before the run began
	writtenErr    error         // why the bytes written by the server are not known
	deviceBefore  int64         // bytes written to the data directory's device when the run began
	deviceErr     error         // why the bytes written to the device are not known
}

var errNotOwnServer = errors.New("the server was not started by this run")

func newSoakWatch(r *serverRun, f *generator.Figures, interval time.Duration) *soakWatch {
	w := &soakWatch{serverRun: r, figures: f, schedule: soak.NewRowSchedule(interval), writtenErr: errNotOwnServer}
	f.NextInterval()
	if usage := w.usage(); usage != nil {
		w.cpuBefore = usage.CPU
		w.slider.Add(soak.Sample{})
		if w.writtenBefore, w.writtenErr = server.WrittenBytes(r.server.PID()); w.writtenErr != nil {
			printLine(r.out, "warning: what the server writes can't be measured, only root sees it: %v", w.writtenErr)
		}
	}
	w.deviceBefore, w.deviceErr = deviceWritten(r.dir)
	printLine(r.out, "%9s %11s %9s %9s %9s %8s %9s %11s %10s %9s %9s %7s", "", "charged", "rate/s", "p50 ms", "p99 ms", "CPU µs", "disk MiB",
		"written MiB", "device MiB", "device/pay", "anon MiB", "errors")
	return w
}

// usage returns the server's usage, or nil if the run has not started the server or the server has ended.
func (w *soakWatch) usage() *server.Usage {
	if w.server == nil {
		return nil
	}
	u, err := server.UsageOf(w.server.PID())
	if err != nil {
		return nil
	}
	return &u
}

// run takes samples until stop is closed. Then it ends the last row.
func (w *soakWatch) run(stop <-chan struct{}) {
	began := time.Now()
	tick := time.NewTicker(windowPeriod)
	defer tick.Stop()
	if w.schedule.Length() < windowPeriod {
		tick.Reset(w.schedule.Length())
	}
	for {
		select {
		case <-stop:
			w.endRow(time.Since(began), w.usage())
			return
		case <-tick.C:
		}
		w.sample(time.Since(began), w.usage())
	}
}

// sample moves the window of ten seconds on, and ends the current row if the row's interval is over.
func (w *soakWatch) sample(now time.Duration, usage *server.Usage) {
	if usage != nil {
		w.slider.Add(soak.Sample{At: now, Payments: w.figures.Good(), CPU: usage.CPU - w.cpuBefore})
	}
	if w.schedule.HasEnded(now) {
		w.endRow(now, usage)
	}
}

// endRow completes the current row and prints it.
func (w *soakWatch) endRow(now time.Duration, usage *server.Usage) {
	length := now - w.rowStart
	if length <= 0 {
		return
	}
	i := w.figures.NextInterval()
	r := soak.Row{
		End: now.Seconds(), Seconds: length.Seconds(), Charged: w.figures.Good(), PerSecond: float64(i.Good) / length.Seconds(),
		P50: i.P50, P99: i.P99, Errors: i.Errors, Disk: diskUsage(w.dir),
	}
	if usage != nil {
		cpu := float64(usage.CPU-w.cpuBefore-w.rowCPU) / float64(time.Microsecond) / float64(max(i.Good, 1))
		r.CPU, r.Anon = &cpu, &usage.Anon
		w.rowCPU = usage.CPU - w.cpuBefore
		if w.writtenErr == nil {
			if written, err := server.WrittenBytes(w.server.PID()); err == nil {
				written -= w.writtenBefore
				r.Written = &written
			}
		}
	}
	if w.deviceErr == nil {
		if device, err := deviceWritten(w.dir); err == nil {
			device -= w.deviceBefore
			r.Device = &device
		}
	}
	w.rowStart = now
	w.rows = append(w.rows, r)
	w.print(&r)
}

// print prints a row. A dash stands for an unknown value.
func (w *soakWatch) print(r *soak.Row) {
	mib := func(bytes *int64) string {
		if bytes == nil {
			return "-"
		}
		return fmt.Sprint(*bytes >> 20)
	}
	cpu, perPayment := "-", "-"
	if r.CPU != nil {
		cpu = fmt.Sprintf("%.0f", *r.CPU)
	}
	if r.Device != nil {
		perPayment = fmt.Sprintf("%.0f", float64(*r.Device)/float64(max(r.Charged, 1)))
	}
	printLine(w.out, "%8.1fs %11d %9.0f %9.2f %9.2f %8s %9s %11s %10s %9s %9s %7d",
		r.End, r.Charged, r.PerSecond, r.P50, r.P99, cpu, mib(&r.Disk), mib(r.Written), mib(r.Device), perPayment, mib(r.Anon), r.Errors)
}

// windows returns the first window of ten seconds, and the window in which a payment cost the most CPU time
// on average. It returns nil if the server's CPU is not known, or if the run was shorter than a window.
func (w *soakWatch) windows() *soak.Windows { return w.slider.Windows() }
