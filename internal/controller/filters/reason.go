package filters

import (
	"strings"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// reason returns a plugin's message as a reason. code says which nodes it applies to.
func reason(status *fwk.Status, code sched.Code) sched.Reason {
	if status.IsSuccess() {
		return sched.Reason{}
	}
	return sched.Reason{Code: code, Detail: strings.Join(status.Reasons(), "\n")}
}
