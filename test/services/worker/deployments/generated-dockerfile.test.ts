import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  generateDockerfile,
  INDEX_SECRET,
} from '../../../../services/worker/deployments/kubernetes/dockerfile.ts'
import { buildImage, openBuildah, PYTHON_IMAGE, whyNoBuildah } from '../../../support/buildah.ts'
import type { Buildah } from '../../../support/buildah.ts'
import { freePort } from '../../../support/free-port.ts'
import { makeWheel, uploadForm } from '../../web/support/wheels.ts'
import { openCrewPlatform } from './crew-platform.ts'
import { plainProject, shouter } from './crew-projects.ts'
import type { Project } from './crew-projects.ts'

/** It takes a minute. */
const whyNot = process.env['CREWS'] === undefined ? 'test:long -- crews does' : whyNoBuildah()
if (whyNot !== undefined) console.log(`No generated Dockerfile is built: ${whyNot}.`)
const PATIENCE = { timeout: 60_000 }

let platform: Awaited<ReturnType<typeof openCrewPlatform>>
let buildah: Buildah
let token: string

beforeAll(async () => {
  if (whyNot !== undefined) return
  platform = await openCrewPlatform()
  token = await platform.issueToken(platform.acme)
  buildah = await openBuildah()
}, 300_000)
afterAll(async () => {
  await buildah?.close()
  await platform?.close()
})

async function uploadTool(): Promise<void> {
  const response = await fetch(`${platform.webUrl}/tools/organization/`, {
    method: 'POST',
    body: uploadForm(makeWheel('acme-tool', '1.0')),
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(200)
}

/** Builds a project as the Job of a build does, with what it gives to BuildKit. */
const build = (files: Project, tag: string): Promise<string> =>
  buildImage(buildah, {
    files,
    dockerfile: generateDockerfile(PYTHON_IMAGE),
    secrets: {
      [INDEX_SECRET]: Object.assign(new URL('/tools/organization/simple/', platform.webUrl), {
        username: '__token__',
        password: token,
      }).href,
    },
    variables: { UV_DEFAULT_INDEX: `${platform.webUrl}/tools/public/simple/` },
    tag,
  })

describe.skipIf(whyNot !== undefined)('the generated Dockerfile', { timeout: 600_000 }, () => {
  it('makes an image that serves the crew, and keeps no token', async () => {
    await uploadTool()
    const program = (greeting: string) =>
      plainProject(`import acme_tool\n${shouter(greeting)}`, ['acme-tool'])
    const log = await build(program('Hello'), 'localhost/crew:1')
    expect(log).toContain('acme-tool==1.0')
    expect(log).not.toContain(token)
    const config = await buildah.command('inspect', '--type', 'image', 'localhost/crew:1')
    expect(config).not.toContain(token)
    const { Docker } = JSON.parse(config)
    expect(Docker.config).toMatchObject({ User: '1000:1000' })

    const container = (await buildah.command('from', '--pull-never', 'localhost/crew:1')).trim()
    const port = await freePort()
    const variables = [`PORT=${port}`, 'CREW_TOKEN=of-the-crew'].flatMap((one) => ['--env', one])
    await buildah.command('config', ...variables, container)
    const crew = buildah.start(container, Docker.config.Entrypoint)
    try {
      const ask = () =>
        fetch(`http://127.0.0.1:${port}/inputs`)
          .then((answer) => answer.json())
          .catch(() => 'not yet')
      await expect.poll(ask, PATIENCE).toEqual({ inputs: ['topic'] })
    } finally {
      await crew.stop()
    }
    const root = (await buildah.command('mount', container)).trim()
    const search = spawnSync('grep', ['--recursive', '--files-with-matches', token, root])
    expect([search.status, String(search.stdout)]).toEqual([1, ''])

    const again = await build(program('Goodbye'), 'localhost/crew:2')
    const installs = (text: string) => text.match(/^Installing the dependencies/gm)?.length
    expect([installs(log), installs(again)]).toEqual([2, 1])
  })

  it('finds a source that is not valid Python before it installs anything', async () => {
    const project = plainProject('def kickoff(:\n', ['not-in-any-index'])
    const failed = build(project, 'localhost/crew:3')
    await expect(failed).rejects.toThrow(/line 1 is not valid Python: .*and deploy again/)
    await expect(failed).rejects.not.toThrow('Installing')
  })
})
