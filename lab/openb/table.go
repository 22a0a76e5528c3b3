package openb

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// table is a CSV file whose first row names the columns, in any order.
type table struct {
	rows    *csv.Reader
	columns []string
	names   map[string]bool // of rows, as row.name has read them
}

// open reads the first row. It is an error if a column is missing.
func open(r io.Reader, columns ...string) (*table, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord = true
	first, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("read the names of the columns: %w", err)
	}
	t := &table{rows: rows, columns: slices.Clone(first), names: map[string]bool{}}
	for _, name := range columns {
		if !slices.Contains(t.columns, name) {
			return nil, fmt.Errorf("no column %q among %q", name, t.columns)
		}
	}
	return t, nil
}

// each calls do for every further row until one is invalid. Its error has the line number.
func (t *table) each(do func(row *row)) error {
	for {
		fields, err := t.rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r := &row{table: t, fields: fields}
		do(r)
		if r.err != nil {
			line, _ := t.rows.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, r.err)
		}
	}
}

// row is one row. err is the first error in it.
type row struct {
	*table
	fields []string
	err    error
}

// wrong records an error in a column.
func (r *row) wrong(column, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("column %s is %q: want %s", column, r.text(column), want)
	}
}

// text returns a field, and "" where there is no such column.
func (r *row) text(column string) string {
	if i := slices.Index(r.columns, column); i >= 0 {
		return r.fields[i]
	}
	return ""
}

// name returns a field that is the row's name: no other row has it.
func (r *row) name(column string) string {
	name := r.text(column)
	if name == "" || r.names[name] {
		r.wrong(column, "a name that no other row has")
	}
	r.names[name] = true
	return name
}

// amount is the most that a number is: as many mebibytes are less than 2^63 bytes.
const amount = 1<<42 - 1

// number returns a field that is a whole number.
func (r *row) number(column string) int64 { return r.upTo(amount, column) }

// upTo returns a field that is a whole number, not more than most.
func (r *row) upTo(most int64, column string) int64 {
	n, err := strconv.ParseInt(r.text(column), 10, 64)
	if err != nil || n < 0 || n > most {
		r.wrong(column, fmt.Sprintf("a whole number from 0 to %d", most))
		return 0
	}
	return n
}
