package cluster

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// TestPoliciesOnOldestVersion checks that Kubernetes 1.34 accepts the CEL expressions of all
// validating admission policies. To make a downgrade possible, an API server accepts a new policy
// only if the previous minor version (1.33 for 1.34) knows the functions that the policy calls. The
// chart once could not be installed on 1.34, because a policy called the function `flatten`, which
// is new in 1.34.
func TestPoliciesOnOldestVersion(t *testing.T) {
	known := environment.MustBaseEnvSet(version.MajorMinor(1, 33))
	found := 0
	for _, file := range manifests(t, "..") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var policy admissionv1.ValidatingAdmissionPolicy
			if err := yaml.Unmarshal([]byte(document), &policy); err != nil || policy.Kind != "ValidatingAdmissionPolicy" {
				continue // the tests of other packages read the other manifests, and templates of the chart are not YAML
			}
			found++
			t.Run(policy.Name, func(t *testing.T) { compile(t, known, policy.Spec) })
		}
	}
	if found < 10 {
		t.Errorf("found %d policies, want all in deploy/admission, deploy/controller/admission and deploy/before-1.36", found)
	}
}

// manifests returns all YAML files in a directory and below.
func manifests(t *testing.T, dir string) (files []string) {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// compile reports each expression of a policy that does not compile. An expression may use only the
// functions in the environment given as `known`.
func compile(t *testing.T, known *environment.EnvSet, spec admissionv1.ValidatingAdmissionPolicySpec) {
	options := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	compiler, err := plugincel.NewCompositedCompiler(known)
	if err != nil {
		t.Fatal(err)
	}
	check := func(result plugincel.CompilationResult) {
		if result.Error != nil {
			t.Errorf("%s: %v", result.ExpressionAccessor.GetExpression(), result.Error)
		}
	}
	for _, v := range spec.Variables {
		check(compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, options, environment.NewExpressions))
	}
	for i := range spec.MatchConditions {
		check(compiler.CompileCELExpression((*matchconditions.MatchCondition)(&spec.MatchConditions[i]), options, environment.NewExpressions))
	}
	for _, v := range spec.Validations {
		check(compiler.CompileCELExpression(&validating.ValidationCondition{Expression: v.Expression}, options, environment.NewExpressions))
		if v.MessageExpression != "" {
			check(compiler.CompileCELExpression(&validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}, options, environment.NewExpressions))
		}
	}
}
