package tenants

import (
	"fmt"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Write converts the accounts of a tenant to the form in a Tenant's status. Read converts them
// back. The result equals the original accounts if the times of the original accounts
// (Account.Time) are whole microseconds.
func Write(accounts []fairshare.Account) []v1alpha1.Account {
	var written []v1alpha1.Account
	for _, a := range accounts {
		written = append(written, v1alpha1.Account{
			Type:           string(a.Type),
			Usage:          *resource.NewMilliQuantity(int64(a.Usage), resource.DecimalSI),
			Score:          strconv.FormatFloat(a.Score, 'g', -1, 64),
			LastUpdateTime: metav1.NewMicroTime(a.Time),
		})
	}
	return written
}

// Read converts an account in a Tenant's status to a fairshare.Account. It returns an error if the
// account is damaged. A damaged account does not affect the tenant's other accounts, which are read
// by other calls.
func Read(a v1alpha1.Account) (fairshare.Account, error) {
	amount, err := milli(a.Usage)
	if err != nil {
		return fairshare.Account{}, fmt.Errorf("read account of %s: %w", a.Type, err)
	}
	score, err := strconv.ParseFloat(a.Score, 64)
	if err == nil && !(score >= 0 && !math.IsInf(score, 1)) {
		err = strconv.ErrRange
	}
	if err != nil {
		return fairshare.Account{}, fmt.Errorf("read account of %s: score %q: want a number, 0 or more: %w", a.Type, a.Score, err)
	}
	return fairshare.Account{Type: fairshare.Type(a.Type), Usage: amount, Score: score, Time: a.LastUpdateTime.Time}, nil
}

// milli returns a quantity in thousandths. It returns an error if the quantity is negative, or is
// not a whole number of thousandths.
func milli(quantity resource.Quantity) (fairshare.Milli, error) {
	m := quantity.MilliValue()
	if m < 0 || resource.NewMilliQuantity(m, resource.DecimalSI).Cmp(quantity) != 0 {
		return 0, fmt.Errorf("usage %s: want thousandths, 0 or more", quantity.String())
	}
	return fairshare.Milli(m), nil
}

// Weight returns the weight in a tenant's spec, or the default weight if the spec has none.
func Weight(spec v1alpha1.TenantSpec) (fairshare.Weight, error) {
	if spec.Weight == nil {
		return fairshare.DefaultWeight, nil
	}
	w := fairshare.Weight(spec.Weight.AsApproximateFloat64())
	return w, w.Check()
}
