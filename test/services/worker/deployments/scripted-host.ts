import type {
  CrewHost,
  CrewOutcome,
  SeenCrew,
  WantedCrew,
} from '../../../../services/worker/deployments/crew-host.ts'

/** Nothing listens there: a crew on it tells no inputs. */
export const urlOf = ({ id }: Pick<WantedCrew, 'id'>): string => `http://127.0.0.1:9/${id}`

/** A host for tests, which does what it is told, and tells what it was asked for. */
export function createScriptedHost() {
  const calls: string[] = []
  const running = new Set<number>()
  const script: {
    bringUp: (crew: WantedCrew, signal: AbortSignal) => Promise<CrewOutcome>
    look: (crew: WantedCrew) => Promise<SeenCrew>
    deletedImages: number
  } = {
    deletedImages: 0,
    bringUp: async (crew) => ({ outcome: 'online', url: urlOf(crew) }),
    look: async (crew) =>
      running.has(crew.id)
        ? { condition: 'online', url: urlOf(crew) }
        : { condition: 'drifted', reason: 'It does not run.', isServing: false },
  }
  const brought: WantedCrew[] = []
  const host: CrewHost = {
    ways: ['slim', 'image'],
    async bringUp(crew, progress, signal) {
      calls.push(`bring up ${crew.number}`)
      brought.push(crew)
      progress.state('Building')
      progress.log('build', `building with ${crew.variables['API_KEY'] ?? 'nothing'}`)
      const outcome = await script.bringUp(crew, signal)
      // A change came between, and the next pass asks again.
      if (signal.aborted) {
        calls.splice(calls.lastIndexOf(`bring up ${crew.number}`), 1)
        brought.splice(brought.lastIndexOf(crew), 1)
      }
      if (outcome.outcome === 'online') running.add(crew.id)
      return outcome
    },
    look: (crew) => script.look(crew),
    async keepOnly(_owner, ids) {
      for (const id of [...running].filter((each) => !ids.includes(each))) {
        running.delete(id)
        calls.push(`end ${id}`)
      }
    },
    async keepImages(_owner, images) {
      calls.push(`keep images ${images.join(', ')}`.trimEnd())
      return script.deletedImages
    },
    async freeImages() {
      calls.push('free images')
    },
    async remove() {
      running.clear()
      calls.push('remove')
    },
    async stop() {
      calls.push('stop')
    },
  }
  return { host, script, calls, running, brought }
}
