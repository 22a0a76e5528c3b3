package e2eutil

import (
	"strings"
	"testing"
	"time"
)

const cyclictest = `# /dev/cpu_dma_latency set to 0us
# Histogram
000010 000400	000500
000020 000099	000000
009000 000000	000001
# Total: 000000499 000000501
# Histogram Overflows: 00000 00000
`

func TestParseCyclictest(t *testing.T) {
	h, err := ParseCyclictest(cyclictest)
	if err != nil || h.Count() != 1000 {
		t.Fatalf("ParseCyclictest = %v, %v", h, err)
	}
	for share, want := range map[float64]time.Duration{0.5: 10, 0.95: 20, 0.998: 20, 0.999: 9000, 1: 9000} {
		if got := h.Quantile(share); got != want*time.Microsecond {
			t.Errorf("Quantile(%g) = %s, want %d µs", share, got, want)
		}
	}
	for _, text := range []string{"", strings.Replace(cyclictest, "Overflows: 00000", "Overflows: 00002", 1), strings.Replace(cyclictest, "000400", "many", 1)} {
		if h, err := ParseCyclictest(text); err == nil {
			t.Errorf("ParseCyclictest(%q) = %v", text, h)
		}
	}
}
