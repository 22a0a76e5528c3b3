package filters

import (
	"strings"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// reason says in upstream's words why a node does not suit; code says for whom
// they hold.
func reason(status *fwk.Status, code sched.Code) sched.Reason {
	if status.IsSuccess() {
		return sched.Reason{}
	}
	return sched.Reason{Code: code, Detail: strings.Join(status.Reasons(), "\n")}
}
