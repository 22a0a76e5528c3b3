package nri

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
)

// logger gives the stub's lines to logr, where its chatter is V(4).
type logger struct{ to logr.Logger }

func (l logger) Debugf(_ context.Context, format string, args ...any) {
	l.to.V(6).Info("NRI stub: " + fmt.Sprintf(format, args...))
}

func (l logger) Infof(_ context.Context, format string, args ...any) {
	l.to.V(4).Info("NRI stub: " + fmt.Sprintf(format, args...))
}

func (l logger) Warnf(_ context.Context, format string, args ...any) {
	l.to.Info("NRI stub: " + fmt.Sprintf(format, args...))
}

func (l logger) Errorf(_ context.Context, format string, args ...any) {
	l.to.Info("NRI stub: error: " + fmt.Sprintf(format, args...))
}
