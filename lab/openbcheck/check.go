package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// check returns how many percent of the GPUs placements allocate, or what is
// wrong: a pod twice, not the cards that it asks for, a card with more than all of
// it given away or whole and in parts, a node with more CPU or memory given away
// than it has.
func check(nodes, pods, placed string) (percent float64, err error) {
	c := checker{cards: map[string]int64{}, whole: map[string]bool{}, seen: map[string]bool{}, cpu: map[string]int64{}, memory: map[string]int64{}}
	for to, file := range map[*table]string{&c.nodes: nodes, &c.pods: pods, &c.placed: placed} {
		if *to, err = readTable(file); err != nil {
			return 0, err
		}
	}
	asks := map[string][]string{}
	for _, row := range c.pods.rows {
		asks[c.pods.text(row, "name")] = row
	}
	for _, row := range c.placed.rows {
		if err := c.place(row, asks[c.placed.text(row, "pod")]); err != nil {
			return 0, fmt.Errorf("placement %v: %w", row, err)
		}
	}
	return c.sum()
}

type checker struct {
	nodes, pods, placed table

	seen        map[string]bool  // pods
	cards       map[string]int64 // given away, by "node/index"
	whole       map[string]bool
	cpu, memory map[string]int64 // given away, by node
}

// place counts one placement.
func (c *checker) place(row, ask []string) error {
	pod, node := c.placed.text(row, "pod"), c.placed.text(row, "node")
	if ask == nil || c.seen[pod] {
		return errors.New("no such pod, or twice")
	}
	c.seen[pod] = true
	c.cpu[node] += c.pods.number(ask, "cpu_milli")
	c.memory[node] += c.pods.number(ask, "memory_mib")
	count, milli, mine := c.pods.number(ask, "num_gpu"), c.pods.number(ask, "gpu_milli"), map[string]bool{}
	for _, part := range strings.FieldsFunc(c.placed.text(row, "gpus"), func(r rune) bool { return r == ';' }) {
		index, given, _ := strings.Cut(part, ":")
		card := node + "/" + index
		if given != strconv.FormatInt(milli, 10) || mine[card] {
			return fmt.Errorf("%s: want %d thousandths of a card, each card once", part, milli)
		}
		mine[card] = true
		c.cards[card] += milli
		c.whole[card] = c.whole[card] || milli == 1000
	}
	if int64(len(mine)) != count {
		return fmt.Errorf("%d cards, want %d", len(mine), count)
	}
	return nil
}

// sum compares what was given away with what the nodes have.
func (c *checker) sum() (float64, error) {
	total, given := int64(0), int64(0)
	for _, row := range c.nodes.rows {
		name, gpus := c.nodes.text(row, "sn"), c.nodes.number(row, "gpu")
		total += 1000 * gpus
		if c.cpu[name] > c.nodes.number(row, "cpu_milli") || c.memory[name] > c.nodes.number(row, "memory_mib") {
			return 0, fmt.Errorf("node %s: %d thousandths of a CPU and %d MiB given away", name, c.cpu[name], c.memory[name])
		}
		delete(c.cpu, name)
		for i := range gpus {
			card := fmt.Sprintf("%s/%d", name, i)
			if c.cards[card] > 1000 || c.whole[card] && c.cards[card] != 1000 {
				return 0, fmt.Errorf("card %s: %d thousandths given away", card, c.cards[card])
			}
			given += c.cards[card]
			delete(c.cards, card)
		}
	}
	if len(c.cpu) > 0 || len(c.cards) > 0 {
		return 0, fmt.Errorf("nodes %v and cards %v are not there", c.cpu, c.cards)
	}
	return 100 * float64(given) / float64(max(1, total)), nil
}
