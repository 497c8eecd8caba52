// Package deploy checks the Containerfile and the manifests next to it. It is its own module, so
// that no other module requires Kubernetes.
package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// decode decodes the documents of a manifest as types of Kubernetes. Unknown fields, repeated
// fields and values of the wrong type are errors.
func decode(manifest []byte) (jobs []batchv1.Job, claims []corev1.PersistentVolumeClaim, err error) {
	for i, text := range bytes.Split(manifest, []byte("\n---\n")) {
		var kind struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(text, &kind); err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		switch kind.APIVersion + " " + kind.Kind {
		case "batch/v1 Job":
			jobs = append(jobs, batchv1.Job{})
			err = yaml.UnmarshalStrict(text, &jobs[len(jobs)-1])
		case "v1 PersistentVolumeClaim":
			claims = append(claims, corev1.PersistentVolumeClaim{})
			err = yaml.UnmarshalStrict(text, &claims[len(claims)-1])
		default:
			err = errors.New("it is neither a Job nor a claim")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	return jobs, claims, nil
}

// manifests decodes all manifests.
func manifests(t *testing.T) (jobs []batchv1.Job, claims []corev1.PersistentVolumeClaim) {
	t.Helper()
	for _, name := range []string{"job.yaml", "merge.yaml", "results.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		j, c, err := decode(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		jobs, claims = append(jobs, j...), append(claims, c...)
	}
	return jobs, claims
}

// TestManifests checks rules that the Go types of Kubernetes cannot express. If a manifest names
// another object, that object must exist. Jobs must satisfy the rules of the API server.
func TestManifests(t *testing.T) {
	jobs, claims := manifests(t)
	if len(jobs) != 3 || len(claims) != 1 {
		t.Fatalf("%d jobs, %d claims", len(jobs), len(claims))
	}
	for _, j := range jobs {
		spec := j.Spec.Template.Spec
		if spec.RestartPolicy != corev1.RestartPolicyNever { // a podFailurePolicy requires it
			t.Errorf("%s: restartPolicy is %q", j.Name, spec.RestartPolicy)
		}
		var volumes []string
		for _, v := range spec.Volumes {
			volumes = append(volumes, v.Name)
			if c := v.PersistentVolumeClaim; c != nil && c.ClaimName != claims[0].Name {
				t.Errorf("%s: there is no claim %s", j.Name, c.ClaimName)
			}
		}
		var containers []string
		for _, c := range spec.Containers {
			containers = append(containers, c.Name)
			if c.Image != jobs[0].Spec.Template.Spec.Containers[0].Image || strings.HasSuffix(c.Image, ":latest") {
				t.Errorf("%s: the image %s is not that of the other containers, or its tag is latest, which may differ between nodes", j.Name, c.Image)
			}
			for _, m := range c.VolumeMounts {
				if !slices.Contains(volumes, m.Name) {
					t.Errorf("%s: there is no volume %s", j.Name, m.Name)
				}
			}
			if !c.Resources.Requests.Cpu().Equal(*c.Resources.Limits.Cpu()) || !c.Resources.Requests.Memory().Equal(*c.Resources.Limits.Memory()) || c.Resources.Limits.Cpu().MilliValue()%1000 != 0 {
				t.Errorf("%s: want limits that are equal to the requests, and whole CPUs", j.Name)
			}
		}
		if j.Spec.PodFailurePolicy != nil {
			for _, r := range j.Spec.PodFailurePolicy.Rules {
				if on := r.OnExitCodes; on != nil && !slices.Contains(containers, *on.ContainerName) {
					t.Errorf("%s: there is no container %s", j.Name, *on.ContainerName)
				}
			}
		}
	}
	lab := jobs[0].Spec
	if lab.CompletionMode == nil || *lab.CompletionMode != batchv1.IndexedCompletion || *lab.Completions != *lab.Parallelism || lab.BackoffLimitPerIndex == nil {
		t.Errorf("want the lab to be an indexed Job that runs all its pods at the same time: %+v", lab)
	}
	affinity := lab.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for key, value := range affinity[0].LabelSelector.MatchLabels {
		if lab.Template.Labels[key] != value {
			t.Errorf("the pods lack the label %s: %s, which keeps them on different nodes", key, value)
		}
	}
}

// TestDecodeIsStrict checks that mistakes in a manifest are found.
func TestDecodeIsStrict(t *testing.T) {
	text, err := os.ReadFile("job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"completionMode: Indexed", "completionmodes: Indexed"},
		{"parallelism: 3", "parallelism: three"},
		{"mountPath: /results", "mountpoint: /results"},
		{"completions: 3", "completions: 3\n  completions: 3"},
		{"kind: Job", "kind: Jobs"},
		{"cpu: \"2\"", "cpu: two"},
	} {
		if _, _, err := decode(bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)); err == nil {
			t.Errorf("%s: no error", change[1])
		}
	}
}

// stage is a stage of the Containerfile.
type stage struct {
	from, name string
	made       []string // paths that the stage copies or makes outside the source tree
}

// TestContainerfile checks that everything that the Containerfile copies is in the repository or
// was made by an earlier stage. The Go version in the Containerfile must be the version in go.mod.
func TestContainerfile(t *testing.T) {
	text, err := os.ReadFile("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	var stages []stage
	known := []string{"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "ENTRYPOINT"}
	for n, line := range strings.Split(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if !slices.Contains(known, words[0]) {
			t.Errorf("line %d: the instruction %s is not known here", n+1, words[0])
		}
		if words[0] == "FROM" {
			stages = append(stages, stage{from: words[1]})
			if len(words) == 4 && words[2] == "AS" {
				stages[len(stages)-1].name = words[3]
			}
			continue
		}
		s := &stages[len(stages)-1]
		switch words[0] {
		case "RUN":
			for _, w := range words {
				if path.IsAbs(w) {
					s.made = append(s.made, w)
				}
			}
			if i := slices.Index(words, "useradd"); i >= 0 {
				s.made = append(s.made, "/home/"+words[len(words)-1])
			}
		case "COPY":
			checkCopy(t, n+1, words[1:], stages)
			s.made = append(s.made, words[len(words)-1])
		case "USER":
			if !slices.Contains(s.made, "/home/"+words[1]) {
				t.Errorf("line %d: there is no user %s", n+1, words[1])
			}
		case "ENTRYPOINT":
			if line != `ENTRYPOINT ["sqlite3perf"]` || !slices.Contains(s.made, "/usr/local/bin/sqlite3perf") {
				t.Errorf("line %d: the entry point is not in the image", n+1)
			}
		}
	}
	if len(stages) != 2 || stages[0].from != stages[1].from {
		t.Fatalf("the stages are %+v: want two of the same image, so that Go and gcc are the same", stages)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	want := "golang:" + string(regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(mod)[1]) + "-"
	if !strings.HasPrefix(stages[0].from, want) {
		t.Errorf("the image is %s: want %s..., as go.mod says", stages[0].from, want)
	}
	if _, made := os.Stat("measure.sh"); made != nil || !slices.Contains(stages[1].made, "/usr/local/bin/measure") {
		t.Error("the image lacks the script measure, which the Job runs")
	}
}

// checkCopy checks that the sources of a COPY exist in the repository or, with --from, in the
// named stage.
func checkCopy(t *testing.T, line int, words []string, stages []stage) {
	t.Helper()
	from := ""
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		if name, ok := strings.CutPrefix(words[0], "--from="); ok {
			from = name
		}
		words = words[1:]
	}
	for _, source := range words[:len(words)-1] {
		if from == "" {
			if _, err := os.Stat(filepath.Join("..", source)); err != nil {
				t.Errorf("line %d: %v", line, err)
			}
			continue
		}
		i := slices.IndexFunc(stages, func(s stage) bool { return s.name == from })
		if i < 0 || !slices.Contains(stages[i].made, source) {
			t.Errorf("line %d: no stage %s makes %s", line, from, source)
		}
	}
}

// TestNewerModules checks that no module that the image builds requires a newer Go than the image
// has.
func TestNewerModules(t *testing.T) {
	required := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`(?m)^(?:go|toolchain go)\s?(\S+)$`).FindAllSubmatch(text, -1)
		return string(m[len(m)-1][1])
	}
	root := required("../go.mod")
	var files []string
	for _, pattern := range []string{"../worker/go.mod", "../record/go.mod", "../drivers/*/go.mod"} {
		found, err := fs.Glob(os.DirFS(".."), strings.TrimPrefix(pattern, "../"))
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	for _, f := range files {
		if v := required(filepath.Join("..", f)); version.Compare("go"+v, "go"+root) > 0 {
			t.Errorf("%s needs Go %s, and the image has %s", f, v, root)
		}
	}
}
