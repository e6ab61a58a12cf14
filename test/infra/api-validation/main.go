// Reads one JSON object per line, {"yaml": "…"}, and answers one per line: the objects of that YAML as an API server of
// Kubernetes reads them, and what its decoding and validation has against each. Kinds it does not know are only read.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/rbac"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
	"sigs.k8s.io/yaml"
)

type answer struct {
	Objects  []json.RawMessage `json:"objects"`
	Problems []string          `json:"problems"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var request struct{ Yaml string }
		if err == nil {
			err = json.Unmarshal(line, &request)
		}
		if err == nil {
			err = out.Encode(judge(request.Yaml))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

var strict = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

func judge(stream string) answer {
	found := answer{Objects: []json.RawMessage{}, Problems: []string{}}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream)))
	for {
		document, err := reader.Read()
		if err == io.EOF {
			return found
		}
		object, problems, err := judgeDocument(document, err)
		if err != nil {
			problems = append(problems, err.Error())
		}
		if string(object) != "null" && object != nil {
			found.Objects = append(found.Objects, object)
		}
		found.Problems = append(found.Problems, problems...)
	}
}

func judgeDocument(document []byte, err error) (json.RawMessage, []string, error) {
	if err != nil {
		return nil, nil, err
	}
	object, err := yaml.YAMLToJSONStrict(document)
	if err != nil || string(object) == "null" {
		return nil, nil, err
	}
	versioned, kind, err := strict.Decode(object, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		return object, nil, nil
	}
	if err != nil {
		return object, []string{identity(object) + ": " + err.Error()}, nil
	}
	legacyscheme.Scheme.Default(versioned)
	internal, err := legacyscheme.Scheme.ConvertToVersion(versioned, runtime.InternalGroupVersioner)
	if err != nil {
		return object, nil, fmt.Errorf("%s: %w", kind, err)
	}
	problems := []string{}
	for _, problem := range validate(internal) {
		problems = append(problems, identity(object)+": "+problem.Error())
	}
	return object, problems, nil
}

func identity(object []byte) string {
	var named struct {
		Kind     string
		Metadata struct{ Name string }
	}
	if json.Unmarshal(object, &named) != nil {
		return "object"
	}
	return named.Kind + " " + named.Metadata.Name
}

const namespace = "default"

func validate(object runtime.Object) field.ErrorList {
	switch typed := object.(type) {
	case *apps.Deployment:
		typed.Namespace = namespace
		return appsvalidation.ValidateDeployment(typed, podOptions(&typed.Spec.Template))
	case *apps.StatefulSet:
		typed.Namespace = namespace
		return appsvalidation.ValidateStatefulSet(typed, podOptions(&typed.Spec.Template))
	case *batch.Job:
		return validateJob(typed)
	case *batch.CronJob:
		typed.Namespace = namespace
		return batchvalidation.ValidateCronJobCreate(typed, podOptions(&typed.Spec.JobTemplate.Spec.Template))
	case *autoscaling.HorizontalPodAutoscaler:
		typed.Namespace = namespace
		options := autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{MinReplicasLowerBound: 1}
		return autoscalingvalidation.ValidateHorizontalPodAutoscaler(typed, options)
	case *policy.PodDisruptionBudget:
		typed.Namespace = namespace
		return policyvalidation.ValidatePodDisruptionBudget(typed, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *networking.NetworkPolicy:
		typed.Namespace = namespace
		return networkingvalidation.ValidateNetworkPolicy(typed, networkingvalidation.NetworkPolicyValidationOptions{})
	case *networking.Ingress:
		typed.Namespace = namespace
		return networkingvalidation.ValidateIngressCreate(typed)
	case *rbac.Role:
		typed.Namespace = namespace
		return rbacvalidation.ValidateRole(typed)
	case *rbac.RoleBinding:
		return validateRoleBinding(typed)
	case *rbac.ClusterRole:
		return rbacvalidation.ValidateClusterRole(typed, rbacvalidation.ClusterRoleValidationOptions{})
	case *rbac.ClusterRoleBinding:
		return rbacvalidation.ValidateClusterRoleBinding(typed)
	}
	return validateCore(object)
}

func validateCore(object runtime.Object) field.ErrorList {
	switch typed := object.(type) {
	case *core.ConfigMap:
		typed.Namespace = namespace
		return corevalidation.ValidateConfigMap(typed)
	case *core.Secret:
		typed.Namespace = namespace
		return corevalidation.ValidateSecret(typed)
	case *core.Service:
		typed.Namespace = namespace
		// The API server makes a list of the one address before it validates it.
		if typed.Spec.ClusterIP != "" && len(typed.Spec.ClusterIPs) == 0 {
			typed.Spec.ClusterIPs = []string{typed.Spec.ClusterIP}
		}
		return corevalidation.ValidateServiceCreate(typed)
	case *core.ServiceAccount:
		typed.Namespace = namespace
		return corevalidation.ValidateServiceAccount(typed)
	case *core.PersistentVolumeClaim:
		typed.Namespace = namespace
		return corevalidation.ValidatePersistentVolumeClaim(typed, corevalidation.ValidationOptionsForPersistentVolumeClaim(typed, nil))
	case *core.Pod:
		typed.Namespace = namespace
		return corevalidation.ValidatePodCreate(typed, podutil.GetValidationOptionsFromPodSpecAndMeta(&typed.Spec, nil, &typed.ObjectMeta, nil))
	case *core.Namespace:
		return corevalidation.ValidateNamespace(typed)
	}
	return field.ErrorList{field.InternalError(field.NewPath("kind"), fmt.Errorf("%T is not validated", object))}
}

func podOptions(template *core.PodTemplateSpec) corevalidation.PodValidationOptions {
	return podutil.GetValidationOptionsFromPodTemplate(template, nil)
}

// The API server gives a Job its selector, and its pods labels with its name, before it validates it.
func validateJob(job *batch.Job) field.ErrorList {
	job.Namespace = namespace
	job.UID = types.UID("11111111-1111-1111-1111-111111111111")
	labels := map[string]string{
		batch.ControllerUidLabel:       string(job.UID),
		batch.LegacyControllerUidLabel: string(job.UID),
		batch.JobNameLabel:             job.Name,
		batch.LegacyJobNameLabel:       job.Name,
	}
	for key, value := range job.Spec.Template.Labels {
		labels[key] = value
	}
	job.Spec.Template.Labels = labels
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batch.ControllerUidLabel: string(job.UID)}}
	return batchvalidation.ValidateJob(job, batchvalidation.JobValidationOptions{
		PodValidationOptions:  podOptions(&job.Spec.Template),
		RequirePrefixedLabels: true,
	})
}

func validateRoleBinding(binding *rbac.RoleBinding) field.ErrorList {
	if binding.Namespace == "" {
		binding.Namespace = namespace
	}
	return rbacvalidation.ValidateRoleBinding(binding)
}
