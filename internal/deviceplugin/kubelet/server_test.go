package kubelet

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestContain checks that a call from the kubelet fails if its handler panics, and
// that the panic is reported.
func TestContain(t *testing.T) {
	reported := ""
	call := contain(func(call string, cause any) { reported = fmt.Sprint(call, ": ", cause) })
	info := &grpc.UnaryServerInfo{FullMethod: "/v1beta1.DevicePlugin/Allocate"}
	_, err := call(context.Background(), nil, info, func(context.Context, any) (any, error) { panic("no such device") })
	if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "Allocate panicked: no such device") {
		t.Errorf("the call failed with %v, want the panic", err)
	}
	if want := "/v1beta1.DevicePlugin/Allocate: no such device"; reported != want {
		t.Errorf("reported %q, want %q", reported, want)
	}
	answer, err := call(context.Background(), nil, info, func(context.Context, any) (any, error) { return "given", nil })
	if answer != "given" || err != nil {
		t.Errorf("the next call answers %v, %v", answer, err)
	}
}
