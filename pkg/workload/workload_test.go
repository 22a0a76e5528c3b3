package workload

import "testing"

func TestWholeCPUs(t *testing.T) {
	for name, tc := range map[string]struct {
		r     Resources
		want  int
		whole bool
	}{
		"as the kubelet writes it":      {Resources{Shares: 4096, QuotaMicros: 400_000, PeriodMicros: 100_000}, 4, true},
		"as many as the shares can say": {Resources{Shares: 262_144, QuotaMicros: 25_600_000, PeriodMicros: 100_000}, 256, true},
		"more than the shares can say":  {Resources{Shares: 262_144, QuotaMicros: 30_000_000, PeriodMicros: 100_000}, 300, true},
		"a request below the limit":     {Resources{Shares: 1024, QuotaMicros: 200_000, PeriodMicros: 100_000}, 2, false},
		"a fraction":                    {Resources{Shares: 1536, QuotaMicros: 150_000, PeriodMicros: 100_000}, 0, false},
		"no limit":                      {Resources{Shares: 2048, QuotaMicros: -1, PeriodMicros: 100_000}, 0, false},
		"nothing":                       {},
	} {
		t.Run(name, func(t *testing.T) {
			if got, whole := tc.r.WholeCPUs(); got != tc.want || whole != tc.whole {
				t.Errorf("WholeCPUs() = %d, %v; want %d, %v", got, whole, tc.want, tc.whole)
			}
		})
	}
}

func TestExclusiveCPUs(t *testing.T) {
	for name, tc := range map[string]struct {
		r    Resources
		want int
		bad  bool
	}{
		"as the kubelet writes it":           {r: Resources{Shares: 4096, QuotaMicros: 400_000, PeriodMicros: 100_000}, want: 4},
		"pinned":                             {r: Resources{Shares: 3072, QuotaMicros: -1, PeriodMicros: 100_000}, want: 3},
		"another period":                     {r: Resources{Shares: 2048, QuotaMicros: 20_000, PeriodMicros: 10_000}, want: 2},
		"more than the shares can say":       {r: Resources{Shares: 262_144, QuotaMicros: 30_000_000, PeriodMicros: 100_000}, want: 300},
		"pinned, more than the shares say":   {r: Resources{Shares: 262_144, QuotaMicros: -1}},
		"nothing":                            {},
		"memory only":                        {r: Resources{MemoryBytes: 1 << 30}},
		"a fraction":                         {r: Resources{Shares: 1536, QuotaMicros: 150_000, PeriodMicros: 100_000}, bad: true},
		"less than one":                      {r: Resources{Shares: 512, QuotaMicros: 50_000, PeriodMicros: 100_000}, bad: true},
		"a request below the limit":          {r: Resources{Shares: 1024, QuotaMicros: 200_000, PeriodMicros: 100_000}, bad: true},
		"no quota, and a fraction of shares": {r: Resources{Shares: 1536, QuotaMicros: -1}, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.r.ExclusiveCPUs()
			if got != tc.want || (err != nil) != tc.bad {
				t.Errorf("ExclusiveCPUs() = %d, %v; want %d, error %v", got, err, tc.want, tc.bad)
			}
		})
	}
}
