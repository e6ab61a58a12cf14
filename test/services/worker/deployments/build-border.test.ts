import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requireTrust } from '../../../../services/platform/crews/build-trust.ts'
import { ensureOrganization } from '../../../../services/platform/people/organizations.ts'
import { buildJob } from '../../../../services/worker/deployments/kubernetes/build-job.ts'
import type {
  CrewCluster,
  ImageBuilder,
} from '../../../../services/worker/deployments/kubernetes/cluster-settings.ts'
import { crewNames } from '../../../../services/worker/deployments/kubernetes/crew-names.ts'
import { useDatabase } from '../../../support/use-database.ts'
import type { Manifest } from '../../../infra/support/platform.ts'

/** It notes each of its arguments in a line, and builds nothing. */
const BUILDCTL = `#!/bin/sh
printf '%s\\n' "$@" >>"$NOTED"
echo '{"containerimage.digest": "sha256:${'ab'.repeat(32)}"}' >metadata.json
`
const cluster: CrewCluster = {
  home: { namespace: 'platform', release: 'platform' },
  pythonImage: 'python',
  pullPolicy: 'IfNotPresent',
  pullSecrets: [],
  hasArbitraryUser: false,
  isGuarded: true,
  reach: { hasPrivateRanges: false, ranges: ['10.1.0.0/16'], namespaces: ['tools'] },
  modelOrigins: [],
  openNamespaces: [],
  webUrl: 'http://platform-web.platform:80',
  maxima: { cpu: '2', memory: '4Gi' },
  proxy: {},
}
const builder: ImageBuilder = {
  image: 'moby/buildkit:rootless',
  address: 'tcp://platform-buildkit.platform:1234',
  registry: 'registry:5000',
  organizations: [],
  pullAddress: async () => 'localhost:30500',
  certificates: async () => ({ ca: '', cert: '', key: '' }),
  registryKey: 'k'.repeat(64),
  freeImages: async () => {},
}

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'build-border-'))
  writeFileSync(join(directory, 'buildctl'), BUILDCTL)
  chmodSync(join(directory, 'buildctl'), 0o755)
})

afterEach(() => rmSync(directory, { recursive: true }))

/** Returns the container of the Job that builds for an organization. */
function containerOf(organizationId: number): Manifest {
  const owner = { deploymentId: 7, automationId: 'a-7', organizationId, slug: 'research' }
  const job: Manifest = buildJob({
    names: crewNames({ id: 42, owner }, { namespace: 'crews', home: 'platform' }),
    cluster,
    access: {
      builder,
      organizationId,
      repository: 'registry:5000/crew',
      certificates: { ca: '', cert: '', key: '' },
      dockerConfig: '{}',
    },
    tag: 'd42',
    seconds: 60,
    getProject: 'cp -R ../files/. project\n',
    dockerfile: 'FROM generated\n',
    pythonVersion: null,
    sourceUrl: '',
    sourceDigest: '',
    indexes: '',
  })
  return job.spec.template.spec.containers[0]
}

/** Runs the script of a build over a project. */
function build(organizationId: number, dockerfile?: string) {
  const work = join(directory, 'work')
  const files = join(directory, 'files')
  const noted = join(directory, 'noted')
  for (const folder of [work, files]) mkdirSync(folder, { recursive: true })
  if (dockerfile !== undefined) writeFileSync(join(files, 'Dockerfile'), dockerfile)
  const { command, env } = containerOf(organizationId)
  const script = command[2]
    .replace('cd /work', `cd ${work}`)
    .replace('/dev/termination-log', join(work, 'digest'))
  const given = env.map(({ name, value = '' }: Manifest) => [name, value])
  const { status, stderr } = spawnSync('sh', ['-c', script], {
    encoding: 'utf8',
    env: {
      ...Object.fromEntries(given),
      PATH: `${directory}:${process.env['PATH']}`,
      NOTED: noted,
    },
  })
  const args = readFileSync(noted, 'utf8').split('\n')
  return { status, stderr, options: args.filter((_, index) => args[index - 1] === '--opt') }
}

describe('a build in the BuildKit of all organizations', () => {
  it.each([
    ['the generated Dockerfile', undefined],
    ['a Dockerfile of the project', 'FROM scratch\n'],
    ['one with the usual syntax line', '# syntax=docker/dockerfile:1.7\nFROM scratch\n'],
  ])('has layers and cache mounts of its organization alone, with %s', (_, dockerfile) => {
    const [ours, theirs] = [3, 31].map((id) => build(id, dockerfile))
    expect(ours).toMatchObject({ status: 0 })
    expect(ours?.options).toEqual(
      expect.arrayContaining([
        'hostname=organization-3',
        'build-arg:BUILDKIT_CACHE_MOUNT_NS=organization-3',
        // It has the frontend follow no syntax line.
        'cmdline=dockerfile.v0',
      ]),
    )
    expect(theirs?.options).toContain('hostname=organization-31')
    expect(theirs?.options).toContain('build-arg:BUILDKIT_CACHE_MOUNT_NS=organization-31')
  })

  it.each([
    '# syntax=example.com/any/frontend:1\nFROM scratch\n',
    '#!/usr/bin/env docker\n#Syntax = example.com/any/frontend:1\nFROM scratch\n',
  ])('is refused with a frontend of its own', (dockerfile) => {
    const { status, stderr, options } = build(3, dockerfile)
    expect(status).toBe(1)
    expect(stderr).toContain('asks for the frontend example.com/any/frontend:1')
    expect(options).toEqual([])
  })
})

describe('whose images are built', () => {
  const database = useDatabase()

  it('is every organization that is alone, and then those that the operator lists', async () => {
    const { sql } = database
    await ensureOrganization(sql, { name: 'The platform', internal: true })
    const first = await ensureOrganization(sql, { name: 'First' })
    const ask = (id: number, ...trusted: string[]) =>
      requireTrust(sql, { organizationId: id, trusted })
    await ask(first.id)
    const second = await ensureOrganization(sql, { name: 'Second' })
    for (const { id } of [first, second]) {
      await expect(ask(id)).rejects.toThrow('another organization may build with it')
      await expect(ask(id)).rejects.toThrow('buildkit.organizations')
      await ask(id, '*')
    }
    await ask(first.id, String(first.id))
    await expect(ask(second.id, String(first.id))).rejects.toThrow(`(id ${second.id})`)
  })
})
