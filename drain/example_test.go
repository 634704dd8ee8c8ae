// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-k8s/slipway/drain"
)

// Drain a node that has been cordoned, with the rights of whoever runs this.
func ExampleDrainer_Drain() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	drainer, err := drain.New(drain.Config{Pods: client.CoreV1(), Budgets: client.PolicyV1()})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	err = drainer.Drain(ctx, drain.Request{NodeName: "worker-1"}, func(s drain.Status) {
		fmt.Println(s.Message)
		for _, b := range s.Blockers {
			fmt.Printf("  %s: %s: %s\n", b.Pod, b.Reason, b.Message)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
}
