package cluster

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/yaml"
)

// request is a request of a service account in the namespace numalet-system. The field `namespace`
// is empty if the resource has no namespace.
type request struct{ account, verb, group, resource, namespace string }

// TestPriorityLevels checks which priority level the API server gives to requests of Numalet, with
// the FlowSchemas of deploy/flowschemas and those that every API server has.
func TestPriorityLevels(t *testing.T) {
	all := append(flowSchemas(t), bootstrap.SuggestedFlowSchemas...)
	slices.SortStableFunc(all, func(a, b *flowcontrolv1.FlowSchema) int {
		return cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence)
	})
	const leases = "coordination.k8s.io"
	for _, tc := range []struct {
		request request
		want    string
	}{
		{request{"numalet-controller", "update", leases, "leases", "numalet-system"}, "leader-election"},
		{request{"numalet-controller", "watch", leases, "leases", "numalet-system"}, "workload-high"},
		{request{"numalet-controller", "create", "", "pods/binding", "default"}, "workload-high"},
		{request{"numalet-controller", "list", "", "nodes", ""}, "workload-high"},
		{request{"numalet-agent", "update", leases, "leases", "numalet-system"}, "node-high"},
		{request{"numalet-agent", "patch", "numalet.dev", "nodetopologies/status", ""}, "workload-low"},
		{request{"default", "update", leases, "leases", "numalet-system"}, "workload-low"},
	} {
		i := slices.IndexFunc(all, func(s *flowcontrolv1.FlowSchema) bool {
			return slices.ContainsFunc(s.Spec.Rules, tc.request.matches)
		})
		if got := all[i].Spec.PriorityLevelConfiguration.Name; got != tc.want {
			t.Errorf("%+v has the priority level %s by FlowSchema %s, want %s", tc.request, got, all[i].Name, tc.want)
		}
	}
}

// matches reports whether a rule of a FlowSchema applies to the request.
func (r request) matches(rule flowcontrolv1.PolicyRulesWithSubjects) bool {
	has := func(list []string, value string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, value)
	}
	return slices.ContainsFunc(rule.Subjects, r.isSubject) && slices.ContainsFunc(rule.ResourceRules, func(rule flowcontrolv1.ResourcePolicyRule) bool {
		where := rule.ClusterScope
		if r.namespace != "" {
			where = has(rule.Namespaces, r.namespace)
		}
		return where && has(rule.Verbs, r.verb) && has(rule.APIGroups, r.group) && has(rule.Resources, r.resource)
	})
}

func (r request) isSubject(s flowcontrolv1.Subject) bool {
	if account := s.ServiceAccount; account != nil {
		return account.Namespace == "numalet-system" && (account.Name == "*" || account.Name == r.account)
	}
	return s.Group != nil && slices.Contains(append(serviceaccount.MakeGroupNames("numalet-system"), "system:authenticated"), s.Group.Name)
}

func flowSchemas(t *testing.T) (all []*flowcontrolv1.FlowSchema) {
	t.Helper()
	text, err := os.ReadFile("../flowschemas/flowschemas.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		schema := &flowcontrolv1.FlowSchema{}
		if err := yaml.UnmarshalStrict([]byte(document), schema); err != nil {
			t.Fatal(err)
		}
		all = append(all, schema)
	}
	return all
}
