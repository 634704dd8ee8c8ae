// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"sigs.k8s.io/yaml"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// Whatever bytes a driver registers with: either it is told what of them is wrong, and there
// is no driver; or there is one of its name, which a transition can have in spec.driver.
func FuzzAdmit(f *testing.F) {
	for _, seed := range []*registerapi.PluginInfo{
		{},
		{Type: driverv1.PluginType, Name: "d", SupportedVersions: []string{driverv1.ServiceName}},
		{Type: driverv1.PluginType, Name: "example.com/reboot", Endpoint: "/e", SupportedVersions: []string{"v2", driverv1.ServiceName}},
		{Type: driverv1.PluginType, Name: "example.com/server_side_drain", Endpoint: "/e", SupportedVersions: []string{driverv1.ServiceName}},
		{Type: driverv1.PluginType, Name: "d", Endpoint: "slm.sock", SupportedVersions: []string{driverv1.ServiceName}},
		{Type: driverv1.PluginType, Name: "a,b", Endpoint: "/e", SupportedVersions: []string{driverv1.ServiceName}},
		{Type: driverv1.PluginType, Name: "../d\n", Endpoint: "/e", SupportedVersions: []string{driverv1.ServiceName}},
	} {
		raw, err := proto.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	nameable := specDriver(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		info := &registerapi.PluginInfo{}
		if proto.Unmarshal(raw, info) != nil {
			return
		}
		r := New([]string{"/registration"}, func() {})
		err := r.admit(socketFile{path: "/registration/d-reg.sock"}, info)
		switch {
		case err != nil:
			if !slices.ContainsFunc([]string{"plugin name ", "endpoint ", "supported versions "}, func(field string) bool {
				return strings.HasPrefix(err.Error(), field)
			}) {
				t.Errorf("the refusal does not say what is wrong: %v", err)
			}
			if names := r.Names(); len(names) > 0 {
				t.Errorf("it is refused, and there are %q", names)
			}
		case !slices.Equal(r.Names(), []string{info.GetName()}):
			t.Errorf("%q has registered, and there are %q", info.GetName(), r.Names())
		case !nameable(info.GetName()):
			t.Errorf("no transition can name %q", info.GetName())
		case !filepath.IsAbs(r.instances[0].endpoint):
			t.Errorf("its endpoint is %q", r.instances[0].endpoint)
		}
	})
}

// specDriver says what the server takes as spec.driver of a LifecycleTransition.
func specDriver(tb testing.TB) func(name string) bool {
	tb.Helper()
	text, err := os.ReadFile("../../../config/crd/slm.slipway.dev/slm.slipway.dev_lifecycletransitions.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		tb.Fatal(err)
	}
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["driver"]
	pattern := regexp.MustCompile(schema.Pattern)
	return func(name string) bool {
		return int64(len(name)) >= *schema.MinLength && int64(len(name)) <= *schema.MaxLength && pattern.MatchString(name)
	}
}
