// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// socketDir is the folder of agents and separate drivers on a machine, with the same path in their containers.
const socketDir = "/var/lib/slipway"

// withDrain gives the drain driver its settings, and decides where it runs.
func withDrain(objects, transitions []*unstructured.Unstructured, choice Choice) error {
	for _, o := range objects {
		agents := o.GetKind() == "DaemonSet" && o.GetName() == Agents
		if agents && (choice.ThirdPartyDrivers || choice.SeparateDrain) {
			if err := shareSockets(o); err != nil {
				return fmt.Errorf("%s: %w", RefOf(o), err)
			}
		}
		if agents || o.GetKind() == "Deployment" && o.GetName() == Controller {
			if err := setArgs(o, agents && choice.SeparateDrain, choice.Drain); err != nil {
				return err
			}
		}
	}
	return setTransitions(transitions, choice.Drain)
}

// setTransitions changes Slipway's transitions: they are for the driver that drains, and have its time limit.
func setTransitions(transitions []*unstructured.Unstructured, flags map[string]string) error {
	for _, o := range transitions {
		if o.GetKind() != "LifecycleTransition" {
			continue
		}
		for field, flag := range map[string]string{"driver": DriverName, "sla": SLA} {
			_, has, _ := unstructured.NestedString(o.Object, "spec", field) // the drain of a shutdown has no sla
			if value := flags[flag]; has && value != "" {
				if err := unstructured.SetNestedField(o.Object, value, "spec", field); err != nil {
					return fmt.Errorf("%s: %w", RefOf(o), err)
				}
			}
		}
	}
	return nil
}

// setArgs changes the flags that a workload has already, and disables its own drain driver if another one drains.
func setArgs(o *unstructured.Unstructured, separate bool, flags map[string]string) error {
	containers, err := containersOf(o)
	if err != nil {
		return err
	}
	for _, c := range containers {
		args, _, _ := unstructured.NestedStringSlice(c, "args")
		for i, arg := range args {
			flag, _, _ := strings.Cut(arg, "=")
			if value, ok := flags[strings.TrimPrefix(flag, "--")]; ok {
				args[i] = flag + "=" + value
			}
		}
		if separate {
			args = append(args, "--builtin-drivers=")
		}
		if err := unstructured.SetNestedStringSlice(c, args, "args"); err != nil {
			return fmt.Errorf("%s: %w", RefOf(o), err)
		}
	}
	return nil
}

// shareSockets puts the sockets of the agents onto the host, where they are root's.
func shareSockets(o *unstructured.Unstructured) error {
	spec, _, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	if err != nil {
		return err
	}
	spec["securityContext"] = map[string]any{"runAsUser": int64(0), "seccompProfile": map[string]any{"type": "RuntimeDefault"}}
	spec["volumes"] = []any{map[string]any{"name": "sockets", "hostPath": map[string]any{"path": socketDir, "type": "DirectoryOrCreate"}}}
	return unstructured.SetNestedMap(o.Object, spec, "spec", "template", "spec")
}
