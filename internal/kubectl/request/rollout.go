// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Rollout is what the flags say of how many nodes are out at a time.
type Rollout struct {
	// MaxUnavailable is a number, or a percentage with its sign. Empty: the default there.
	MaxUnavailable string
	// TopologyKey is a label of nodes. PerDomain is how many nodes of each of its values are
	// out at a time; 0 is one value after the other.
	TopologyKey string
	PerDomain   int32
	// Batches lets nodes begin when all have returned that were out.
	Batches bool
	// PauseAfter and FailureThreshold are numbers of nodes. 0: the default there.
	PauseAfter, FailureThreshold int32
	// MaxPendingPods is a number of pods; 0 is no such brake. Negative: the default there.
	MaxPendingPods int32
}

func (m Maintain) rollout(spec *slipwayv1alpha1.NodeMaintenanceSpec) error {
	if m.Together {
		return m.noRollout()
	}
	if m.AllControlPlaneNodes {
		return errors.New("--allow-all-control-plane-nodes is for --all-together: a rollout takes out one node of the control plane at a time")
	}
	r := slipwayv1alpha1.MaintenanceRollout{TopologyKey: m.TopologyKey, Batches: m.Batches}
	most, err := unavailable(m.MaxUnavailable)
	if err != nil {
		return err
	}
	r.MaxUnavailable = most
	if m.TopologyKey == "" && m.PerDomain != 0 {
		return errors.New("--per-domain: say with --topology-key which label the domains are values of")
	}
	if wrong := validation.IsQualifiedName(m.TopologyKey); m.TopologyKey != "" && len(wrong) > 0 {
		return fmt.Errorf("--topology-key: %q is no name of a label: %s", m.TopologyKey, wrong[0])
	}
	for _, number := range []struct {
		flag  string
		value int32
		into  **int32
	}{
		{"--per-domain", m.PerDomain, &r.PerDomain},
		{"--pause-after", m.PauseAfter, &r.PauseAfter},
		{"--failure-threshold", m.FailureThreshold, &r.FailureThreshold},
	} {
		if number.value < 0 {
			return fmt.Errorf("%s: %d is not a number of nodes", number.flag, number.value)
		}
		if number.value > 0 {
			*number.into = &number.value
		}
	}
	if m.MaxPendingPods >= 0 {
		r.MaxPendingPods = &m.MaxPendingPods
	}
	spec.Rollout = &r
	return nil
}

// noRollout finds the first flag that is for a rollout.
func (m Maintain) noRollout() error {
	for _, flag := range []struct {
		name string
		said bool
	}{
		{"--max-unavailable", m.MaxUnavailable != ""},
		{"--topology-key", m.TopologyKey != ""},
		{"--per-domain", m.PerDomain != 0},
		{"--batches", m.Batches},
		{"--pause-after", m.PauseAfter != 0},
		{"--failure-threshold", m.FailureThreshold != 0},
		{"--max-pending-pods", m.MaxPendingPods >= 0},
	} {
		if flag.said {
			return fmt.Errorf("%s does not go with --all-together, which takes all nodes out at the same time", flag.name)
		}
	}
	return nil
}

// unavailable reads 3, or 20%.
func unavailable(text string) (*intstr.IntOrString, error) {
	if text == "" {
		return nil, nil
	}
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseInt(digits, 10, 32)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--max-unavailable: %q is no number of nodes, such as 3, and no percentage, such as 20%%", text)
	case percent && (n < 1 || n > 100):
		return nil, fmt.Errorf("--max-unavailable: %s is not from 1%% to 100%%", text)
	case n < 1:
		return nil, fmt.Errorf("--max-unavailable: with %s, no node would ever be out; 1 is the least", text)
	case percent:
		value := intstr.FromString(fmt.Sprintf("%d%%", n))
		return &value, nil
	default:
		value := intstr.FromInt32(int32(n))
		return &value, nil
	}
}
