import * as k8s from '../k8s.ts'
import type { Construct } from 'constructs'
import type { Val } from '../template/expression.ts'
import { contentOf } from '../template/included.ts'
import { asJson, digest, shorten } from '../template/operators.ts'
import type { In } from '../template/operators.ts'
import { create } from './create.ts'
import type { Exactly } from '../template/structure.ts'
import { labels, podLabelsOf } from './labels.ts'
import { nameOf } from './names.ts'
import { podDefaults } from './workload.ts'
import { values } from '../values.ts'

// The one kind that is nothing but the template of a pod.
const podTemplate = (template: unknown): unknown =>
  k8s.KubePodTemplate.manifest({ template: template as k8s.PodTemplateSpec }).template

interface Task {
  readonly component: string
  /**
   * The name from a digest of the pod: a Job cannot be changed, so another pod needs another name.
   */
  readonly name: (content: Val<string>) => Val<string>
  readonly annotations: Readonly<Record<string, string>>
  /** Of the pod, such as the digest of values whose change runs the task again. @default none */
  readonly podAnnotations?: Readonly<Record<string, Val<string>>>
  readonly pod: Exactly<Omit<k8s.PodSpec, 'serviceAccountName'>>
}

/**
 * A program that runs to its end, on the nodes of web. A Job and not a hook: `helm --wait`,
 * `kubectl apply` and Argo CD all run it. It is never removed by a time limit, because whoever
 * compares the cluster with the manifests would then create it again and again. It has no deadline
 * either: an image or a volume may come hours later, and each step of the program has its own.
 */
export function createJob(scope: Construct, task: Task): void {
  const { component, name, annotations, podAnnotations, pod } = task
  const template = () => ({
    metadata: {
      labels: podLabelsOf(component),
      ...(podAnnotations && { annotations: podAnnotations }),
    },
    spec: { ...podDefaults(component, values.web, values.web), restartPolicy: 'OnFailure', ...pod },
  })
  const about = {
    name: `platform.${component}.pod`,
    comment:
      `The pod of the Job ${component}. A Job cannot be changed: its name has the ` +
      `digest of this.`,
  }
  const { part, content } = contentOf(about, template, podTemplate)
  create(scope, k8s.KubeJob, {
    metadata: {
      name: name(shorten(8, digest(asJson(content)))),
      labels: labels(component),
      annotations,
    },
    spec: { backoffLimit: 10, template: part },
  })
}

interface TimedTask {
  /** @default that of the component */
  readonly name?: string
  readonly schedule: In<string>
  readonly deadlineSeconds: In<number>
  readonly template: Exactly<k8s.PodTemplateSpec>
}

/** A program that runs to its end at certain times, and one at a time. */
export function createCronJob(scope: Construct, component: string, task: TimedTask): void {
  create(scope, k8s.KubeCronJob, {
    metadata: { name: nameOf(task.name ?? component), labels: labels(component) },
    spec: {
      schedule: task.schedule,
      timeZone: 'Etc/UTC',
      concurrencyPolicy: 'Forbid',
      startingDeadlineSeconds: 3600,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 3,
      jobTemplate: {
        metadata: { labels: labels(component) },
        spec: {
          backoffLimit: 2,
          activeDeadlineSeconds: task.deadlineSeconds,
          template: task.template,
        },
      },
    },
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
