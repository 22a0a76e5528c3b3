package tenants

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// updateStatus sets the status of a Tenant from the ledger. The accounts in the status do not
// include tasks (pods that hold resources) that are younger than 5 s (fairshare.Margin). A later
// leader, which restores the accounts, compares a task's start time with the time of the accounts,
// and so knows whether the accounts include the task. The 5 s are necessary because start times
// have a resolution of one second, and the ledger may learn of a task late. updateStatus reports
// whether the status has changed and must be written. The parameter `invalid` is the error in the
// Tenant's spec, or nil.
func (l *Ledger) updateStatus(tenant *v1alpha1.Tenant, invalid error) bool {
	before := tenant.Status.DeepCopy()
	now := l.now()
	accounts := l.book.Load().Stored(tenant.Name, now)
	tenant.Status.ObservedGeneration = tenant.Generation
	for _, c := range []metav1.Condition{ready(invalid), withinQuota(tenant.Spec.Quotas, accounts)} {
		c.ObservedGeneration = tenant.Generation
		meta.SetStatusCondition(&tenant.Status.Conditions, c)
	}
	if l.stale(before.Accounts, accounts) {
		tenant.Status.Accounts = Write(accounts)
	}
	return !equality.Semantic.DeepEqual(before, &tenant.Status)
}

// visibleChange is a fraction of a score. All scores change with time. Such a change alone causes a
// write of the status only if it is larger than this fraction of the score.
const visibleChange = .01

// stale reports whether the accounts in a Tenant's status (`stored`) are out of date. They are out
// of date in two cases. First, something other than the passage of time has changed the accounts.
// To find this out, stale computes the scores that the stored accounts would have by now, and
// compares the result with the current accounts (`now`). Second, the passage of time has changed a
// score by more than visibleChange.
func (l *Ledger) stale(stored []v1alpha1.Account, now []fairshare.Account) bool {
	if len(stored) != len(now) {
		return true
	}
	for i, a := range now {
		was, err := Read(stored[i])
		if err != nil || was.Type != a.Type || was.Usage != a.Usage {
			return true
		}
		due := l.decay.Next(was.Score, float64(was.Usage)/1000, max(0, a.Time.Sub(was.Time).Seconds()))
		if math.Abs(due-a.Score) > 1e-12*max(1, a.Score) || math.Abs(was.Score-a.Score) > visibleChange*max(was.Score, a.Score) {
			return true
		}
	}
	return false
}

// ready returns the condition Ready of a Tenant. The parameter `invalid` is the error in the Tenant's
// spec, or nil.
func ready(invalid error) metav1.Condition {
	if invalid != nil {
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "BadSpec", Message: invalid.Error()}
	}
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Counted", Message: "usage is counted; pods are ordered by score divided by weight"}
}

// withinQuota returns the condition WithinQuota. Its message says how much of each quota is used.
func withinQuota(quotas map[string]resource.Quantity, accounts []fairshare.Account) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionWithinQuota, Status: metav1.ConditionTrue, Reason: "WithinQuota", Message: "the tenant has no quota"}
	var uses []string
	for _, name := range slices.Sorted(maps.Keys(quotas)) {
		quota, holds := quotas[name], used(fairshare.Type(name), accounts)
		if holds.Cmp(quota) > 0 {
			condition.Status, condition.Reason = metav1.ConditionFalse, "OverQuota"
		}
		uses = append(uses, fmt.Sprintf("%s of %s %s", holds.String(), quota.String(), name))
	}
	condition.Message = cmp.Or(strings.Join(uses, ", "), condition.Message)
	return condition
}

// used returns the usage that counts for a tenant's quota of a resource type. For the type AnyGPU,
// it counts the GPUs of all models.
func used(of fairshare.Type, accounts []fairshare.Account) resource.Quantity {
	sum := fairshare.Milli(0)
	for _, a := range accounts {
		if of.Counts(a.Type) {
			sum += a.Usage
		}
	}
	return *resource.NewMilliQuantity(int64(sum), resource.DecimalSI)
}
