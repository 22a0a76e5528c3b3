package fairshare

import "fmt"

// Weight is a tenant's share: of two tenants whose use is as 2 to 1, and whose
// weights are so too, neither comes first.
type Weight float64

// DefaultWeight is that of who has none set.
const DefaultWeight Weight = 1

// Check refuses a weight that is not positive and finite.
func (w Weight) Check() error {
	if !positive(float64(w)) {
		return fmt.Errorf("weight %v: want more than 0; %v is everybody's unless set", float64(w), float64(DefaultWeight))
	}
	return nil
}
