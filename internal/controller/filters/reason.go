package filters

import (
	"strings"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// reason converts the status of a plugin to a sched.Reason with the given code, which says to which
// nodes the reason applies.
func reason(status *fwk.Status, code sched.Code) sched.Reason {
	if status.IsSuccess() {
		return sched.Reason{}
	}
	return sched.Reason{Code: code, Detail: strings.Join(status.Reasons(), "\n")}
}
