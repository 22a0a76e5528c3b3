package sysfs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

const zoneinfo = "proc/zoneinfo"

// zone is one memory zone of a NUMA node. Sizes are in pages.
type zone struct {
	node          topology.NodeID
	managed       uint64
	highWatermark uint64
	protection    uint64 // the largest lowmem reserve of the zone: how many pages must stay free if an allocation could use a higher zone instead
}

// reserved returns the number of pages in the zone that processes cannot get, because the kernel
// reserves them. Source: calculate_totalreserve_pages in
// https://github.com/torvalds/linux/blob/v6.12/mm/page_alloc.c
func (z zone) reserved() uint64 { return min(z.protection+z.highWatermark, z.managed) }

// kernelReserves sets KernelReserved of each NUMA node. If the file /proc/zoneinfo is missing, it
// leaves KernelReserved at 0.
func (r *reader) kernelReserves(nodes []topology.Node) error {
	text, err := r.text(zoneinfo)
	if err != nil {
		return err
	}
	zones, err := parseZones(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", zoneinfo, err)
	}
	for i := range nodes {
		var managed, reserved uint64
		for _, zone := range zones {
			if zone.node == nodes[i].ID {
				managed, reserved = managed+zone.managed, reserved+zone.reserved()
			}
		}
		if managed > 0 {
			pageSize := nodes[i].MemoryBytes / managed // MemoryBytes is the size of all managed pages
			nodes[i].KernelReserved = reserved * pageSize
		}
	}
	return nil
}

// parseZones parses the text of /proc/zoneinfo. It reads the following lines of each zone, and
// skips all others:
//
//	Node 0, zone    DMA32
//	        high     5550
//	        managed  772918
//	        protection: (0, 0, 10752, 10752)
func parseZones(text string) ([]zone, error) {
	var zones []zone
	for line := range strings.Lines(text) {
		fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n,()", r) })
		if len(fields) < 2 {
			continue
		}
		if fields[0] == "Node" {
			zones = append(zones, zone{})
		}
		if len(zones) == 0 {
			continue
		}
		if err := zones[len(zones)-1].parse(fields[0], fields[1:]); err != nil {
			return nil, fmt.Errorf("parse line %q: %w", strings.TrimSpace(line), err)
		}
	}
	return zones, nil
}

// parse sets a field of the zone from one line of /proc/zoneinfo. The parameter `name` is the first
// word of the line, and `values` has the other words.
func (z *zone) parse(name string, values []string) error {
	switch name {
	case "Node":
		id, err := strconv.ParseUint(values[0], 10, 16)
		z.node = topology.NodeID(id)
		return err
	case "high", "managed":
		pages, err := parsePages(values[:1])
		if name == "high" {
			z.highWatermark = pages
		} else {
			z.managed = pages
		}
		return err
	case "protection:":
		pages, err := parsePages(values)
		z.protection = pages
		return err
	}
	return nil
}

// parsePages parses numbers of pages and returns the largest of them.
func parsePages(values []string) (most uint64, err error) {
	for _, v := range values {
		pages, err := strconv.ParseUint(v, 10, 50)
		if err != nil {
			return 0, err
		}
		most = max(most, pages)
	}
	return most, nil
}
