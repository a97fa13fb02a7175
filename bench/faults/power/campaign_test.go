package power

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/bench/faults"
	"mizan/bench/faults/clients"
	"mizan/bench/faults/power/disk"
	"mizan/bench/server"
	"mizan/internal/testkit"
)

const (
	volumeSize           = 768 << 20 // size of the device in bytes; only written parts of the device take memory
	readyTimeout         = 2 * time.Minute
	cutTimeout           = time.Minute // longest wait for the write or flush at which the power fails; after that it fails at once
	maxOperations        = 600         // bound of the number of writes and flushes before a cut under load
	extraOperations      = 300         // bound of the number of further operations until the device's cache has enough writes
	extraHeavyOperations = 3000
	maxWait              = 400 * time.Millisecond
	maxResponses         = 100 // bound of the number of responses before a cut at a response
	maxNewFileOperations = 40
	maxNewFileWait       = 5 * time.Second
	maxStopAnswers       = 60
	stopOperations       = 150 // bound of the number of writes and flushes before a cut at a stop
	slowestFlush         = 20 * time.Millisecond
)

// clientCounts are the numbers of clients from which a campaign chooses. With one client, no other client's sync can make a
// write durable that the server has forgotten to sync. With many clients, several requests share a sync.
var clientCounts = []int{1, 2, 16, 16}

// ext4Options are mount options from which a campaign chooses. The first are the defaults. The second switch off two heuristics
// of ext4. These protect programs that forget a sync when they rename a file over another one or enlarge a file.
var ext4Options = []string{"", "noauto_da_alloc,data=writeback"}

// campaign cuts the power of one machine again and again.
type campaign struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	kind   string // kind of the file system
	volume *disk.Volume
	*cases

	root         string // directory outside the volume
	dir          string // the server's data directory
	canariesFile string
	log          *os.File
	clients      *clients.Clients
	merchant     *merchant
	binary       string // the server's program
	isPrepared   bool
	history      []string    // descriptions of the cuts
	stopTimer    func() bool // stops the timer of a cut at an instant
	losesAll     bool        // the next cut loses all writes that were not flushed
	startLength  uint64      // number of writes and flushes of the last start
	backups      []string    // paths of the acknowledged backups
	restoreCount int
	restoreSize  uint64 // number of writes and flushes of the last complete restore
}

// cases counts the cuts of several campaigns.
type cases struct {
	byPlace, byLoss faults.Table
	cuts            int
	lost, torn      int // numbers of writes
	unflushed       int
	filled          int                      // number of cuts at which the device's cache had at least four writes
	spent           map[string]time.Duration // time spent, by kind of work
}

// newCampaign makes a volume for a campaign. With hasLargeData, the transactions are so large that the log fills a file every few
// cuts.
func newCampaign(t *testing.T, kind string, seed uint64, hasLargeData bool, sum *cases) *campaign {
	t.Helper()
	t.Logf("MIZAN_SEED=%d repeats this campaign's choices", seed)
	root, err := os.MkdirTemp("", "mizan-power-")
	if err != nil {
		t.Fatal(err)
	}
	volume, err := disk.NewVolume(root, kind, volumeSize)
	if err != nil {
		t.Fatal(err)
	}
	c := &campaign{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), kind: kind, volume: volume, cases: sum, root: root,
		dir: filepath.Join(volume.Dir, "data"), canariesFile: filepath.Join(root, "canaries"), merchant: newMerchant(t),
		binary: testkit.Binary(t), startLength: 200, restoreSize: 200, stopTimer: func() bool { return true },
	}
	t.Cleanup(func() {
		if t.Failed() {
			kept := filepath.Join(root, "kept")
			out, err := exec.Command("cp", "-a", volume.Dir, kept).CombinedOutput()
			t.Logf("what is left is in %s: %s%v; the cuts:\n%s", root, out, err, strings.Join(c.history, "\n"))
		}
		if err := volume.Close(); err != nil {
			t.Error(err)
		}
		if !t.Failed() {
			_ = os.RemoveAll(root)
		}
	})
	if c.log, err = os.Create(filepath.Join(root, "server.log")); err != nil {
		t.Fatal(err)
	}
	if c.clients, err = clients.Open(filepath.Join(root, "answers")); err != nil {
		t.Fatal(err)
	}
	c.clients.HasLargeData = hasLargeData
	t.Cleanup(func() { _, _ = c.clients.Close(), c.log.Close() })
	if err := os.WriteFile(c.canariesFile, []byte(strings.Join(clients.Canaries(), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// launch starts the server in a directory without waiting until it is ready.
func (c *campaign) launch(dir string, flags ...string) *server.Server {
	c.t.Helper()
	s, err := server.Start(server.Options{
		Binary: c.binary, Dir: dir, TLS: "off", Log: c.log,
		Args: append([]string{"--log-level", "warn", "--provider-timeout", "1s", "--create-wait", "2s", "--min-free", "16MiB"}, flags...),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { c.kill(s) })
	return s
}

// kill ends the server if it has not ended. A server without a disk may have ended itself.
func (c *campaign) kill(s *server.Server) {
	select {
	case <-s.Exited():
	default:
		_ = s.Kill()
	}
}

// waitReady waits until the server is ready. It fails the test if the server does not become ready, because its power was not cut.
func (c *campaign) waitReady(s *server.Server) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), readyTimeout)
	defer cancel()
	if err := s.WaitReady(ctx); err != nil {
		c.t.Fatalf("the server does not start: %v", err)
	}
}

// start starts the server and waits until it is ready.
func (c *campaign) start() (*server.Server, clients.Access) {
	c.t.Helper()
	defer c.spend("starts", time.Now())
	before := c.volume.Operations()
	s := c.launch(c.dir)
	c.waitReady(s)
	c.startLength = c.volume.Operations() - before
	b := &s.Sandbox
	a := clients.Access{BaseURL: b.BaseURL, OrganizationID: b.OrganizationID, PartnerID: b.PartnerID, APIKey: b.APIKey, SessionToken: b.SessionToken}
	if !c.isPrepared {
		if err := clients.Prepare(c.t.Context(), a, http.DefaultClient, b.AdminToken, c.merchant.URL); err != nil {
			c.t.Fatal(err)
		}
		c.isPrepared = true
	}
	return s, a
}

// work starts clients that send requests. Beside them it runs inParallel; if inParallel is nil, it sometimes runs writeBack
// instead. The function stop ends the clients and waits for them.
func (c *campaign) work(a clients.Access, inParallel func(ctx context.Context)) (stop func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	client := &http.Client{Timeout: readyTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: slices.Max(clientCounts)}}
	random, count := rand.New(rand.NewPCG(c.random.Uint64(), 0)), clientCounts[c.random.IntN(len(clientCounts))]
	if inParallel == nil && c.random.IntN(3) > 0 {
		inParallel = c.writeBack
	}
	var running sync.WaitGroup
	running.Go(func() { c.clients.Work(ctx, a, client, count, random) })
	if inParallel != nil {
		running.Go(func() { inParallel(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
		client.CloseIdleConnections()
	}
}

// load lets clients send requests until the power fails.
func (c *campaign) load(s *server.Server, a clients.Access, cut <-chan struct{}, inParallel func(ctx context.Context)) {
	c.t.Helper()
	defer c.spend("load", time.Now())
	stop := c.work(a, inParallel)
	select {
	case <-cut:
	case <-s.Exited():
		if !c.volume.IsOff() {
			c.t.Errorf("the server ended by itself:\n%s", s.StderrEnd())
		}
	case <-time.After(cutTimeout):
		c.volume.Cut()
	}
	c.kill(s)
	stop()
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// writeBack makes the kernel write the cached pages of the server's files, so that the device's cache has writes that no sync has
// requested.
func (c *campaign) writeBack(ctx context.Context) {
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, pattern := range []string{"*", "log/*", "store/*", "store/values/*"} {
			paths, _ := filepath.Glob(filepath.Join(c.dir, pattern))
			for _, path := range paths {
				if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
					_ = disk.StartWriting(path) // the file may be gone, and the device too
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// cutSoon arranges that the power fails at a random write or flush, or at a random instant. Often the failure waits until the
// device's cache has several writes. In a quarter of the calls, flushes are made slow, so that the cache fills up.
func (c *campaign) cutSoon(operations uint64) <-chan struct{} {
	if c.random.IntN(4) == 0 {
		c.volume.SlowFlushes(time.Millisecond+time.Duration(c.random.Int64N(int64(slowestFlush))), rand.New(rand.NewPCG(c.random.Uint64(), 0)))
		operations = operations/5 + 1
	}
	if c.random.IntN(4) == 0 {
		volume := c.volume
		timer := time.AfterFunc(time.Duration(c.random.Int64N(int64(maxWait))), volume.Cut)
		c.stopTimer = timer.Stop
		return volume.CutAt(disk.Trigger{})
	}
	return c.volume.CutAt(c.drawTrigger(operations))
}

// drawTrigger draws at which write or flush the power fails. If transactions are large, the log sometimes begins a new file,
// which takes many writes before a flush. Then the trigger may wait longer until the device's cache has enough writes.
func (c *campaign) drawTrigger(operations uint64) disk.Trigger {
	trigger := disk.Trigger{After: c.logUniform(operations)}
	if c.random.IntN(2) == 0 { // otherwise early operations are more likely
		trigger.After = 1 + c.random.Uint64N(operations)
	}
	trigger.Latest = trigger.After
	if c.random.IntN(2) == 0 {
		trigger.Unflushed, trigger.Latest = int(c.logUniform(40)), trigger.After+extraOperations
		if c.clients.HasLargeData {
			trigger.Latest = trigger.After + extraHeavyOperations
		}
	}
	return trigger
}

// logUniform returns a random number from 1 to n, each order of magnitude as likely as any other.
func (c *campaign) logUniform(n uint64) uint64 {
	return uint64(math.Exp(c.random.Float64() * math.Log(float64(n)+1)))
}

// place is a phase of the server during which the power fails. cut runs the phase until the power has failed and all processes have
// ended. It may return a function with further checks, which runs when the power is back. If it returns nil, only the checks that follow
// every cut run.
type place struct {
	name            string
	odds, heavyOdds int // heavyOdds are added if the transactions are large
	cut             func(*campaign) (check func())
}

var places = []place{
	{"under load", 8, 0, (*campaign).cutUnderLoad},
	{"at a response", 4, 0, (*campaign).cutAfterResponse},
	{"after a new file", 0, 4, (*campaign).cutAtNewFile},
	{"at a stop", 3, 0, (*campaign).cutAtStop},
	{"at the start", 4, 0, (*campaign).cutAtStart},
	{"during a backup", 2, 0, (*campaign).cutDuringBackup},
	{"during a restore", 2, 0, (*campaign).cutDuringRestore},
	{"while a store is made", 3, 0, (*campaign).cutNewStore},
}

// drawPlace chooses a place by the odds, of those whose names contain MIZAN_POWER_PLACE.
func (c *campaign) drawPlace() *place {
	var from []*place
	for i := range places {
		if strings.Contains(places[i].name, os.Getenv("MIZAN_POWER_PLACE")) {
			from = append(from, slices.Repeat([]*place{&places[i]}, places[i].odds)...)
			if c.clients.HasLargeData { // without large transactions new files are rare
				from = append(from, slices.Repeat([]*place{&places[i]}, places[i].heavyOdds)...)
			}
		}
	}
	if len(from) == 0 {
		c.t.Fatal("MIZAN_POWER_PLACE names no place")
	}
	return from[c.random.IntN(len(from))]
}

// run cuts the power n times, and checks the files after each cut and at the end. After a third of the cuts it also compares the
// store with the responses. It does not do so after every cut: the comparison opens the store and so recovers it, and the server
// must recover the store by itself too.
func (c *campaign) run(n int) {
	c.t.Helper()
	for i := range n {
		p := &places[0] // the first cut is of a server with clients, so that the others have something to lose
		if i > 0 {
			p = c.drawPlace()
		}
		check := p.cut(c)
		c.reboot(i, p.name)
		if check != nil {
			check()
		}
		if c.random.IntN(3) == 0 {
			c.inspect(p.name)
		}
	}
	c.finish()
}

// reboot returns the power and mounts the volume.
func (c *campaign) reboot(i int, placeName string) {
	c.t.Helper()
	defer c.spend("reboot", time.Now())
	c.stopTimer()
	c.stopTimer = func() bool { return true }
	if c.volume.HasSlowFlushes() {
		placeName += ", slow flushes"
	}
	c.volume.SlowFlushes(0, nil)
	loss := disk.LoseAll
	if !c.losesAll {
		list := disk.Losses()
		loss = list[c.random.IntN(len(list))]
	}
	c.losesAll = false
	if c.kind == "ext4" {
		c.volume.Options = ext4Options[c.random.IntN(len(ext4Options))]
	}
	o, err := c.volume.Reboot(loss, c.random)
	description := fmt.Sprintf("seed %d, cut %d %s on %s, %v: %v; mounted again with options %q", c.seed, i, placeName, c.kind, loss, o, c.volume.Options)
	c.history = append(c.history, description)
	if err != nil {
		c.t.Fatal(err)
	}
	c.cuts++
	if o.Unflushed >= 4 {
		c.filled++
	}
	c.lost, c.torn, c.unflushed = c.lost+o.Lost, c.torn+o.Torn, c.unflushed+o.Unflushed
	c.byLoss.Add(c.kind+", "+loss.String(), faults.Intact, description) // Intact, because any other outcome would have ended the test
	c.byPlace.Add(c.kind+", "+placeName, faults.Intact, description)
}

// spend adds the time since an instant to the time that was spent on a kind of work.
func (c *campaign) spend(work string, since time.Time) {
	if c.spent == nil {
		c.spent = make(map[string]time.Duration)
	}
	c.spent[work] += time.Since(since).Round(time.Millisecond)
}

// inspect compares the closed store with the responses that clients got.
func (c *campaign) inspect(placeName string) {
	c.t.Helper()
	if err := c.clients.Flush(); err != nil {
		c.t.Fatal(err)
	}
	r := c.verify(c.dir)
	if r.Exit != 0 || r.Stderr != "" {
		c.t.Fatalf("%s: audit verify: exit %d\n%s%s", placeName, r.Exit, r.Stdout, r.Stderr)
	}
}

// base returns the base names of the files in the data directory whose paths match a pattern.
func (c *campaign) base(pattern string) (names []string) {
	paths, _ := filepath.Glob(filepath.Join(c.dir, pattern))
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

func (c *campaign) verify(dir string) testkit.Result {
	c.t.Helper()
	defer c.spend("audit verify", time.Now())
	return testkit.Run(c.t, nil, "audit", "verify", "--data", dir, "--answers", c.clients.Path(), "--canaries", c.canariesFile)
}

// finish starts the server once more, and waits until the merchant was notified of the statuses that the clients saw.
func (c *campaign) finish() {
	c.t.Helper()
	s, _ := c.start()
	c.merchant.waitFor(c.clients.Statuses())
	if err := s.Stop(time.Minute); err != nil {
		c.t.Fatal(err)
	}
	c.inspect("at the end")
	c.t.Logf("%v; %s; the log's files are %v, %d tables, %d files of values", c.clients, c.merchant, c.base("log/*"), len(c.base("store/*.sst")), len(c.base("store/values/*")))
}

func (c *campaign) cutUnderLoad() func() {
	c.t.Helper()
	s, a := c.start()
	c.load(s, a, c.cutSoon(maxOperations), nil)
	return nil
}

// cutAfterResponse cuts the power at the instant at which a client receives a response to a write. With one client, there is no
// later sync that could make the write durable if the server has not synced it.
func (c *campaign) cutAfterResponse() func() {
	c.t.Helper()
	s, a := c.start()
	c.losesAll = true
	cut := c.volume.CutAt(disk.Trigger{})
	c.clients.AfterResponses(int(c.logUniform(maxResponses)), c.volume.Cut)
	c.load(s, a, cut, nil)
	return nil
}

// cutAtNewFile cuts the power within some writes and flushes after the log or the store has got a new file, such as the log's next
// segment. The kernel is not asked to write early, which would hide that a sync is missing.
func (c *campaign) cutAtNewFile() func() {
	c.t.Helper()
	s, a := c.start()
	operations := c.logUniform(maxNewFileOperations)
	before := c.serverFiles()
	c.load(s, a, c.volume.CutAt(disk.Trigger{}), func(ctx context.Context) {
		tick, end := time.NewTicker(time.Millisecond), time.After(maxNewFileWait)
		defer tick.Stop()
		for c.serverFiles() == before {
			select {
			case <-ctx.Done():
				return
			case <-end:
				c.volume.Cut()
				return
			case <-tick.C:
			}
		}
		c.volume.CutAt(disk.Trigger{After: operations, Latest: operations})
	})
	return nil
}

// serverFiles returns the names of the files of the log and of the store, but not of a file that the log has ready for later.
func (c *campaign) serverFiles() string {
	return fmt.Sprint(c.base("log/segment-*"), c.base("store/*.sst"), c.base("store/values/*"))
}

// cutAtStop cuts the power while the server stops, which writes its store's memtables into tables.
func (c *campaign) cutAtStop() func() {
	c.t.Helper()
	s, a := c.start()
	defer c.spend("load and stop", time.Now())
	stop, enough := c.work(a, nil), c.clients.Answered()+c.random.IntN(maxStopAnswers)
	testkit.WaitUntil(c.t, "responses before the stop", func() bool { return c.clients.Answered() >= enough })
	cut, stopped := c.cutSoon(stopOperations), make(chan struct{})
	go func() {
		defer close(stopped)
		_ = s.Stop(time.Minute) // the server ends with an error, because it has lost its disk
	}()
	select {
	case <-cut:
	case <-stopped:
		c.volume.Cut()
	}
	c.kill(s)
	<-stopped
	stop()
	return nil
}

// cutAtStart cuts the power before the server is ready, or soon after.
func (c *campaign) cutAtStart() func() {
	c.t.Helper()
	c.cutLaunch(c.dir, c.startLength+20)
	return nil
}

// cutLaunch starts the server in a directory and cuts the power within some writes and flushes.
func (c *campaign) cutLaunch(dir string, operations uint64, flags ...string) {
	c.t.Helper()
	defer c.spend("starts", time.Now())
	cut := c.volume.CutAt(c.drawTrigger(operations))
	s := c.launch(dir, flags...)
	select {
	case <-cut:
	case <-s.Exited():
		if !c.volume.IsOff() {
			c.t.Fatalf("the server ended by itself while it started:\n%s", s.StderrEnd())
		}
	case <-time.After(maxWait): // the server is ready and makes no further writes
		c.volume.Cut()
	}
	c.kill(s)
}

// cutNewStore cuts the power of a server that creates a store in another directory. After the cut a server must start there.
func (c *campaign) cutNewStore() func() {
	c.t.Helper()
	dir := filepath.Join(c.volume.Dir, "new")
	const newStoreOperations = 400
	flags := []string{"--tls", "auto", "--clock", "manual"} // flags with which the server creates more files
	c.cutLaunch(dir, newStoreOperations, flags...)
	return func() {
		c.t.Helper()
		s := c.launch(dir, flags...)
		c.waitReady(s)
		if err := s.Stop(time.Minute); err != nil {
			c.t.Fatal(err)
		}
		if r := testkit.Run(c.t, nil, "audit", "verify", "--data", dir); r.Exit != 0 || r.Stderr != "" {
			c.t.Fatalf("a store that was made again after a cut: exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
		if err := os.RemoveAll(dir); err != nil {
			c.t.Fatal(err)
		}
	}
}
