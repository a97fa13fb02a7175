package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"mizan/bench/plants"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// repository is the root of the repository, as seen from this package's directory.
const repository = "../.."

// The text that a plant (a deliberate fault) replaces must occur exactly once in the code. So if a change of the code makes a
// plant impossible, the test fails.
func TestPlantsFitTheCode(t *testing.T) {
	if len(plantList) < 30 {
		t.Errorf("only %d plants", len(plantList))
	}
	names := make(map[string]bool)
	for _, p := range slices.Concat(plantList, clusterPlants) {
		if names[p.name] {
			t.Errorf("two plants %q", p.name)
		}
		names[p.name] = true
		if err := p.replacement().Check(repository); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

const (
	plantFor   = time.Minute     // time in which a plant must be caught; for worlds of three nodes, three times as long
	plantGrace = 3 * time.Minute // time after which a run that does not end is killed
)

// Worlds must catch each plant (a deliberate fault in the code) within a minute. MIZAN_PLANTS is a regular expression that
// selects plants, and MIZAN_SEED is the first seed. With MIZAN_REPLAYS=100 the seed that has caught a plant is run a hundred
// more times.
func TestPlantsAreCaught(t *testing.T) {
	text := os.Getenv("MIZAN_PLANTS")
	if text == "" {
		t.Skip("MIZAN_PLANTS is a regular expression of the names of plants; each takes up to two minutes")
	}
	testkit.NotUnderRace(t, "a bubble is slow under it")
	selected, err := regexp.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	seed := testseed.SeedOr(t, rand.Uint64N(1<<32))
	replays := environment(t, "MIZAN_REPLAYS", 0)
	for _, p := range plantList {
		if selected.MatchString(p.name) {
			p.mustBeCaught(t, 1, seed, replays)
		}
	}
	for _, p := range clusterPlants {
		if selected.MatchString(p.name) {
			p.mustBeCaught(t, nodes, seed, replays)
		}
	}
}

// mustBeCaught runs worlds with the plant, of one or of three nodes.
func (p *plant) mustBeCaught(t *testing.T, nodes int, seed, replays uint64) {
	t.Helper()
	binary, err := p.build(t.TempDir())
	if err != nil {
		t.Errorf("%s: it can't be built: %v", p.name, err)
		return
	}
	began := time.Now()
	found := runPlanted(t, nodes, binary, seed, plantFor*time.Duration(nodes), 0)
	if found.violation == "" {
		t.Errorf("%s: not caught: %s", p.name, found.output)
		return
	}
	t.Logf("%-60s | %3.0f s | seed %s | %.140s", p.name, time.Since(began).Seconds(), found.seed, found.violation)
	if replays > 0 && found.seed != "" {
		again := runPlanted(t, nodes, binary, environmentSeed(t, found.seed), time.Second, replays)
		t.Logf("%-60s | %s", p.name, again.repeated)
	}
}

func environmentSeed(t *testing.T, text string) (seed uint64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &seed); err != nil {
		t.Fatal(err)
	}
	return seed
}

// build builds this package's tests with the plant in the code.
func (p *plant) build(dir string) (binary string, err error) {
	flags, err := p.replacement().Flags(repository, dir)
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "planted.test")
	output, err := exec.Command("go", slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, flags, []string{"."})...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return binary, nil
}

// catch is the result of the worlds that were run with a plant.
type catch struct {
	violation string // the first violation, or the panic that ended the process; empty: the plant was not caught
	seed      string
	repeated  string // number of replays with the same violation
	output    string // the end of the run's output
}

var (
	violationLine = regexp.MustCompile(`seed (\d+), trace [0-9a-f]+; (\d+ of \d+ replays show the same):\n\s*(.*)`)
	panicLine     = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*)$`)
	imageLine     = regexp.MustCompile(`simulation_test.go:\d+: (.* answered \d+: .*)`) // the image could not be made
)

// runPlanted runs worlds from a seed on until one has a violation.
func runPlanted(t *testing.T, nodes int, binary string, seed uint64, budget time.Duration, replays uint64) (found catch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), budget+plantGrace+time.Duration(replays)*10*time.Second)
	defer cancel()
	run := exec.CommandContext(ctx, binary, "-test.run=^TestWorldsHaveNoViolations$", "-test.v", "-test.timeout=0")
	run.Env = append(os.Environ(), fmt.Sprintf("MIZAN_NODES=%d", nodes), "MIZAN_PLANTS=", "MIZAN_SOAK="+budget.String(), fmt.Sprintf("MIZAN_SEED=%d", seed), fmt.Sprintf("MIZAN_REPLAYS=%d", replays))
	output, err := run.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	found.output = string(output[max(0, len(output)-2_000):])
	if m := violationLine.FindSubmatch(output); m != nil {
		found.seed, found.repeated, found.violation = string(m[1]), string(m[2]), string(m[3])
		return found
	}
	if m := imageLine.FindSubmatch(output); m != nil {
		found.violation = string(m[1])
		return found
	}
	if m := panicLine.Find(output); m != nil && ctx.Err() == nil { // an assertion in the code, or a deadlock
		found.violation = string(m)
	}
	return found
}

// plant is a deliberate fault in the code: a replacement of one text in one file.
type plant struct {
	name     string
	file     string
	old, new string
}

func (p *plant) replacement() *plants.Replacement {
	return &plants.Replacement{File: p.file, Old: p.old, New: p.new}
}

// plantList has no fault for three places, because worlds would not catch it there:
//   - the sync of the names of reused segments: a release takes more than two segments at once, and the removal of the third one
//     syncs the names of the others;
//   - the sync of the names of tables: no process of a world fills two memtables, and Badger syncs its directory before that;
//   - the sync of the frame that a start writes again: the frame would be lost only if the power failed between two starts.
var plantList = []plant{
	// The log.
	{
		"a frame is acknowledged before it is synced", "posting/log/local.go",
		"	if _, err := s.file.WriteAt(frame, l.tail); err != nil {\n		return err\n	}\n	return s.file.Datasync()",
		"	_, err := s.file.WriteAt(frame, l.tail)\n	return err",
	},
	{
		"changes are acknowledged before their group is applied", "posting/commit.go",
		"	if err := j.apply(p); err != nil {\n		return err\n	}\n	j.countPrepared(-1)",
		"	for i := range p.waiters {\n		p.waiters[i].done(p.waiters[i].receipt)\n	}\n	p.waiters = p.waiters[:0]\n	if err := j.apply(p); err != nil {\n		return err\n	}\n	j.countPrepared(-1)",
	},
	{
		"a failed sync is tried again", "posting/log/local.go",
		"	if err := l.write(s, buf); err != nil {\n		l.failed.Store(true)",
		"	err := l.write(s, buf)\n	if err != nil {\n		err = s.file.Datasync()\n	}\n	if err != nil {\n		l.failed.Store(true)",
	},
	{
		"the last frame counts only with its mark", "posting/log/open.go",
		"		if h.N >= from {\n			if err := fn(",
		"		if h.N > r.mark.N {\n			return nil\n		}\n		if h.N >= from {\n			if err := fn(",
	},
	{
		"a replay leaves out removals", "posting/store/group.go",
		"		g.place(rowPlace{offset: uint32(at), keyLength: keyLength, valueLength: valueLength, isDeletion: op == opDelete})\n",
		"		if op == opSet {\n			g.place(rowPlace{offset: uint32(at), keyLength: keyLength, valueLength: valueLength})\n		}\n",
	},
	{
		"a replay begins one group late", "posting/store/groups.go",
		"		if err := s.add(g); err != nil {\n			return err\n		}\n		s.publish(f.Mark, g.size)",
		"		if f.N > inTables+1 {\n			if err := s.add(g); err != nil {\n				return err\n			}\n		}\n		s.publish(f.Mark, g.size)",
	},
	{
		"frames are released when a memtable has them", "posting/store/groups.go",
		"	flushed := uint64(0)\n",
		"	s.mu.Lock()\n	flushed := s.flushed\n	s.mu.Unlock()\n",
	},
	{
		"the name of a new segment is not synced", "posting/log/local.go",
		"	if err == nil {\n		err = l.dir.Sync()\n	}\n	if err != nil {\n		_ = f.Close()",
		"	if err != nil {\n		_ = f.Close()",
	},
	{
		"the header of a new segment is not synced", "posting/log/segment.go",
		"	if _, err := s.file.WriteAt(append(buf, sum[:]...), 0); err != nil {\n		return err\n	}\n	return s.file.Datasync()",
		"	_, err := s.file.WriteAt(append(buf, sum[:]...), 0)\n	return err",
	},

	{
		"the mark of a full segment is not synced", "posting/log/local.go",
		"	if err := full.file.Datasync(); err != nil {\n		return nil, err\n	}\n", "",
	},

	// The tables and the files of values.
	{
		"values are not synced before their places", "posting/store/values/values.go",
		"		if err := f.handle.Datasync(); err != nil {\n			return nil, err\n		}\n", "",
	},
	{
		"the name of a file of values is not synced", "posting/store/values/values.go",
		"	if isNew {\n		if err := s.dir.Sync(); err != nil {\n			return nil, err\n		}\n	}\n", "	_ = isNew\n",
	},
	{
		"the length of a file of values is not stored", "posting/store/values.go",
		"	for _, f := range grown {\n", "	for _, f := range grown[:0] {\n",
	},

	// The writer.
	{
		"a claim of the store is not seen", "posting/check.go",
		"	w.must(err)\n	return owner, claimed\n", "	w.must(err)\n	return owner, false\n",
	},
	{
		"a claim of the same group is not seen", "posting/check.go",
		"	for _, claims := range w.claims {\n", "	for _, claims := range w.claims[1:] {\n",
	},
	{
		"funds are not checked", "posting/check.go",
		".Available().Less(floor) {", ".Available().Less(floor) && g.Account.Path == \"\" {",
	},
	{
		"a limit is not checked", "posting/check.go",
		"g.Max.Less(sum) {", "g.Max.Less(sum) && g.RefusalCode != ledger.LimitExceeded {",
	},
	{
		"counters begin at zero after a start", "posting/check.go",
		"	if found {\n		c.amount, err = store.DecodeAmount(row)", "	if found && w.groupNumber == 0 {\n		c.amount, err = store.DecodeAmount(row)",
	},
	{
		"one posting of an entry is not booked", "posting/accounts.go",
		"		assert.NoError(move(&b.totals, entry.Phase, p))\n		w.appendLine(b, e, i, p)\n",
		"		if i == 2 {\n			continue\n		}\n		assert.NoError(move(&b.totals, entry.Phase, p))\n		w.appendLine(b, e, i, p)\n",
	},
	{
		"a capture does not update a total", "posting/accounts.go",
		"		assert.NoError(b.totals.Release(p.Side, p.Amount))\n", "		if i > 0 {\n			assert.NoError(b.totals.Release(p.Side, p.Amount))\n		}\n",
	},
	{
		"only the last event of a step is in the tree", "posting/write.go",
		"		w.appendLeaf(b, e.Seq, w.canonical)\n", "		if i == len(s.Events)-1 {\n			w.appendLeaf(b, e.Seq, w.canonical)\n		}\n",
	},
	{
		"events name another author", "posting/write.go",
		"		e.Source, e.Author = s.Source, author\n", "		e.Source, e.Author = s.Source, ledger.Author{Kind: ledger.BySession, Seq: 1}\n",
	},
	{
		"what was due while the process was down is forgotten", "posting/due.go",
		"	q.horizon = ledger.Micros(q.mark) * 1_000_000\n", "	q.horizon = max(ledger.Micros(q.mark)*1_000_000, ledger.MicrosOf(now)/1_000_000*1_000_000)\n",
	},

	// Notifications.
	{
		"notices of an earlier run are not told", "actors/notifier/resume.go",
		"		if run.upTo != 0 {\n", "		if run.upTo == 0 {\n",
	},
	{
		"a refusal by the merchant's server counts as delivered", "actors/notifier/webhook/sender.go",
		"	case 200 <= status && status < 300:\n", "	case 200 <= status && status < 300, status >= 500:\n",
	},
	{
		"each attempt has another event_id", "actors/notifier/attempt.go",
		"EventID(k.org, ID{n.Booked, n.Channel}).String()", "EventID(k.org, ID{n.Booked + ledger.Micros(time.Now().UnixMilli()), n.Channel}).String()",
	},

	// Payments.
	{
		"a transaction does not claim its txid", "actors/payment/change.go",
		"		if m.Request.TxID != \"\" {\n", "		if m.Request.TxID != \"\" && m.claimsKey() {\n",
	},
	{
		"a transaction does not claim its idempotency key", "actors/payment/change.go",
		"		if m.claimsKey() {\n", "		if m.claimsKey() && m.Request.TxID == \"\" {\n",
	},
	{
		"an unknown outcome is taken for a failure", "ledger/payment/provider_answer.go",
		"	default:\n		return d, c.onPending(&d, a)\n", "	case VerdictUnknown:\n		c.onFailed(&d, a)\n	default:\n		return d, c.onPending(&d, a)\n",
	},
	{
		"an intent is submitted again after a restart", "ledger/payment/provider_answer.go",
		"	case r.Status == Authorizing, r.Status == ActionRequired, r.Status.AtProvider():\n		return InquireCharge, Decision{}, false\n	}\n	return NoRequest",
		"	case r.Status == Authorizing:\n		return SubmitCharge, Decision{}, false\n	case r.Status == ActionRequired, r.Status.AtProvider():\n		return InquireCharge, Decision{}, false\n	}\n	return NoRequest",
	},
	{
		"a refund may be above what is left", "ledger/payment/operations.go",
		"	remaining := must(r.SettledAmount().Sub(r.RefundedAmount))\n", "	remaining := r.SettledAmount()\n",
	},
	{
		"the outcome of a refund counts twice", "ledger/payment/operations.go",
		"		r.RefundedAmount, r.RefundedFee = plus(r.RefundedAmount, o.Amount), plus(", "		r.RefundedAmount, r.RefundedFee = plus(plus(r.RefundedAmount, o.Amount), o.Amount), plus(",
	},
	{
		"a refund under way holds nothing", "ledger/payment/operations.go",
		"	d.move(Refund, &ledger.Entry{Phase: ledger.Pending, Postings: r.refundPostings(f, false)})\n", "	d.move(Refund, nil)\n",
	},
	{
		"a hold never ends", "ledger/payment/provider_answer.go",
		"	case r.Status.IsHeld() && now >= r.HoldUntil:\n", "	case r.Status.IsHeld() && r.HoldUntil == 0:\n",
	},
	{
		"a limit is not given back after a decline", "ledger/payment/volume.go",
		"		guards = append(guards, ledger.CounterGuard{Org: org, Key: pendingKey, Add: amount, IsRelease: true})\n", "		_ = pendingKey\n",
	},
	{
		"a fee is rounded up", "ledger/payment/terms.go",
		"	if err == nil {\n		fee, err = fee.Add(r.Fees.Fixed)\n	}\n",
		"	if err == nil && r.Fees.Bps > 0 {\n		fee, err = fee.Add(money.FromUint64(1))\n	}\n	if err == nil {\n		fee, err = fee.Add(r.Fees.Fixed)\n	}\n",
	},

	// Payers, links and queues.
	{
		"a charged payment of a link is not counted", "ledger/payment/volume.go",
		"		guards = append(guards, charged[:]...)\n", "		_ = charged\n",
	},
	{
		"the payer of a hosted payment has one attempt only", "ledger/payment/attempts.go",
		"	return r.AttemptsLeft() > 0 && ", "	return r.AttemptsLeft() > 5 && ",
	},
	{
		"a full queue forgets a change", "posting/journal.go",
		"		return ledger.Refuse(\"posting.Submit\", ledger.Unavailable, \"the writer's queue is full\").By(ledger.LimitQueue)\n", "		return nil\n",
	},
	{
		"a full queue refuses an outcome", "posting/journal.go",
		"	if !c.MustRecord && len(j.queue)+j.dequeuedCount >= j.maxQueue {", "	if len(j.queue)+j.dequeuedCount >= j.maxQueue {",
	},

	// Settlements, contracts and backups.
	{
		"a reversal is not booked", "ledger/payment/provider_updates.go",
		"	original.Return.move(Return, &ledger.Entry{Phase: ledger.Posted, Reverses: chargeSeq, Postings: r.refundPostings(returnFlow, true)})\n", "	original.Return.move(Return, nil)\n",
	},
	{
		"the key of an administrator's request is not claimed", "actors/directory/cached_replies.go",
		"	change.Claims = append([]ledger.Claim{reply.key.Claim(directory.PlatformOrg, subject, org[:])}, change.Claims...)\n", "	_ = subject\n",
	},
	{
		"a backup lacks the last group", "snapshots/backup/take.go",
		"			part = appendRow(part, lastKey, &r)\n", "			if r.Group == b.header.Group {\n				return true, nil\n			}\n			part = appendRow(part, lastKey, &r)\n",
	},
	{
		"a share of a contract is rounded up", "ledger/contract/value.go",
		"	return must(a.MulDivFloor(amountOf(numerator), amountOf(denominator)))\n", "	return must(plus(a, amountOf(1)).MulDivFloor(amountOf(numerator), amountOf(denominator)))\n",
	},
	{
		"the remainder of a distribution has no owner", "ledger/contract/holders.go",
		"		ciUndistributed.Set(v, plus(ciUndistributed.Get(v), remainder))\n", "",
	},
}

// clusterPlants are the faults that worlds of three nodes have to catch.
var clusterPlants = []plant{
	{
		"a leader acknowledges before a majority has the group", "posting/shard/machine.go",
		"	return l.replica.Propose(g.Frame())\n",
		"	f := g.Frame()\n	f.Payload = append([]byte(nil), f.Payload...)\n	if err := l.machine.current().Apply(g); err != nil {\n		return err\n	}\n	go func() { _ = l.replica.Propose(f) }()\n	return nil\n",
	},
	{
		"a stale leader serves", "api/front.go",
		"	isValid = !mayBeStale(ctx) || lead.Verify() == nil\n", "	isValid = true\n",
	},
	{
		"a frame is applied twice", "posting/log/raft/machine.go",
		"	case f.Mark == last:\n		return nil // applied before a restart\n",
		"	case f.Mark == last:\n		return a.machine.Apply(f)\n",
	},
	{
		"a copy of a store lacks the last group", "posting/shard/copy.go",
		"			if err := rows.Add(r); err != nil {\n				return false, err\n			}\n			head = binary",
		"			if r.Group == sn.GroupNumber() {\n				return true, nil\n			}\n			if err := rows.Add(r); err != nil {\n				return false, err\n			}\n			head = binary",
	},
	{
		"a message says that more is committed than it compares", "posting/log/raft/transport.go",
		"	args.LeaderCommitIndex = min(args.LeaderCommitIndex, args.PrevLogEntry+uint64(len(args.Entries)))\n", "",
	},
	{
		"entries after a failed sync are not written again", "posting/log/raft/mend.go",
		"	if err != nil || !isSealed && len(entries) == 0 {\n", "	if err != nil || !isSealed {\n",
	},
	{
		"a stream that breaks off between chunks is whole", "api/front_forward.go",
		"	if err == io.EOF && s.resp", "	if false && s.resp",
	},
	{
		"a request is forwarded twice", "api/front_forward.go",
		"		return shard, false, ledger.Refuse(\"api.front\", ledger.Unavailable, \"the node that serves shard %d has not answered: it is unknown whether this happened\", shard)\n",
		"		return shard, false, nil\n",
	},
}
