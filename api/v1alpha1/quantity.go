package v1alpha1

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// MaxAmount is the largest amount that Numalet counts, in units or in thousandths. It is
// 1 PiB of memory in bytes, or about 10¹² CPUs in thousandths of a CPU. No machine has
// as much. 8,191 such amounts can be added in 64 bits without an overflow. A larger
// quantity counts as MaxAmount.
//
// Quantity.Value and Quantity.MilliValue are not safe. The API server accepts quantities
// whose thousandths exceed 64 bits, and for such quantities the two methods return 0 or
// a negative number.
const MaxAmount = 1 << 50

// Amount returns a quantity in units, rounded up. It returns at most MaxAmount and at
// least −MaxAmount.
func Amount(quantity resource.Quantity) int64 { return scaled(quantity, 0) }

// MilliAmount returns a quantity in thousandths, rounded up. It returns at most
// MaxAmount and at least −MaxAmount.
func MilliAmount(quantity resource.Quantity) int64 { return scaled(quantity, resource.Milli) }

func scaled(quantity resource.Quantity, scale resource.Scale) int64 {
	switch {
	case quantity.Cmp(*resource.NewScaledQuantity(MaxAmount, scale)) >= 0:
		return MaxAmount
	case quantity.Cmp(*resource.NewScaledQuantity(-MaxAmount, scale)) <= 0:
		return -MaxAmount
	}
	return quantity.ScaledValue(scale)
}

// CheckAmount returns an error if a pod requests more than MaxAmount of a resource.
func CheckAmount(name corev1.ResourceName, quantity resource.Quantity) error {
	scale := resource.Scale(0)
	if name == corev1.ResourceCPU {
		scale = resource.Milli
	}
	if most := resource.NewScaledQuantity(MaxAmount, scale); quantity.Cmp(*most) > 0 {
		return tooLarge(name, quantity, *most)
	}
	return nil
}

// tooLarge returns the error of CheckAmount. It is a function of its own because Errorf
// makes its arguments escape to the heap. If CheckAmount called Errorf itself, the
// arguments would be allocated even if the amount is fine.
func tooLarge(name corev1.ResourceName, quantity, most resource.Quantity) error {
	return fmt.Errorf("the pod requests %s of %s, which is more than any node can have (at most %s is counted); request less", &quantity, name, &most)
}
