import { afterEach, describe, expect, it } from 'vitest'
import {
  findAutomation,
  markOnline,
} from '../../../../services/platform/automations/automations.ts'
import {
  deploySource,
  listCrewDeployments,
  rollBack,
} from '../../../../services/platform/crews/crew-deployments.ts'
import { readCrewLog } from '../../../../services/platform/crews/crew-logs.ts'
import {
  removeCrew,
  restartCrew,
  saveCrewSettings,
  startCrew,
  stopCrew,
} from '../../../../services/platform/crews/crew-settings.ts'
import {
  createVariableSeals,
  setCrewVariable,
} from '../../../../services/platform/crews/crew-variables.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { startReconciler } from '../../../../services/worker/deployments/reconciler.ts'
import type { Reconciler } from '../../../../services/worker/deployments/reconciler.ts'
import { seedOwnAutomation, seedSource } from '../../../support/own-crew.ts'
import { useDatabase } from '../../../support/use-database.ts'
import { SECRET_KEY_BASE, silent } from '../harness.ts'
import { createScriptedHost, urlOf } from './scripted-host.ts'

const database = useDatabase()
const seals = createVariableSeals(SECRET_KEY_BASE)
const running: Reconciler[] = []

afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()))
  // The next test is about crews of its own.
  await database.sql`update crew_settings set due_at = now() + interval '1 day'`
})

function start(host: Parameters<typeof startReconciler>[0]['host']): Reconciler {
  const reconciler = startReconciler({
    sql: database.sql,
    log: silent,
    host,
    seals,
    tokenOf: () => 'token',
    onFailed: () => {},
    pollMs: 100,
  })
  running.push(reconciler)
  return reconciler
}

let names = 0

/** An automation from source, and what tests do with it. */
async function openCrew() {
  const { sql } = database
  names += 1
  const automation = await seedOwnAutomation(sql, `Crew ${names}`)
  const deployer = { deploymentId: automation.id, createdBy: null }
  const deployments = () => listCrewDeployments(sql, deployer, { limit: 10 })
  return {
    automation,
    deployer,
    async deploy(text: string) {
      const source = await seedSource(sql, automation, { text: `${names} ${text}` })
      return deploySource(sql, deployer, source.id)
    },
    deployments,
    states: async () => (await deployments()).map(({ state }) => state),
    now: async () => {
      const found = await findAutomation(sql, automation.automationId)
      if (!found) throw new Error('the automation is gone')
      return found
    },
    /** Has a worker look at it, as it does every minute. */
    async due() {
      // Whoever looks at it now says itself when the next look is.
      const ask = async () => {
        const { count } = await sql`
          update crew_settings set due_at = now()
          where deployment_id = ${automation.id} and lease_id is null`
        return count
      }
      await expect.poll(ask).toBe(1)
    },
    set: (values: { idleMinutes?: number; replicas?: number; way?: 'process' }) =>
      saveCrewSettings(sql, deployer, {
        way: null,
        pythonVersion: null,
        entrypoint: null,
        cpuRequest: null,
        cpuLimit: null,
        memoryRequest: null,
        memoryLimit: null,
        egress: [],
        replicas: 1,
        idleMinutes: null,
        ...values,
      }),
  }
}

describe('the reconciler', () => {
  it('brings up what is deployed, and keeps what was printed but for secrets', async () => {
    const { sql } = database
    const crew = await openCrew()
    const variable = { deploymentId: crew.automation.id, name: 'API_KEY' }
    const sealedValue = seals.seal('a-secret-of-theirs', variable)
    await setCrewVariable(sql, variable, { sealedValue })
    const { host, brought } = createScriptedHost()
    start(host)
    const { id, projectVersionId } = await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    expect(await crew.now()).toMatchObject({
      status: 'Crew is Online',
      url: urlOf({ id }),
      projectVersionId,
    })
    expect(brought[0]).toMatchObject({
      number: 1,
      way: 'slim',
      replicas: 1,
      variables: { API_KEY: 'a-secret-of-theirs' },
    })
    const { text } = await readCrewLog(sql, { crewDeploymentId: id, stream: 'build' })
    expect(text).toBe('building with ***\n')
  })

  it('ends the former deployment only when the next one is healthy', async () => {
    const crew = await openCrew()
    const { host, script, calls, running: alive } = createScriptedHost()
    start(host)
    const first = await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    let open = (): void => {}
    const isOpen = new Promise<void>((resolve) => (open = resolve))
    script.bringUp = async (wanted) => {
      await isOpen
      return { outcome: 'online', url: urlOf(wanted) }
    }
    const second = await crew.deploy('two')
    await expect.poll(crew.states).toEqual(['Building', 'Crew is Online'])
    expect([...alive]).toEqual([first.id])
    expect(await crew.now()).toMatchObject({ status: 'Crew is Online', url: urlOf(first) })
    open()
    await expect.poll(crew.states).toEqual(['Crew is Online', 'Replaced'])
    await expect.poll(() => [...alive]).toEqual([second.id])
    expect(calls).toEqual(['bring up 1', 'bring up 2', `end ${first.id}`])
    expect((await crew.now()).url).toBe(urlOf(second))
  })

  it('leaves the former one online when the next one fails, and says why', async () => {
    const crew = await openCrew()
    const { host, script, running: alive } = createScriptedHost()
    start(host)
    const first = await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    const lastLines = 'SyntaxError: invalid syntax\n'
    script.bringUp = async () => ({ outcome: 'failed', reason: 'It ended. Correct it.', lastLines })
    await crew.deploy('two')
    await expect.poll(crew.states).toEqual(['Crew has Failed', 'Crew is Online'])
    const [failed] = await crew.deployments()
    expect(failed?.reason).toBe('It ended. Correct it.\n\nSyntaxError: invalid syntax')
    expect([...alive]).toEqual([first.id])
    expect(await crew.now()).toMatchObject({ status: 'Crew is Online', url: urlOf(first) })
  })

  it('goes back to an earlier deployment with its image', async () => {
    const crew = await openCrew()
    const { host, script, brought } = createScriptedHost()
    const image = 'registry.example/acme@sha256:1'
    script.bringUp = async (wanted) => ({ outcome: 'online', url: urlOf(wanted), image })
    start(host)
    await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    await crew.deploy('two')
    await expect.poll(crew.states).toEqual(['Crew is Online', 'Replaced'])
    await rollBack(database.sql, crew.deployer, 1)
    await expect.poll(crew.states).toEqual(['Crew is Online', 'Replaced', 'Replaced'])
    // One may be brought up again when a look comes between, and goes on with what is there.
    const own = brought.filter(({ owner }) => owner.deploymentId === crew.automation.id)
    expect(Object.fromEntries(own.map((each) => [each.number, each.image]))).toEqual({
      1: null,
      2: null,
      3: image,
    })
  })

  it('stops a crew, also one without replicas, and starts it again', async () => {
    const { sql } = database
    const crew = await openCrew()
    const { host, running: alive } = createScriptedHost()
    start(host)
    await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    const changes = [
      () => stopCrew(sql, crew.deployer),
      () => startCrew(sql, crew.deployer),
      () => crew.set({ replicas: 0 }),
      () => crew.set({ replicas: 2 }),
    ]
    for (const change of changes) {
      const state = alive.size === 1 ? 'Crew is Offline' : 'Crew is Online'
      await change()
      await expect.poll(crew.states).toEqual([state])
      expect((await crew.now()).status).toBe(state)
      await expect.poll(() => alive.size).toBe(state === 'Crew is Online' ? 1 : 0)
    }
  })

  it('lets a crew sleep that nobody uses, and wakes it for a run', async () => {
    const { sql } = database
    const crew = await openCrew()
    const { host, running: alive } = createScriptedHost()
    start(host)
    const { id } = await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    await sql`
      update crew_deployments set state_since = now() - interval '2 hours' where id = ${id}`
    await crew.set({ idleMinutes: 60 })
    await expect.poll(crew.states).toEqual(['Crew is Offline'])
    expect((await crew.now()).statusReason).toContain('no runs for 60 minutes')
    await expect.poll(() => alive.size).toBe(0)
    await crew.due()
    await kickoff(sql, { deploymentId: crew.automation.id, inputs: {} })
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    expect([...alive]).toEqual([id])
  })

  it('repairs what drifted, and corrects what its automation says', async () => {
    const { sql } = database
    const crew = await openCrew()
    const { host, calls, running: alive } = createScriptedHost()
    start(host)
    const { id } = await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    alive.clear()
    await crew.due()
    await expect.poll(() => [...alive]).toEqual([id])
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    await markOnline(sql, crew.automation.id, 'http://elsewhere.example')
    await crew.due()
    await expect.poll(async () => (await crew.now()).url).toBe(urlOf({ id }))
    expect(calls.filter((each) => each.startsWith('bring'))).toHaveLength(2)
  })

  it('has a crew that is down brought up by its host', async () => {
    const crew = await openCrew()
    const { host, script, brought } = createScriptedHost()
    start(host)
    await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    const { look } = script
    script.look = async () => {
      script.look = look
      return { condition: 'down', reason: 'It answers HTTP 503.' }
    }
    await crew.due()
    await expect.poll(() => brought.length).toBeGreaterThanOrEqual(2)
    await expect.poll(crew.states).toEqual(['Crew is Online'])
  })

  it('keeps a crew online while it is restarted, and when the restart fails', async () => {
    const { sql } = database
    const crew = await openCrew()
    const { host, script, brought } = createScriptedHost()
    start(host)
    const { id } = await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    const { bringUp, look } = script
    script.look = async () => ({ condition: 'drifted', reason: 'It is old.', isServing: true })
    script.bringUp = async () => ({ outcome: 'failed', reason: 'It ended.' })
    await restartCrew(sql, crew.deployer)
    const log = async () => (await readCrewLog(sql, { crewDeploymentId: id, stream: 'crew' })).text
    await expect.poll(log).toContain('The restart failed, and is tried again in some minutes: It')
    expect(await crew.states()).toEqual(['Crew is Online'])
    script.bringUp = async (wanted, signal) => {
      expect(await crew.states()).toEqual(['Crew is Online'])
      script.look = look
      return bringUp(wanted, signal)
    }
    await crew.due()
    await expect.poll(() => brought.length).toBeGreaterThanOrEqual(3)
    expect(brought.at(-1)?.restartedAt).toBeInstanceOf(Date)
    expect((await crew.now()).status).toBe('Crew is Online')
  })

  it('turns to the newest deployment in the middle of another one', async () => {
    const crew = await openCrew()
    const { host, script } = createScriptedHost()
    const { bringUp } = script
    script.bringUp = (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('given up')))
      })
    start(host)
    await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Building'])
    script.bringUp = bringUp
    await crew.deploy('two')
    await expect.poll(crew.states).toEqual(['Crew is Online', 'Replaced'])
  })

  it('takes over from a worker that was lost', async () => {
    const { sql } = database
    const crew = await openCrew()
    await crew.deploy('one')
    await sql`
      update crew_settings set lease_id = gen_random_uuid(), lease_until = now() + interval '1 day'
      where deployment_id = ${crew.automation.id}`
    const { host, calls } = createScriptedHost()
    start(host)
    const other = await openCrew()
    await other.deploy('one')
    await expect.poll(other.states).toEqual(['Crew is Online'])
    expect(await crew.states()).toEqual(['Waiting'])
    await sql`
      update crew_settings set lease_until = now() - interval '1 second'
      where deployment_id = ${crew.automation.id}`
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    expect(calls.filter((each) => each.startsWith('bring'))).toHaveLength(2)
  })

  it('removes what runs of an automation, and then the automation', async () => {
    const { sql } = database
    const crew = await openCrew()
    const { host, calls } = createScriptedHost()
    start(host)
    await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew is Online'])
    await removeCrew(sql, crew.deployer)
    const find = () => findAutomation(sql, crew.automation.automationId)
    await expect.poll(find).toBeUndefined()
    expect(calls.slice(-2)).toEqual(['remove', 'keep images'])
  })

  it('says where nothing can run crews, and starts them once something can', async () => {
    const crew = await openCrew()
    const helpless = start(undefined)
    await crew.deploy('one')
    await expect
      .poll(async () => (await crew.now()).statusReason)
      .toContain('Nothing on this platform runs crews from source')
    expect(await crew.states()).toEqual(['Waiting'])
    await helpless.stop()
    start(createScriptedHost().host)
    await crew.due()
    await expect.poll(crew.states).toEqual(['Crew is Online'])
  })

  it('says which ways there are, and tries again what is not the fault of a crew', async () => {
    const crew = await openCrew()
    const { host, script } = createScriptedHost()
    start(host)
    await crew.set({ way: 'process' })
    await crew.deploy('one')
    await expect.poll(crew.states).toEqual(['Crew has Failed'])
    const [failed] = await crew.deployments()
    expect(failed?.reason).toContain('cannot run as "process" on this platform, which offers slim')
    await crew.set({})
    const { bringUp } = script
    script.bringUp = () => Promise.reject(new Error('The cluster cannot be reached.'))
    await crew.deploy('two')
    await expect
      .poll(async () => (await crew.now()).statusReason)
      .toContain('The cluster cannot be reached.')
    script.bringUp = bringUp
    await crew.due()
    await expect.poll(crew.states).toEqual(['Crew is Online', 'Crew has Failed'])
  })
})
