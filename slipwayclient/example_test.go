// SPDX-License-Identifier: Apache-2.0

package slipwayclient_test

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-k8s/slipway/slipwayclient"
)

// Drain a node, work on it, and return it.
func Example() {
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	slipway, err := slipwayclient.New(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	drain := slipwayclient.Drain("worker-1", "kernel 6.18")
	drain.Spec.SLA = &metav1.Duration{Duration: time.Hour}
	_, err = slipway.Run(ctx, drain)
	if ended, ok := errors.AsType[*slipwayclient.EndedError](err); ok {
		log.Fatalf("worker-1 is not drained: %s", ended.Outcome)
	}
	if err != nil {
		log.Fatal(err)
	}
	// Work on the node.
	if _, err := slipway.Run(ctx, slipwayclient.Return("worker-1", "kernel 6.18")); err != nil {
		log.Fatal(err)
	}
}
