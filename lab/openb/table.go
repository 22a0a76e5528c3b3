// Package openb reads nodes and pods in the format of Alibaba's openb GPU trace, and writes
// placements.
//
// Source: https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023
package openb

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// table is a CSV file whose first row has the names of the columns, in any order.
type table struct {
	rows    *csv.Reader
	columns []string
	names   map[string]bool // names of the rows that were read; no two rows may have the same name
}

// open reads the first row. It returns an error if one of the given columns is missing.
func open(r io.Reader, columns ...string) (*table, error) {
	want := "want CSV with the columns " + strings.Join(columns, ", ")
	rows := csv.NewReader(r)
	rows.ReuseRecord = true
	first, err := rows.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty: " + want)
	case err != nil:
		return nil, fmt.Errorf("%w: %s", CSVError(err), want)
	}
	t := &table{rows: rows, columns: slices.Clone(first), names: map[string]bool{}}
	for _, name := range columns {
		if !slices.Contains(t.columns, name) {
			return nil, fmt.Errorf("line 1: no column %q: %s", name, want)
		}
	}
	return t, nil
}

// CSVError explains a syntax error that a csv.Reader returned, so that the author of the file can
// correct it. It returns other errors unchanged.
func CSVError(err error) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return err
	}
	what := "text after a closing quote, or a quote that is never closed"
	if errors.Is(err, csv.ErrBareQuote) {
		what = "a quote inside a field"
	}
	return fmt.Errorf("line %d, column %d: %s: put the whole field in quotes, and double the quotes in it", p.Line, p.Column, what)
}

// The method `each` calls the function given as `do` for every row after the first. It stops at the
// first invalid row, and returns an error with the line number of this row.
func (t *table) each(do func(row *row)) error {
	for {
		fields, err := t.rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := t.rows.FieldPos(0)
			return fmt.Errorf("line %d: %d fields: want %d, one for each column of line 1", line, len(fields), len(t.columns))
		case err != nil:
			return CSVError(err)
		}
		r := &row{table: t, fields: fields}
		do(r)
		if r.err != nil {
			line, _ := t.rows.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, r.err)
		}
	}
}

// row is one row of a table. The field `err` is the first error that was found in the row.
type row struct {
	*table
	fields []string
	err    error
}

// wrong records the error that the field in a column is invalid. The parameter `want` says what a
// valid field is. Only the first error of a row is kept.
func (r *row) wrong(column, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("column %s is %q: want %s", column, r.text(column), want)
	}
}

// text returns the field in a column, or "" if the table has no such column.
func (r *row) text(column string) string {
	if i := slices.Index(r.columns, column); i >= 0 {
		return r.fields[i]
	}
	return ""
}

// name returns the field in a column that has the names of the rows. It records an error if the
// field is empty or if an earlier row has the same name.
func (r *row) name(column string) string {
	name := r.text(column)
	if name == "" || r.names[name] {
		r.wrong(column, "a name that no other row has")
	}
	r.names[name] = true
	return name
}

// amount is the largest number that row.number accepts. Some of the numbers are memory in
// mebibytes (2^20 bytes). With this limit, the memory in bytes is less than 2^62, so it fits
// an int64.
const amount = 1<<42 - 1

// number returns the field in a column as a number. The field must be a whole number from 0 to the
// constant `amount`. For any other field, the method records an error and returns 0.
func (r *row) number(column string) int64 { return r.upTo(amount, column) }

// upTo is like the method `number`, but with the upper limit given as `most`.
func (r *row) upTo(most int64, column string) int64 {
	n, err := strconv.ParseInt(r.text(column), 10, 64)
	if err != nil || n < 0 || n > most {
		r.wrong(column, fmt.Sprintf("a whole number from 0 to %d", most))
		return 0
	}
	return n
}
