package groups

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestNamedObject checks the errors of Client if the object with a given name cannot be read. If the
// API server does not know the kind of the object, the error must not say that there is no such
// object.
func TestNamedObject(t *testing.T) {
	status := func(reason string, code int) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no","details":{"kind":"tenants","name":"bob"}}`, reason, code)
	}
	for name, tc := range map[string]struct {
		code       int
		body, want string
	}{
		"no such object": {http.StatusNotFound, status("NotFound", 404), `there is no "bob", or you may not see it`},
		"no permission":  {http.StatusForbidden, status("Forbidden", 403), `there is no "bob", or you may not see it`},
		"no such kind":   {http.StatusNotFound, "404 page not found", `get tenants "bob": the server could not find the requested resource`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if strings.HasPrefix(tc.body, "{") {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(tc.code)
				fmt.Fprint(w, tc.body)
			}))
			defer server.Close()
			client, err := NewClient(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Tenants(t.Context(), "bob"); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}
