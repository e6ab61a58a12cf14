import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { CHECKS, COMPONENT_NAMES } from '../../../../services/web/diagnostics/checks/list.ts'
import { BUILD_WARNINGS } from '../../../../services/web/diagnostics/checks/platform-pods/builds.ts'
import { RUN_CODES } from '../../../../services/web/diagnostics/run-codes.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'
import { CLUSTER_CASES } from './remedies/cluster.ts'
import { DATABASE_CASES } from './remedies/database.ts'
import { runNamedTask } from './remedies/scene.ts'
import type { Case } from './remedies/scene.ts'
import { SERVICE_CASES } from './remedies/services.ts'
import { startDependencies } from './support/dependencies.ts'
import type { Dependencies } from './support/dependencies.ts'
import { codeOf, reportOf, resultOf, serveWeb, warningsOf } from './support/web.ts'
import type { ReadResult, Web } from './support/web.ts'
import { firstOfEach } from '../../../support/long.ts'

const CASES = new Map<string, Case>(
  Object.entries({ ...DATABASE_CASES, ...SERVICE_CASES, ...CLUSTER_CASES }),
)

/**
 * Those of which `run-checks.test.ts`, `mounted-routes.test.ts` and `warnings.test.ts` have the
 * faults, and `test/services/worker/build-checks` those of builds, which a worker finds.
 */
const ELSEWHERE = [...Object.keys({ ...RUN_CODES, ...BUILD_WARNINGS }), 'route_not_mounted']

/** The code of a failure, and those of warnings. */
function codesOf(result: ReadResult): readonly unknown[] {
  const warnings = (warningsOf(result) ?? []) as readonly { code: string }[]
  return [codeOf(result), ...warnings.map(({ code }) => code)]
}

describe('a fault has a code, and its remedy cures it (SPEC 7; npm run test:long: each):', () => {
  let world: Dependencies
  let end: (() => Promise<unknown>) | undefined

  beforeAll(async () => {
    world = await startDependencies()
  })

  afterEach(async () => {
    await end?.()
    end = undefined
  })

  afterAll(() => world.stop())

  it.each(firstOfEach([...CASES], ([, { component }]) => component))(
    '%s',
    async (code, { component, stage }) => {
      const scene = await stage(world)
      end = scene.end
      const ill = await resultOf(component, scene.broken)
      expect(codesOf(ill)).toContain(code)
      const options = (await scene.follow(ill)) ?? scene.broken
      expect(codesOf(await resultOf(component, options))).not.toContain(code)
    },
  )

  it('and then all is well again', async () => {
    expect(await reportOf(world.options())).toMatchObject({ status: 'ok' })
  })

  it('for each code of the report', () => {
    const codes = COMPONENT_NAMES.flatMap((name) =>
      Object.keys({ ...CHECKS[name].failures, ...CHECKS[name].warnings }),
    )
    const untried = [...new Set(codes)].filter((code) => !CASES.has(code))
    const toDo = 'Add the fault of a code, and how its remedy is followed, to a file of ./remedies.'
    expect(untried.toSorted(), toDo).toEqual(
      ELSEWHERE.filter((code) => codes.includes(code)).toSorted(),
    )
  })
})

describe('the remedies of an empty database', () => {
  let database: TestDatabase
  let web: Web

  beforeAll(async () => {
    database = await createDatabase('empty')
    web = await serveWeb({ databaseUrl: database.url })
  })

  afterAll(async () => {
    await web.close()
    await database.drop()
  })

  it('lead one after the other to a designer that is complete', async () => {
    const followed: unknown[] = []
    for (;;) {
      const { http, report } = await web.report()
      const { designer, tools } = report.components
      const ill = [designer, tools].find(({ status }) => status === 'fail')
      if (!ill) {
        expect([http, report.status]).toEqual([200, 'ok'])
        break
      }
      expect(followed).not.toContain(codeOf(ill))
      followed.push(codeOf(ill))
      await runNamedTask(ill, database.url)
    }
    expect(followed).toEqual([
      'tables_unreadable',
      'internal_org_missing',
      'agent_install_incomplete',
      'runner_install_incomplete',
      'tool_repository_missing',
    ])
  })
})
