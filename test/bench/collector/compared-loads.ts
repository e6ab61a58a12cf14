import { createRequest } from '../support/requests.ts'
import type { Profile } from '../support/requests.ts'
import { freshBodies } from './fresh-bodies.ts'

/** One kind of load that two checkouts are compared by. */
export interface ComparedLoad {
  readonly profile: Profile
  /** The least and the most spans of a request; each number between them is as frequent. */
  readonly spans: readonly [least: number, most: number]
  readonly requests: number
  readonly connections: number
  /** Of a hundred requests to one replica, how many another one gets again; one replica without. */
  readonly resent?: number
}

const RETRIES = { profile: 'light', spans: [20, 20], requests: 3000, connections: 200 } as const

export const COMPARED_LOADS: Readonly<Record<string, ComparedLoad>> = {
  llm: { profile: 'llm', spans: [512, 512], requests: 60, connections: 32 },
  light: { profile: 'light', spans: [512, 512], requests: 300, connections: 32 },
  'one-span': { profile: 'light', spans: [1, 1], requests: 12_000, connections: 200 },
  'few-spans': { profile: 'light', spans: [1, 20], requests: 6000, connections: 200 },
  'retries-0': { ...RETRIES, resent: 0 },
  'retries-5': { ...RETRIES, resent: 5 },
  'retries-20': { ...RETRIES, resent: 20 },
}

/** The requests of one round. */
export interface Round {
  /** One list for each replica. */
  readonly bodies: readonly (readonly Buffer[])[]
  /** All of them, those that are sent again included. */
  readonly spans: number
}

const TEMPLATES_A_SIZE = 24
/** A retry comes when the first try was committed, and only its answer was lost. */
const LAG = 200

/** New requests of a load, as many in each round. */
export function createRound({ profile, spans, requests, resent }: ComparedLoad): Round {
  const [least, most] = spans
  const sizes = most - least + 1
  const templates = Array.from({ length: Math.max(TEMPLATES_A_SIZE, 2 * sizes) }, (_, seed) =>
    createRequest(profile, { spans: least + (seed % sizes), seed, nowMs: Date.now() }),
  )
  const mean = templates.reduce((sum, one) => sum + one.spans, 0) / templates.length
  const total = Math.round(requests * mean)
  if (resent === undefined) return { bodies: [freshBodies(templates, requests)], spans: total }
  const again = Math.round((requests * resent) / 100)
  return { bodies: toReplicas(freshBodies(templates, requests - again), again), spans: total }
}

/** Half of the bodies for each replica; of these so many also for the other one, a while later. */
function toReplicas(bodies: readonly Buffer[], again: number): Buffer[][] {
  const replicas: [Buffer[], Buffer[]] = [[], []]
  const isAgain = (i: number): boolean =>
    Math.floor(((i + 1) * again) / bodies.length) > Math.floor((i * again) / bodies.length)
  for (const [i, body] of bodies.entries()) {
    replicas[i % 2 === 0 ? 0 : 1].push(body)
    const earlier = bodies[i - LAG]
    // An even lag: what went to this replica goes to the other one.
    if (earlier && isAgain(i - LAG)) replicas[i % 2 === 0 ? 1 : 0].push(earlier)
  }
  return replicas
}
