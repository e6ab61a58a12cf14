import { describe, expect, it } from 'vitest'
import { isEnabled } from '../../../services/platform/feature-flags.ts'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { runTask } from '../../../services/tasks/start.ts'
import { runProgram } from '../../support/program.ts'
import { useDatabase } from '../../support/use-database.ts'

const database = useDatabase()

const task = (...args: string[]) =>
  runProgram('tasks', args, { DATABASE_URL: database.url, LOG_LEVEL: 'silent' })

describe('flags:set and flags:list', () => {
  it('switch a flag for the platform and for one organization', async () => {
    const { id } = await ensureOrganization(database.sql, { name: 'Acme' })
    const isOn = (organizationId: number) =>
      isEnabled(database.sql, 'k8s_namespace_isolation', organizationId)
    expect((await task('flags:list')).stdout).toBe('k8s_namespace_isolation off\n')

    await task('flags:set', 'k8s_namespace_isolation', 'on')
    await task('flags:set', 'k8s_namespace_isolation', 'off', 'Acme')
    expect([await isOn(id), await isOn(id + 1)]).toEqual([false, true])
    expect((await task('flags:list')).stdout).toBe(
      'k8s_namespace_isolation on\nk8s_namespace_isolation off Acme\n',
    )
  })

  it.each([
    [['flags:set'], 'Expected NAME on|off'],
    [['flags:set', 'k8s_namespace_isolation', 'yes'], 'got "k8s_namespace_isolation yes"'],
    [['flags:set', 'k8s', 'on'], 'one of k8s_namespace_isolation'],
    [['flags:set', 'k8s_namespace_isolation', 'on', 'Nobody'], 'no organization "Nobody"'],
  ])('refuse %j, with what is allowed', async (args, told) => {
    const source = { DATABASE_URL: database.url, LOG_LEVEL: 'silent' }
    await expect(runTask(args, source)).rejects.toThrow(told)
  })
})
