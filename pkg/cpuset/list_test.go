package cpuset

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		list string
		want Set
		err  string
	}{
		"empty":             {list: ""},
		"a newline":         {list: "\n"},
		"one":               {list: "3", want: Of(3)},
		"range":             {list: "0-3", want: Of(0, 1, 2, 3)},
		"both, and newline": {list: "0-1,8,10-11\n", want: Of(0, 1, 8, 10, 11)},
		"unsorted, double":  {list: "8,0-2,1", want: Of(0, 1, 2, 8)},
		"across words":      {list: "62-65", want: Of(62, 63, 64, 65)},
		"largest":           {list: "65535", want: Of(MaxCPU)},
		"too large":         {list: "65536", err: "above 65535"},
		"far too large":     {list: "0-99999999999", err: "not a CPU id"},
		"negative":          {list: "-1", err: "not a CPU id"},
		"sign":              {list: "+1", err: "not a CPU id"},
		"backwards":         {list: "3-1", err: `range "3-1" runs backwards`},
		"open range":        {list: "3-", err: "not a CPU id"},
		"empty item":        {list: "1,,2", err: "not a CPU id"},
		"blank inside":      {list: "1, 2", err: "not a CPU id"},
		"group":             {list: "0-10:2/4", err: "not a CPU id"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.list)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("Parse(%q): error %v, want %q", tc.list, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tc.list, diff)
			}
		})
	}
}

func TestMustParsePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("MustParse took bad text")
		}
	}()
	MustParse("x")
}

func TestJSON(t *testing.T) {
	type doc struct{ CPUs Set }
	text, err := json.Marshal(doc{Of(0, 1, 2, 8)})
	if want := `{"CPUs":"0-2,8"}`; err != nil || string(text) != want {
		t.Fatalf("marshal: %s, %v; want %s", text, err, want)
	}
	var back doc
	if err := json.Unmarshal(text, &back); err != nil || !back.CPUs.Equal(Of(0, 1, 2, 8)) {
		t.Errorf("unmarshal %s: %v, %v", text, back, err)
	}
	if err := json.Unmarshal([]byte(`{"CPUs":"7-3"}`), &back); err == nil {
		t.Error("a backward range was read")
	}
}

// FuzzParse checks each set that Parse returns. From the text that String returns for this set,
// Parse must read an equal set. For this second set, String must return the same text.
func FuzzParse(f *testing.F) {
	for _, list := range []string{"", "0", "0-3,8\n", "63-64", "5,1-2,2", "65535", "1-", "a", "3-1"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		s, err := Parse(list)
		if err != nil {
			return
		}
		text := s.String()
		again, err := Parse(text)
		if err != nil || !again.Equal(s) || again.String() != text {
			t.Fatalf("Parse(%q) = %q, read again as %q, %v", list, text, again, err)
		}
		if n := len(s.Slice()); n != s.Len() || s.Empty() != (n == 0) {
			t.Fatalf("%q has %d CPUs, Len %d, Empty %t", text, n, s.Len(), s.Empty())
		}
	})
}
