import type { Labels } from '../../../shared/kubernetes/objects.ts'
import { ownLabels } from '../../../shared/kubernetes/objects.ts'
import type { CrewOwner, WantedCrew } from '../crew-host.ts'

const AUTOMATION = 'platform/automation'
const DEPLOYMENT = 'platform/deployment'
/** The port on which crews listen. */
export const CREW_PORT = 8000

/** The names and labels of the objects of one deployment. */
export interface CrewNames {
  readonly namespace: string
  /** Of its Deployment, its Service, its NetworkPolicy and the Secret of its variables. */
  readonly name: string
  /** Of the Secret with what its pods need to install it. */
  readonly install: string
  /** Of the Secret with which nodes pull its image. */
  readonly pull: string
  /** Of the Job that builds its image, and of that one's Secret and NetworkPolicy. */
  readonly build: string
  readonly labels: Labels
  /** Selects the pods of the crew, and none of its build. */
  readonly selector: Labels
  readonly buildSelector: Labels
}

/** Returns the names of a deployment's objects; none of another one has them. */
export function crewNames(
  { id, owner }: Pick<WantedCrew, 'id' | 'owner'>,
  { namespace, home }: { readonly namespace: string; readonly home: string },
): CrewNames {
  const name = `crew-${owner.deploymentId}-${id}`
  const identity = { ...automationLabels(owner), [DEPLOYMENT]: String(id) }
  return {
    namespace,
    name,
    install: `${name}-install`,
    pull: `${name}-pull`,
    build: `${name}-build`,
    labels: { ...identity, ...ownLabels(home) },
    selector: { 'app.kubernetes.io/name': 'crew-from-source', ...identity },
    buildSelector: { 'app.kubernetes.io/name': 'crew-build', ...identity },
  }
}

/** The labels of all objects of an automation. */
export const automationLabels = ({ deploymentId }: Pick<CrewOwner, 'deploymentId'>): Labels => ({
  [AUTOMATION]: String(deploymentId),
})

/** Returns the deployment that an object is of, by its labels. */
export function deploymentOf(labels: Labels): number | undefined {
  const id = Number(labels[DEPLOYMENT])
  return Number.isSafeInteger(id) ? id : undefined
}

/** Returns the address at which workers reach the crew. */
export const crewUrl = ({ name, namespace }: CrewNames): string =>
  `http://${name}.${namespace}.svc:${CREW_PORT}`
