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
}

// open reads the first row. It is an error if a column is missing.
func open(r io.Reader, columns ...string) (*table, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord = true
	first, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("read the names of the columns: %w", err)
	}
	t := &table{rows: rows, columns: slices.Clone(first)}
	for _, name := range columns {
		if !slices.Contains(t.columns, name) {
			return nil, fmt.Errorf("no column %q among %q", name, t.columns)
		}
	}
	return t, nil
}

// each calls do for every further row. Its error tells the line.
func (t *table) each(do func(row *row) error) error {
	for {
		fields, err := t.rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r := &row{table: t, fields: fields}
		err = do(r)
		if err = errors.Join(r.err, err); err != nil {
			line, _ := t.rows.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// row is one row. The first number that cannot be read stays in err.
type row struct {
	*table
	fields []string
	err    error
}

// text returns a field, and "" where there is no such column.
func (r *row) text(column string) string {
	if i := slices.Index(r.columns, column); i >= 0 {
		return r.fields[i]
	}
	return ""
}

// number returns a field that is a whole number, not negative.
func (r *row) number(column string) int64 {
	n, err := strconv.ParseUint(r.text(column), 10, 62)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("column %s is %q: want a whole number", column, r.text(column))
	}
	return int64(n)
}
