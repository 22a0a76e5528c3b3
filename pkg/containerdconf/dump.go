package containerdconf

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
)

// Dump is the settings that `containerd config dump` prints: a map from keys to values, both as
// printed. A key consists of the name of the TOML table, a dot, and the name of the setting. An
// example is plugins.'io.containerd.nri.v1.nri'.disable.
type Dump map[string]string

// ReadDump reads the output of `containerd config dump`. A value may have several lines. ReadDump
// fails if a line belongs to no value, or if a key occurs twice.
func ReadDump(text string) (Dump, error) {
	d, table, key := Dump{}, "", ""
	tables := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		name, value, isKey := strings.Cut(line, " = ")
		switch {
		case line == "":
		case strings.HasPrefix(line, "[[") && strings.HasSuffix(line, "]]"):
			table = strings.TrimSuffix(strings.TrimPrefix(line, "[["), "]]")
			table = fmt.Sprintf("%s[%d]", table, tables[table])
			tables[line[2:len(line)-2]]++
			key = ""
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") && !strings.HasSuffix(d[key], ","):
			table, key = line[1:len(line)-1], ""
		case isKey:
			if key = name; table != "" {
				key = table + "." + name
			}
			if _, twice := d[key]; twice {
				return nil, fmt.Errorf("line %d of containerd's configuration has %s a second time", n, key)
			}
			d[key] = value
		case key != "":
			d[key] += "\n" + line
		default:
			return nil, fmt.Errorf("line %d of containerd's configuration, %.80q, is neither a table nor a key", n, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read containerd's configuration: %w", err)
	}
	return d, nil
}

// list returns the strings in the value of a key. The value must be an array, such as ['a', 'b'].
func (d Dump) list(key string) ([]string, error) {
	text, opens := strings.CutPrefix(d[key], "[")
	text, closes := strings.CutSuffix(text, "]")
	if !opens || !closes {
		return nil, fmt.Errorf("%s is %.80s, not a list", key, d[key])
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = unquoted(item); item != "" {
			items = append(items, item)
		}
	}
	return items, nil
}

func unquoted(value string) string { return strings.Trim(strings.TrimSpace(value), `'"`) }

// differences returns the keys whose values differ between two dumps, and the keys that only one of
// them has. The keys are sorted.
func differences(a, b Dump) (keys []string) {
	for key, value := range a {
		if other, ok := b[key]; !ok || other != value {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
