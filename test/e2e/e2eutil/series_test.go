package e2eutil

import "testing"

func TestSeries(t *testing.T) {
	before := series(t, "# HELP hook_sum How long.\nhook_sum{hook=\"Create\",result=\"ok\"} 1.5\nother 7\n")
	after := series(t, "\nhook_sum{hook=\"Create\",result=\"ok\"} 2\nhook_sum{hook=\"Create\",result=\"error\"} 0.25\nhook_sum{hook=\"Start pod\"} 9\nother 7\n")
	for prefix, want := range map[string]float64{
		`hook_sum{hook="Create",`:             0.75,
		`hook_sum{hook="Create",result="ok"}`: 0.5,
		`hook_sum{hook="Start pod"}`:          9,
		"other":                               0,
		"absent":                              0,
	} {
		if got := after.Since(before, prefix); got != want {
			t.Errorf("Since(%s) = %g, want %g", prefix, got, want)
		}
	}
	for _, bad := range []string{"name", "name value", `name{a="1 2"}`} {
		if got, err := ParseSeries(bad); err == nil {
			t.Errorf("ParseSeries(%q) = %v, want an error", bad, got)
		}
	}
}

func series(t *testing.T, page string) Series {
	t.Helper()
	s, err := ParseSeries(page)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
