import * as k8s from '../k8s.ts'
import type { Construct } from 'constructs'
import type { Val } from '../template/expression.ts'
import { helper } from '../template/operators.ts'
import { create } from './create.ts'
import type { Exactly } from '../template/structure.ts'
import { fingerprint } from './fingerprint.ts'
import { labels, podLabelsOf } from './labels.ts'
import { podDefaults } from './workload.ts'
import { values } from '../values.ts'

interface Task {
  readonly component: string
  /**
   * The name from a digest of the pod: a Job cannot be changed, so another pod needs another name.
   */
  readonly name: (content: Val<string>) => Val<string>
  /** Other values whose change runs the task again. */
  readonly changesWith?: unknown
  readonly annotations: Readonly<Record<string, string>>
  readonly pod: Exactly<Omit<k8s.PodSpec, 'serviceAccountName'>>
}

/**
 * A program that runs to its end, on the nodes of web. A Job and not a hook: `helm --wait`,
 * `kubectl apply` and Argo CD all run it. It is never removed by a time limit, because whoever
 * compares the cluster with the manifests would then create it again and again. It has no deadline
 * either: an image or a volume may come hours later, and each step of the program has its own.
 */
export function createJob(scope: Construct, task: Task): void {
  const { component, name, changesWith = [], annotations, pod } = task
  const spec = {
    backoffLimit: 10,
    template: {
      metadata: { labels: podLabelsOf(component) },
      spec: { ...podDefaults(component, values.web), restartPolicy: 'OnFailure', ...pod },
    },
  }
  const content = helper(`platform.${component}.content`, fingerprint([spec, changesWith]))
  create(scope, k8s.KubeJob, {
    metadata: { name: name(content), labels: labels(component), annotations },
    spec,
  })
}

/**
 * Helm and kubectl ignore these; Argo CD would otherwise keep the Jobs of former contents, whose
 * names are others.
 */
export const argoSync = {
  'argocd.argoproj.io/hook': 'Sync',
  'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
}
