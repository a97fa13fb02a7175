package cluster

import (
	"context"
	"fmt"
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
const repository = "../../.."

const (
	plantsVariable = "MIZAN_PLANTS"   // regular expression that selects plants
	plantTime      = 30 * time.Minute // after this time a plant is not caught
)

// plant is a deliberate fault in the code, and what campaigns must say about it.
type plant struct {
	name string
	plants.Replacement
	test   string // name of the test that has to catch it
	kinds  string // regular expression of the kinds of faults
	faults int    // number of faults in which it has to be caught
	says   string // regular expression of the complaint
}

var plantList = []plant{
	{
		name: "acknowledged before a majority has it",
		Replacement: plants.Replacement{
			Module: "github.com/hashicorp/raft", File: "commitment.go",
			Old: "	quorumMatchIndex := matched[(len(matched)-1)/2]\n",
			New: "	quorumMatchIndex := matched[len(matched)-1]\n",
		},
		test: "TestFaults", kinds: "^leader killed while its followers are paused$", faults: 3,
		says: `has acknowledged a payment while all other nodes were paused`,
	},
	{
		name: "a former leader serves stale data",
		Replacement: plants.Replacement{
			File: "api/front.go",
			Old:  "	isValid = !mayBeStale(ctx) || lead.Verify() == nil\n",
			New:  "	isValid = true\n",
		},
		test: "TestFaults", kinds: "^leader paused, then asked for what is new$", faults: 10,
		says: `which led before another node, answers with the status charged of before|no order explains the answers`,
	},
	{
		name: "a group is applied twice",
		Replacement: plants.Replacement{
			File: "posting/log/raft/machine.go",
			Old:  "	case f.Mark == last:\n		return nil // applied before a restart\n",
			New:  "	case f.Mark == last:\n		if err := a.machine.Apply(f); err != nil {\n			return a.fail(err)\n		}\n		return nil\n",
		},
		test: "TestFaults", kinds: "^(leader|follower) killed$", faults: 10,
		says: `does not serve|has ended with the exit code|audit verify|rows`,
	},
	{
		// The row that describes the group stays. Without it, too, the copy would only end one group earlier, which does no harm: the
		// copy is newer than the note that Raft sends with it, so Raft sends the group again.
		name: "a copy of the store lacks its last group",
		Replacement: plants.Replacement{
			File: "posting/shard/copy.go",
			Old: `	for more := true; more; {
		read := 0
		more = false
		err := sn.StoredRows(from, 0, func(r store.StoredRow) (bool, error) {
			if read == rowsPerRead {
				from, more = append(from[:0], r.Key...), true
				return false, nil
			}
			read++
`,
			New: `	newest := uint64(0)
	if err := sn.StoredRows(nil, 0, func(r store.StoredRow) (bool, error) {
		newest = max(newest, r.Group)
		return true, nil
	}); err != nil {
		return err
	}
	for more := true; more; {
		read := 0
		more = false
		err := sn.StoredRows(from, 0, func(r store.StoredRow) (bool, error) {
			if read == rowsPerRead {
				from, more = append(from[:0], r.Key...), true
				return false, nil
			}
			read++
			if r.Group == newest && r.Key[0] != 'g' {
				return true, nil
			}
`,
		},
		test: "TestSoakReplacedNodeGetsACopy",
		says: `does not serve|has ended with the exit code|audit verify|rows`,
	},
	{
		name: "a command is forwarded twice",
		Replacement: plants.Replacement{
			File: "api/front_forward.go",
			Old:  `		return shard, false, ledger.Refuse("api.front", ledger.Unavailable, "the node that serves shard %d has not answered: it is unknown whether this happened", shard)` + "\n",
			New:  "		return shard, false, nil\n",
		},
		test: "TestFaults", kinds: "^leader killed$", faults: 15,
		says: `no order explains the answers`,
	},
}

func TestPlantsFitTheCode(t *testing.T) {
	for i := range plantList {
		if err := plantList[i].Check(repository); err != nil {
			t.Errorf("%s: %v", plantList[i].name, err)
		}
	}
}

// TestPlantsAreCaught runs campaigns with each plant that MIZAN_PLANTS selects. They must fail, with a complaint that fits the plant.
func TestPlantsAreCaught(t *testing.T) {
	text := os.Getenv(plantsVariable)
	if text == "" {
		t.Skip(plantsVariable + " is a regular expression of the names of plants; each takes one to ten minutes")
	}
	testkit.NotUnderRace(t, "the nodes are processes of their own")
	selected, err := regexp.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	seed := testseed.Seed(t)
	for i := range plantList {
		if p := &plantList[i]; selected.MatchString(p.name) {
			t.Run(p.name, func(t *testing.T) { p.catch(t, seed) })
		}
	}
}

func (p *plant) catch(t *testing.T, seed uint64) {
	dir := t.TempDir()
	flags, err := p.Flags(repository, dir)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "mizan")
	build := exec.Command("go", slices.Concat([]string{"build", "-o", program}, flags, []string{"./cmd/mizan"})...)
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("it can't be built: %v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), plantTime)
	defer cancel()
	began := time.Now()
	run := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+p.test+"$", "-test.v", "-test.timeout=0")
	run.Env = append(os.Environ(), plantsVariable+"=", testkit.BinaryVariable+"="+program, kindsVariable+"="+p.kinds,
		fmt.Sprintf("%s=%d", faultsVariable, p.faults), fmt.Sprintf("%s=%d", testseed.SeedVariable, seed), testseed.SoakVariable+"=1s", "TMPDIR="+dir)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	out, err := run.CombinedOutput()
	complaint := regexp.MustCompile(`(?m)^.*(` + p.says + `).*$`).Find(out)
	if err == nil || complaint == nil {
		t.Fatalf("not caught (%v): %s", err, out[max(0, len(out)-5000):])
	}
	t.Logf("caught after %v: %.300s", time.Since(began).Round(time.Second), complaint)
}
