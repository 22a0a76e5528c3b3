package sysfs

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

// memTotal returns MemTotal of a meminfo file in bytes, or 0 if it is unknown.
func (r *reader) memTotal(name string) (uint64, error) {
	text, err := r.text(name)
	if err != nil {
		return 0, err
	}
	bytes, err := parseMemTotal(text)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	return bytes, nil
}

// parseMemTotal returns the value of a line such as "MemTotal: 16384 kB" in bytes, or 0 if there is
// no such line. In the meminfo file of a NUMA node, the line begins with "Node 0" or another ID.
func parseMemTotal(text string) (uint64, error) {
	for line := range strings.Lines(text) {
		_, value, found := strings.Cut(line, "MemTotal:")
		if !found {
			continue
		}
		kilobytes, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil || kilobytes > math.MaxUint64/1024 {
			return 0, fmt.Errorf("parse memory size %q: not a number of kB", strings.TrimSpace(line))
		}
		return kilobytes * 1024, nil
	}
	return 0, nil
}

// hugePages returns the pools of huge pages in dir, sorted by page size. Each pool is a directory
// such as "hugepages-2048kB". The result is empty if the kernel has no huge pages.
func (r *reader) hugePages(dir string) ([]topology.HugePages, error) {
	pools, err := r.each(dir)
	if err != nil {
		return nil, err
	}
	var pages []topology.HugePages
	for _, pool := range pools {
		size, ok := pageSize(path.Base(pool))
		if !ok {
			continue
		}
		total, err := r.id(pool + "/nr_hugepages")
		if err != nil {
			return nil, err
		}
		pages = append(pages, topology.HugePages{SizeBytes: size, Total: uint64(max(total, 0))})
	}
	slices.SortFunc(pages, func(a, b topology.HugePages) int { return cmp.Compare(a.SizeBytes, b.SizeBytes) })
	return pages, nil
}

// pageSize returns the page size in a name such as "hugepages-2048kB".
func pageSize(name string) (bytes uint64, ok bool) {
	name, isPool := strings.CutPrefix(name, "hugepages-")
	name, isKB := strings.CutSuffix(name, "kB")
	kilobytes, err := strconv.ParseUint(name, 10, 40)
	return kilobytes * 1024, isPool && isKB && err == nil
}
