package gpu

import (
	"fmt"
	"slices"
)

// self is what a card says of the link to itself.
const self = "-"

// Row returns what a card says of its links to all cards, by position, as
// NodeTopology has it: ["-", "NV12", "SYS"] is that of the first of three. It is nil
// where there is no table.
func (t Links) Row(card int) []string {
	if t == nil {
		return nil
	}
	row := make([]string, len(t))
	for other := range t {
		row[other] = t[card][other].String()
	}
	row[card] = self
	return row
}

// ReadLinks returns the links between some of a machine's cards by their rows, each of
// which is about all cards of the machine: the place of a card among them is where its
// row has itself. A card without a row says nothing; where none has one nobody knows,
// and there is no table. The error says where rows are none, or contradict each other.
func ReadLinks(rows [][]string) (Links, error) {
	if !slices.ContainsFunc(rows, func(row []string) bool { return len(row) > 0 }) {
		return nil, nil
	}
	places, err := places(rows)
	if err != nil {
		return nil, err
	}
	table := make(Links, len(rows))
	for a, row := range rows {
		table[a] = make([]Link, len(rows))
		for b, place := range places {
			if a == b || len(row) == 0 || place < 0 {
				continue
			}
			if table[a][b], err = ParseLink(row[place]); err != nil {
				return nil, fmt.Errorf("read links of card %d: %w", a, err)
			}
		}
	}
	return table, table.check(len(rows))
}

// places returns where in a row each card is; -1 is one without a row.
func places(rows [][]string) ([]int, error) {
	places, cards := make([]int, len(rows)), 0
	for i, row := range rows {
		places[i] = slices.Index(row, self)
		switch {
		case len(row) == 0:
			continue
		case places[i] < 0 || slices.Contains(places[:i], places[i]):
			return nil, fmt.Errorf("read links of card %d: %q: want %q once, and not where another card has it", i, row, self)
		case cards > 0 && len(row) != cards:
			return nil, fmt.Errorf("read links of card %d: %d of them, but of another card %d", i, len(row), cards)
		}
		cards = len(row)
	}
	return places, nil
}
