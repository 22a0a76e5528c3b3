package filters

import (
	"strings"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// reason converts the status of a kube-scheduler plugin to a sched.Reason with the given code. If
// the status is a success, the result is the empty Reason.
func reason(status *fwk.Status, code sched.Code) sched.Reason {
	if status.IsSuccess() {
		return sched.Reason{}
	}
	return sched.Reason{Code: code, Detail: strings.Join(status.Reasons(), "\n")}
}
