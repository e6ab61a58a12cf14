import { createHash } from 'node:crypto'
import { arrayBuffer } from 'node:stream/consumers'
import { pack, plainProject, shouter } from '../../services/worker/deployments/crew-projects.ts'
import type { Project } from '../../services/worker/deployments/crew-projects.ts'

/** What the projects need from the public index, by the word that chooses it. */
export const NEEDS = {
  plain: ['httpx==0.28.1', 'pydantic==2.12.5', 'pyyaml==6.0.3'],
  crewai: ['crewai[tools]==1.15.30'],
} as const

/** A project whose program imports what it needs; each `version` of it is another source. */
export const project = (needs: keyof typeof NEEDS, version: number): Project =>
  plainProject(
    `import ${needs === 'plain' ? 'httpx, pydantic, yaml' : 'crewai'}\n${shouter(`${version}`)}`,
    NEEDS[needs],
  )

/** Packs a project, with the SHA-256 of its archive. */
export async function archiveOf(files: Project) {
  const content = new Uint8Array(await arrayBuffer(pack(files)))
  return { content, digest: createHash('sha256').update(content).digest('hex') }
}
