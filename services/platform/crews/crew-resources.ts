import { AppError } from '../../shared/errors.ts'
import { readQuantity } from '../../shared/kubernetes/quantity.ts'
import type { BuildSettings } from './crew-settings.ts'

interface Amounts {
  readonly cpu: string
  readonly memory: string
}

/** The requests and limits of a crew's containers. */
export interface CrewResources {
  readonly requests: Amounts
  readonly limits: Amounts
}

/** The most that one pod of a crew may take, as the operator set it, in quantities. */
export interface CrewMaxima {
  readonly cpu: string
  readonly memory: string
}

const REQUESTS = { cpu: '50m', memory: '256Mi' }
const LIMITS = { cpu: '1', memory: '1Gi' }

/**
 * Returns what a crew's pods may take: its settings, or else a default, within the operator's
 * maximum. Raises `unprocessable` for a setting beyond it, or one that is no quantity.
 */
export function crewResources(
  settings: Pick<BuildSettings, 'cpuRequest' | 'cpuLimit' | 'memoryRequest' | 'memoryLimit'>,
  maxima: CrewMaxima,
): CrewResources {
  const cpu = amounts({
    what: 'CPU',
    request: settings.cpuRequest,
    limit: settings.cpuLimit,
    defaults: [REQUESTS.cpu, LIMITS.cpu],
    most: maxima.cpu,
  })
  const memory = amounts({
    what: 'memory',
    request: settings.memoryRequest,
    limit: settings.memoryLimit,
    defaults: [REQUESTS.memory, LIMITS.memory],
    most: maxima.memory,
  })
  return {
    requests: { cpu: cpu.request, memory: memory.request },
    limits: { cpu: cpu.limit, memory: memory.limit },
  }
}

/**
 * Checks settings before they are saved, where the operator set a maximum, as in a cluster. Raises
 * as `crewResources` does.
 */
export function checkResources(
  settings: Parameters<typeof crewResources>[0],
  { CREW_CPU_MAX: cpu, CREW_MEMORY_MAX: memory }: CrewMaximaConfig,
): void {
  if (cpu !== undefined && memory !== undefined) crewResources(settings, { cpu, memory })
}

interface CrewMaximaConfig {
  readonly CREW_CPU_MAX?: string | undefined
  readonly CREW_MEMORY_MAX?: string | undefined
}

interface Asked {
  readonly what: string
  readonly request: string | null
  readonly limit: string | null
  readonly defaults: readonly [request: string, limit: string]
  readonly most: string
}

function amounts({ what, defaults, most, ...asked }: Asked): Record<'request' | 'limit', string> {
  const amountOf = (text: string) => toNumber(what, text)
  const smaller = (a: string, b: string) => (amountOf(a) <= amountOf(b) ? a : b)
  const larger = (a: string, b: string) => (amountOf(a) >= amountOf(b) ? a : b)
  const usual = smaller(defaults[1], most)
  const limit = asked.limit ?? (asked.request === null ? usual : larger(asked.request, usual))
  const request = asked.request ?? smaller(defaults[0], limit)
  if (amountOf(request) > amountOf(limit)) {
    throw new AppError(
      'unprocessable',
      `The crew requests ${request} of ${what}, which is more than its limit of ${limit}. ` +
        'Raise the limit, or request less.',
      { details: { resource: what } },
    )
  }
  if (amountOf(limit) <= amountOf(most)) return { request, limit }
  throw new AppError(
    'unprocessable',
    `The crew may take ${limit} of ${what}, and this platform allows ${most} at the most. ` +
      'Choose less, or ask its operator for more (crews.limits).',
    { details: { resource: what } },
  )
}

function toNumber(what: string, text: string): number {
  const amount = readQuantity(text)
  if (amount !== undefined) return amount
  throw new AppError(
    'unprocessable',
    `${text} is no amount of ${what}: write it as Kubernetes does, such as 500m or 2Gi.`,
    { details: { resource: what } },
  )
}
