package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// period is the time, in microseconds, in which a limited process may use its share of the processors.
const period = 100_000

// limit is a cgroup for each process, with a limit of its processor time. The files are those of cgroup v2 (cpu.max), or of the
// controller cpu of cgroup v1 (cpu.cfs_quota_us).
type limit struct{ folders []string }

// limitTo limits each process to a number of cores. An error says why that is not permitted here.
func limitTo(cpus float64, pids []int) (l *limit, err error) {
	l = new(limit)
	defer func() {
		if err != nil {
			err = errors.Join(err, l.remove())
		}
	}()
	for _, pid := range pids {
		if err := l.add(cpus, pid); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l *limit) add(cpus float64, pid int) error {
	const root = "/sys/fs/cgroup"
	quota := strconv.Itoa(int(cpus * period))
	name := fmt.Sprintf("mizan-bench-%d-%d", os.Getpid(), pid)
	var folder string
	var files [][2]string
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		folder = filepath.Join(root, name)
		files = [][2]string{{filepath.Join(root, "cgroup.subtree_control"), "+cpu"}, {filepath.Join(folder, "cpu.max"), quota + " " + strconv.Itoa(period)}}
	} else {
		folder = filepath.Join(root, "cpu", name)
		files = [][2]string{{filepath.Join(folder, "cpu.cfs_period_us"), strconv.Itoa(period)}, {filepath.Join(folder, "cpu.cfs_quota_us"), quota}}
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	l.folders = append(l.folders, folder)
	for _, file := range append(files, [2]string{filepath.Join(folder, "cgroup.procs"), strconv.Itoa(pid)}) {
		if err := os.WriteFile(file[0], []byte(file[1]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the cgroups. Their processes must have ended.
func (l *limit) remove() (err error) {
	for _, folder := range l.folders {
		err = errors.Join(err, os.Remove(folder)) // removes a cgroup, although it has files
	}
	l.folders = nil
	return err
}
