package controller

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// manifests are the files in deploy that contain Roles or ClusterRoles.
var manifests = []string{"deploy/daemonset/rbac.yaml", "deploy/containerd/rbac.yaml", "deploy/controller/rbac.yaml", "deploy/controller/queueapi/queueapi.yaml", "deploy/nodemetrics/rbac.yaml"}

// roleTests has for each role the test that shows what fails without each permission of the role.
var roleTests = map[string]string{
	"numalet-agent":               "TestEveryPermissionOfTheAgentIsNeeded",
	"numalet-containerd":          "TestEveryPermissionOfTheInstallerIsNeeded",
	"numalet-controller":          "TestEveryPermissionIsNeeded",
	"numalet-metrics-reader":      "TestEveryPermissionOfReadersIsNeeded",
	"numalet-agent-metrics":       "TestMetricsNeedARole", // of internal/agent
	"numalet-node-metrics-reader": "TestMetricsNeedARole", // of internal/agent
	"numalet-jobs-edit":           "TestEveryPermissionOfReadersIsNeeded",
	"numalet-jobs-view":           "TestEveryPermissionOfReadersIsNeeded",
	"numalet-queue-server":        "TestEveryPermissionIsNeeded",
	"numalet-queue-view":          "TestEveryPermissionOfReadersIsNeeded",
}

// rolesOf returns the names of the roles that a test covers.
func rolesOf(test string) (names []string) {
	for name, by := range roleTests {
		if by == test {
			names = append(names, name)
		}
	}
	return names
}

// TestEveryRoleHasATest checks that roleTests contains all roles in deploy, and that manifests
// contains all files in deploy that have roles.
func TestEveryRoleHasATest(t *testing.T) {
	kind, name := regexp.MustCompile(`(?m)^kind: (Cluster)?Role$`), regexp.MustCompile(`(?m)^  name: (.+)$`)
	found, in := map[string]string{}, map[string]bool{}
	err := filepath.WalkDir("../../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			if kind.Match(document) {
				role := string(name.FindSubmatch(document)[1])
				found[role], in[filepath.ToSlash(path[len("../../../"):])] = roleTests[role], true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(roleTests, found); diff != "" {
		t.Errorf("roles of deploy and their tests (-roleTests +deploy):\n%s", diff)
	}
	for _, file := range manifests {
		if !in[file] {
			t.Errorf("%s has no role", file)
		}
	}
	for file := range in {
		if !slices.Contains(manifests, file) {
			t.Errorf("%s has a role, and manifests lacks it", file)
		}
	}
}
