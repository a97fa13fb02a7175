package load

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"mizan/bench/server"
)

// tick is the unit of the times in /proc/stat.
const tick = time.Second / 100

// cpuTimes are CPU times at an instant.
type cpuTimes struct {
	at                   time.Time
	server, client, busy time.Duration // of the server, of this process, and of everything on the machine
}

// cpuUse has the elapsed time and the used CPU times between two instants.
type cpuUse struct{ elapsed, server, client, busy time.Duration }

func (o *overload) cpuTimes() cpuTimes {
	o.Helper()
	own, err := server.UsageOf(o.PID())
	if err != nil {
		o.Fatal(err)
	}
	client, err := server.UsageOf(os.Getpid())
	if err != nil {
		o.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		o.Fatal(err)
	}
	return cpuTimes{time.Now(), own.CPU, client.CPU, busyTime(string(stat))}
}

// busyTime returns the time in which processors were not idle, from the first line of /proc/stat: user, nice, system, idle, iowait,
// irq, softirq and steal. Time that another machine on the same hardware took is busy too.
func busyTime(stat string) time.Duration {
	line, _, _ := strings.Cut(stat, "\n")
	var ticks [8]int64
	_, _ = fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7])
	const idle, ioWait = 3, 4
	busy := int64(0)
	for i, n := range ticks {
		if i != idle && i != ioWait {
			busy += n
		}
	}
	return time.Duration(busy) * tick
}

func (t cpuTimes) since(before cpuTimes) cpuUse {
	return cpuUse{t.at.Sub(before.at), t.server - before.server, t.client - before.client, t.busy - before.busy}
}

// byOthers returns the fraction of the machine's processors that other processes used.
func (u cpuUse) byOthers() float64 {
	return max(0, float64(u.busy-u.server-u.client)/float64(u.elapsed)/float64(runtime.NumCPU()))
}

func TestOtherProcessesShareIsWhatIsNotOurs(t *testing.T) {
	before := cpuTimes{busy: busyTime("cpu  100 50 30 7000 900 10 10 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")}
	after := cpuTimes{at: before.at.Add(time.Second), server: 300 * time.Millisecond, client: 200 * time.Millisecond, busy: busyTime("cpu  160 80 40 7100 900 10 10 0 0 0\n")}
	if got, want := after.since(before).byOthers(), 0.5/float64(runtime.NumCPU()); got < want-1e-9 || got > want+1e-9 {
		t.Errorf("%g, want %g", got, want)
	}
}
