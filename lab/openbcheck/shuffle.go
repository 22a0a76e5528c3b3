package main

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
)

// table is a CSV file with a header.
type table struct {
	columns []string
	rows    [][]string
}

func readTable(file string) (table, error) {
	f, err := os.Open(file)
	if err != nil {
		return table{}, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return table{}, fmt.Errorf("read %s: %w", file, err)
	}
	if len(rows) == 0 {
		return table{}, fmt.Errorf("read %s: it is empty", file)
	}
	return table{rows[0], rows[1:]}, nil
}

func (t table) text(row []string, column string) string { return row[slices.Index(t.columns, column)] }

// number returns a field as a number. It returns 0 if the field is empty or not a number.
func (t table) number(row []string, column string) int64 {
	n, _ := strconv.ParseInt(t.text(row, column), 10, 64)
	return n
}

// milli returns the requested GPU capacity of a pod, in thousandths of a GPU.
func (t table) milli(row []string) int64 {
	return t.number(row, "num_gpu") * t.number(row, "gpu_milli")
}

// shuffle writes the pods of the file `pods` in random order to the file `to`. After them, it writes
// copies of random pods, until all written pods together request at least as many GPUs as the nodes
// have.
func shuffle(nodes, pods, to string, seed uint64) error {
	n, err := readTable(nodes)
	if err != nil {
		return err
	}
	p, err := readTable(pods)
	if err != nil {
		return err
	}
	missing := int64(0)
	for _, row := range n.rows {
		missing += 1000 * n.number(row, "gpu")
	}
	for _, row := range p.rows {
		missing -= p.milli(row)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	all := slices.Clone(p.rows)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for missing > 0 {
		again := slices.Clone(p.rows[r.IntN(len(p.rows))])
		again[slices.Index(p.columns, "name")] += fmt.Sprintf("-again-%d", len(all))
		all = append(all, again)
		missing -= p.milli(again)
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	return csv.NewWriter(f).WriteAll(append([][]string{p.columns}, all...))
}
