/**
 * The API objects of Kubernetes 1.34 that the chart has, as cdk8s types them. Taken from where they
 * are: the index of the package loads more than that.
 */
export type * from 'cdk8s-plus-34/lib/imports/k8s.js'
export {
  IntOrString,
  KubeClusterRole,
  KubeClusterRoleBinding,
  KubeConfigMap,
  KubeCronJob,
  KubeDeployment,
  KubeHorizontalPodAutoscalerV2,
  KubeIngress,
  KubeJob,
  KubeNamespace,
  KubeNetworkPolicy,
  KubePersistentVolumeClaim,
  KubePodDisruptionBudget,
  KubePodTemplate,
  KubeRole,
  KubeRoleBinding,
  KubeSecret,
  KubeService,
  KubeServiceAccount,
  KubeStatefulSet,
  KubeValidatingAdmissionPolicy,
  KubeValidatingAdmissionPolicyBinding,
  Quantity,
} from 'cdk8s-plus-34/lib/imports/k8s.js'
