import type { CrewEvent, OtherEvent } from '../../platform/crew-contract/crew-protocol.ts'
import { artifactName } from '../../platform/runs/run-artifacts.ts'
import type { WrittenFile } from '../../platform/runs/run-artifacts.ts'
import type { ProgressEvent } from '../../platform/runs/run-queue.ts'

type ArtifactEvent = Extract<CrewEvent, { type: 'artifact' }>

/** Returns the files that events report. */
export const artifactsOf = (events: readonly (CrewEvent | OtherEvent)[]): WrittenFile[] =>
  events.flatMap((event) => {
    if (event.type !== 'artifact') return []
    const { name, task, step, content } = event
    return [{ name: artifactName(name), task, step, content }]
  })

/** The event of a file as the run's page and its callers see it: the content has an address. */
export function announceArtifact({ content, name, ...event }: ArtifactEvent): ProgressEvent {
  return { ...event, name: artifactName(name), characters: content.length }
}
