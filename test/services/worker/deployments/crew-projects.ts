import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { writeTar } from '../../../../services/shared/tar/write-tar.ts'
import type { WantedCrew } from '../../../../services/worker/deployments/crew-host.ts'

/** The files of a project by their paths. */
export type Project = Readonly<Record<string, string>>

/** A project whose crew needs nothing but Python. */
export const plainProject = (program: string, dependencies: readonly string[] = []): Project => ({
  'shouter.py': program,
  'pyproject.toml': [
    '[project]',
    'name = "shouter"',
    'version = "1.0.0"',
    'requires-python = ">=3.10"',
    `dependencies = ${JSON.stringify(dependencies)}`,
    '[tool.crew-runtime]',
    'entrypoint = "shouter:run"',
    'inputs = ["topic"]',
  ].join('\n'),
})

/** The program of a crew that does one step. */
export const shouter = (greeting: string): string => `
def run(inputs, context):
    return context.step("greet", lambda: "${greeting}, " + inputs["topic"].upper())
`

/** The archive of a project. */
export const pack = (project: Project): AsyncIterable<Uint8Array> =>
  Readable.from(writeTar(filesOf(project))).pipe(createGzip())

async function* filesOf(project: Project) {
  for (const [path, text] of Object.entries(project)) {
    const bytes = Buffer.from(text)
    yield { path, isExecutable: false, size: bytes.length, content: Readable.from([bytes]) }
  }
}

let ids = 0

/** A deployment of a project, of an automation of its own. */
export function wantedCrew(project: Project, wanted: Partial<WantedCrew> = {}): WantedCrew {
  ids += 1
  const automationId = `00000000-0000-4000-8000-${String(ids).padStart(12, '0')}`
  return {
    id: ids,
    number: 1,
    owner: { deploymentId: ids, automationId, organizationId: 1, slug: `crew-${ids}` },
    way: 'process',
    source: { id: ids, digest: String(ids), archiveSha256: String(ids), read: () => pack(project) },
    settings: {
      pythonVersion: null,
      entrypoint: null,
      cpuRequest: null,
      cpuLimit: null,
      memoryRequest: null,
      memoryLimit: null,
      egress: [],
    },
    replicas: 1,
    restartedAt: null,
    variables: {},
    image: null,
    url: null,
    loggedUntil: undefined,
    ...wanted,
  }
}
