package machine

import "testing"

func TestTSCIsSteady(t *testing.T) {
	a, b := tscKHz(), tscKHz()
	if diff := max(a, b) - min(a, b); diff > a/100 {
		t.Errorf("two measurements differ by more than 1%%: %d and %d kHz", a, b)
	}
}
