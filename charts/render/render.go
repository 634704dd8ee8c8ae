// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// values are those of a chart, as in values.yaml.
type values = map[string]any

// manifests are the plain ones, with the values that they have. Transitions are applied
// afterwards, from config/transitions: kubectl knows no kinds before their CRDs are there.
var manifests = map[string]values{
	"install.yaml":         {"mode": "node", "crds": values{"keep": false}, "transitions": values{"install": false}},
	"install-central.yaml": {"mode": "central", "crds": values{"keep": false}, "transitions": values{"install": false}},
	"install-reduced.yaml": {"reduced": true, "crds": values{"keep": false}, "transitions": values{"install": false}},
}

// additions are applied on top of a plain manifest: what its values, with these in addition,
// change of it.
var additions = map[string]addition{
	"install-evictions.yaml": {"install.yaml", "evictionRequests", values{"enabled": true}},
	"install-jobs.yaml":      {"install.yaml", "maintenanceJobs", values{"enabled": true}},
	"install-host.yaml":      {"install.yaml", "host", values{"enabled": true}},
	"install-leases.yaml":    {"install.yaml", "nodeLeases", values{"enabled": true}},
}

type addition struct {
	of, key string
	value   values
}

const header = "# Rendered from charts/slipway by make manifests. Do not edit.\n"

// place is where a chart is installed.
type place struct{ kubeVersion, namespace string }

// oldest is the oldest server that the plain manifests are for.
var oldest = place{kubeVersion: "v1.36.0", namespace: "slipway-system"}

// newest is the newest server that Slipway was tested on.
var newest = place{kubeVersion: "v1.37.1", namespace: "slipway-system"}

// order of the templates in a manifest: what others need comes first.
var order = []string{"crds", "rbac", "admission", "transitions", "networkpolicy", "controller", "agent", "host", "servicemonitor", "prometheusrule"}

// rendered are the texts of config/, by their names.
func rendered(root string) (texts map[string]string, err error) {
	texts = map[string]string{}
	for name, v := range manifests {
		if texts[name], err = manifest(root, v); err != nil {
			return nil, err
		}
	}
	for name, a := range additions {
		if texts[name], err = a.text(root); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// manifest is a plain one.
func manifest(root string, v values) (string, error) {
	own, err := os.ReadFile(filepath.Join(root, "config", notCopied))
	if err != nil {
		return "", err
	}
	rendered, err := render(root, oldest, v)
	if err != nil {
		return "", err
	}
	return header + strings.Join(append([]string{strings.TrimSpace(string(own))}, rendered...), "\n---\n") + "\n", nil
}

// text is an addition: all documents that the manifest does not have.
func (a addition) text(root string) (string, error) {
	without, err := render(root, oldest, manifests[a.of])
	if err != nil {
		return "", err
	}
	v := maps.Clone(manifests[a.of])
	v[a.key] = a.value
	with, err := render(root, oldest, v)
	if err != nil {
		return "", err
	}
	with = slices.DeleteFunc(with, func(document string) bool { return slices.Contains(without, document) })
	return header + "# To be applied after config/" + a.of + ".\n" + strings.Join(with, "\n---\n") + "\n", nil
}

// render gives the documents of the chart, as Helm applies them.
func render(root string, at place, v values) ([]string, error) {
	chart, err := loader.LoadDir(filepath.Join(root, "charts", "slipway"))
	if err != nil {
		return nil, fmt.Errorf("load the chart: %w", err)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	parsed, err := chartutil.ParseKubeVersion(at.kubeVersion)
	if err != nil {
		return nil, fmt.Errorf("render for Kubernetes %q: %w", at.kubeVersion, err)
	}
	capabilities.KubeVersion = *parsed
	release := chartutil.ReleaseOptions{Name: "slipway", Namespace: at.namespace, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, v, release, capabilities)
	if err != nil {
		return nil, fmt.Errorf("take in the values: %w", err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, fmt.Errorf("render the chart: %w", err)
	}
	var found []string
	for _, name := range order {
		found = append(found, documents(files["slipway/templates/"+name+".yaml"])...)
	}
	return found, nil
}

var separator = regexp.MustCompile(`(?m)^---\s*$`)

// documents are those of a YAML text that have something in them.
func documents(text string) []string {
	all := separator.Split(text, -1)
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return slices.DeleteFunc(all, func(document string) bool { return document == "" })
}
