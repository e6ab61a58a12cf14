import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  deploySource,
  listCrewDeployments,
} from '../../../../services/platform/crews/crew-deployments.ts'
import { createOwnAutomation } from '../../../../services/platform/crews/own-crews.ts'
import { findAutomation } from '../../../../services/platform/automations/automations.ts'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { findRun, kickoff } from '../../../../services/platform/runs/runs.ts'
import { storeArchive } from '../../../../services/platform/crews/source-archive/store-archive.ts'
import type { Service } from '../../../../services/shared/http/serve.ts'
import { start as startWorker } from '../../../../services/worker/start.ts'
import { whyNoPython } from '../../../python/adapter.ts'
import { environment } from '../../web/support/platform.ts'
import { openCrewPlatform, silent } from './crew-platform.ts'
import { pack, plainProject } from './crew-projects.ts'

const whyNot = whyNoPython()
if (whyNot !== undefined) console.log(`Crews from source are not run: ${whyNot}.`)

const PATIENCE = { timeout: 90_000 }

let platform: Awaited<ReturnType<typeof openCrewPlatform>>
let worker: Service
let automation: Automation
let folder: string

beforeAll(async () => {
  platform = await openCrewPlatform()
  const env = { ...platform.machine, ...environment(platform.url), CREW_TOOLS_URL: platform.webUrl }
  const directories = { CREW_PROCESSES_DIRECTORY: platform.root }
  worker = await startWorker({ ...env, ...directories }, { log: silent })
  folder = await mkdtemp(join(tmpdir(), 'crew-sources-'))
  const { organizationId } = platform.acme
  automation = await createOwnAutomation(platform.sql, { organizationId, name: 'Greetings' })
})
afterAll(async () => {
  await worker.stop()
  await platform.close()
})

/** A crew that waits until a file is there, in a step of its own, and then greets. */
const waiter = (greeting: string): string => `
import os, time

def wait(path):
    while not os.path.exists(path):
        time.sleep(0.05)
    return "open"

def run(inputs, context):
    context.step("wait", lambda: wait(inputs["topic"]))
    return context.step("greet", lambda: "${greeting}")
`

async function deploy(program: string): Promise<void> {
  const { sql } = platform
  const archive = join(folder, 'crew.tar.gz')
  await pipeline(pack(plainProject(program)), createWriteStream(archive))
  const owner = { organizationId: automation.organizationId, uploadedBy: null, name: 'crew.tar.gz' }
  const source = await storeArchive(sql, archive, owner)
  await deploySource(sql, { deploymentId: automation.id, createdBy: null }, source.id)
}

const deployments = () =>
  listCrewDeployments(platform.sql, { deploymentId: automation.id }, { limit: 10 })
const states = async () => (await deployments()).map(({ state }) => state)
const run = (id: string) => findRun(platform.sql, automation.id, id)

describe.skipIf(whyNot !== undefined)('a crew from source', { timeout: 180_000 }, () => {
  it('goes from an archive to runs, and a roll-out in the middle loses nothing', async () => {
    const { sql } = platform
    await deploy(waiter('Hello'))
    await expect.poll(states, PATIENCE).toEqual(['Crew is Online'])
    const now = await findAutomation(sql, automation.automationId)
    expect(now).toMatchObject({ status: 'Crew is Online', statusReason: null })
    const gate = join(folder, 'gate')
    const id = await kickoff(sql, { deploymentId: automation.id, inputs: { topic: gate } })
    await expect.poll(async () => (await run(id))?.status, PATIENCE).toBe('running')
    await deploy(waiter('Good morning'))
    await expect.poll(states, PATIENCE).toEqual(['Crew is Online', 'Replaced'])
    await writeFile(gate, '')
    await expect.poll(async () => (await run(id))?.status, PATIENCE).toBe('completed')
    expect(['Hello', 'Good morning']).toContain((await run(id))?.output)
    const later = await kickoff(sql, { deploymentId: automation.id, inputs: { topic: gate } })
    await expect.poll(async () => (await run(later))?.output, PATIENCE).toBe('Good morning')
  })

  it('leaves the former one online when the next one cannot be imported', async () => {
    const { sql } = platform
    const before = await states()
    await deploy('def run(inputs:\n')
    await expect.poll(states, PATIENCE).toEqual(['Crew has Failed', ...before])
    const [failed] = await deployments()
    expect(failed?.reason).toContain('SyntaxError')
    const gate = join(folder, 'gate')
    const id = await kickoff(sql, { deploymentId: automation.id, inputs: { topic: gate } })
    await expect.poll(async () => (await run(id))?.output, PATIENCE).toBe('Good morning')
  })
})
