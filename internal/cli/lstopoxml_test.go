package cli

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// place is where a CPU is, according to lstopo. NUMA lists all NUMA nodes that are local to the
// CPU.
type place struct {
	Package, Core, LLC int
	NUMA               string
}

// object is an element of lstopo's XML.
type object struct {
	Type    string   `xml:"type,attr"`
	Index   *int     `xml:"os_index,attr"`
	CPUs    string   `xml:"cpuset,attr"`
	Objects []object `xml:"object"`
}

// readLstopo returns the place of each CPU in the XML output of lstopo. The library hwloc, of which
// lstopo is a program, calls a CPU a PU.
func readLstopo(document []byte) (map[int]place, error) {
	var top struct {
		Objects []object `xml:"object"`
	}
	if err := xml.Unmarshal(document, &top); err != nil {
		return nil, err
	}
	places := map[int]place{}
	for _, o := range top.Objects {
		above := place{Package: topology.Unknown, Core: topology.Unknown, LLC: topology.Unknown}
		if err := descend(o, above, 0, places); err != nil {
			return nil, err
		}
	}
	for _, o := range top.Objects {
		if err := locate(o, places); err != nil {
			return nil, err
		}
	}
	for id, p := range places {
		if p.NUMA == "" {
			p.NUMA = fmt.Sprint(topology.Unknown)
		}
		places[id] = p
	}
	return places, nil
}

// descend visits an object and the objects in it, and records the place of each PU (CPU). If a PU
// has caches of several levels, the cache of the highest level is its last-level cache.
func descend(o object, above place, level int, places map[int]place) error {
	cpus, err := members(o)
	if err != nil {
		return err
	}
	first, _ := cpus.First()
	var own int
	switch _, err := fmt.Sscanf(o.Type, "L%dCache", &own); {
	case o.Type == "Package" && o.Index != nil:
		above.Package = *o.Index
	case o.Type == "Core":
		above.Core = int(first)
	case o.Type == "PU":
		places[int(first)] = above
	case err == nil && own > level:
		above.LLC, level = int(first), own
	}
	for _, part := range o.Objects {
		if err := descend(part, above, level, places); err != nil {
			return err
		}
	}
	return nil
}

// locate adds each NUMA node to the places of the CPUs to which it is local.
func locate(o object, places map[int]place) error {
	cpus, err := members(o)
	if err != nil {
		return err
	}
	for id := range cpus.All() {
		if p, online := places[int(id)]; online && o.Type == "NUMANode" {
			p.NUMA = strings.TrimSpace(fmt.Sprint(p.NUMA, " ", *o.Index))
			places[int(id)] = p
		}
	}
	for _, part := range o.Objects {
		if err := locate(part, places); err != nil {
			return err
		}
	}
	return nil
}

// members returns the CPUs of an object. The XML has the CPUs as a bit mask in groups of 32 bits,
// such as "0x00000001,,0x0000000f". An empty group stands for zero.
func members(o object) (cpuset.Set, error) {
	groups := strings.Split(strings.ReplaceAll(o.CPUs, "0x", ""), ",")
	for i, group := range groups {
		if group == "" {
			groups[i] = "0"
		} else if _, err := strconv.ParseUint(group, 16, 32); err != nil {
			return cpuset.Set{}, fmt.Errorf("lstopo's cpuset %q: %w", o.CPUs, err)
		}
	}
	return cpuset.ParseMask(strings.Join(groups, ","))
}
