package simulator

import (
	"fmt"
	"hash/crc32"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
)

// countingFile counts the writes and syncs of the log.
type countingFile struct {
	logFile
	writeCount, syncCount atomic.Int64
}

func (f *countingFile) Write(p []byte) (int, error) {
	f.writeCount.Add(1)
	return f.logFile.Write(p)
}

func (f *countingFile) WriteAt(p []byte, offset int64) (int, error) {
	f.writeCount.Add(1)
	return f.logFile.WriteAt(p, offset)
}

func (f *countingFile) Sync() error {
	f.syncCount.Add(1)
	return f.logFile.Sync()
}

// cpuTime returns the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// compute uses the CPU as the rest of a payment does.
func compute(buffer []byte, repetitions int) {
	for range repetitions {
		crc32.ChecksumIEEE(buffer)
	}
}

// BenchmarkCalls measures concurrent callers of a log on a disk: choose it with TMPDIR. Between two calls,
// each caller uses the CPU for about the given time, which cpu-ns/op does not count.
func BenchmarkCalls(b *testing.B) {
	for _, load := range []struct {
		callers int
		between time.Duration
	}{{1, 0}, {16, 0}, {256, 0}, {16, 100 * time.Microsecond}, {256, 100 * time.Microsecond}} {
		b.Run(fmt.Sprintf("%d/%v", load.callers, load.between), func(b *testing.B) {
			sim := &testSimulator{t: b, path: filepath.Join(b.TempDir(), "simulator.log"), clock: clock.NewManual(start)}
			sim.open()
			defer func() { _ = sim.Close() }()
			disk := &countingFile{logFile: sim.log.file.(logFile)}
			sim.log.file = disk
			buffer := make([]byte, 16<<10)
			begin := cpuTime(b)
			const calibration = 20_000
			compute(buffer, calibration)
			perRepetition := (cpuTime(b) - begin) / calibration
			repetitions := 0
			if perRepetition > 0 {
				repetitions = int(load.between / perRepetition)
			}
			var n atomic.Int64
			var running sync.WaitGroup
			b.ResetTimer()
			begin = cpuTime(b)
			for range load.callers {
				running.Go(func() {
					call := cardCall(0, actors.Pay, "4242424242424242")
					for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
						call.Reference = id(uint64(i))
						sim.submit(call)
						compute(buffer, repetitions)
					}
				})
			}
			running.Wait()
			used := cpuTime(b) - begin - time.Duration(b.N*repetitions)*perRepetition
			b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(disk.syncCount.Load())/float64(b.N), "syncs/op")
			b.ReportMetric(float64(disk.writeCount.Load())/float64(b.N), "writes/op")
		})
	}
}
