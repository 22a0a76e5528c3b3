package controller

import (
	"fmt"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

const securityPage = "../../../docs/security.md"

// TestReferenceSecurity generates the tables of docs/security.md, and checks that the page is up to
// date. The tables list the attacks of attacks_test.go and the permissions of the roles in deploy.
func TestReferenceSecurity(t *testing.T) {
	text, err := os.ReadFile(securityPage)
	if err != nil {
		t.Fatal(err)
	}
	page := between(t, string(text), "attacks", attackTables())
	page = between(t, page, "permissions", permissionTable(t))
	scenario.Golden(t, securityPage, page)
}

// The function `between` replaces one generated part of the page by the given text, and returns the
// page. The argument `what` is the name of the part, which is in the two HTML comments before and
// after the part.
func between(t *testing.T, page, what, text string) string {
	t.Helper()
	start, end := "<!-- "+what+": generated -->\n", "<!-- end of "+what+" -->"
	before, rest, found := strings.Cut(page, start)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks %q and %q", securityPage, start, end)
	}
	return before + start + text + end + after
}

func attackTables() string {
	var b strings.Builder
	for _, group := range attacks {
		fmt.Fprintf(&b, "\n### %s\n\n| attack | outcome |\n|---|---|\n", group.title)
		for _, a := range group.list {
			fmt.Fprintf(&b, "| %s | %s |\n", strings.ReplaceAll(a.name, "|", `\|`), a.outcome())
		}
	}
	return b.String() + "\n"
}

// outcome returns the result of an attack in words.
func (a attack) outcome() string {
	switch {
	case a.test != "":
		return "tested by " + a.test
	case a.refused == cannot:
		return "refused by RBAC"
	case a.refused != "":
		return "refused: “" + a.refused + "”"
	}
	return "nothing gained: " + a.gained
}

// permissionTable returns a table of the rules of all roles in deploy.
func permissionTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| role | resources | verbs |\n|---|---|---|\n")
	for _, file := range manifests {
		data, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(data), "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(role.Kind, "Role") {
				writeRules(&b, role)
			}
		}
	}
	return b.String() + "\n"
}

func writeRules(b *strings.Builder, role rbacv1.ClusterRole) {
	for _, rule := range role.Rules {
		var resources []string
		for _, resource := range rule.Resources {
			if group := rule.APIGroups[0]; group != "" {
				resource += "." + group
			}
			resources = append(resources, "`"+resource+"`")
		}
		names := ""
		if rule.ResourceNames != nil {
			names = " named " + strings.Join(rule.ResourceNames, ", ")
		}
		fmt.Fprintf(b, "| %s `%s` | %s%s | %s |\n", role.Kind, role.Name, strings.Join(append(resources, rule.NonResourceURLs...), ", "), names, strings.Join(rule.Verbs, ", "))
	}
}
